"""The level of each side of a ratio: the mean of its values of the kind whose ratio it is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tare.core.comparison import Mean
from tare.stats.estimates import estimate, has_no_logarithm
from tare.stats.intervals import Floats
from tare.stats.rounding import widened
from tare.stats.sign_test import median_intervals

Level = tuple[Floats, Floats, Floats]
"""The level of each column and the ends of its interval, in the unit of the values; NaN if there is none."""


def levels(
    reference: Floats, contender: Floats, rounding: tuple[Floats, Floats], mean: Mean, confidence: float
) -> tuple[Level, Level]:
    """Return the levels of both sides, whose rows are blocks, with their intervals.

    They are means of the kind `mean`, and arithmetic ones where either side has values of zero or less: the
    same as of `tare.stats.ratios.ratios`, so that the second over the first is the ratio beside which they
    stand. Only a median of ratios is not the ratio of the medians. `rounding` is how far rounding may have
    moved the levels of each side, as shares of them.
    """
    is_arithmetic = has_no_logarithm(reference) | has_no_logarithm(contender)
    below, above = (
        _level(values, is_arithmetic, shifts, mean, confidence)
        for values, shifts in zip((reference, contender), rounding, strict=True)
    )
    return below, above


def _level(
    values: Floats, is_arithmetic: npt.NDArray[np.bool_], rounding: Floats, mean: Mean, confidence: float
) -> Level:
    is_harmonic = ~is_arithmetic & (mean is Mean.HARMONIC)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(is_harmonic, 1 / values, values)
    adds = is_arithmetic | (mean in (Mean.ARITHMETIC, Mean.HARMONIC))
    found = estimate(values, confidence, rounding=rounding, is_arithmetic=adds)
    value, low, high = found.value, found.low, found.high
    if mean is Mean.MEDIAN and not is_arithmetic.all():
        worth = found.n_blocks / found.allowance.factor**2
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(values).T
        middle, least, most = map(np.exp, median_intervals(logs, worth, confidence))
        least, most = widened(middle, least, most, rounding)
        value, low, high = (
            np.where(is_arithmetic, old, new) for old, new in ((value, middle), (low, least), (high, most))
        )
    is_bounded = np.where(low > 0, 1.0, np.nan)  # where a time may be zero, its rate has no bound
    with np.errstate(divide="ignore", invalid="ignore"):
        return (
            np.where(is_harmonic, 1 / value, value),
            np.where(is_harmonic, is_bounded / high, low),
            np.where(is_harmonic, is_bounded / low, high),
        )
