"""Where two curves cross, and where a curve has reached its plateau."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tare.model.interval import Bounded
from tare.stats.fieller import ends
from tare.stats.intervals import MIN_BLOCKS, Floats, geometric_intervals
from tare.stats.ratios import Ratios, ratios

_ROUNDING = 1e-9


class Crossing(NamedTuple):
    """Two curves cross at `x`; `is_rising` says that other / one is below 1 before, and above 1 after.

    `between` are the measured points next to it: the interval holds noise, not what lies between them.
    """

    x: Bounded
    between: tuple[float, float]
    is_rising: bool
    is_certain: bool


class Plateau(NamedTuple):
    """Columns: the first within the margin of the best, the first that surely is, and the best."""

    first: int
    first_certain: int | None
    best: int
    shares: Ratios


class _Logs(NamedTuple):
    """The logarithms of x and of other / one (blocks × points), and the mean of the latter."""

    x: Floats
    ratio: Floats
    mean: Floats


def crossings(xs: Sequence[float], one: Floats, other: Floats, confidence: float = 0.95) -> list[Crossing]:
    """Return where other / one crosses 1 along rising, positive `xs`; the sides are blocks × points.

    A crossing is certain between two points at which the ratio surely lies on different sides of 1, with
    intervals at `confidence` for all points at once (Bonferroni): noise about 1 makes none. Its interval
    is where the paired interval of the interpolated ratio holds 1 (Fieller's). With fewer than three
    blocks each change of side is returned, without an interval and not certain.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(other / one)
    logs[~np.isfinite(logs)] = np.nan
    kept = np.flatnonzero(np.isfinite(logs).any(axis=0))
    if len(kept) < 2:
        return []
    mean = np.nanmean(logs[:, kept], axis=0)
    if next(_changes(mean, 0, len(kept) - 1), None) is None:
        return []  # as nearly always, and in a hundredth of the time
    x = np.log(np.asarray(xs, np.float64)[kept])
    all_at_once = 1 - (1 - confidence) / len(kept)
    found = geometric_intervals(np.exp(logs[:, kept]), all_at_once)
    held = _Logs(x, logs[:, kept], np.log(found.centre))
    if not np.isfinite(found.low).any():
        return [_crossing(held, segment, None) for segment in _changes(held.mean, 0, len(x) - 1)]
    sides = np.where(found.low > 1, 1, np.where(found.high < 1, -1, 0))
    decided = np.flatnonzero(sides).tolist()
    crossing = []
    for before, after in itertools.pairwise(decided):
        if sides[before] != sides[after]:
            changes = list(_changes(held.mean, before, after))
            crossing.append(_crossing(held, changes[len(changes) // 2], confidence))
    return crossing


def _changes(mean: Floats, first: int, last: int) -> Iterator[int]:
    """Yield each segment, by its left point, in which the mean changes sides."""
    for left in range(first, last):
        if (mean[left] < 0) != (mean[left + 1] < 0):
            yield left


def _crossing(logs: _Logs, segment: int, confidence: float | None) -> Crossing:
    left, right = float(logs.mean[segment]), float(logs.mean[segment + 1])
    share = left / (left - right)
    x = _x_at(logs, segment, share)
    between = (_x_at(logs, segment, 0.0), _x_at(logs, segment, 1.0))
    if confidence is None:
        return Crossing(Bounded(x), between, left < right, is_certain=False)
    low = _end(logs, segment, share, -1, confidence)
    high = _end(logs, segment, share, +1, confidence)
    return Crossing(Bounded(x, low, high), between, left < right, is_certain=True)


def _end(logs: _Logs, segment: int, share: float, step: int, confidence: float) -> float | None:
    """Return the nearest x, from the crossing in the direction of `step`, where the ratio is surely not 1."""
    start = share
    while 0 <= segment < len(logs.x) - 1:
        pair = logs.ratio[:, segment : segment + 2]
        pair = pair[np.isfinite(pair).all(axis=1)]
        roots = ends(pair[:, 0], pair[:, 0] - pair[:, 1], confidence) if len(pair) >= MIN_BLOCKS else ()
        beyond = [root for root in roots if -_ROUNDING <= root <= 1 + _ROUNDING]
        beyond = [root for root in beyond if (root - start) * step >= -_ROUNDING]
        if beyond:
            return _x_at(logs, segment, min(beyond, key=lambda root: root * step))
        segment += step
        start = 0.0 if step > 0 else 1.0
    return None


def _x_at(logs: _Logs, segment: int, share: float) -> float:
    left, right = logs.x[segment], logs.x[segment + 1]
    return float(np.exp(left + share * (right - left)))


def plateau(performance: Floats, margin: float, confidence: float = 0.95) -> Plateau | None:
    """Return where `performance`, blocks × points, comes within `margin` of its best.

    Each point is held against the best, paired by block. The best is the largest of noisy means, which
    flatters it a little: where several points are equal, the first of them is what is asked for.
    """
    centre = geometric_intervals(np.where(performance > 0, performance, np.nan), confidence).centre
    if not np.isfinite(centre).any():
        return None
    best = int(np.nanargmax(centre))
    base = np.repeat(performance[:, best, np.newaxis], performance.shape[1], axis=1)
    shares = ratios(base, performance, confidence)
    with np.errstate(invalid="ignore"):
        first = int(np.flatnonzero(shares.ratio >= 1 - margin)[0])
        certain = [column for column in np.flatnonzero(shares.low >= 1 - margin).tolist() if column != best]
    return Plateau(first, certain[0] if certain else None, best, shares)
