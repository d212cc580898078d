"""Group the blocks of each cell into time series: the common part of all tests of such series.

Each test takes logarithms, blocks × series, in the order of time with NaN where a block has no value. It
returns one p value per series: how often noise that is identical and independent in all blocks looks at least
as suspicious. It is NaN where a series is too short.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tare.stats.intervals import Floats

MIN_SERIES = 5
"""With fewer blocks, even the strongest trend is not rarer than 5 in 100: 2 of 4! orders are monotone."""

Indices = npt.NDArray[np.intp]


class Alike(NamedTuple):
    """Series with equally many values, without their gaps.

    `columns` says which series they are. `values` is values × series, and `rows` gives the row of each value.
    """

    columns: Indices
    rows: Indices
    values: Floats


def by_length(series: Floats, least: int = MIN_SERIES) -> Iterator[Alike]:
    """Yield the series with at least `least` values, those of the same length together."""
    has_value = np.isfinite(series)
    n_values = has_value.sum(axis=0)
    rows = np.argsort(~has_value, axis=0, kind="stable")
    for length in np.unique(n_values[n_values >= least]).tolist():
        columns = np.flatnonzero(n_values == length)
        chosen = rows[:length, columns]
        yield Alike(columns, chosen, np.take_along_axis(series[:, columns], chosen, axis=0))


def resolution(values: Floats) -> Floats:
    """Return the smallest difference between two values of each column; 0 where all are equal.

    Programs print few digits, so a scatter below this difference is not reliable: rounding to steps of r
    alone has the standard deviation r/√12 (Sheppard 1898).
    """
    steps = np.diff(np.sort(values, axis=0), axis=0)
    smallest = np.where(steps > 0, steps, np.inf).min(axis=0, initial=np.inf)
    found: Floats = np.where(np.isfinite(smallest), smallest, 0.0)
    return found


def rounding(values: Floats) -> Floats:
    """Return the standard deviation of each column due to rounding alone."""
    found: Floats = resolution(values) / np.sqrt(12)
    return found
