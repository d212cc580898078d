"""Several campaigns side by side: the same place and side in one row."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tare.live.charts import Bar, changes
from tare.live.statistics import Answers
from tare.live.view import Card


@dataclasses.dataclass(frozen=True)
class CampaignColumn:
    """One campaign; `answers` is None while its plan cannot be read."""

    card: Card
    answers: Answers | None
    margin: float


@dataclasses.dataclass(frozen=True)
class ComparedRow:
    """One figure of one side at one place, with its change in each campaign; None where one has none."""

    place: str
    fom: str
    side: str
    bars: tuple[Bar | None, ...]


def table(columns: Sequence[CampaignColumn]) -> list[ComparedRow]:
    """Return a row for each place, figure and contender that any of the campaigns has, in their order."""
    found = [
        {(bar.place, bar.fom, bar.side.name): bar for bar in _bars(column)} if column.answers else {}
        for column in columns
    ]
    keys = dict.fromkeys(key for bars in found for key in bars)
    return [ComparedRow(*key, tuple(bars.get(key) for bars in found)) for key in keys]


def _bars(column: CampaignColumn) -> tuple[Bar, ...]:
    answers = column.answers
    return changes(answers.figures, answers.sides, column.margin).bars if answers else ()
