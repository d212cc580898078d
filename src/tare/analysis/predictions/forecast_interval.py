"""The interval in which a predicted ratio of run times will be measured."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tare.core.interval import Bounded
from tare.stats.intervals import MIN_BLOCKS, Floats, moments, standard_errors, t_factors


class Error(NamedTuple):
    """The variance of a mean, and its degrees of freedom."""

    variance: float
    freedom: float


def error(values: Floats) -> Error | None:
    """Return the error of the mean of `values`; None with fewer than three that are known."""
    known = values[np.isfinite(values)]
    if len(known) < MIN_BLOCKS:
        return None
    errors, freedom = standard_errors(moments(known[:, np.newaxis]))
    return Error(float(errors[0]) ** 2, float(freedom[0]))


def forecast(ratio: float, walls: Floats, curves: Error | None, confidence: float) -> Bounded:
    """Return `ratio`, above 0, with the interval of the ratio that as many runs on each side would measure.

    `walls` are the wall times of the runs on the reference, in seconds. `curves` is the error of the
    predicted difference, in seconds. A measured ratio has the scatter of both sides' runs: that of the
    reference, and on the contender as much in proportion, since no run of the contender may be used. The
    prediction divides by the reference's own mean, which takes part of its scatter out again:
    ln measured − ln predicted = contender's noise − reference's noise / ratio. The degrees of freedom are
    Welch's and Satterthwaite's (Satterthwaite 1946, Biometrics Bulletin 2:110). Without three runs and three
    passes of the curves there is no interval.
    """
    runs = error(np.log(walls))
    if runs is None or curves is None:
        return Bounded(ratio)
    wall = float(np.mean(walls))
    parts = [
        Error(runs.variance * (1 + 1 / ratio**2), runs.freedom),
        Error(curves.variance / (wall * ratio) ** 2, curves.freedom),
    ]
    variance = sum(part.variance for part in parts)
    spread = sum(part.variance**2 / part.freedom for part in parts)
    freedom = variance**2 / spread if spread else runs.freedom
    half = float(t_factors(np.array([freedom]), confidence)[0]) * math.sqrt(variance)
    return Bounded(ratio, ratio * math.exp(-half), ratio * math.exp(half))
