"""The section on trust: doubts in words with their cures, odd runs, and whose noise is less."""

from __future__ import annotations

import msgspec
import pytest

from report.html_reader import Page
from report.studies import content_of, page_of, part_of, three_networks
from support.planned import ELAPSED, about, make_planned
from support.slowing import slowed
from tare.analysis.trust.quality import quality
from tare.analysis.verdicts.variability import variabilities
from tare.core.attempt import Source
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.report.content import Content
from tare.report.formats.page import render
from tare.report.sections.quality_warnings import QualityWarningRow, QualityWarnings, quality_warnings
from tare.report.sections.trust import ResultQuality
from tare.report.variants import lay_out
from tare.report.words.numbers import NARROW


def is_case(case: Case, network: str, nodes: int) -> bool:
    return case.network == network and case.layout.nodes == nodes


def troubled(blocks: int = 10) -> Campaign:
    """Return a campaign with a warm-up, a drift, two modes and an outlier, each in a case of its own."""

    def factor(case: Case, block: int) -> float:
        if is_case(case, "overlay", 2):
            return 3.0 if block == 1 else 1.0  # more than twice as far off as the outlier
        if is_case(case, "macvlan", 2):
            return 1.02**block
        if is_case(case, "macvlan", 4):
            return 1.4 if block in (2, 5, 6, 9) else 1.0
        return 1.5 if is_case(case, "host", 4) and block == 7 else 1.0

    return slowed(three_networks(blocks=blocks), factor)


def warnings_of(campaign: Campaign) -> QualityWarnings:
    return quality_warnings(quality(campaign), campaign, lay_out(campaign, ()))


@pytest.fixture(scope="module")
def found() -> Content:
    return content_of(troubled())


@pytest.fixture(scope="module")
def rows() -> dict[str, QualityWarningRow]:
    return {row.where: row for row in warnings_of(troubled()).rows}


@pytest.fixture(scope="module")
def page(found: Content) -> Page:
    return Page(render(troubled(), found))


def test_each_case_with_a_warning_is_listed_once(rows: dict[str, QualityWarningRow]) -> None:
    assert list(rows) == [
        "macvlan · synthetic.pingpong · 2 nodes",
        "overlay · synthetic.pingpong · 2 nodes",
        "macvlan · synthetic.pingpong · 4 nodes",
    ]
    assert {row.foms for row in rows.values()} == {"latency"}


def test_a_warm_up_is_reported_with_the_line_that_cures_it(rows: dict[str, QualityWarningRow]) -> None:
    row = rows["overlay · synthetic.pingpong · 2 nodes"]
    assert row.finding == f"block 1 stands apart from the rest: +200{NARROW}%"
    assert "“warmup: 1”" in row.cure


def test_a_study_that_has_a_warm_up_is_advised_to_take_more() -> None:
    campaign = troubled()
    campaign = msgspec.structs.replace(campaign, plan=msgspec.structs.replace(campaign.plan, warmup=2))
    assert any("“warmup: 3”" in row.cure for row in warnings_of(campaign).rows)


def test_a_drift_is_reported_with_its_rate(rows: dict[str, QualityWarningRow]) -> None:
    row = rows["macvlan · synthetic.pingpong · 2 nodes"]
    assert row.finding == f"drifts by +2.0{NARROW}% a block, over 10 blocks"
    assert "changes with time" in row.cure


def test_two_modes_are_reported_with_both_values_and_the_blocks(rows: dict[str, QualityWarningRow]) -> None:
    row = rows["macvlan · synthetic.pingpong · 4 nodes"]
    assert (
        row.finding
        == f"has two modes, at 78.7{NARROW}µs and 110{NARROW}µs: blocks 2, 5, 6 and 9 of 10 in one"
    )
    assert "placement of ranks" in row.cure


def test_a_mode_that_ends_the_series_is_a_change_with_a_block() -> None:
    campaign = slowed(
        three_networks(blocks=12), lambda case, b: 1.3 if is_case(case, "host", 2) and b >= 9 else 1.0
    )
    cures = [row.cure for row in warnings_of(campaign).rows if "modes" in row.finding]
    assert cures == ["Something changed with block 9: compare the environment and evidence before and after."]


def test_a_drift_of_all_cases_states_that_ratios_hold() -> None:
    [row] = warnings_of(slowed(three_networks(), lambda _, block: 1.03**block)).rows
    assert row.where == "All cases"
    told = f"get worse alike by 2.9{NARROW}% a block, or wander alike: 5 blocks cannot tell which"
    assert row.finding == told
    assert row.cure.startswith("Ratios are paired by block, so they hold")
    assert len(row.cases) == 6


