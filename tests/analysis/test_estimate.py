"""Where cases lie."""

from __future__ import annotations

import msgspec
import pytest

from support.synthetic import SIZES, make_campaign
from tare.analysis.estimate import estimates


def test_every_case_fom_and_size_has_an_estimate_near_its_true_value() -> None:
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


def test_an_arithmetic_mean_notes_that_it_is_one() -> None:
    found = estimates(make_campaign(sizes=(0, 1)))
    notes = {(one.fom, one.at["bytes"]): one.note for one in found}
    assert notes["latency", 0] == ""
    assert notes["bandwidth", 0].startswith("arithmetic mean")


def test_cases_that_were_never_measured_have_no_estimate() -> None:
    campaign = make_campaign()
    kept = tuple(one for one in campaign.attempts if one.case == campaign.plan.cases[0].id)
    found = estimates(msgspec.structs.replace(campaign, attempts=kept))
    assert {one.case for one in found} == {campaign.plan.cases[0].id}
