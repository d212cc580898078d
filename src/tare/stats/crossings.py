"""Find where two curves cross, and where a curve reaches its plateau."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tare.core.interval import Bounded
from tare.stats.autocorrelation import allowance, without_unresolved
from tare.stats.equivalence import difference_p_values
from tare.stats.estimates import Estimates, estimate
from tare.stats.intervals import CONFIDENCE, MIN_BLOCKS, Floats, geometric_intervals, half_widths, moments
from tare.stats.multiplicity import holm
from tare.stats.ratios import Ratios, multiplied, select_columns
from tare.stats.scaling import paired_ratios

_MOST_POINTS = 4
_SHARES = np.linspace(0.0, 1.0, 201)
"""Positions within a segment at which the curve is evaluated; ends between them are interpolated."""

_FARTHEST = np.log(4.0) + 1e-9
"""The largest distance in ln x of neighbours for which interpolation is reliable.

For latencies on straight lines, at sizes that differ by a factor of 16, the error of the cubic is larger than
the noise of twenty blocks.
"""


class Crossing(NamedTuple):
    """Two curves cross at `x`; `is_rising` says that other / one is below 1 before, and above 1 after.

    `between` are the measured points next to it.
    """

    x: Bounded
    between: tuple[float, float]
    is_rising: bool
    is_certain: bool


class Sides(NamedTuple):
    """Two curves over rising, positive `xs`, each blocks × points, the rows of both in the order of time.

    `rounding` is how far rounding of printed values may have moved each ratio, as a logarithm; None if not at
    all.
    """

    xs: Sequence[float]
    one: Floats
    other: Floats
    rounding: Floats | None = None


class Plateau(NamedTuple):
    """Columns: the first within the margin of the best, those that surely are, and the first that may be.

    `best` is the best, which is none of the `certain`.
    """

    first: int
    certain: tuple[int, ...]
    first_possible: int
    best: int
    shares: Ratios


class _Logs(NamedTuple):
    """The logarithms of x and of other / one (blocks × points).

    `rounding` is how far rounding of printed values may have moved each mean.
    """

    x: Floats
    ratio: Floats
    rounding: Floats


def crossings(every: Iterable[Sides]) -> list[list[Crossing]]:
    """Return where other / one crosses 1, for each of `every`, all of which have the same blocks.

    A crossing is certain if it lies between two points at which the ratio surely is on different sides of 1,
    with intervals for all points together (Bonferroni). So noise about 1 makes no crossings.
    The crossing is where the cubic through the four nearest points of ln ratio over ln x is 0. Its interval
    is where the paired interval of that ratio contains 1 (Fieller's). It is widened by the difference of
    cubic and straight line as far as this is certain, since nobody measured between the points. Between
    points that are more than a factor of four apart, the interval covers at least the whole gap. With fewer
    than three blocks, each change of side is returned, without an interval and not certain. Blocks are in the
    order of time, and intervals are wider where they resemble the one before; points where few blocks surely
    do are no evidence. Rounding widens all intervals.
    """
    found: list[list[Crossing]] = []
    alike: dict[int, dict[int, _Logs]] = defaultdict(dict)
    for number, sides in enumerate(every):
        found.append([])
        if (logs := _logs(sides)) is not None:
            alike[len(logs.x)][number] = logs
    for n_points, held in alike.items():
        all_at_once = 1 - (1 - CONFIDENCE) / n_points
        means = estimate(np.exp(np.hstack([logs.ratio for logs in held.values()])), all_at_once)
        for at, (number, logs) in enumerate(held.items()):
            found[number] = _crossings_of(logs, means, slice(at * n_points, (at + 1) * n_points))
    return found


def _logs(sides: Sides) -> _Logs | None:
    """Return the points that both sides have, or None if the mean of no ratio, or of each, is below 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(sides.other / sides.one)
    is_there = np.isfinite(logs)
    is_below = np.where(is_there, logs, 0.0).sum(axis=0) < 0
    kept = np.flatnonzero(is_there.any(axis=0))
    if not 0 < is_below[kept].sum() < len(kept):
        return None
    logs[~is_there] = np.nan
    shifts = np.zeros(len(kept)) if sides.rounding is None else sides.rounding[kept]
    return _Logs(np.log(np.asarray(sides.xs, np.float64)[kept]), logs[:, kept], shifts)


def _crossings_of(logs: _Logs, means: Estimates, own: slice) -> list[Crossing]:
    """Return the crossings of two curves; `own` are the columns of their points among the `means`."""
    mean, low, high = np.log(means.value[own]), means.low[own], means.high[own]
    if not np.isfinite(low).any():
        changes = _changes(mean, 0, len(mean) - 1)
        return [_crossing(logs, mean, segment, is_certain=False) for segment in changes]
    low, high = low * np.exp(-logs.rounding), high * np.exp(logs.rounding)
    sides = np.where(low > 1, 1, np.where(high < 1, -1, 0))
    sides[np.isfinite(means.allowance.unresolved[own])] = 0
    decided = np.flatnonzero(sides).tolist()
    crossing = []
    for before, after in itertools.pairwise(decided):
        if sides[before] != sides[after]:
            segments = list(_changes(mean, before, after))
            crossing.append(_crossing(logs, mean, segments[len(segments) // 2], is_certain=True))
    return crossing


def _changes(mean: Floats, first: int, last: int) -> Iterator[int]:
    """Yield the left point of each segment in which the mean changes sides."""
    for left in range(first, last):
        if (mean[left] < 0) != (mean[left + 1] < 0):
            yield left


def _crossing(logs: _Logs, mean: Floats, segment: int, *, is_certain: bool) -> Crossing:
    left, right = float(mean[segment]), float(mean[segment + 1])
    first, weights = _weights(logs.x, segment)
    means = weights @ mean[first : first + weights.shape[1]]
    before = next(_changes(means, 0, len(means) - 1))
    share = _zero(_SHARES[before : before + 2], means[before : before + 2])
    x = _x_at(logs, segment, share)
    between = (_x_at(logs, segment, 0.0), _x_at(logs, segment, 1.0))
    if not is_certain:
        return Crossing(Bounded(x), between, left < right, is_certain=False)
    low = _end(logs, segment, share, -1)
    high = _end(logs, segment, share, +1)
    if logs.x[segment + 1] - logs.x[segment] > _FARTHEST:
        low = None if low is None else min(low, between[0])
        high = None if high is None else max(high, between[1])
    low, high = (None if low is None else min(low, x)), (None if high is None else max(high, x))
    return Crossing(Bounded(x, low, high), between, left < right, is_certain=True)


def _end(logs: _Logs, segment: int, share: float, step: int) -> float | None:
    """Return the nearest x from the crossing in direction `step` at which the ratio surely is not 1."""
    while 0 <= segment < len(logs.x) - 1:
        slack = _slack(logs, segment)
        if slack is not None:
            outward = np.flatnonzero((_SHARES - share) * step >= 0)[::step]
            sure = outward[slack[outward] < 0]
            if len(sure):
                ends = np.clip([sure[0] - step, sure[0]], 0, len(_SHARES) - 1)
                return _x_at(logs, segment, _zero(_SHARES[ends], slack[ends]))
        segment += step
        share = 0.0 if step > 0 else 1.0
    return None


def _slack(logs: _Logs, segment: int) -> Floats | None:
    """Return how far ln ratio, interpolated at each of `_SHARES`, may reach to the other side of 0.

    It is less than 0 where the ratio surely is not 1. None where too few blocks have all the points needed.
    """
    first, weights = _weights(logs.x, segment)
    rows = logs.ratio[:, first : first + weights.shape[1]]
    rows = rows[np.isfinite(rows).all(axis=1)]
    if len(rows) < MIN_BLOCKS:
        return None
    mean, half = _mean_and_half(rows @ weights.T)
    bend, of_bend = _mean_and_half(rows @ (weights - _straight(segment - first, weights.shape[1])).T)
    unknown = np.maximum(np.abs(bend) - of_bend, 0.0)
    shift = np.abs(weights) @ logs.rounding[first : first + weights.shape[1]]
    slack: Floats = half + unknown + shift - np.abs(mean)
    return slack


def _mean_and_half(series: Floats) -> tuple[Floats, Floats]:
    """Return the mean of each column and half of its interval."""
    found = moments(series)
    return found.mean, half_widths(found, CONFIDENCE) * allowance(series).factor


def _weights(x: Floats, segment: int) -> tuple[int, Floats]:
    """Return the first of the points that a segment is interpolated from, and their weights at `_SHARES`.

    The interpolation is Lagrange's polynomial through four neighbours, a cubic. Curves bend between sizes
    that double, and the error of a straight line is larger than the noise of twenty blocks.
    """
    n_points = min(len(x), _MOST_POINTS)
    first = min(max(segment - 1, 0), len(x) - n_points)
    points = x[first : first + n_points]
    at = x[segment] + _SHARES * (x[segment + 1] - x[segment])
    weights = np.ones((len(at), n_points))
    for one, other in itertools.permutations(range(n_points), 2):
        weights[:, one] *= (at - points[other]) / (points[one] - points[other])
    return first, weights


def _straight(left: int, n_points: int) -> Floats:
    """Return the weights of the straight line from the point `left` to the next, at `_SHARES`."""
    weights = np.zeros((len(_SHARES), n_points))
    weights[:, left], weights[:, left + 1] = 1 - _SHARES, _SHARES
    return weights


def _zero(shares: Floats, values: Floats) -> float:
    """Return where the straight line through two values is 0; the first of them if the line is level."""
    rise = float(values[1] - values[0])
    part = -float(values[0]) / rise if rise else 0.0
    return float(shares[0] + min(max(part, 0.0), 1.0) * (shares[1] - shares[0]))


def _x_at(logs: _Logs, segment: int, share: float) -> float:
    left, right = logs.x[segment], logs.x[segment + 1]
    return float(np.exp(left + share * (right - left)))


def plateaus(
    performances: Sequence[Floats], margin: float, roundings: Sequence[Floats] | None = None
) -> list[Plateau | None]:
    """Return where each of `performances`, all blocks × points, comes within `margin` of its best.

    Each point is compared with the best, paired by block. The best is the largest of noisy means, so it is
    slightly too large. Points that surely are within the margin are so together (Holm). Blocks are in the
    order of time, as for `crossings`. Where several points are equal, the first of them is returned.
    `roundings` are how far rounding of printed values may have moved each of them, as shares.
    """
    if not performances:
        return []
    widths = [one.shape[1] for one in performances]
    ends = np.cumsum(widths).tolist()
    parts = [range(end - width, end) for end, width in zip(ends, widths, strict=True)]
    every = np.ascontiguousarray(np.hstack(performances))
    centre = geometric_intervals(np.where(every > 0, every, np.nan), CONFIDENCE).centre
    bests = [_best(centre[part.start : part.stop]) for part in parts]
    bases = [part.start + (best or 0) for part, best in zip(parts, bests, strict=True)]
    shifts = np.zeros(every.shape[1]) if roundings is None else np.concatenate(roundings)
    is_best = np.isin(np.arange(every.shape[1]), bases)
    of_best = np.repeat(bases, widths)
    rounding = np.where(is_best, 0.0, shifts + shifts[of_best])
    shares = without_unresolved(*paired_ratios(every[:, of_best], every, CONFIDENCE, rounding))
    p_values = difference_p_values(multiplied(shares, np.full(len(is_best), 1 / (1 - margin))))
    return [
        None if best is None else _plateau(select_columns(shares, part), best, margin, p_values[part])
        for part, best in zip(parts, bests, strict=True)
    ]


def _best(centre: Floats) -> int | None:
    return int(np.nanargmax(centre)) if np.isfinite(centre).any() else None


def _plateau(shares: Ratios, best: int, margin: float, p_values: Floats) -> Plateau:
    """Return the plateau of one curve; `p_values` are those of a share of exactly 1 − `margin`."""
    others = np.where(np.arange(len(p_values)) == best, np.nan, p_values)
    with np.errstate(invalid="ignore"):
        first = int(np.flatnonzero(shares.ratio >= 1 - margin)[0])
        is_certain = (shares.low >= 1 - margin) & (holm(others) <= 1 - CONFIDENCE)
        is_excluded = (shares.high < 1 - margin) | np.isnan(shares.ratio)
    possible = int(np.flatnonzero(~is_excluded)[0])
    return Plateau(first, tuple(np.flatnonzero(is_certain).tolist()), possible, best, shares)
