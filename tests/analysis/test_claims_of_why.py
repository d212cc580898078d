"""What *Why?* says is no more than its figures: of what was not waited for, not covered, or only measured."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from support.curves import Wire, curves_campaign, with_sizes
from support.profiled import BASE, Truth, profiled_campaign
from tare.analysis.causes.attribution import attributions
from tare.analysis.causes.uneven_computation import uneven
from tare.analysis.predictions.prediction import predictions
from tare.analysis.predictions.tolerance import tolerances
from tare.analysis.verdicts.compare import aggregates
from tare.core.bounds import Link
from tare.core.campaign import Campaign
from tare.core.prediction import Prediction
from tare.report.variants import Variants, lay_out
from tare.report.words.causes import cause_sentence
from tare.report.words.network_need import prediction_sentence, tolerance_sentence
from tare.terminal.output import plain

_CALLS = 10_000
_REST: Truth = {("computation", 0): 8.0, ("files", 0): 0.1}
_SLOW, _FAST = Wire(220e-6, 1e9), Wire(20e-6, 1e9)


def _campaign(folder: Path, truth: Truth, blocks: int = 5) -> Campaign:
    return profiled_campaign(folder, {**_REST, **truth}, {**_REST, **truth}, blocks=blocks)


def _words(text: str) -> str:
    """Return `text` with common blanks between its words and numbers."""
    return " ".join(text.split())


def _variants(campaign: Campaign) -> Variants:
    return lay_out(campaign, aggregates(campaign))


def _prediction(folder: Path, truth: Truth, own: Wire, other: Wire) -> Prediction:
    (found,) = predictions(_campaign(folder, truth), curves_campaign({"host": own, "overlay": other}))
    return found


def test_a_faster_network_saves_no_more_than_blocking_receives_took(tmp_path: Path) -> None:
    """The messages had come before they were asked for: 2.2 s by the curves, 0.05 s in the profile."""
    found = _prediction(tmp_path, {("MPI_Recv", 8): 0.05}, _SLOW, _FAST)
    assert found.difference_s is not None
    assert -0.06 < found.difference_s.value <= 0


def test_a_slower_network_may_cost_little_where_little_was_waited_for(tmp_path: Path) -> None:
    found = _prediction(tmp_path / "little", {("MPI_Recv", 8): 0.05}, _FAST, _SLOW)
    assert found.ratio is not None
    assert found.ratio.low is not None
    assert found.ratio.low < 1.08 < 1.2 < found.ratio.value
    found = _prediction(tmp_path / "all", {("MPI_Recv", 8): 0.2}, _FAST, _SLOW)
    assert found.ratio is not None
    assert found.ratio.low is not None
    assert found.ratio.low > 1.15


def test_a_prediction_that_leaves_calls_out_says_how_much_and_is_not_contradicted(tmp_path: Path) -> None:
    truth = {("MPI_Allreduce", 8): 0.4, ("MPI_Neighbor_alltoall", 4096): 3.0}
    found = _prediction(tmp_path, truth, _FAST, _SLOW)
    assert found.measured_ratio is not None
    assert found.is_inside is None
    text = plain(prediction_sentence(found))
    assert text.startswith("at 2 nodes synthetic.program on overlay is predicted")
    assert text.endswith(
        "no curve covers MPI_Neighbor_alltoall, in which it spent 26 % of its time on host: what "
        "that costs is not predicted"
    )
    assert "contradict" not in text


def test_what_is_faster_takes_less_time(tmp_path: Path) -> None:
    text = plain(prediction_sentence(_prediction(tmp_path, {("MPI_Recv", 8): 2.2}, _SLOW, _FAST)))
    assert "less time than on host" in text
    assert "shorter" not in text


def test_a_rate_that_a_curve_never_reached_is_no_bandwidth(tmp_path: Path) -> None:
    campaign = _campaign(tmp_path, {("MPI_Recv", 1 << 16): 0.8})
    link = Link(interface="eth1", rate_bits_per_s=25e9)
    plan = msgspec.structs.replace(campaign.plan, links={"host": link, "overlay": link})
    wires = {"host": Wire(20e-6, 2.8e9), "overlay": Wire(21e-6, 2e8)}
    (found,) = tolerances(msgspec.structs.replace(campaign, plan=plan), curves_campaign(wires))
    (overlay,) = [one for one in found.networks if one.network == "overlay"]
    assert overlay.bytes_per_s == pytest.approx(2e8, rel=0.1)
    assert "good enough" not in plain(tolerance_sentence(found)).replace("not good enough", "")


def test_a_network_is_not_good_enough_by_the_rate_of_its_link_alone(tmp_path: Path) -> None:
    campaign = _campaign(tmp_path, {("MPI_Recv", 1 << 10): 0.8})
    link = Link(interface="eth1", rate_bits_per_s=25e9)
    plan = msgspec.structs.replace(campaign.plan, links={"host": link, "overlay": link})
    wires = {"host": Wire(20e-6, 2.8e9), "overlay": Wire(20.1e-6, 2.8e9)}
    curves = curves_campaign(wires)
    for known, is_good in ((curves, True), (with_sizes(curves, 0, 1024), False)):
        (found,) = tolerances(msgspec.structs.replace(campaign, plan=plan), known)
        text = plain(tolerance_sentence(found)).replace("not good enough", "")
        assert ("good enough" in text) is is_good


def test_messages_that_were_not_waited_for_are_not_surely_paid(tmp_path: Path) -> None:
    """Ten thousand receives in the time of two thousand latencies: most had come with others."""
    far = Wire(_FAST.latency_s + 100e-6, 1e9)
    for name, seconds, verdict in (("some", 0.04, "undecided"), ("all", 0.2, "not good enough")):
        measured = _campaign(tmp_path / name, {("MPI_Recv", 8): seconds})
        campaign = msgspec.structs.replace(
            measured,
            attempts=tuple(
                one for one in measured.attempts if measured.plan.is_reference(measured.cases[one.case])
            ),
        )
        (found,) = tolerances(campaign, curves_campaign({"host": _FAST, "far": far}))
        assert plain(tolerance_sentence(found)).endswith(f"is {verdict}"), name


def test_less_latency_makes_up_for_no_bandwidth(tmp_path: Path) -> None:
    campaign = _campaign(tmp_path, {("MPI_Recv", 1 << 16): 0.8})
    wires = {"host": Wire(60e-6, 1e9), "overlay": Wire(10e-6, 3e8)}
    (found,) = tolerances(campaign, curves_campaign(wires))
    (overlay,) = found.networks
    assert overlay.slowdown.high is not None
    assert overlay.slowdown.high > 0.1


def test_bytes_that_pass_while_ranks_compute_need_as_little_as_a_link_that_is_always_busy(
    tmp_path: Path,
) -> None:
    campaign = _campaign(tmp_path, {("MPI_Recv", 1 << 16): 0.8})
    (found,) = tolerances(campaign, curves_campaign({"host": _FAST, "overlay": _SLOW}))
    limit = next(one.bandwidth for one in found.limits if one.share == pytest.approx(0.05))
    assert limit is not None
    assert limit.low == pytest.approx(found.n_bytes / found.wall_s / 1.05, rel=0.05)
    assert "or by its bytes a bandwidth down to " in plain(tolerance_sentence(found))


def test_a_network_that_was_only_measured_to_be_slower_is_not_judged_by_its_latency(tmp_path: Path) -> None:
    truth = {**_REST, ("MPI_Allreduce", 8): 0.4}
    campaign = profiled_campaign(tmp_path, truth, {**truth, ("computation", 0): 8.8})
    (found,) = tolerances(campaign, curves_campaign({"host": _FAST, "overlay": Wire(20.1e-6, 1e9)}))
    text = plain(tolerance_sentence(found))
    assert "together" not in text
    assert "; as measured, overlay (" in text


def test_a_rank_that_got_faster_is_not_called_slower() -> None:
    random = np.random.default_rng(1)
    reference = np.full((6, 4), 10.0) + random.normal(0, 0.01, (6, 4))
    contender = np.array([[5.0, 5.0, 5.0, 8.0]] * 6) + random.normal(0, 0.01, (6, 4))
    assert uneven(reference, contender)[1] == ()


def test_blocks_that_resemble_each_other_decide_nothing(tmp_path: Path) -> None:
    """Eight blocks, of which each is slower than the one before: how many of them count is not known."""
    campaign = profiled_campaign(tmp_path, BASE, BASE, blocks=8, noise=1e-4)
    for one in campaign.attempts:
        path = tmp_path / one.folder / "profile.json"
        if not path.exists() or campaign.plan.is_reference(campaign.cases[one.case]):
            continue
        made = msgspec.json.decode(path.read_bytes())
        more = 0.2 * (one.block - 0.9) * float(np.mean(made["wall_s"])) / 8
        for key in ("computation_s", "wall_s"):
            made[key] = [seconds + more for seconds in made[key]]
        path.write_bytes(msgspec.json.encode(made))
    (found,) = attributions(campaign)
    assert found.ratio is not None
    assert found.ratio.low is not None
    assert found.ratio.low > 1, "by the plain interval it differs"
    assert not found.is_decided
    assert "blocks resemble the one before" in found.note


def test_no_part_of_a_size_that_counts_is_certain_is_not_that_none_is(tmp_path: Path) -> None:
    (found,) = attributions(profiled_campaign(tmp_path, BASE, {**BASE, ("computation", 0): 12.0}))
    small = tuple(
        msgspec.structs.replace(one, share=msgspec.structs.replace(one.share, value=0.04))
        for one in found.causes
    )
    campaign = profiled_campaign(tmp_path / "again", BASE, BASE)
    text = _words(cause_sentence(msgspec.structs.replace(found, causes=small), _variants(campaign)))
    assert text.endswith("no part of 5 % or more of that is certain")


def test_less_time_that_is_not_explained_makes_up_for_a_part(tmp_path: Path) -> None:
    more = {**BASE, ("computation", 0): 11.0}
    campaign = profiled_campaign(tmp_path, BASE, more)
    (found,) = attributions(campaign)
    rest = found.unexplained
    assert rest is not None
    share = msgspec.structs.replace(rest.share, value=-0.4, low=-0.5, high=-0.3)
    causes = tuple(msgspec.structs.replace(one, share=share) if one == rest else one for one in found.causes)
    text = _words(cause_sentence(msgspec.structs.replace(found, causes=causes), _variants(campaign)))
    assert "less time that the profile does not explain makes up for 40 % [30, 50]" in text
    assert "−40" not in text
