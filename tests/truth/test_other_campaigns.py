"""A campaign next to another one, unpaired: what is claimed allows for what is claimed within one."""

from __future__ import annotations

import dataclasses

import msgspec

from tare.analysis.verdicts.other_campaign import against
from tare.core.attempt import Attempt, State
from tare.core.campaign import Campaign
from tare.core.verdict import Verdict
from truth.campaigns import TIME, Truth, campaign
from truth.noise import lognormal

ONE = Truth(factors={"network": ("host",)}, reference={}, blocks=30, noise=lognormal(0.1))


def without_slow_runs(found: Campaign, limit: float) -> Campaign:
    def ended(one: Attempt) -> Attempt:
        if one.series[0].values[0] <= limit:
            return one
        return msgspec.structs.replace(one, state=State.FAILED, check="timeout", series=[])

    return msgspec.structs.replace(found, attempts=tuple(map(ended, found.attempts)))


def test_a_campaign_is_not_better_than_another_for_ending_its_slow_runs() -> None:
    theirs, ours = campaign(ONE, seed=1), without_slow_runs(campaign(ONE, seed=2), 10.0)
    (one,) = against(ours, theirs)
    assert one.ratio is not None
    assert one.high is not None
    assert one.high < 1
    assert one.verdict is Verdict.UNDECIDED
    assert one.note.endswith("were ended at their time-out and do not count")


def test_what_rounding_makes_of_two_campaigns_is_no_difference() -> None:
    """2.45 and 2.55 seconds, printed as 2 and 3."""
    sides = [
        campaign(
            dataclasses.replace(
                ONE,
                workloads={"solver": (dataclasses.replace(TIME, level=level),)},
                noise=lognormal(0.001),
                decimals=0,
            )
        )
        for level in (2.45, 2.55)
    ]
    (one,) = against(sides[1], sides[0])
    assert one.low is not None
    assert one.high is not None
    assert one.low <= 2.55 / 2.45 <= one.high
    assert one.verdict is Verdict.UNDECIDED
