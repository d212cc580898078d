"""Choose the configurations that the page draws if there are too many: those with the largest differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from tare.core.campaign import Campaign
from tare.core.comparison import Comparison, Estimate
from tare.report.variants import Configuration, Variants

MOST_PLACES = 12
"""The most configurations that are all drawn, each with its own panel in every figure."""

_SAMPLE = 6
"""The number of configurations drawn if there are more than MOST_PLACES: two rows of three panels."""

MOST_COLUMNS = 45
"""The most columns of all heat maps together."""


def telling_places(overview: Iterable[Comparison], sides: Variants) -> frozenset[Configuration]:
    """Return the configurations to draw: all, or if there are many, those with the largest differences."""
    if len(sides.places) <= MOST_PLACES:
        return frozenset(sides.places)
    farness = dict.fromkeys(sides.places, 0.0)
    for one in overview:
        place = sides.place_of[one.contender_case]
        farness[place] = max(farness[place], abs(math.log(one.ratio)) if one.ratio else 0.0)
    return frozenset(sorted(sides.places, key=lambda place: -farness[place])[:_SAMPLE])


def left_out(n_shown: int, n_all: int, what: str) -> str:
    """Return a sentence that only some are shown; empty if all are."""
    if n_shown >= n_all:
        return ""
    return f"{n_shown} of {n_all} {what} are shown: those farthest from the reference. The tables have all."


def at_places(campaign: Campaign, sides: Variants, places: frozenset[Configuration]) -> frozenset[str]:
    """Return the ids of the cases of `campaign` in the configurations `places`."""
    return frozenset(case.id for case in campaign.plan.cases if sides.place_of[case.id] in places)


def estimates_at(estimates: Iterable[Estimate], cases: frozenset[str]) -> list[Estimate]:
    """Return the estimates of `cases`."""
    return [one for one in estimates if one.case in cases]


def comparisons_at(comparisons: Sequence[Comparison], cases: frozenset[str]) -> list[Comparison]:
    """Return the comparisons whose contender is one of `cases`."""
    return [one for one in comparisons if one.contender_case in cases]
