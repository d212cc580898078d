"""One row has one verdict, one number and one need of more blocks, in every output, over random campaigns."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from report.studies import part_of
from tare.analysis.checking.check import Outcome, check
from tare.analysis.checking.rule_parser import parse_rules
from tare.analysis.checking.rules import Kind, RuleSource
from tare.analysis.quoted_figures import quoted
from tare.analysis.verdicts.compare import aggregates
from tare.cli.main import make_group
from tare.core.campaign import Campaign
from tare.live.charts import changes
from tare.live.statistics import compute_statistics
from tare.report.charts.painting import Painter
from tare.report.content import content
from tare.report.formats.page import render
from tare.report.report_statistics import ReportStatistics
from tare.report.sections.overview import Overview
from tare.report.variants import lay_out
from tare.report.words.changes import change, figure
from tare.storage.campaign import read_campaign
from truth.campaigns import write
from truth.told_campaigns import mixed

_SIGNS = {"▲": "worse", "▼": "better", "≈": "equivalent", "?": "undecided"}
_NO_RATIO = {"–": "undecided"}
_VERDICT = re.compile(r"([▲▼≈?]) (?:worse|better|equivalent|undecided)(?:: needs ~(\d+) more)?")

Told = tuple[str, str, int | None]
"""What a row says: its verdict, its change in words, and how many more blocks it needs."""


def plain(text: str) -> str:
    return re.sub("[\u00a0\u202f ]+", " ", text)


def tare(*words: str) -> str:
    return plain(CliRunner().invoke(make_group(), words, catch_exceptions=False).output)


def of_table(text: str) -> list[Told]:
    """Return what each row of compare's table says."""
    found = []
    for line in text.splitlines():
        match = _VERDICT.search(line)
        number = re.search(r"[+−]?[\d.]+ %(?: \[[^]]*\])?|[\d/. ]+ ×(?: \[[^]]*\])?", line)
        if match and number:
            found.append((_SIGNS[match[1]], number[0].strip(), int(match[2]) if match[2] else None))
    return found


def of_json(body: Mapping[str, object], key: str) -> list[dict[str, object]]:
    rows = body[key]
    assert isinstance(rows, list)
    return rows


def of_heat_map(found: Campaign) -> dict[tuple[str, str, str], Told]:
    """Return what each cell of the report's heat map says, by contender, place and figure."""
    page = content(found, ReportStatistics.of(found))
    return {
        (row.variant.name, column.configuration.label, column.fom): (
            (_SIGNS | _NO_RATIO)[cell.sign],
            plain(f"{cell.number} {cell.interval}".removesuffix(" no interval")),
            int(match[1]) if (match := re.match(r"\+(\d+) block", cell.settling)) else None,
        )
        for one in part_of(page, Overview).maps
        for row in one.rows
        for column, cell in zip(one.columns, row.cells, strict=True)
        if cell is not None
    }


def test_table_json_report_live_page_and_check_agree(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    for seed in range(6):
        agree(write(mixed(random), tmp_path / str(seed), seed=seed))


def operation(at: Mapping[str, object]) -> object:
    """Return what tells figures of one name of a case apart."""
    return at.get("operation")


def agree(folder: Path) -> None:
    """Hold every output of a campaign against its rows: the verdict, the number and the need of blocks."""
    found = read_campaign(folder)
    variants = lay_out(found, aggregates(found))
    rows = [one for one in aggregates(found) if one.is_primary]
    told: list[Told] = [(one.verdict.value, plain(str(change(one))), one.more_blocks) for one in rows]

    shown = [
        (one.verdict.value, plain(str(change(one))), one.more_blocks)
        for one in quoted(aggregates(found))
        if one.ratio is not None
    ]
    assert of_table(tare("compare", str(folder))) == shown, "a row without a ratio has a dash"

    body = json.loads(tare("compare", str(folder), "--json"))
    figures = {
        (json.dumps([one["at"], one["contender"]], sort_keys=True), one["fom"]): one
        for one in of_json(body, "figures")
    }
    for one, (verdict, _, more) in zip(rows, told, strict=True):
        same = figures[json.dumps([dict(one.at), dict(one.contender)], sort_keys=True), one.fom]
        assert (same["verdict"], same["more_blocks"], same["change"]) == (verdict, more, one.change)

    cells = of_heat_map(found)
    assert len(cells) == len(quoted(aggregates(found)))
    for one, expected in zip(rows, told, strict=True):
        variant, configuration = (
            variants.variant_of[one.contender_case].name,
            variants.configuration_of[one.contender_case].label,
        )
        cell = cells[variant, configuration, figure(one)]
        assert cell == expected or (one.ratio is None and cell[0] == expected[0])

    live = compute_statistics(found, 1)
    report = content(found, ReportStatistics.of(found), painter=Painter())
    page = plain(html.unescape(re.sub(r"<[^>]+>", "", render(found, report))))
    words = [plain(one.text) for one in report.answers]
    assert [plain(one.text) for one in live.sentences] == words
    assert all(one in page for one in words)
    known: dict[tuple[str, str, object], Told] = {
        (one.contender_case, one.fom, operation(one.at)): (
            one.verdict.value,
            plain(str(change(one))),
            one.more_blocks,
        )
        for one in (*rows, *quoted(aggregates(found)))
    }
    bars = {
        (bar.variant.name, bar.configuration, bar.fom): bar
        for bar in changes(live.figures, live.variants, found.plan.margin).bars
    }
    n_bars = 0
    for one in rows:
        variant, configuration = (
            variants.variant_of[one.contender_case].name,
            variants.configuration_of[one.contender_case].label,
        )
        if bar := bars.get((variant, configuration, figure(one))):
            n_bars += 1
            verdict, number, _ = known[one.contender_case, one.fom, operation(one.at)]
            if one.ratio is None:
                assert not bar.change, "a bar without a ratio says why"
            else:
                assert (bar.verdict, plain(bar.change)) == (verdict, number)
    assert n_bars == len(rows) or len(bars) >= 60, "all that is quoted"

    margin = f"overhead() > {found.plan.margin * 100:g} %"
    source = RuleSource(text=margin, kind=Kind.FAIL_IF, where="test")
    (verdicts,) = check(found, parse_rules([source])).verdicts
    for judged in verdicts.judged:
        plan_notes = known[judged.match.case, judged.match.fom, operation(judged.match.at)]
        assert judged.verdict == plan_notes[0]
        assert judged.outcome is not Outcome.FAIL or plan_notes[0] == "worse"
    check_agrees(folder, found.plan.margin, known)


def check_agrees(folder: Path, margin: float, known: Mapping[tuple[str, str, object], Told]) -> None:
    """Hold the table and the JSON of a check, and those of points, against the verdicts of compare."""
    rule = f"overhead() > {margin * 100:g} %"
    body = json.loads(tare("check", str(folder), "--fail-if", rule, "--json"))
    rows = body["rules"][0]["comparisons"]
    verdicts = [known[one["case"], one["fom"], operation(one["at"])][0] for one in rows]
    assert [one["verdict"] for one in rows] == verdicts
    table = tare("check", str(folder), "--fail-if", rule)
    assert _SIGN.findall(table) == verdicts
    markdown = folder.parent / f"{folder.name}.md"
    tare("check", str(folder), "--fail-if", rule, "--summary", str(markdown))
    assert sorted(_SIGN.findall(markdown.read_text())) == sorted(verdicts)


_SIGN = re.compile(r"[▲▼≈?] (worse|better|equivalent|undecided)")
