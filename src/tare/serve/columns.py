"""Several campaigns side by side: the same place and side in one row."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tare.serve.answering import Answers
from tare.serve.charts import Bar, costs
from tare.serve.view import Card


@dataclasses.dataclass(frozen=True)
class Column:
    """One campaign; `answers` is None while its plan cannot be read."""

    card: Card
    answers: Answers | None
    margin: float


@dataclasses.dataclass(frozen=True)
class Row:
    """One side at one place, with its cost in each campaign; None where a campaign has no such case."""

    place: str
    side: str
    bars: tuple[Bar | None, ...]


def table(columns: Sequence[Column]) -> list[Row]:
    """Return a row for each place and contender that any of the campaigns has, in their order."""
    found = [
        {(bar.place, bar.side.name): bar for bar in _bars(column)} if column.answers else {}
        for column in columns
    ]
    keys = dict.fromkeys(key for bars in found for key in bars)
    return [Row(place, side, tuple(bars.get((place, side)) for bars in found)) for place, side in keys]


def _bars(column: Column) -> tuple[Bar, ...]:
    answers = column.answers
    return costs(answers.overview, answers.sides, column.margin).bars if answers else ()
