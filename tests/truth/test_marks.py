"""A verdict that rests on independent blocks has the same mark in every output, and no other has one."""

from __future__ import annotations

import dataclasses
import html
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from report.studies import part_of
from tare.analysis.quoted_figures import quoted
from tare.analysis.verdicts.compare import aggregates, comparisons
from tare.core.campaign import Campaign
from tare.core.verdict import Verdict
from tare.live.charts import changes
from tare.live.statistics import compute_statistics
from tare.report.charts.painting import Painter
from tare.report.content import content
from tare.report.formats.latex import render_latex
from tare.report.formats.markdown import render_markdown
from tare.report.formats.page import render
from tare.report.report_statistics import ReportStatistics
from tare.report.sections.overview import Overview
from tare.report.sections.verdicts import Verdicts
from tare.report.words.assumed import FOOTNOTE
from truth.campaigns import TIME, Truth, campaign, write
from truth.noise import lognormal
from truth.test_agreement import plain, tare

LEVELS = {"overlay": 1.045, "macvlan": 1.8, "ipvlan": 1.0}
TRUTH = Truth(
    factors={"network": ("host", *LEVELS)},
    slowing=lambda settings, fom: LEVELS.get(str(settings["network"]), 1.0),
    noise=lognormal(0.01),
    blocks=5,
    margin=0.03,
)
"""Of 5 blocks 4.5 % more rests on their independence, and so does *equivalent*; 80 % more does not."""

UNDECIDED = Verdict.UNDECIDED
MARKED = {"overlay": True, "macvlan": False, "ipvlan": True}


@pytest.fixture(scope="module")
def found() -> Campaign:
    one = campaign(TRUTH)
    rows = {str(row.contender["network"]): row for row in aggregates(one)}
    assert {name: row.assumes_independence for name, row in rows.items()} == MARKED
    assert rows["ipvlan"].verdict is Verdict.EQUIVALENT
    return one


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(TRUTH, tmp_path_factory.mktemp("marks") / "c", seed=1)


def marked_lines(text: str) -> dict[str, bool]:
    """Return of each contender whether the line that judges it has the mark."""
    return {
        name: "†" in line
        for line in text.splitlines()
        for name in LEVELS
        if re.search(rf"\b{name}\b", line) and re.search("worse|equivalent|better", line)
    }


def test_tables_of_compare_and_check_have_it(folder: Path) -> None:
    compared = tare("compare", str(folder))
    table, _, _ = compared.partition("\n\n")
    assert marked_lines(table) == MARKED
    assert FOOTNOTE in compared
    checked = tare("check", str(folder), "--fail-if", "overhead() > 20 %")
    assert marked_lines(checked) == MARKED
    assert FOOTNOTE in checked


def test_json_of_both_have_it(folder: Path) -> None:
    compared = json.loads(tare("compare", str(folder), "--json"))["figures"]
    checked = json.loads(tare("check", str(folder), "--fail-if", "overhead() > 20 %", "--json"))
    for rows, place in ((compared, "contender"), (checked["rules"][0]["comparisons"], "at")):
        assert {row[place]["network"]: row["assumes_independence"] for row in rows} == MARKED


def test_files_of_a_check_have_it(folder: Path, tmp_path: Path) -> None:
    files = {"--summary": tmp_path / "summary.md", "--junit": tmp_path / "check.xml"}
    words = [word for option, path in files.items() for word in (option, str(path))]
    tare("check", str(folder), "--fail-if", "overhead() > 20 %", *words)
    summary = files["--summary"].read_text()
    assert marked_lines(summary) == MARKED
    assert FOOTNOTE in summary
    cases = ElementTree.parse(files["--junit"]).getroot().iter("testcase")
    told = {one.attrib["name"].rpartition("=")[2]: ElementTree.tostring(one, "unicode") for one in cases}
    assert {name: "rests on independent blocks" in text for name, text in told.items()} == MARKED


def test_every_format_of_the_report_has_it(found: Campaign) -> None:
    page = content(found, ReportStatistics.of(found), painter=Painter())
    markdown, tex = render_markdown(page, ".."), render_latex(page)
    for text, mark, ends in ((markdown, "†", "|"), (tex, r"\dag", "&")):
        lines = text.splitlines()
        heads = [line for line in lines if all(str(name) in line for name in LEVELS) and ends in line]
        (head,) = [line for line in heads if "Unit" not in line]  # that of absolute values has no verdicts
        names = [cell.strip(" \\|") for cell in head.strip("|").split(ends)]
        (row,) = [line for line in lines if "time" in line and "10.0" not in line and ends in line][:1]
        cells = dict(zip(names, row.strip("|").split(ends), strict=True))
        assert {name: mark in cells[name] for name in LEVELS} == MARKED
    assert FOOTNOTE in markdown
    assert r"\dag{} rests on blocks being independent" in tex
    assert "may miss" in tex, "beside what is equivalent, as in every output"
    (heat,) = part_of(page, Overview).maps
    assert {row.variant.name: bool(cell.mark) for row in heat.rows for cell in row.cells if cell} == MARKED
    rows = part_of(page, Verdicts).rows.rows
    assert {row.cells[0].text: "†" in row.cells[-1].text for row in rows} == MARKED
    assert plain(html.unescape(render(found, page))).count(FOOTNOTE) >= 2


def test_charts_say_it_in_words() -> None:
    """Figure by figure, and against a coordinate: each point that rests on it, and no other."""
    figures = [dataclasses.replace(TIME, name=name) for name in ("time", "solve_time", "setup_time")]
    of_sizes = dataclasses.replace(TIME, name="latency", at={"bytes": (1, 1024, 65536)})
    n_marked = 0
    for workload, name in ((figures, "figures"), ([of_sizes], "ratio")):
        found = campaign(dataclasses.replace(TRUTH, workloads={"solver": workload}))
        page = content(found, ReportStatistics.of(found), painter=Painter())
        (drawn,) = [one for one in page.figures if one.name == name]
        points = [point for panel in drawn.panels for line in panel.lines for point in line.points]
        rows = [one for one in comparisons(found) if one.ratio]
        assert len(points) == len(rows)
        marked = sum("rests on independent blocks" in point.interval for point in points)
        assert marked == sum(one.assumes_independence and one.verdict is not UNDECIDED for one in rows)
        n_marked += marked
    assert n_marked, "or nothing is tried"


def test_the_live_page_says_it_in_words(found: Campaign) -> None:
    live = compute_statistics(found, 1)
    bars = changes(live.figures, live.variants, found.plan.margin).bars
    assert {one.variant.name: "rests on independent blocks" in one.beside for one in bars} == MARKED


def test_many_blocks_have_no_mark_anywhere(tmp_path: Path) -> None:
    many = dataclasses.replace(TRUTH, blocks=20)
    found = campaign(many)
    page = content(found, ReportStatistics.of(found), painter=Painter())
    folder = str(write(many, tmp_path / "c", seed=1))
    assert not any(one.assumes_independence for one in quoted(aggregates(found)))
    outputs = (
        tare("compare", folder),
        tare("check", folder, "--fail-if", "overhead() > 20 %"),
        render_markdown(page, ".."),
        render_latex(page),
    )
    for text in outputs:
        assert "†" not in text
        assert r"\dag" not in text
