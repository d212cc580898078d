"""What an A/A campaign tells: alarms where there is nothing, and how small an effect would be found."""

from __future__ import annotations

import itertools

import msgspec
import numpy as np
import pytest

from support.synthetic import make_campaign, make_case
from tare.analysis.trust.calibration import Calibration, calibration
from tare.core.campaign import Campaign
from tare.core.errors import UsageError
from tare.stats.relabelling import relabellings

WORKLOADS = [f"synthetic.w{number}" for number in range(6)]


def twins(
    *, blocks: int = 5, noise: float = 0.02, seed: int = 1, bias: float = 1.0, workloads: int = 6
) -> Campaign:
    """Return an A/A campaign of some ping-pongs; a `bias` slows every second twin."""
    cases = [
        msgspec.structs.replace(case, id=f"{case.id}{twin}", twin=twin)
        for twin in ("a", "b")
        for case in (make_case("host", workload=name) for name in WORKLOADS[:workloads])
    ]
    return make_campaign(cases, reference={"twin": "a"}, ratio=bias, noise=noise, blocks=blocks, seed=seed)


def calibrated(seed: int) -> Calibration:
    return calibration(twins(seed=seed, blocks=6))


@pytest.mark.slow
def test_nothing_gives_few_alarms_and_intervals_are_wrong_as_often_as_they_promise() -> None:
    found = [calibrated(seed) for seed in range(1, 9)]
    assert all(one.n_comparisons == 6 * 2 * 4 for one in found)
    interval_rate = float(np.mean([one.interval_rate for one in found]))
    assert 0.04 <= interval_rate <= 0.06
    assert float(np.mean([one.alarm_rate for one in found])) <= 0.02
    assert float(np.mean([one.campaign_rate for one in found])) <= 0.10, "5 % for each campaign as a whole"
    assert sum(one.false_alarms for one in found) <= 0.02 * sum(one.n_comparisons for one in found)


def test_a_copy_that_is_slower_raises_alarms_whatever_the_labels() -> None:
    found = calibration(twins(bias=1.3))
    assert found.false_alarms == found.n_comparisons
    assert {row.false_alarms for row in found.rows} == {4}
    assert found.alarm_rate is not None
    assert found.alarm_rate < 0.2, "with labels swapped the bias is noise like any other"


def test_the_smallest_effect_that_is_seen_grows_with_the_noise() -> None:
    def smallest(noise: float) -> float:
        rows = calibration(twins(noise=noise)).rows
        return float(np.median([row.detectable or 0 for row in rows]))

    assert 3 < smallest(0.04) / smallest(0.01) < 5.5
    assert 0.01 < smallest(0.01) < 0.1


def test_there_is_a_row_for_each_case_and_figure_of_merit() -> None:
    rows = calibration(twins(workloads=2)).rows
    assert [(row.at["workload"], row.fom) for row in rows] == list(
        itertools.product(WORKLOADS[:2], ("latency", "bandwidth"))
    )
    assert {(row.n_comparisons, row.n_blocks) for row in rows} == {(4, 5)}


def test_the_answer_is_the_same_each_time() -> None:
    assert calibrated(3) == calibrated(3)


def test_too_few_blocks_have_nothing_to_report() -> None:
    found = calibration(twins(blocks=2))
    assert (found.rows, found.n_comparisons, found.alarm_rate, found.campaign_rate) == ((), 0, None, None)


def test_another_campaign_is_refused_with_the_cure() -> None:
    with pytest.raises(UsageError, match="tare calibrate"):
        calibration(make_campaign())


def test_a_single_pair_has_every_relabelling_once() -> None:
    random = np.random.default_rng(1)
    signs = [tuple(one[:, 0].tolist()) for one in relabellings(4, 1, random, 256)]
    assert len(signs) == len(set(signs)) == 8
    assert {one[0] for one in signs} == {1.0}


def test_pairs_are_relabelled_each_by_itself() -> None:
    drawn = list(relabellings(5, 2, np.random.default_rng(1), 100))
    assert len(drawn) == 100
    assert {one.shape for one in drawn} == {(5, 2)}
    assert 20 <= sum((one[:, 0] == one[:, 1]).sum() / 5 for one in drawn) <= 80
