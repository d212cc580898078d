"""The table that compares several campaigns: one column per campaign.

Each row has the same figure of the same variant in the same configuration.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tare.live.charts import Bar, changes
from tare.live.statistics import Statistics
from tare.live.view import Card


@dataclasses.dataclass(frozen=True)
class CampaignColumn:
    """One campaign; `statistics` is None as long as its plan cannot be read."""

    card: Card
    statistics: Statistics | None
    margin: float


@dataclasses.dataclass(frozen=True)
class ComparedRow:
    """One figure of one variant in one configuration; `bars` has None for a campaign without this figure."""

    configuration: str
    fom: str
    variant: str
    bars: tuple[Bar | None, ...]


def table(columns: Sequence[CampaignColumn]) -> list[ComparedRow]:
    """Return one row per configuration, figure and contender of any campaign, in the campaigns' order."""
    found = [
        {(bar.configuration, bar.fom, bar.variant.name): bar for bar in _bars(column)}
        if column.statistics
        else {}
        for column in columns
    ]
    keys = dict.fromkeys(key for bars in found for key in bars)
    return [ComparedRow(*key, tuple(bars.get(key) for bars in found)) for key in keys]


def _bars(column: CampaignColumn) -> tuple[Bar, ...]:
    statistics = column.statistics
    return changes(statistics.figures, statistics.variants, column.margin).bars if statistics else ()
