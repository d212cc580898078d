"""Compute strong and weak scaling: the gain from more nodes, ranks or threads, paired by block."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tare.core.interval import Bounded
from tare.core.scaling import EfficientRange, Remark, ScalingResult
from tare.stats.autocorrelation import allow_for, unresolved_correlation, without_unresolved
from tare.stats.equivalence import difference_p_values
from tare.stats.intervals import CONFIDENCE, Floats
from tare.stats.multiplicity import holm
from tare.stats.ratios import Ratios, multiplied, paired_columns, ratios, separate_unpaired


@dataclasses.dataclass(frozen=True, eq=False)
class Scaled:
    """Speedups and efficiencies, one column per scale; NaN where there is no value, or no interval.

    `speedup` is throughput relative to the reference scale, `gain` relative to the previous measured scale.
    `efficiency` is the speedup times `share`, which is p_ref / p. `unresolved_speedup` and `unresolved_gain`
    are the autocorrelation of blocks that are too few to show how many of them count, else NaN. There is no
    interval then.
    """

    speedup: Ratios
    gain: Ratios
    share: Floats
    unresolved_speedup: Floats
    unresolved_gain: Floats


def scaled(
    throughput: Floats,
    scales: Sequence[float],
    reference: int | None,
    *,
    rounding: Floats | None = None,
    is_recorded: npt.NDArray[np.bool_] | None = None,
    is_unpaired: bool = False,
) -> Scaled:
    """Return how `throughput`, blocks × scales in rising order, grows relative to column `reference`.

    Throughput is 1/t for a fixed problem, p/t for one that grows with p, or a rate. Ratios are paired by
    block on the log scale, like those of contenders, so they have no interval with fewer than three blocks.
    Columns that are all NaN stay NaN: nothing is interpolated. Blocks are in the order of time. The intervals
    allow for autocorrelation and for `rounding`: how far rounding may have moved the mean of each column, as
    a share of the mean. Scales without a common block have no ratio unless `is_unpaired`. Scales whose blocks
    are mere numbers, not `is_recorded`, are compared unpaired.
    """
    p = np.asarray(scales, np.float64)
    own = np.arange(len(p))
    shifts = np.zeros(len(p)) if rounding is None else rounding
    recorded = np.ones(len(p), np.bool_) if is_recorded is None else is_recorded
    with_nothing = np.column_stack([throughput, np.full(len(throughput), np.nan)])  # as the last column

    def relative_to(columns: list[int]) -> tuple[Ratios, Floats]:
        return paired_ratios(
            with_nothing.take(columns, axis=1),
            throughput,
            CONFIDENCE,
            np.where(own == columns, 0.0, shifts + np.append(shifts, 0.0)[columns]),
            is_paired=recorded & np.append(recorded, True)[columns],
            is_unpaired=is_unpaired,
        )

    speedup, unresolved_speedup = relative_to([-1 if reference is None else reference] * len(p))
    gain, unresolved_gain = relative_to(_previous_measured(throughput))
    share = np.full(len(p), np.nan) if reference is None else p[reference] / p
    return Scaled(
        without_unresolved(speedup, unresolved_speedup),
        without_unresolved(gain, unresolved_gain),
        share,
        unresolved_speedup,
        unresolved_gain,
    )


def _previous_measured(throughput: Floats) -> list[int]:
    """Return for each column the last one before it that has a value; −1 where there is none."""
    previous, last = [], -1
    for column, n_blocks in enumerate(np.isfinite(throughput).sum(axis=0)):
        previous.append(last)
        last = column if n_blocks else last
    return previous


def paired_ratios(
    below: Floats,
    above: Floats,
    confidence: float,
    rounding: Floats | None,
    *,
    is_paired: npt.NDArray[np.bool_] | None = None,
    is_unpaired: bool = False,
) -> tuple[Ratios, Floats]:
    """Return above / below and the autocorrelation that is too uncertain to allow for; rows in time order.

    Where there are enough blocks, the intervals allow for autocorrelation (see `tare.stats.autocorrelation`).
    Throughput is infinite where a time was printed as zero. There the times themselves are compared, since
    they have arithmetic means.
    """
    below, above = _finite(below, above)
    paired = np.ones(below.shape[1], np.bool_) if is_paired is None else is_paired
    paired = paired_columns(below, above, paired, is_unpaired=is_unpaired)
    below, above = separate_unpaired(below, above, paired)
    plain = ratios(below, above, confidence, rounding=rounding)
    return allow_for(plain, below, above, confidence)[0], unresolved_correlation(plain, below, above)


def _finite(below: Floats, above: Floats) -> tuple[Floats, Floats]:
    """Return both sides, swapped and inverted where one has an infinite value; the ratio stays the same."""
    is_turned = np.isinf(below).any(axis=0) | np.isinf(above).any(axis=0)
    if not is_turned.any():
        return below, above
    with np.errstate(divide="ignore"):
        inverse = 1 / above, 1 / below
    return np.where(is_turned, inverse[0], below), np.where(is_turned, inverse[1], above)


def bounded(found: Ratios, column: int, factor: float = 1.0) -> Bounded | None:
    """Return one ratio times `factor`; None where there is none."""
    value, low, high = (float(part[column]) * factor for part in (found.ratio, found.low, found.high))
    return None if value != value else Bounded.of(value, low, high)


class Claims(NamedTuple):
    """Which points of a curve may be claimed to differ from 1, valid for all points together."""

    gain: npt.NDArray[np.bool_]
    efficiency: npt.NDArray[np.bool_]


def claims(grown: Scaled, is_beyond: npt.NDArray[np.bool_]) -> Claims:
    """Return which gains, and which efficiencies where `is_beyond` the reference scale, surely differ from 1.

    All claims of a curve form one family, by Holm's procedure: the chance of any false claim is at most 5 %.
    A curve of six scales has eleven possible claims.
    """
    efficiency = multiplied(grown.speedup, grown.share)
    is_judged = is_beyond & np.isnan(grown.unresolved_speedup)
    p_values = np.concatenate(
        [
            np.where(np.isnan(grown.unresolved_gain), difference_p_values(grown.gain), np.nan),
            np.where(is_judged, difference_p_values(efficiency), np.nan),
        ]
    )
    with np.errstate(invalid="ignore"):
        gain, other = np.split(holm(p_values) <= 1 - CONFIDENCE, 2)
    return Claims(gain, other)


def remarks(
    gain: Bounded | None,
    efficiency: Bounded | None,
    *,
    can_be_negative: bool = True,
    can_be_super_linear: bool = True,
) -> tuple[Remark, ...]:
    """Return remarks: throughput below that of the previous scale, or efficiency above 1.

    A remark is certain where the whole interval lies beyond 1, and where the claim is valid among all points
    of the curve. Without an interval it is made, but not certain. Otherwise there is no remark. Pass no
    `efficiency` at and below the reference scale.
    """
    found = []
    if gain is not None and gain.high is not None and not can_be_negative:
        gain = None
    if efficiency is not None and efficiency.low is not None and not can_be_super_linear:
        efficiency = None
    if gain is not None and (gain.value if gain.high is None else gain.high) < 1:
        found.append(Remark(ScalingResult.NEGATIVE, gain.high is not None))
    if efficiency is not None and (efficiency.value if efficiency.low is None else efficiency.low) > 1:
        found.append(Remark(ScalingResult.SUPER_LINEAR, efficiency.low is not None))
    return tuple(found)


def lasting(
    floor: float, scales: Sequence[float], efficiencies: Sequence[Bounded | None]
) -> EfficientRange | None:
    """Return the largest scale up to which the efficiency is at least `floor`.

    The first of `scales` is the reference scale. Scales that were not measured are skipped. None where
    nothing was measured.
    """
    known = [(p, one) for p, one in zip(scales, efficiencies, strict=True) if one is not None]
    if not known:
        return None
    scale = _reach([(p, one.value) for p, one in known], floor)
    has_intervals = any(one.low is not None for _, one in known)
    certain = _reach([(p, one.low) for p, one in known], floor) if has_intervals else None
    return EfficientRange(floor=floor, scale=known[0][0] if scale is None else scale, certain_scale=certain)


def _reach(points: list[tuple[float, float | None]], floor: float) -> float | None:
    reach = None
    for p, efficiency in points:
        if efficiency is None or efficiency < floor:
            break
        reach = p
    return reach
