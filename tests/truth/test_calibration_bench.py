"""`make calibration` counts each kind of claim that is promised to be seldom false."""

from __future__ import annotations

import dataclasses

from bench.calibration import CLAIMS, most
from truth.campaigns import Truth, by_level, campaign
from truth.noise import lognormal

NOTHING = Truth(noise=lognormal(0.01), blocks=12)


def test_each_claim_is_counted_where_it_is_made_and_only_there() -> None:
    calm = campaign(NOTHING)
    assert not any(claims(calm) for claims in CLAIMS.values())
    slower = campaign(dataclasses.replace(NOTHING, slowing=by_level("network", {"overlay": 1.5})))
    found = [name for name, claims in CLAIMS.items() if claims(slower)]
    assert found == ["a difference of a figure", "a difference of a point", "a difference in a headline"]
    noisy = campaign(dataclasses.replace(NOTHING, contender_noise=lognormal(0.3)))
    assert CLAIMS["a difference in scatter"](noisy)
    assert CLAIMS["a drift"](campaign(dataclasses.replace(NOTHING, drift=0.02)))


def test_of_twenty_campaigns_chance_alone_makes_up_to_four_false_claims() -> None:
    assert most(20) == 4
