"""Why: what the nodes did otherwise under a contender than under its reference."""

from __future__ import annotations

import math

import msgspec

from tare.answers.compare import aggregates
from tare.model.campaign import Campaign
from tare.model.comparison import Comparison, Correction
from tare.model.telemetry import FIGURES, PREFIX
from tare.model.values import Settings

_LEAST_NOISE = 0.001  # of a logarithm: counters that repeat to the byte are not infinitely telling
_OWN = frozenset({"sampler_cpu", "sampler_memory"})  # of Tare itself, and no reason for anything


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of telemetry that differs, with its comparison; the larger the `effect`, the clearer.

    `effect` is the logarithm of the ratio in units of its standard error.
    """

    comparison: Comparison
    effect: float


def explanations(campaign: Campaign, *, reference: Settings | None = None) -> list[Reason]:
    """Return what differs in telemetry, by contender and place, the clearest first within each.

    What is zero on either side has no ratio, and is left out; so is what its interval does not tell from no
    difference. These are intervals one by one: a list to look through, not a claim.
    """
    if not any(one.telemetry for one in campaign.measured()):
        return []
    foms = [PREFIX + name for name in FIGURES if name not in _OWN]
    found = aggregates(campaign, reference=reference, foms=foms, correction=Correction.FDR)
    reasons = [reason for one in found if (reason := _reason(one)) is not None]
    cases = list(dict.fromkeys(one.contender_case for one in found))
    return sorted(reasons, key=lambda one: (cases.index(one.comparison.contender_case), -one.effect))


def _reason(one: Comparison) -> Reason | None:
    if one.ratio is None or one.low is None or one.high is None or one.low <= 0 or one.low <= 1 <= one.high:
        return None
    half = (math.log(one.high) - math.log(one.low)) / 2
    return Reason(comparison=one, effect=abs(math.log(one.ratio)) / max(half, _LEAST_NOISE))
