"""The report says how near the figures come to what the hardware can give, and draws the bound."""

from __future__ import annotations

import re

import msgspec

from analysis.test_bounds import limited
from report.studies import words_of
from tare.analysis.estimate import estimate_rows, estimates
from tare.analysis.verdicts.compare import comparisons
from tare.core.workload import Better
from tare.report.charts.panels import measured_panels
from tare.report.variants import lay_out
from tare.report.words.bounds import bound_rows, with_bounds


def rows(rate: float) -> list[str]:
    campaign = limited(rate=rate)
    variants = lay_out(campaign, comparisons(campaign))
    return [
        one.sentence.replace("\u202f", " ").replace("\xa0", " ")
        for one in bound_rows(estimate_rows(campaign), campaign, variants)
    ]


def test_a_sentence_reports_the_share_of_the_link_with_its_interval() -> None:
    (sentence,) = rows(10e9)  # 1 MiB in 20 + 1049 µs is some 981 MB/s, 78 % of 1250
    assert re.fullmatch(
        r"host reaches 7[789] % \[7\d, \d\d\] of the link's 10 Gbit/s in .*, bandwidth at 1 MiB", sentence
    ), sentence


def test_a_figure_above_its_bound_states_that_one_of_them_is_wrong() -> None:
    (sentence,) = rows(1e9)
    assert sentence.endswith("so the bound or the figure is wrong")


def test_a_bound_within_reach_is_drawn_in_the_chart_and_one_far_away_is_not() -> None:
    for rate, is_drawn in ((10e9, True), (400e9, False)):
        campaign = limited(rate=rate)
        plan = msgspec.structs.replace(
            campaign.plan, links=dict.fromkeys(("host", "overlay"), campaign.plan.links["host"])
        )
        campaign = msgspec.structs.replace(campaign, plan=plan)
        variants = lay_out(campaign, comparisons(campaign))
        (panel,) = measured_panels(estimates(campaign), campaign, variants, Better.HIGHER)
        assert (panel.guide is not None) is is_drawn
        if panel.guide:
            assert {y for _, y in panel.guide.ends} == {1250.0}


def test_the_answer_states_beside_it_how_near_the_contender_comes() -> None:
    campaign = limited(rate=10e9)
    plan = msgspec.structs.replace(
        campaign.plan, links=dict.fromkeys(("host", "overlay"), campaign.plan.links["host"])
    )
    campaign = msgspec.structs.replace(campaign, plan=plan)
    variants = lay_out(campaign, comparisons(campaign))
    found = bound_rows(estimate_rows(campaign), campaign, variants)
    (answer,) = (with_bounds(one, found) for one in words_of(campaign))
    (told,) = (one for one in found if one.variant == answer.variant)
    assert answer.beside.endswith(f"At best {told.sentence}.")
    assert "of the link's 10" in answer.beside
