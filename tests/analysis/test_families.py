"""Verdicts among all that is printed at once, and runs that are not paired."""

from __future__ import annotations

import msgspec
import pytest

from support.planned import ELAPSED, RATE, about, make_planned
from support.synthetic import SIZES, make_campaign, make_case
from tare.analysis.verdicts.compare import aggregates, comparisons, overview_of
from tare.analysis.verdicts.headline import headlines
from tare.analysis.verdicts.other_campaign import against
from tare.core.attempt import Source
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison, Correction
from tare.core.verdict import Verdict

DECIDED = (Verdict.WORSE, Verdict.BETTER)
SCALES = range(2, 14)


def many(*, ratio: float = 1.0, noise: float = 0.015, seed: int = 1) -> Campaign:
    """Return one contender at twelve scales, with two figures of merit each."""
    cases = [make_case(network, nodes=nodes) for network in ("host", "overlay") for nodes in SCALES]
    return make_campaign(cases, ratio=ratio, noise=noise, seed=seed)


def imported(campaign: Campaign, *, gives_block: bool, network: str | None = None) -> Campaign:
    """Return `campaign` as if its runs, or those on one network, had been imported."""
    chosen = {case.id for case in campaign.plan.cases if network in (None, case.network)}
    source = Source("/there", "0" * 64, gives_block)
    attempts = tuple(
        msgspec.structs.replace(one, source=source) if one.case in chosen else one
        for one in campaign.attempts
    )
    return msgspec.structs.replace(campaign, attempts=attempts)


def test_what_people_quote_is_one_family_and_the_table_of_points_another() -> None:
    campaign = many()
    assert {(one.family, one.correction) for one in aggregates(campaign)} == {(24, Correction.HOLM)}
    assert {(one.family, one.correction) for one in overview_of(aggregates(campaign))} == {
        (24, Correction.HOLM)
    }
    assert {(one.family, one.correction) for one in headlines(campaign)} == {(24, Correction.HOLM)}
    assert {(one.family, one.correction) for one in comparisons(campaign)} == {
        (24 * len(SIZES), Correction.FDR)
    }


def test_asking_for_one_figure_after_a_look_at_all_makes_it_no_surer() -> None:
    campaign = many(ratio=1.03)
    for answer in (aggregates, comparisons):
        found = answer(campaign, foms=("latency",))
        assert found == [one for one in answer(campaign) if one.fom == "latency"]


def one_near_the_margin_of_four() -> Comparison:
    """Return a time that is surely 1.4 % longer, and surely within the margin only if nothing else is asked.

    Three rates beside it have doubled.
    """
    near = [1.001, 0.998, 1.006, 0.994, 0.999, 1.007, 0.995]
    doubled = [msgspec.structs.replace(RATE, name=f"rate{i}") for i in range(3)]
    values = {
        network: {ELAPSED: values, **{fom: about(10.0 * times, 7) for fom in doubled}}
        for network, times, values in (
            ("host", 1.0, [10.0] * 7),
            ("overlay", 2.0, [10.14 * one for one in near]),
        )
    }
    (one,) = (row for row in aggregates(make_planned(values)) if row.fom == "elapsed")
    return one


def test_a_difference_whose_interval_lies_within_the_margin_says_why_it_is_not_equivalent() -> None:
    one = one_near_the_margin_of_four()
    assert one.high is not None
    assert one.high < 1.02
    assert one.verdict is Verdict.WORSE
    assert one.note == "within the margin alone, but not among 4 comparisons"


def test_a_mean_of_times_that_is_the_same_is_not_said_to_differ() -> None:
    cost = one_near_the_margin_of_four().mean_cost
    assert cost is not None
    assert not cost.is_notable


def test_figures_that_no_summary_shows_do_not_dilute_those_that_it_shows() -> None:
    campaign = many()
    foms = {
        name: (latency, msgspec.structs.replace(bandwidth, is_primary=False))
        for name, (latency, bandwidth) in campaign.plan.foms.items()
    }
    plan = msgspec.structs.replace(campaign.plan, foms=foms)
    found = aggregates(msgspec.structs.replace(campaign, plan=plan))
    assert [one.fom for one in found] == ["latency", "bandwidth"] * 12
    assert {(one.is_primary, one.family) for one in found} == {(True, 12), (False, 12)}


def claims_of_nothing(correction: Correction) -> int:
    """Return how many of 60 campaigns of equal sides find a difference."""
    found = (aggregates(many(seed=seed), correction=correction, foms=("latency",)) for seed in range(60))
    return sum(any(one.verdict in DECIDED for one in family) for family in found)


@pytest.mark.slow
def test_campaigns_of_equal_sides_seldom_find_a_difference() -> None:
    # 60 campaigns of 12 comparisons: about 3 at most are expected, and about 28 without correction
    assert claims_of_nothing(Correction.HOLM) <= 6
    assert claims_of_nothing(Correction.NONE) >= 18


def test_what_would_be_a_verdict_alone_is_marked_and_keeps_its_interval() -> None:
    together, alone = (
        aggregates(many(ratio=1.05), correction=one) for one in (Correction.HOLM, Correction.NONE)
    )
    changed = [
        (one, other) for one, other in zip(together, alone, strict=True) if one.verdict != other.verdict
    ]
    assert changed
    for one, other in changed:
        assert one.verdict is Verdict.UNDECIDED
        assert "a difference alone, but not among 24 comparisons" in one.note
        assert (one.ratio, one.low, one.high, one.p_value) == (
            other.ratio,
            other.low,
            other.high,
            other.p_value,
        )
        assert one.p_adjusted is not None
        assert one.p_adjusted > 0.05


