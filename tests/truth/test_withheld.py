"""No output calls a figure equivalent beside an elapsed time of the same comparison that is worse."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import msgspec

from report.studies import part_of, said_of
from tare.analysis.checking.check import check
from tare.analysis.checking.rule_parser import parse_rules
from tare.analysis.checking.rules import Kind, RuleSource
from tare.analysis.verdicts.compare import aggregates, comparisons
from tare.analysis.verdicts.headline import headlines
from tare.core.campaign import Campaign
from tare.core.values import Settings
from tare.core.verdict import Verdict
from tare.live.charts import changes
from tare.live.statistics import compute_statistics
from tare.report.content import content
from tare.report.report_statistics import ReportStatistics
from tare.report.sections.overview import Overview
from truth.campaigns import RATE, Figure, Truth, campaign, write
from truth.noise import lognormal
from truth.test_agreement import plain, tare

WALL = Figure(name="wall_time", is_primary=False, level=100.0)
SIZED = Figure(name="latency", unit="us", at={"bytes": (1, 4096, 65536)})
WHY = "within the margin, but wall_time, an elapsed time, is worse"

WAITED = Truth(
    factors={"network": ("host", "overlay"), "nodes": (1, 2)},
    workloads={"solver": (RATE, SIZED, WALL)},
    slowing=lambda settings, fom: (
        1.5 if (settings["network"], settings["nodes"], fom) == ("overlay", 2, "wall_time") else 1.0
    ),
    noise=lognormal(0.002),
    blocks=8,
)


def nodes_of(found: Campaign, case: str) -> int:
    return found.cases[case].layout.nodes


def test_a_row_beside_a_longer_elapsed_time_is_undecided_and_says_why() -> None:
    found = campaign(WAITED)
    for rows in (aggregates(found), comparisons(found), aggregates(found, foms=("rate",))):
        for one in rows:
            if nodes_of(found, one.contender_case) == 1:
                assert (one.verdict, one.withheld_by) == (Verdict.EQUIVALENT, "")
            elif one.fom == "wall_time":
                assert one.verdict is Verdict.WORSE
            else:
                assert (one.verdict, one.more_blocks) == (Verdict.UNDECIDED, None)
                assert (one.withheld_by, one.note) == ("wall_time", WHY)


def faster_and_later(settings: Settings, fom: str) -> float:
    """Return WAITED, its rate a quarter higher on the overlay."""
    is_faster = settings["network"] == "overlay" and fom == "rate"
    return 0.8 if is_faster else WAITED.slowing(settings, fom)


def test_a_rate_that_got_better_stays_better() -> None:
    found = campaign(dataclasses.replace(WAITED, slowing=faster_and_later))
    assert {one.verdict for one in aggregates(found, foms=("rate",))} == {Verdict.BETTER}


def test_the_sentence_says_that_it_lies_within_the_margin_and_not_that_it_is_equivalent() -> None:
    found = campaign(WAITED)
    (said,) = compute_statistics(found, 1).sentences
    assert re.search(r"is within ± 2 % of host in .*solver’s rate (\(|of)", plain(said.text))
    assert "equivalent" not in said.text
    assert "undecided" not in said.text
    assert "Within the margin from 8 blocks: may miss a slow mode" in plain(said.beside)
    assert "would not settle" not in said.beside
    assert all("wall_time is worse" not in one.note for one in headlines(found)), (
        "the sentence says so itself"
    )


def test_every_output_says_the_same(tmp_path: Path) -> None:
    folder = write(
        dataclasses.replace(WAITED, factors={"network": ("host", "overlay"), "nodes": (2,)}), tmp_path / "c"
    )
    output = tare("compare", str(folder), "--all")
    assert "≈" not in "".join(line for line in output.splitlines() if "solver" in line)
    assert output.count(f"? undecided: {WHY}") == 4, "the rate, and three sizes"
    body = json.loads(tare("compare", str(folder), "--json"))
    rows = [*body["figures"], *body["comparisons"]]
    assert [(one["verdict"], one["withheld_by"]) for one in rows if one["fom"] != "wall_time"] == [
        ("undecided", "wall_time")
    ] * 6
    rule = RuleSource(text="overhead(rate) > 5 %", kind=Kind.FAIL_IF, where="test")
    found = campaign(WAITED)
    verdicts = [one.verdict for one in check(found, parse_rules([rule])).verdicts[0].judged]
    assert verdicts == [Verdict.EQUIVALENT, Verdict.UNDECIDED]
    page = content(found, ReportStatistics.of(found))
    cells = [cell for one in part_of(page, Overview).maps for row in one.rows for cell in row.cells if cell]
    assert [cell.settling for cell in cells if cell.sign == "?"] == ["elapsed time is worse"] * 2
    live = compute_statistics(found, 1)
    bars = [one for one in changes(live.figures, live.variants, 0.02).bars if one.sign == "?"]
    assert [one.verdict for one in bars] == ["undecided"] * 2
    assert all(one.beside.startswith(WHY) for one in bars)


def test_what_has_no_average_is_not_said_to_be_unmeasured() -> None:
    """A time of zero in each case leaves nothing to average over the cases; each has its own row."""
    found = campaign(
        Truth(factors={"network": ("a", "b"), "nodes": (1, 2)}, blocks=12, noise=lognormal(0.02))
    )
    first = {case: next(one for one in found.attempts if one.case == case) for case in found.cases}
    attempts = tuple(
        msgspec.structs.replace(one, series=[msgspec.structs.replace(one.series[0], values=[0.0])])
        if one is first[one.case]
        else one
        for one in found.attempts
    )
    text = said_of(msgspec.structs.replace(found, attempts=attempts))
    assert "has not been measured" not in text
    assert "has no average beside a: 2 of 2 cases left out" in text
