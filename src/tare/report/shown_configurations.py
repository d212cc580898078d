"""Choose the configurations that the page draws if there are too many: those with the largest differences."""

from __future__ import annotations

from collections.abc import Iterable

from tare.core.campaign import Campaign
from tare.core.comparison import Comparison
from tare.report.variants import Configuration, Variants

MOST_CONFIGURATIONS = 12
"""The most configurations that are all drawn, each with its own panel in every figure."""

_SAMPLE = 6
"""The number of configurations drawn if there are more than MOST_PLACES: two rows of three panels."""

MOST_COLUMNS = 45
"""The most columns of all heat maps together."""


def drawn_configurations(overview: Iterable[Comparison], variants: Variants) -> frozenset[Configuration]:
    """Return the configurations to draw: all, or if there are many, those with the largest differences."""
    if len(variants.configurations) <= MOST_CONFIGURATIONS:
        return frozenset(variants.configurations)
    farness = dict.fromkeys(variants.configurations, 0.0)
    for one in overview:
        configuration = variants.configuration_of[one.contender_case]
        farness[configuration] = max(farness[configuration], one.distance)
    return frozenset(
        sorted(variants.configurations, key=lambda configuration: -farness[configuration])[:_SAMPLE]
    )


def left_out(n_shown: int, n_all: int, what: str) -> str:
    """Return a sentence that only some are shown; empty if all are."""
    if n_shown >= n_all:
        return ""
    return f"{n_shown} of {n_all} {what} are shown: those farthest from the reference. The tables have all."


def cases_in(
    campaign: Campaign, variants: Variants, configurations: frozenset[Configuration]
) -> frozenset[str]:
    """Return the ids of the cases of `campaign` in the configurations `configurations`."""
    return frozenset(
        case.id for case in campaign.plan.cases if variants.configuration_of[case.id] in configurations
    )
