"""The blocks of a cell as a series in time: what tests of such series have in common.

Each test takes logarithms, blocks × series in the order of time with NaN where a block lacks a
value, and answers with one p value a series: how often noise alone, the same in every block and
independent between them, looks at least so suspicious. NaN where a series is too short to tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tare.stats.intervals import Floats

MIN_SERIES = 5
"""With fewer blocks not even the strongest trend is rarer than 5 in 100: 2 of 4! orders are monotone."""

Places = npt.NDArray[np.intp]


class Alike(NamedTuple):
    """Series that have as many values as each other, without their gaps.

    `columns` says which series they are; `values` is values × series and `rows` the row that each
    value came from.
    """

    columns: Places
    rows: Places
    values: Floats


def by_length(series: Floats, least: int = MIN_SERIES) -> Iterator[Alike]:
    """Yield the series that have at least `least` values, those of one length together."""
    has_value = np.isfinite(series)
    n_values = has_value.sum(axis=0)
    rows = np.argsort(~has_value, axis=0, kind="stable")
    for length in np.unique(n_values[n_values >= least]).tolist():
        columns = np.flatnonzero(n_values == length)
        chosen = rows[:length, columns]
        yield Alike(columns, chosen, np.take_along_axis(series[:, columns], chosen, axis=0))


def resolution(values: Floats) -> Floats:
    """Return the smallest difference between two values of each column, 0 where all are equal.

    Programs print few digits, so a scatter that seems smaller than this is not known to be: rounding to
    steps of r alone has the standard deviation r/√12 (Sheppard 1898).
    """
    steps = np.diff(np.sort(values, axis=0), axis=0)
    smallest = np.where(steps > 0, steps, np.inf).min(axis=0, initial=np.inf)
    found: Floats = np.where(np.isfinite(smallest), smallest, 0.0)
    return found


def rounding(values: Floats) -> Floats:
    """Return the standard deviation that rounding alone gives each column."""
    found: Floats = resolution(values) / np.sqrt(12)
    return found