def test_equivalence_too_is_harder_to_prove_many_times_over() -> None:
    together, alone = (
        aggregates(many(noise=0.008), correction=one) for one in (Correction.HOLM, Correction.NONE)
    )
    lost = [
        one
        for one, other in zip(together, alone, strict=True)
        if other.verdict is Verdict.EQUIVALENT and one.verdict is Verdict.UNDECIDED
    ]
    assert lost
    assert all("within the margin alone, but not among 24 comparisons" in one.note for one in lost)


def test_a_row_is_the_same_in_the_overview_and_in_the_table() -> None:
    campaign = many(ratio=1.05)
    table = {(one.contender_case, one.fom): one for one in aggregates(campaign)}
    assert all(one == table[one.contender_case, one.fom] for one in overview_of(aggregates(campaign)))


def test_a_comparison_names_what_it_could_have_found_and_what_would_decide_it() -> None:
    [one, *_] = aggregates(make_campaign(ratio=1.01, noise=0.02))
    assert one.verdict is Verdict.UNDECIDED
    assert one.detectable is not None
    assert 0.02 < one.detectable < 0.2
    assert one.more_blocks is not None
    [clear, *_] = aggregates(make_campaign(ratio=1.5))
    assert clear.more_blocks is None
    assert clear.hodges_lehmann is not None
    assert clear.hodges_lehmann.confidence == pytest.approx(0.9375)
    assert clear.hodges_lehmann.low <= clear.hodges_lehmann.ratio <= clear.hodges_lehmann.high


def test_so_many_more_blocks_do_decide_when_ratio_and_noise_stay() -> None:
    few = make_campaign(ratio=1.02, noise=0.02, blocks=5)
    one = aggregates(few, foms=("latency",))[0]
    assert one.verdict is Verdict.UNDECIDED
    assert one.more_blocks is not None
    n_copies = -(-(one.n_blocks + one.more_blocks) // 5)
    repeated = tuple(
        msgspec.structs.replace(attempt, block=attempt.block + 5 * copy)
        for copy in range(n_copies)
        for attempt in few.attempts
    )
    again = aggregates(msgspec.structs.replace(few, attempts=repeated), foms=("latency",))[0]
    assert again.ratio == pytest.approx(one.ratio)
    assert again.verdict in (*DECIDED, Verdict.EQUIVALENT)


def test_without_an_interval_all_that_rests_on_one_is_absent() -> None:
    for one in comparisons(make_campaign(blocks=2)):
        assert (one.p_value, one.p_adjusted, one.p_equivalence, one.p_equivalence_adjusted) == (None,) * 4
        assert (one.detectable, one.more_blocks, one.hodges_lehmann, one.family) == (None, None, None, 0)


def intervals(found: list[Comparison]) -> list[tuple[float | None, float | None, float | None]]:
    return [(one.ratio, one.low, one.high) for one in found]


def test_imported_runs_are_paired_where_their_files_record_the_block() -> None:
    campaign = make_campaign(drift=0.1)
    assert intervals(comparisons(imported(campaign, gives_block=True))) == intervals(comparisons(campaign))


@pytest.mark.parametrize("network", [None, "host", "overlay"])
def test_imported_runs_that_were_only_numbered_are_not_paired_and_note_it(network: str | None) -> None:
    campaign = make_campaign(drift=0.1)
    numbered = imported(campaign, gives_block=False, network=network)
    for paired, apart in zip(
        comparisons(campaign) + aggregates(campaign),
        comparisons(numbered) + aggregates(numbered),
        strict=True,
    ):
        assert apart.ratio == pytest.approx(paired.ratio)
        assert apart.low is not None
        assert paired.low is not None
        assert apart.low < paired.low  # drift, which pairing takes out, is all there
        assert apart.note.startswith("unpaired: nothing tells which runs")
        assert apart.hodges_lehmann is None
    assert all("unpaired" in one.note for one in headlines(numbered))


def test_what_was_run_here_stays_paired_beside_what_was_imported() -> None:
    cases = [make_case(network, nodes=nodes) for network in ("host", "overlay") for nodes in (2, 4)]
    campaign = make_campaign(cases)
    numbered = {case.id for case in cases if case.layout.nodes == 4}
    attempts = tuple(
        msgspec.structs.replace(one, source=Source("/there", "0" * 64)) if one.case in numbered else one
        for one in campaign.attempts
    )
    found = aggregates(msgspec.structs.replace(campaign, attempts=attempts))
    assert {(one.at["nodes"], "unpaired" in one.note) for one in found} == {(2, False), (4, True)}


def test_two_campaigns_of_different_lengths_are_held_against_each_other_unpaired() -> None:
    ours, theirs = make_campaign(blocks=4, ratio=1.5), make_campaign(blocks=7, seed=2)
    found = against(ours, theirs)
    assert {one.n_blocks for one in found} == {4}
    assert {one.note for one in found} == {"unpaired: runs of another time and place"}
    assert all(one.low is not None and one.p_value is not None for one in found)
