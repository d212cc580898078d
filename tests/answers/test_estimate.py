"""Where cases lie, and when they are known well enough."""

from __future__ import annotations

import math

import msgspec
import pytest

from support.synthetic import SIZES, make_attempt, make_campaign, make_case
from tare.answers.estimate import estimates
from tare.answers.precision import is_precise_enough
from tare.model.attempt import Attempt, Series


def test_every_case_fom_and_size_has_an_estimate_near_its_truth() -> None:
    campaign = make_campaign(ratio=1.5, noise=0.001)
    found = estimates(campaign)
    assert len(found) == 2 * 2 * len(SIZES)
    for one in found:
        size = one.at["bytes"]
        assert isinstance(size, int)
        latency = (20 + size / 1000) * (1.5 if one.case == campaign.plan.cases[1].id else 1)
        assert one.value == pytest.approx(latency if one.fom == "latency" else size / latency, rel=0.01)
        assert one.low is not None
        assert one.high is not None
        assert one.minimum <= one.low * 1.01 <= one.value * 1.01 <= one.high * 1.01
        assert one.n_blocks == 5


def test_two_blocks_have_a_value_and_no_interval() -> None:
    one = estimates(make_campaign(blocks=2))[0]
    assert (one.n_blocks, one.low, one.high) == (2, None, None)
    assert one.cv is not None


def test_an_arithmetic_mean_says_that_it_is_one() -> None:
    found = estimates(make_campaign(sizes=(0, 1)))
    notes = {(one.fom, one.at["bytes"]): one.note for one in found}
    assert notes["latency", 0] == ""
    assert notes["bandwidth", 0].startswith("arithmetic mean")


def test_cases_that_were_never_measured_have_no_estimate() -> None:
    campaign = make_campaign()
    kept = tuple(one for one in campaign.attempts if one.case == campaign.plan.cases[0].id)
    found = estimates(msgspec.structs.replace(campaign, attempts=kept))
    assert {one.case for one in found} == {campaign.plan.cases[0].id}


CASE = make_case()


def runs(*factors: float) -> list[Attempt]:
    """Return one attempt a block, each as many times slower than 20 µs at every size."""
    return [make_attempt(CASE, block, [20 * factor] * len(SIZES)) for block, factor in enumerate(factors, 1)]


def test_a_case_is_precise_when_half_its_interval_is_within_the_limit() -> None:
    # logs −h, 0, h: half width t(2) h/√3 = 2.484 h on the log scale, sinh of that as a share
    attempts = runs(math.exp(-0.01), 1, math.exp(0.01))
    exact = math.sinh(4.302652729911275 * 0.01 / math.sqrt(3))
    assert is_precise_enough(attempts, exact * 1.0001)
    assert not is_precise_enough(attempts, exact * 0.9999)


def test_fewer_than_three_blocks_are_never_precise() -> None:
    assert not is_precise_enough(runs(1, 1), 0.5)
    assert not is_precise_enough([], 0.5)
    assert is_precise_enough(runs(1, 1, 1), 0.5)


def test_only_primary_foms_decide() -> None:
    noisy = [
        msgspec.structs.replace(one, series=[*one.series, Series(fom="jitter", unit="us", values=[value])])
        for one, value in zip(runs(1, 1.001, 0.999), (1.0, 5.0, 25.0), strict=True)
    ]
    assert is_precise_enough(noisy, 0.02, primary={"latency", "bandwidth"})
    assert not is_precise_enough(noisy, 0.02, primary={"latency", "jitter"})
    assert not is_precise_enough(noisy, 0.02)


def test_noise_of_single_sizes_averages_out_over_sizes() -> None:
    opposed = [
        make_attempt(CASE, block, [20 * factor, 20 / factor], SIZES[:2])
        for block, factor in enumerate((1, 2, 4), 1)
    ]
    assert is_precise_enough(opposed, 1e-6)


def test_higher_confidence_asks_for_more() -> None:
    attempts = runs(0.99, 1, 1.01)
    assert is_precise_enough(attempts, 0.03, 0.95)
    assert not is_precise_enough(attempts, 0.03, 0.99)