def test_an_outlier_leads_to_its_run_and_is_no_warning_about_the_case() -> None:
    found = warnings_of(troubled())
    [odd] = found.odd_runs
    campaign = troubled()
    [case] = [case for case in campaign.plan.cases if is_case(case, "host", 4)]
    assert odd.folder == f"attempts/{case.id}/7.1"
    assert odd.finding == f"block 7 lies far off: +49{NARROW}% of the median"
    assert not [row for row in found.rows if case.id in row.cases]


def test_an_outlier_is_marked_in_the_chart_of_runs_and_in_its_table(found: Content) -> None:
    [figure] = [figure for figure in found.figures if figure.name == "blocks"]
    points = [point for panel in figure.panels for line in panel.lines for point in line.points]
    assert [(point.at, point.interval) for point in points if point.is_odd] == [("block 7", "far off")]
    assert any('"odd":true' in spec for spec in figure.specs)


def test_no_warning_is_one_sentence_that_states_what_was_tested() -> None:
    section = Page(page_of(three_networks(blocks=10))).one("trust").text
    assert section.split("\n")[2].strip() == (
        "6 series of runs tested for drift, warm-up, two modes and outliers, and 4 for runs that resemble "
        "the one before, corrected for looking at so many. Nothing stands out beyond chance."
    )
    assert "far off" not in section


@pytest.mark.parametrize(
    ("blocks", "sentence"),
    [
        (5, "A warm-up cannot be told with fewer than 10 blocks."),
        (4, "Not tested for drift, warm-up or outliers: that takes 5 blocks, and no value of zero or less."),
        (5, "Two modes cannot be told with fewer than 10 blocks."),
    ],
)
def test_too_few_blocks_are_reported_and_are_no_clean_bill(blocks: int, sentence: str) -> None:
    found = warnings_of(three_networks(blocks=blocks))
    assert sentence in found.tested
    assert found.is_clear == (blocks == 5)


def test_what_fewer_series_were_tested_for_is_counted_apart() -> None:
    """Two of three sides have ten blocks, and two have a ratio."""
    ends: list[float | None] = [*about(6.0, 7), None, None, None]
    whole = {side: {ELAPSED: about(level, 10)} for side, level in (("host", 5.0), ("overlay", 7.0))}
    found = warnings_of(make_planned({**whole, "macvlan": {ELAPSED: ends}}))
    kinds = "drift and outliers, and 2 for warm-up, two modes and runs that resemble the one before"
    assert found.tested == f"3 series of runs tested for {kinds}, corrected for looking at so many."


def test_of_imported_runs_no_change_in_time_is_reported() -> None:
    campaign = troubled()
    attempts = tuple(
        msgspec.structs.replace(one, source=Source("a.out", "0" * 64)) for one in campaign.attempts
    )
    found = warnings_of(msgspec.structs.replace(campaign, attempts=attempts))
    assert "In what order these runs were made is not known" in found.tested
    assert "drift" not in found.tested
    assert all("drifts" not in row.finding for row in found.rows)


def test_the_page_lists_warnings_links_to_runs_and_compares_noise(page: Page) -> None:
    section = page.one("trust").text
    assert "block 1 stands apart from the rest" in section
    assert "1 run far off the others of its case; all of them count" in section
    assert "Does it scatter less?" in section
    assert "scatters more" in section
    labels = {link.attributes["data-label"] for link in page.all("a", "evidence")}
    assert "overlay · synthetic.pingpong · 2 nodes" in labels


def test_a_scatter_that_a_warning_explains_reports_it(found: Content) -> None:
    notes = {
        (row.variant, row.configuration): row.note for row in part_of(found, ResultQuality).variabilities
    }
    assert notes["overlay", "synthetic.pingpong · 2 nodes"] == "overlay: warm-up"
    assert notes["macvlan", "synthetic.pingpong · 4 nodes"] == "host: outliers; macvlan: modes"


def test_noise_of_a_case_has_the_interval_of_its_mean_over_sizes(found: Content) -> None:
    wholes = [noise.whole for noise in part_of(found, ResultQuality).noises]
    assert len(wholes) == 6
    assert all("[" in whole and f"{NARROW}%" in whole for whole in wholes)


def test_without_a_reference_no_noises_are_compared() -> None:
    campaign = three_networks()
    alone = msgspec.structs.replace(campaign, plan=msgspec.structs.replace(campaign.plan, reference={}))
    assert variabilities(alone) == []
