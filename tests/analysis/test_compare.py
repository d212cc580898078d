"""From campaigns with a known truth to comparisons."""

from __future__ import annotations

import math

import msgspec
import pytest

from support.synthetic import SIZES, make_attempt, make_campaign, make_case
from tare.analysis.estimate import estimates
from tare.analysis.verdicts.compare import aggregates, comparisons, overview_of
from tare.core.attempt import Series, State
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison
from tare.core.errors import UsageError
from tare.core.verdict import Verdict
from tare.core.workload import Better


def without(campaign: Campaign, network: str, blocks: range) -> Campaign:
    """Return `campaign` without the attempts of one network in some blocks."""
    gone = {case.id for case in campaign.plan.cases if case.network == network}
    kept = tuple(one for one in campaign.attempts if not (one.case in gone and one.block in blocks))
    return msgspec.structs.replace(campaign, attempts=kept)


def only(found: list[Comparison], fom: str, **at: int) -> Comparison:
    [one] = [one for one in found if one.fom == fom and at.items() <= one.at.items()]
    return one


def test_every_fom_and_size_of_a_contender_is_compared_with_the_true_value() -> None:
    found = comparisons(make_campaign(ratio=1.5, noise=0.001))
    assert len(found) == 2 * len(SIZES)
    for one in found:
        truth = 1.5 if one.fom == "latency" else 1 / 1.5
        assert one.ratio == pytest.approx(truth, rel=0.01)
        assert one.verdict is Verdict.WORSE
        assert one.n_blocks == 5
        assert one.is_primary
        assert one.note == ""


def test_a_comparison_names_what_differs_and_what_both_sides_share() -> None:
    cases = [make_case(network, nodes=nodes) for network in ("host", "overlay") for nodes in (2, 4)]
    one = only(comparisons(make_campaign(cases)), "latency", nodes=4, bytes=1024)
    assert one.reference == {"network": "host"}
    assert one.contender == {"network": "overlay"}
    assert one.at == {"workload": "synthetic.pingpong", "nodes": 4, "ranks": 4, "bytes": 1024}
    assert (one.reference_case, one.contender_case) == (cases[1].id, cases[3].id)


def test_a_coordinate_with_the_name_of_a_shared_setting_keeps_both() -> None:
    cases = [
        make_case(network, parameters={"bytes": limit}) for network in ("host", "overlay") for limit in (8, 9)
    ]
    found = comparisons(make_campaign(cases))
    assert {(one.at["bytes"], one.at["at_bytes"]) for one in found} == {(a, b) for a in (8, 9) for b in SIZES}


def test_drift_common_to_both_sides_does_not_hide_a_small_difference() -> None:
    campaign = make_campaign(ratio=1.05, noise=0.002, drift=0.2, blocks=8)
    assert {one.verdict for one in comparisons(campaign)} == {Verdict.WORSE}


def test_a_contender_like_its_reference_is_equivalent_only_within_the_margin() -> None:
    campaign = make_campaign(ratio=1.01, noise=0.001, margin=0.03)
    assert {one.verdict for one in comparisons(campaign)} == {Verdict.EQUIVALENT}
    assert {one.verdict for one in comparisons(campaign, margin=0.001)} == {Verdict.WORSE}


def test_two_blocks_give_a_ratio_without_a_verdict() -> None:
    for one in comparisons(make_campaign(ratio=3, blocks=2)):
        assert one.ratio is not None
        assert (one.low, one.high, one.verdict) == (None, None, Verdict.UNDECIDED)
        assert "3" in one.note


@pytest.mark.parametrize("network", ["host", "overlay"])
def test_a_cell_that_one_side_lacks_is_listed_without_a_ratio(network: str) -> None:
    found = comparisons(without(make_campaign(), network, range(1, 6)))
    assert len(found) == 2 * len(SIZES)
    for one in found:
        assert (one.ratio, one.n_blocks, one.verdict) == (None, 0, Verdict.UNDECIDED)
        assert one.note == f"not measured on both sides: {network} has none, since it has not been run"


