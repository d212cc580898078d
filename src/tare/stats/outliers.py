"""Find values that lie far from all others of a series. They are reported, never dropped."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from tare.stats.intervals import Floats
from tare.stats.series import MIN_SERIES, by_length, resolution

MODIFIED_Z = 3.5
"""The limit of Iglewicz and Hoaglin; no value below it is an outlier, however many values there are."""

_ALPHA = 0.05
_MAD_TO_SIGMA = 1.4826
"""1/Φ⁻¹(3/4): a normal distribution's standard deviation divided by its median absolute deviation."""


@dataclasses.dataclass(frozen=True, eq=False)
class Outliers:
    """`is_outlier` is blocks × series; `p` is that of the farthest value of each series.

    `centre` is the median.
    """

    p: Floats
    is_outlier: npt.NDArray[np.bool_]
    centre: Floats


def outliers(series: Floats) -> Outliers:
    """Return the values with a modified z score |x − median| / (1.4826 MAD) beyond 3.5, and not by chance.

    The score and its limit are from Iglewicz and Hoaglin 1993, How to Detect and Handle Outliers, ch. 3. With
    few values the MAD may be small by chance, and then the score is large: one in four clean series of five
    has a score beyond 3.5. So a value must also satisfy n·P(|t| > z) ≤ 5 % with (n − 1)/2 degrees of
    freedom. Student's tail falls with that power, and so does the probability of a MAD near 0. The test is
    conservative, as simulations in the tests show.
    """
    found = Outliers(
        p=np.full(series.shape[1], np.nan),
        is_outlier=np.zeros(series.shape, np.bool_),
        centre=np.full(series.shape[1], np.nan),
    )
    for columns, rows, values in by_length(series, MIN_SERIES):
        score, centre = _modified_z(values)
        p = np.where(score > MODIFIED_Z, _chance(score, len(values)), 1.0)
        found.p[columns] = p.min(axis=0)
        found.centre[columns] = centre
        found.is_outlier[rows, columns] = p <= _ALPHA
    return found


def _modified_z(values: Floats) -> tuple[Floats, Floats]:
    centre = np.median(values, axis=0)
    distance = np.abs(values - centre)
    least = resolution(values) / 2  # values that were rounded to the same may be this far apart
    scale = _MAD_TO_SIGMA * np.maximum(np.median(distance, axis=0), least)
    return np.divide(distance, scale, out=np.zeros(values.shape), where=scale > 0), centre


def _chance(score: Floats, length: int) -> Floats:
    """Return an upper limit of how often any of `length` clean values has such a score.

    The MAD of few values is too small on average, by n/(n − 0.8) (Croux and Rousseeuw 1992, COMPSTAT 1:411).
    """
    from scipy.special import stdtr

    p: Floats = np.minimum(2 * length * stdtr((length - 1) / 2, -score * (length - 0.8) / length), 1.0)
    return p
