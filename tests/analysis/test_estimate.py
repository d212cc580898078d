"""Where cases lie."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from support.synthetic import SIZES, make_campaign, make_case
from tare.analysis.estimate import estimates
from tare.core.attempt import Series
from tare.core.workload import Better
from tare.stats.estimates import estimate


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


@pytest.mark.parametrize("first", [0.0, -1.0])
def test_a_figure_with_values_of_zero_or_less_counts_its_blocks(first: float) -> None:
    values = np.array([[first, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]]).T
    assert estimate(values).n_blocks.tolist() == [12]


def test_a_figure_with_zeros_whose_blocks_resemble_the_one_before_has_a_note_on_both() -> None:
    campaign = make_campaign([make_case("host")], blocks=12)
    attempts = [
        msgspec.structs.replace(
            one,
            series=[Series(fom="retransmits", unit="1", better=Better.LOWER, values=[one.block - 1.0])],
        )
        for one in campaign.attempts
    ]
    (found,) = estimates(msgspec.structs.replace(campaign, attempts=tuple(attempts)))
    assert found.n_blocks == 12
    assert "arithmetic mean" in found.note
    assert "resemble the one before" in found.note


def test_cases_that_were_never_measured_have_no_estimate() -> None:
    campaign = make_campaign()
    kept = tuple(one for one in campaign.attempts if one.case == campaign.plan.cases[0].id)
    found = estimates(msgspec.structs.replace(campaign, attempts=kept))
    assert {one.case for one in found} == {campaign.plan.cases[0].id}
