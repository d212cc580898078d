"""Fit Hockney's line t(m) = t0 + m/r∞ to the times of messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tare.core.interval import Bounded
from tare.stats.estimates import estimate
from tare.stats.intervals import Floats

MIN_SIZES = 3
"""One size more than the line has parameters."""

_TOLERANCE = 1e-13


class Times(NamedTuple):
    """The times of messages of some sizes, blocks × sizes.

    `shifts` are how far rounding may have moved the mean of each size, as shares; None if not at all.
    """

    sizes: Sequence[float]
    values: Floats
    shifts: Floats | None = None


class Hockney(NamedTuple):
    """`latency` is t0 in the unit of time, `bandwidth` r∞ in bytes per unit, `half_size` n½ in bytes."""

    n_blocks: int
    n_sizes: int
    latency: Bounded
    bandwidth: Bounded
    half_size: Bounded
    misfit: float


class _Line(NamedTuple):
    """A fitted line: the logarithms of t0, r∞ and n½ of each block, and the largest misfit of any size.

    `rounding` is how far rounding may have moved each of the three.
    """

    n_sizes: int
    of_blocks: Floats
    rounding: Floats
    misfit: float


def fit_hockney(every: Sequence[Times]) -> list[Hockney | str]:
    """Fit the line to each of `every`, or return a reason why this is not possible.

    The fit is by least squares of ln t − ln(t0 + m/r∞), over the means of the logarithms of all blocks. Noise
    is multiplicative, so small messages count as much as large ones, and a slow run as much as a fast one.
    Least squares of the relative error would give slow runs less weight, which lowers t0 by 5 % at 20 %
    noise.

    Near the fit, the logarithms of the parameters depend linearly on those of the times (Seber and Wild 1989,
    Nonlinear Regression, § 2.1). So each block has its own estimate of them, and the interval is Student's t
    of these estimates, wider by what rounding of printed times may do, and where blocks, in the order of
    time, resemble the one before. It is valid however the times of a
    block are correlated. A size that is missing in some block is left out in all.
    """
    lines = [_fitted(one) for one in every]
    return _with_intervals(lines)


def _with_intervals(lines: Sequence[_Line | str]) -> list[Hockney | str]:
    """Return the lines with intervals, which are computed for all of them at once."""
    fits = [one.of_blocks for one in lines if not isinstance(one, str)]
    logs = np.full((max(map(len, fits), default=0), 3 * len(fits)), np.nan)
    for at, one in enumerate(fits):
        logs[: len(one), 3 * at : 3 * at + 3] = one
    found = estimate(np.exp(logs))
    rounding = np.exp([shift for one in lines if not isinstance(one, str) for shift in one.rounding])
    ends = found.low / rounding, found.high * rounding
    parameters = map(Bounded.of, found.value.tolist(), *(end.tolist() for end in ends))
    return [
        one
        if isinstance(one, str)
        else Hockney(
            len(one.of_blocks), one.n_sizes, next(parameters), next(parameters), next(parameters), one.misfit
        )
        for one in lines
    ]


def _fitted(one: Times) -> _Line | str:
    m, times = np.asarray(one.sizes, np.float64), one.values
    measured = times[np.isfinite(times).any(axis=1)]
    used = np.isfinite(measured).all(axis=0) & (measured > 0).all(axis=0)
    if not len(measured) or used.sum() < MIN_SIZES:
        n_used = int(used.sum()) if len(measured) else 0
        sizes = "size was" if n_used == 1 else "sizes were"
        return f"{n_used} {sizes} measured in every block; the line takes {MIN_SIZES} or more"
    m, logs = m[used], np.log(measured[:, used])
    centre = logs.mean(axis=0)
    if refusal := _refusal(m, centre):
        return refusal
    with np.errstate(divide="ignore"):
        logs_of_m = np.log(m)
    line = _line(logs_of_m, centre)
    shares = _shares(logs_of_m, line)
    inverse = np.linalg.pinv(shares)
    of_blocks = line + (logs - centre) @ inverse.T
    latency, rate = of_blocks[:, 0], -of_blocks[:, 1]
    misfit = float(np.abs(np.exp(centre - _logs(logs_of_m, line)) - 1).max())
    of_each = np.vstack([inverse, inverse[0] - inverse[1]])
    shifts = np.zeros(len(m)) if one.shifts is None else one.shifts[used]
    return _Line(len(m), np.column_stack([latency, rate, latency + rate]), np.abs(of_each) @ shifts, misfit)


def _refusal(m: Floats, centre: Floats) -> str:
    """Return why a parameter is best 0, so that any positive value would fit worse; empty if none is."""
    if (m * (centre - centre.mean())).sum() <= 0:
        return "the time does not grow with the size"
    if (m > 0).all():
        apart = centre - np.log(m)
        if ((apart - apart.mean()) / m).sum() <= 0:
            return "the time of the smallest messages is no more than their share of the large ones"
    return ""


def _line(logs_of_m: Floats, centre: Floats) -> Floats:
    """Return ln t0 and ln 1/r∞ of the least-squares fit of logarithms."""
    from scipy.optimize import leastsq  # calls MINPACK as least_squares does, with less around it

    found, *_ = leastsq(
        lambda line: _logs(logs_of_m, line) - centre,
        [centre.min(), centre[logs_of_m.argmax()] - logs_of_m.max()],
        Dfun=lambda line: _shares(logs_of_m, line),
        full_output=True,
        ftol=_TOLERANCE,
        xtol=_TOLERANCE,
        gtol=_TOLERANCE,
        diag=np.ones(2),
    )
    line: Floats = found
    return line


def _logs(logs_of_m: Floats, line: Floats) -> Floats:
    """Return ln(t0 + m/r∞) of each size."""
    logs: Floats = np.logaddexp(line[0], line[1] + logs_of_m)
    return logs


def _shares(logs_of_m: Floats, line: Floats) -> Floats:
    """Return the shares of t0 and of m/r∞ in the time of each size: the derivatives of its logarithm."""
    share = np.exp(line[0] - _logs(logs_of_m, line))
    return np.column_stack([share, 1 - share])
