"""Whether the first blocks of a series stand apart from the rest."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from tare.stats.intervals import Floats
from tare.stats.series import MIN_SERIES, by_length, rounding

LONGEST = 5
"""No more first blocks than this are tried: what lasts longer is the state of the machine."""


@dataclasses.dataclass(frozen=True, eq=False)
class WarmUps:
    """The likeliest warm-up of each series, whether or not it is significant.

    `n_first` is its length in values, 0 where nothing was tested; `shift` the mean of the first less
    that of the rest.
    """

    p: Floats
    n_first: npt.NDArray[np.int64]
    shift: Floats


def warm_ups(series: Floats) -> WarmUps:
    """Return, for each column, how surely its first k values stand apart from the rest, and k.

    For each k up to a fifth of the values, and at most 5, Student's two-sample t of the first k against
    the rest with one common variance; k = 1 asks whether the first value lies in the prediction
    interval of the others. p is the smallest of them times their number (Bonferroni). MSER (White
    1997, Simulation 69:323) finds where to cut, but not whether there is anything to cut, which is
    what has to be known of five blocks.
    """
    n_series = series.shape[1]
    found = WarmUps(np.full(n_series, np.nan), np.zeros(n_series, np.int64), np.full(n_series, np.nan))
    for alike in by_length(series, MIN_SERIES):
        values, columns = alike.values, alike.columns
        n_tried = min(max(len(values) // 5, 1), LONGEST)
        tried = [_first_against_rest(values, n_first) for n_first in range(1, n_tried + 1)]
        p, shifts = (np.array(part) for part in zip(*tried, strict=True))
        best = p.argmin(axis=0)[np.newaxis]
        found.p[columns] = np.minimum(np.take_along_axis(p, best, axis=0)[0] * n_tried, 1.0)
        found.n_first[columns] = best[0] + 1
        found.shift[columns] = np.take_along_axis(shifts, best, axis=0)[0]
    return found


def _first_against_rest(values: Floats, n_first: int) -> tuple[Floats, Floats]:
    """Return the p value and the shift of the first `n_first` values of each column."""
    from scipy.special import stdtr

    first, rest = values[:n_first], values[n_first:]
    shift = first.mean(axis=0) - rest.mean(axis=0)
    freedom = len(values) - 2
    squares = sum(np.square(part - part.mean(axis=0)).sum(axis=0) for part in (first, rest))
    spread = np.maximum(np.sqrt(squares / freedom), rounding(values))
    error = spread * np.sqrt(1 / len(first) + 1 / len(rest))
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(freedom, -np.abs(shift) / error)
    return np.where(shift == 0, 1.0, p), shift
