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
"""A line is found when a step changes the logarithms of its parameters by no more."""

_MOST_STEPS = 200
_FIRST_DAMPING = 1e-3


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


class _Means(NamedTuple):
    """The logarithms of the sizes and of the times of each block, and the means of the latter, by size.

    `shifts` are those of the times.
    """

    logs_of_m: Floats
    logs: Floats
    centre: Floats
    shifts: Floats


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
    means = [_means(one) for one in every]
    alike: dict[int, list[_Means]] = {}
    for one in means:
        if not isinstance(one, str):
            alike.setdefault(len(one.centre), []).append(one)
    found = {n: iter(_lines(group)) for n, group in alike.items()}
    lines = [one if isinstance(one, str) else _fitted(one, next(found[len(one.centre)])) for one in means]
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


def _means(one: Times) -> _Means | str:
    """Return the logarithms to which a line is fitted, or why none is."""
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
    return _Means(logs_of_m, logs, centre, np.zeros(len(m)) if one.shifts is None else one.shifts[used])


def _fitted(means: _Means, line: Floats) -> _Line:
    """Return what each block says of the parameters, near the line of their means."""
    share = _share_of_t0(means.logs_of_m, line)
    inverse = np.linalg.pinv(np.column_stack([share, 1 - share]))
    of_blocks = line + (means.logs - means.centre) @ inverse.T
    latency, rate = of_blocks[:, 0], -of_blocks[:, 1]
    misfit = float(np.abs(np.exp(means.centre - _logs(means.logs_of_m, line)) - 1).max())
    of_each = np.vstack([inverse, inverse[0] - inverse[1]])
    return _Line(
        len(means.centre),
        np.column_stack([latency, rate, latency + rate]),
        np.abs(of_each) @ means.shifts,
        misfit,
    )


def _refusal(m: Floats, centre: Floats) -> str:
    """Return why a parameter is best 0, so that any positive value would fit worse; empty if none is."""
    if (m * (centre - centre.mean())).sum() <= 0:
        return "the time does not grow with the size"
    if (m > 0).all():
        apart = centre - np.log(m)
        if ((apart - apart.mean()) / m).sum() <= 0:
            return "the time of the smallest messages is no more than their share of the large ones"
    return ""


def _lines(alike: Sequence[_Means]) -> Floats:
    """Return ln t0 and ln 1/r∞ of the least-squares fit to each of some means of as many sizes, means × 2.

    The steps are those of Levenberg and Marquardt (Marquardt 1963, J. SIAM 11, 431), taken for all lines at
    once: a campaign of 1,000 cases has as many lines, and a call for each takes longer than all the rest.
    """
    logs_of_m = np.array([one.logs_of_m for one in alike])
    centres = np.array([one.centre for one in alike])
    largest = logs_of_m.argmax(axis=1)[:, np.newaxis]
    rates = np.take_along_axis(centres - logs_of_m, largest, axis=1)
    lines = np.column_stack([centres.min(axis=1), rates[:, 0]])
    damping = np.full(len(alike), _FIRST_DAMPING)
    open_ = np.arange(len(alike))
    for _ in range(_MOST_STEPS):
        before, of_m, centre = lines[open_], logs_of_m[open_], centres[open_]
        step = _step(of_m, centre, before, damping[open_])
        is_better = _misses(of_m, centre, before + step) <= _misses(of_m, centre, before)
        lines[open_[is_better]] += step[is_better]
        damping[open_] *= np.where(is_better, 0.1, 10)
        open_ = open_[np.abs(step).max(axis=1) > _TOLERANCE]
        if not len(open_):
            break
    return lines


def _step(logs_of_m: Floats, centres: Floats, lines: Floats, damping: Floats) -> Floats:
    """Return the step from each line that its damped normal equations ask for."""
    share = _share_of_t0(logs_of_m, lines)
    rest, apart = 1 - share, centres - _logs(logs_of_m, lines)
    of_t0, of_rate = (share * apart).sum(axis=1), (rest * apart).sum(axis=1)
    first, mixed, last = (share**2).sum(axis=1) + damping, (share * rest).sum(axis=1), (rest**2).sum(axis=1)
    last = last + damping
    steps = np.column_stack([last * of_t0 - mixed * of_rate, first * of_rate - mixed * of_t0])
    determinant: Floats = first * last - mixed**2
    return steps / determinant[:, np.newaxis]


def _misses(logs_of_m: Floats, centres: Floats, lines: Floats) -> Floats:
    """Return the sum of the squared misses of each line."""
    misses: Floats = ((centres - _logs(logs_of_m, lines)) ** 2).sum(axis=1)
    return misses


def _logs(logs_of_m: Floats, lines: Floats) -> Floats:
    """Return ln(t0 + m/r∞) of each size."""
    logs: Floats = np.logaddexp(lines[..., :1], lines[..., 1:] + logs_of_m)
    return logs


def _share_of_t0(logs_of_m: Floats, lines: Floats) -> Floats:
    """Return the share of t0 in the time of each size: the derivative of its logarithm by that of t0.

    The derivative by that of 1/r∞ is the share of m/r∞, which is the rest.
    """
    share: Floats = np.exp(lines[..., :1] - _logs(logs_of_m, lines))
    return share
