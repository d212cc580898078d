"""Select the rows of the table of figures that an overview shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tare.analysis.aspects import is_elapsed
from tare.core.comparison import Comparison
from tare.core.values import Scalar
from tare.core.verdict import Verdict


def quoted(aggregates: Sequence[Comparison]) -> list[Comparison]:
    """Return the rows of the figures that an overview shows, grouped by case.

    These are the primary and answering figures (or all figures of a workload without any), and the elapsed
    times that got worse for any contender. A figure is shown for all contenders or for none.
    """
    by_case: dict[str, list[Comparison]] = {}
    for one in aggregates:
        by_case.setdefault(one.contender_case, []).append(one)
    shown = {
        _figure(one) for rows in by_case.values() for one in ([row for row in rows if row.is_primary] or rows)
    }
    shown |= longer(aggregates)
    return [one for rows in by_case.values() for one in rows if _figure(one) in shown]


class Figure(NamedTuple):
    """A figure of merit of a workload, for any cases."""

    workload: Scalar | None
    fom: str
    unit: str
    labels: tuple[tuple[str, Scalar], ...]


def longer(aggregates: Iterable[Comparison]) -> frozenset[Figure]:
    """Return the elapsed times that got worse for any contender."""
    return frozenset(
        _figure(one)
        for one in aggregates
        if one.verdict is Verdict.WORSE and is_elapsed(one.unit, one.better)
    )


def _figure(one: Comparison) -> Figure:
    return Figure(one.at.get("workload"), one.fom, one.unit, tuple(one.labels.items()))