def test_which_side_lacks_a_figure_is_reported_with_what_became_of_its_runs() -> None:
    whole = make_campaign()
    overlay = next(case.id for case in whole.plan.cases if case.network == "overlay")

    def told(state: State, *, keeps: str = "") -> set[str]:
        attempts = tuple(
            msgspec.structs.replace(
                one, state=state, series=tuple(each for each in one.series if each.fom == keeps)
            )
            if one.case == overlay
            else one
            for one in whole.attempts
        )
        found = msgspec.structs.replace(whole, attempts=attempts)
        return {one.note for one in aggregates(found) if one.ratio is None}

    start = "not measured on both sides: overlay has none, since "
    assert told(State.FAILED) == {f"{start}no run counts (5 failed)"}
    assert told(State.INVALID) == {f"{start}no run counts (5 invalid)"}
    assert told(State.DONE, keeps="latency") == {f"{start}no run has it"}


def test_sides_that_share_too_few_blocks_are_compared_unpaired_where_asked_and_marked() -> None:
    campaign = without(without(make_campaign(blocks=8), "host", range(1, 4)), "overlay", range(5, 9))
    for one in comparisons(campaign) + aggregates(campaign):
        assert (one.verdict, one.n_blocks, one.low) == (Verdict.UNDECIDED, 1, None)
        assert one.note.startswith("too few blocks with both sides")
    asked = msgspec.structs.replace(campaign, is_unpaired=True)
    for one in comparisons(asked) + aggregates(asked):
        assert one.verdict is Verdict.WORSE
        assert one.note.startswith("unpaired")


def test_failed_warm_up_and_superseded_attempts_are_not_measured() -> None:
    campaign = make_campaign(ratio=1.5)
    case = campaign.plan.cases[1]
    absurd = [1e6] * len(SIZES)
    extra = (
        make_attempt(case, 0, absurd),
        make_attempt(case, 2, absurd, state=State.INVALID),
        make_attempt(case, 6, absurd, state=State.FAILED),
    )
    superseded = make_attempt(case, 3, absurd)
    spoilt = msgspec.structs.replace(campaign, attempts=(superseded, *campaign.attempts, *extra))
    assert comparisons(spoilt) == comparisons(campaign)


def test_several_values_at_one_point_of_a_run_count_as_one() -> None:
    campaign = make_campaign(blocks=4)

    def doubled(series: Series) -> Series:
        return msgspec.structs.replace(
            series,
            at={"bytes": series.at["bytes"] * 2},
            values=[v * 0.5 for v in series.values] + [v * 1.5 for v in series.values],
        )

    twice = tuple(
        msgspec.structs.replace(one, series=[doubled(series) for series in one.series])
        for one in campaign.attempts
    )
    found = estimates(msgspec.structs.replace(campaign, attempts=twice))
    for one, other in zip(found, estimates(campaign), strict=True):
        assert one.n_blocks == other.n_blocks == 4
        assert one.value == pytest.approx(other.value)
        assert one.high == pytest.approx(other.high)


def test_sizes_that_come_in_another_order_in_each_block_are_still_distinguished() -> None:
    campaign = make_campaign(blocks=4)

    def turned(series: Series) -> Series:
        return msgspec.structs.replace(
            series, at={"bytes": series.at["bytes"][::-1]}, values=series.values[::-1]
        )

    attempts = tuple(
        msgspec.structs.replace(one, series=[turned(series) for series in one.series])
        if one.block % 2
        else one
        for one in campaign.attempts
    )
    found = comparisons(msgspec.structs.replace(campaign, attempts=attempts))
    expected = {(one.fom, one.at["bytes"]): one for one in comparisons(campaign)}
    assert {(one.fom, one.at["bytes"]): one for one in found} == expected


def test_another_reference_turns_the_comparison_round() -> None:
    campaign = make_campaign(ratio=2, noise=0)
    there, back = comparisons(campaign), comparisons(campaign, reference={"network": "overlay"})
    assert {one.verdict for one in back} == {Verdict.BETTER}
    for one, other in zip(there, back, strict=True):
        assert one.ratio is not None
        assert other.ratio == pytest.approx(1 / one.ratio)


@pytest.mark.parametrize(
    ("reference", "cure"),
    [
        ({"network": "hots"}, "network is one of host, overlay"),
        ({"colour": "red"}, "what varies is network"),
    ],
)
def test_a_reference_that_no_case_is_names_what_there_is(reference: dict[str, str], cure: str) -> None:
    with pytest.raises(UsageError, match=cure):
        comparisons(make_campaign(), reference=reference)


