"""Where a difference comes from, in campaigns whose truth is known."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from support.profiled import BASE, Component, profiled_campaign, with_more
from support.synthetic import make_case
from tare.analysis.causes.attribution import attributions
from tare.core.attempt import State
from tare.core.attribution import Attribution, CauseKind

_WHERE: list[tuple[Component, CauseKind, str]] = [
    (("computation", 0), CauseKind.COMPUTATION, ""),
    (("MPI_Allreduce", 8), CauseKind.FUNCTION, "MPI_Allreduce"),
    (("MPI_Isend", 1 << 20), CauseKind.FUNCTION, "MPI_Isend"),
    (("files", 0), CauseKind.FILES, "write on ext4"),
]


def _only(folder: Path, **options: object) -> Attribution:
    (found,) = attributions(profiled_campaign(folder, BASE, **options))  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize(("component", "kind", "name"), _WHERE)
def test_the_right_cause_gets_at_least_90_percent_and_no_other_more_than_5(
    tmp_path: Path, component: Component, kind: CauseKind, name: str
) -> None:
    found = _only(tmp_path, contender=with_more(BASE, component, 4.0), blocks=8)
    first, *others = found.causes
    assert found.is_decided
    assert (first.kind, first.name) == (kind, name)
    assert first.share.value >= 0.9
    assert all(abs(one.share.value) <= 0.05 for one in others)


def test_a_slow_rank_and_the_waiting_for_it_are_one_cause(tmp_path: Path) -> None:
    found = _only(tmp_path, contender=BASE, slow_rank_s=4.0, blocks=8)
    first, *others = found.causes
    assert (first.kind, first.rank) == (CauseKind.WAITING, 3)
    assert first.share.value >= 0.9
    assert all(abs(one.share.value) <= 0.05 for one in others)


def test_what_the_profile_does_not_cover_is_unexplained(tmp_path: Path) -> None:
    found = _only(tmp_path, contender=BASE, uncovered_s=4.0, blocks=8)
    assert found.causes[0].kind is CauseKind.UNEXPLAINED
    assert found.causes[0].share.value >= 0.9


def test_neighbouring_sizes_of_a_function_are_one_cause(tmp_path: Path) -> None:
    slower = with_more(with_more(BASE, ("MPI_Alltoall", 2048), 2.0), ("MPI_Alltoall", 4096), 2.0)
    first = _only(tmp_path, contender=slower).causes[0]
    assert (first.name, first.least_bytes, first.most_bytes) == ("MPI_Alltoall", 1025, 4096)
    assert first.reference_call_s == pytest.approx(50e-6, rel=0.02)
    assert first.contender_call_s == pytest.approx(250e-6, rel=0.02)


def test_the_parts_sum_to_the_difference_and_the_shares_to_one(tmp_path: Path) -> None:
    found = _only(tmp_path, contender=with_more(BASE, ("computation", 0), 2.0), uncovered_s=0.3)
    for parts in (found.parts, found.causes):
        assert found.difference_s is not None
        assert sum(one.difference_s.value for one in parts) == pytest.approx(found.difference_s.value)
        assert sum(one.share.value for one in parts) == pytest.approx(1)


@pytest.mark.slow
def test_where_nothing_differs_few_campaigns_attribute_anything(tmp_path: Path) -> None:
    n_decided = sum(
        _only(tmp_path / str(seed), contender=BASE, seed=seed, blocks=5).is_decided for seed in range(100)
    )
    assert n_decided <= 11  # 5 %: more than 11 of 100 happen in less than 1 % of cases


@pytest.mark.slow
def test_intervals_of_shares_hold_the_truth_as_often_as_they_say(tmp_path: Path) -> None:
    slower = with_more(with_more(BASE, ("MPI_Allreduce", 8), 1.0), ("computation", 0), 1.0)
    truth = {"": 0.5, "MPI_Allreduce": 0.5}
    n_held = n_asked = 0
    for seed in range(100):
        campaign = profiled_campaign(tmp_path / str(seed), BASE, slower, seed=seed, blocks=5)
        (found,) = attributions(campaign, 0.90)
        for one in found.causes:
            if one.kind in {CauseKind.COMPUTATION, CauseKind.FUNCTION} and one.name in truth:
                assert one.share.low is not None
                assert one.share.high is not None
                n_asked += 1
                n_held += one.share.low <= truth[one.name] <= one.share.high
    assert n_asked == 200
    assert abs(n_held / n_asked - 0.9) <= 3 * np.sqrt(
        0.9 * 0.1 / 100
    )  # two of a campaign are not independent


def test_too_few_profiles_are_no_attribution_and_say_why(tmp_path: Path) -> None:
    campaign = profiled_campaign(tmp_path, BASE, with_more(BASE, ("computation", 0), 4.0), blocks=3)
    first = next(one for one in campaign.attempts if one.is_profiled)
    (tmp_path / first.folder / "profile.json").write_text("{")
    (found,) = attributions(campaign)
    assert not found.parts
    assert "2 blocks have a profile of both sides" in found.refusal
    assert "no profile, because profile.json is damaged" in found.refusal


def test_runs_without_a_profile_beside_say_what_profiling_costs(tmp_path: Path) -> None:
    found = _only(tmp_path, contender=with_more(BASE, ("computation", 0), 4.0))
    assert found.cost is not None
    assert 1 < found.cost.value < 1.01
    assert found.elapsed_s is not None
    assert found.elapsed_s.value == pytest.approx(4.0, abs=0.3)


def test_a_rank_whose_delay_is_nothing_of_the_difference_is_not_named(tmp_path: Path) -> None:
    slower = with_more(BASE, ("MPI_Alltoall", 4096), 10.0)
    found = _only(tmp_path, contender=slower, slow_rank_s=0.5, blocks=8, noise=0.001)
    assert found.causes[0].name == "MPI_Alltoall"
    assert all(one.rank is None for one in found.causes)


def test_sizes_that_are_in_no_range_are_others(tmp_path: Path) -> None:
    base = {**BASE, ("MPI_Alltoall", 64): 0.1, ("MPI_Alltoall", 1 << 20): 0.1}
    slower = with_more(base, ("MPI_Alltoall", 4096), 4.0)
    (found,) = attributions(profiled_campaign(tmp_path, base, slower))
    sizes = [(one.least_bytes, one.most_bytes) for one in found.causes if one.name == "MPI_Alltoall"]
    assert sizes == [(2049, 4096), (None, None)]


def test_sends_and_receives_of_the_same_messages_are_one_cause(tmp_path: Path) -> None:
    base = {
        ("computation", 0): 4.0,
        ("MPI_Send", 1 << 20): 1.0,
        ("MPI_Recv", 1 << 20): 1.0,
        ("files", 0): 0.1,
    }
    slower = {**base, ("MPI_Send", 1 << 20): 3.0, ("MPI_Recv", 1 << 20): 3.0}
    (found,) = attributions(profiled_campaign(tmp_path, base, slower))
    first = found.causes[0]
    assert first.name == "MPI_Recv and MPI_Send"
    assert first.share.value >= 0.9
    assert first.most_bytes == 1 << 20
    assert {one.name for one in found.parts} >= {"MPI_Recv", "MPI_Send"}


def test_too_few_profiles_of_a_pair_are_not_explained_by_runs_of_another_case(tmp_path: Path) -> None:
    cases = [make_case(one, workload="synthetic.program") for one in ("host", "overlay", "macvlan")]
    campaign = profiled_campaign(tmp_path, BASE, BASE, blocks=3, cases=cases)
    overlay, macvlan = cases[1:]
    of_overlay = [one for one in campaign.attempts if one.is_profiled and one.case == overlay.id]
    for one in of_overlay:
        (tmp_path / one.folder / "profile.json").unlink()
    others = tuple(
        one
        for one in campaign.attempts
        if not (one.is_profiled and one.case == macvlan.id and one.block == 1)
    )
    campaign = msgspec.structs.replace(campaign, attempts=others)
    refusals = {one.contender_case: one.refusal for one in attributions(campaign)}
    assert "the run left no profile.json" in refusals[overlay.id]
    assert refusals[macvlan.id] == "2 blocks have a profile of both sides; 3 or more are needed"


def test_runs_that_failed_are_why_a_pair_has_no_profile(tmp_path: Path) -> None:
    campaign = profiled_campaign(tmp_path, BASE, BASE, blocks=3)
    failed = tuple(
        msgspec.structs.replace(one, state=State.FAILED, reason="mpicc is missing")
        if one.is_profiled
        else one
        for one in campaign.attempts
    )
    (found,) = attributions(msgspec.structs.replace(campaign, attempts=failed))
    assert found.refusal.startswith("0 blocks have a profile of both sides")
    assert found.refusal.endswith("mpicc is missing")


def test_a_run_that_failed_before_it_was_repeated_is_no_reason(tmp_path: Path) -> None:
    campaign = profiled_campaign(tmp_path, BASE, BASE, blocks=2)
    first = [
        msgspec.structs.replace(one, attempt=1, state=State.FAILED, reason="a node went away")
        for one in campaign.attempts
        if one.is_profiled
    ]
    found = attributions(msgspec.structs.replace(campaign, attempts=(*first, *campaign.attempts)))
    assert [one.refusal for one in found] == ["2 blocks have a profile of both sides; 3 or more are needed"]


def test_a_rank_that_is_slower_is_not_named_where_there_is_less_waiting(tmp_path: Path) -> None:
    """The reference waited for another reason, and that is what changed."""
    campaign = profiled_campaign(tmp_path, BASE, BASE, slow_rank_s=0.5, blocks=8, noise=0.001)
    for one in campaign.attempts:
        if one.is_profiled and campaign.plan.is_reference(campaign.cases[one.case]):
            path = tmp_path / one.folder / "profile.json"
            found = msgspec.json.decode(path.read_bytes())
            for row in found["functions"]:
                if row["function"] == "MPI_Allreduce":
                    row["waiting_s"] = [3.0 + waited for waited in row["waiting_s"]]
                    row["seconds"] = [3.0 + spent for spent in row["seconds"]]
            found["wall_s"] = [3.0 + wall for wall in found["wall_s"]]
            path.write_bytes(msgspec.json.encode(found))
    (attribution,) = attributions(campaign)
    assert attribution.difference_s is not None
    assert attribution.difference_s.value < -2
    assert attribution.causes[0].kind is CauseKind.WAITING
    assert attribution.causes[0].rank is None


@pytest.mark.parametrize(("function", "is_said"), [("MPI_Testall", False), ("MPI_Bcast", True)])
def test_polls_are_no_other_work(tmp_path: Path, function: str, is_said: bool) -> None:
    """A rank that waits longer on the contender polls more often."""
    campaign = profiled_campaign(tmp_path, BASE, with_more(BASE, ("MPI_Isend", 1 << 20), 4.0))
    for one in campaign.attempts:
        if one.is_profiled:
            path = tmp_path / one.folder / "profile.json"
            found = msgspec.json.decode(path.read_bytes())
            n_calls = 1000 if campaign.plan.is_reference(campaign.cases[one.case]) else 900_000
            row = {**found["functions"][0], "function": function, "calls": [n_calls] * 4}
            row |= {name: [0] * 4 for name in ("bytes", "seconds", "transfer_s", "waiting_s")}
            found["functions"].append(row)
            path.write_bytes(msgspec.json.encode(found))
    (attribution,) = attributions(campaign)
    assert ("MPI calls" in attribution.note) is is_said


@pytest.mark.parametrize(
    ("seconds", "ended", "is_decided"), [(4.0, 1, True), (-4.0, 1, False), (4.0, 0, False)]
)
def test_survivors_of_a_time_out_have_no_part_that_favours_them(
    tmp_path: Path, seconds: float, ended: int, is_decided: bool
) -> None:
    slower = with_more(BASE, ("computation", 0), seconds)
    found = profiled_campaign(tmp_path, BASE, slower, blocks=8)
    assert attributions(found)[0].is_decided
    case = found.plan.cases[ended].id
    attempts = tuple(
        msgspec.structs.replace(one, state=State.FAILED, check="timeout", series=[])
        if one.case == case and one.is_profiled and one.block in (2, 5)
        else one
        for one in found.attempts
    )
    (one,) = attributions(msgspec.structs.replace(found, attempts=attempts))
    assert one.is_decided is is_decided
    assert "2 runs of the " in one.note
    assert "ended at their time-out and do not count" in one.note
