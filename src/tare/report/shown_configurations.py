"""Which places a page shows where there are more than it can: those that tell most."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from tare.core.campaign import Campaign
from tare.core.comparison import Comparison, Estimate
from tare.report.variants import Configuration, Variants

MOST_PLACES = 12
"""Up to so many places each has panels of its own in every figure."""

_SAMPLE = 6
"""Of more places, so many have: two rows of three."""

MOST_COLUMNS = 45
"""Columns of all heat maps together."""


def telling_places(overview: Iterable[Comparison], sides: Variants) -> frozenset[Configuration]:
    """Return the places that are drawn: all, or of many those where a contender lies farthest off."""
    if len(sides.places) <= MOST_PLACES:
        return frozenset(sides.places)
    farness = dict.fromkeys(sides.places, 0.0)
    for one in overview:
        place = sides.place_of[one.contender_case]
        farness[place] = max(farness[place], abs(math.log(one.ratio)) if one.ratio else 0.0)
    return frozenset(sorted(sides.places, key=lambda place: -farness[place])[:_SAMPLE])


def left_out(n_shown: int, n_all: int, what: str) -> str:
    """Return in words that only some are shown; empty when all are."""
    if n_shown >= n_all:
        return ""
    return f"{n_shown} of {n_all} {what} are shown: those farthest from the reference. The tables have all."


def at_places(campaign: Campaign, sides: Variants, places: frozenset[Configuration]) -> frozenset[str]:
    """Return the cases of `campaign` that lie at `places`, by id."""
    return frozenset(case.id for case in campaign.plan.cases if sides.place_of[case.id] in places)


def estimates_at(estimates: Iterable[Estimate], cases: frozenset[str]) -> list[Estimate]:
    """Return the estimates of `cases`."""
    return [one for one in estimates if one.case in cases]


def comparisons_at(comparisons: Sequence[Comparison], cases: frozenset[str]) -> list[Comparison]:
    """Return the comparisons whose contender is one of `cases`."""
    return [one for one in comparisons if one.contender_case in cases]