def test_a_campaign_that_has_measured_nothing_compares_nothing() -> None:
    campaign = msgspec.structs.replace(make_campaign(), attempts=())
    assert comparisons(campaign) == aggregates(campaign) == overview_of(aggregates(campaign)) == []


def test_an_aggregate_is_the_geometric_mean_over_sizes_by_block() -> None:
    campaign = make_campaign(blocks=3, noise=0.1)
    latency: dict[tuple[str, int], float] = {
        (one.case, one.block): math.prod(one.series[0].values) ** (1 / len(SIZES))
        for one in campaign.attempts
    }
    host, overlay = (case.id for case in campaign.plan.cases)
    logs = [math.log(latency[overlay, block] / latency[host, block]) for block in (1, 2, 3)]
    one = only(aggregates(campaign), "latency")
    assert one.ratio == pytest.approx(math.exp(sum(logs) / 3))
    assert one.n_blocks == 3
    assert one.at == {"workload": "synthetic.pingpong"}


def test_an_aggregate_does_not_mistake_many_sizes_for_much_evidence() -> None:
    few, many = (
        only(aggregates(make_campaign(sizes=range(1, n + 1), noise=0.1)), "latency") for n in (2, 200)
    )
    assert few.n_blocks == many.n_blocks == 5
    assert many.low is not None
    assert many.high is not None
    assert many.high / many.low > 1.1  # the scatter of whole runs, 10 %, does not average out over sizes


def test_a_size_that_was_seldom_measured_is_left_out_of_the_aggregate_and_counted() -> None:
    campaign = make_campaign(noise=0)
    extra = make_attempt(campaign.plan.cases[1], 1, [1e6, *(20 + size / 1000 for size in SIZES)], [7, *SIZES])
    spoilt = msgspec.structs.replace(campaign, attempts=(*campaign.attempts, extra))
    one = only(aggregates(spoilt), "latency")
    assert one.note.endswith(f"1 of {len(SIZES) + 1} points left out: only one side has them")
    reference = make_attempt(
        campaign.plan.cases[0], 1, [1, *(20 + size / 1000 for size in SIZES)], [7, *SIZES]
    )
    both = msgspec.structs.replace(spoilt, attempts=(*spoilt.attempts, reference))
    assert f"1 of {len(SIZES) + 1} points left out" in only(aggregates(both), "latency").note


def test_the_bandwidth_of_empty_messages_does_not_spoil_the_aggregate() -> None:
    one = only(aggregates(make_campaign(sizes=(0, *SIZES), noise=0.001)), "bandwidth")
    assert one.verdict is Verdict.WORSE
    assert one.note == ""


def test_the_overview_shows_the_first_primary_fom_of_each_contender_case() -> None:
    cases = [make_case(network, nodes=n) for network in ("host", "overlay", "macvlan") for n in (2, 4)]
    campaign = make_campaign(cases, ratio={"overlay": 1.5, "macvlan": 1.0}, noise=0.001)
    found = overview_of(aggregates(campaign))
    assert [(one.contender["network"], one.at["nodes"], one.fom) for one in found] == [
        ("overlay", 2, "latency"),
        ("overlay", 4, "latency"),
        ("macvlan", 2, "latency"),
        ("macvlan", 4, "latency"),
    ]
    assert [one.verdict for one in found] == [Verdict.WORSE] * 2 + [Verdict.EQUIVALENT] * 2


def test_the_overview_prefers_a_primary_fom_to_one_that_comes_first() -> None:
    campaign = make_campaign()
    plan = campaign.plan
    foms = {name: (msgspec.structs.replace(a, is_primary=False), b) for name, (a, b) in plan.foms.items()}
    campaign = msgspec.structs.replace(campaign, plan=msgspec.structs.replace(plan, foms=foms))
    assert [one.fom for one in overview_of(aggregates(campaign))] == ["bandwidth"]


def test_a_fom_without_a_direction_is_undecided_and_gives_the_reason() -> None:
    campaign = make_campaign(noise=0.001)
    attempts = tuple(
        msgspec.structs.replace(
            one, series=[msgspec.structs.replace(series, better=None) for series in one.series]
        )
        for one in campaign.attempts
    )
    one = comparisons(msgspec.structs.replace(campaign, attempts=attempts))[0]
    assert one.verdict is Verdict.UNDECIDED
    assert "direction" in one.note
    assert one.better is not Better.LOWER
