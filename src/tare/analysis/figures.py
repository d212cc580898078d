"""Read the figures of merit of one run, each with its mean over numeric coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tare.analysis.table import FigureName, labels_of
from tare.core.attempt import Series
from tare.core.values import Scalar

Point = tuple[tuple[str, Scalar], ...]
Points = tuple[Point, ...]


class Figure(NamedTuple):
    """The values of one figure of merit in one run, by point of its coordinates.

    `positive` are the points with values above zero; equal sets of points are the same object. `log_mean` is
    the logarithm of the geometric mean over them.
    """

    points: Points
    values: tuple[float, ...]
    positive: Points
    log_mean: float


def read_figures(series: Sequence[Series], known: dict[Points, Points]) -> dict[FigureName, Figure]:
    """Return the figures of one run; `known` keeps each distinct set of points once.

    Values with the same coordinates are replaced by their mean, as everywhere in Tare.
    """
    found: dict[FigureName, dict[Point, list[float]]] = {}
    for one in series:
        names = tuple(one.at)
        for row, value in zip(zip(*one.at.values(), strict=True), one.values, strict=True) if names else ():
            point = tuple(zip(names, row, strict=True))
            values = found.setdefault(FigureName(one.fom, one.unit, labels_of(point)), {})
            values.setdefault(point, []).append(value)
        if not names and one.values:
            found.setdefault(FigureName(one.fom, one.unit), {}).setdefault((), []).extend(one.values)
    return {name: _figure(values, known) for name, values in found.items() if values}


def _figure(values: dict[Point, list[float]], known: dict[Points, Points]) -> Figure:
    means = {point: sum(alike) / len(alike) for point, alike in values.items()}
    points, positive = tuple(means), tuple(point for point, value in means.items() if value > 0)
    logs = [math.log(means[point]) for point in positive]
    return Figure(
        points=known.setdefault(points, points),
        values=tuple(means.values()),
        positive=known.setdefault(positive, positive),
        log_mean=math.fsum(logs) / len(logs) if logs else math.nan,
    )
