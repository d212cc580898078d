"""Strong and weak scaling: what more nodes, ranks or threads gain, with intervals paired by block."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from tare.model.interval import Bounded
from tare.model.scaling import Finding, Lasting, Remark
from tare.stats.intervals import Floats
from tare.stats.ratios import Ratios, ratios


@dataclasses.dataclass(frozen=True, eq=False)
class Scaled:
    """One column a scale; NaN where there is no figure, or no interval.

    `speedup` is throughput over that at the reference scale, `gain` over that at the measured scale
    before; `efficiency` is the speedup times `share`, which is p_ref / p.
    """

    speedup: Ratios
    gain: Ratios
    share: Floats


def scaled(
    throughput: Floats, scales: Sequence[float], reference: int | None, confidence: float = 0.95
) -> Scaled:
    """Return how `throughput`, blocks × scales in rising order, grows from column `reference` on.

    Throughput is 1/t of a problem that stays, p/t of one that grows with p, or a rate. Ratios are paired
    by block on the log scale, as those of contenders are, and so have no interval with fewer than
    three blocks. Columns that are all NaN stay so: nothing is interpolated.
    """
    p = np.asarray(scales, np.float64)
    n_blocks = np.isfinite(throughput).sum(axis=0)
    nothing = np.full(len(throughput), np.nan)
    base = nothing if reference is None else throughput[:, reference]
    before = [nothing] * len(p)
    last: int | None = None
    for column in range(len(p)):
        if last is not None:
            before[column] = throughput[:, last]
        if n_blocks[column]:
            last = column
    earlier = np.column_stack(before) if before else throughput
    return Scaled(
        speedup=ratios(np.repeat(base[:, np.newaxis], len(p), axis=1), throughput, confidence),
        gain=ratios(earlier, throughput, confidence),
        share=np.full(len(p), np.nan) if reference is None else p[reference] / p,
    )


def bounded(found: Ratios, column: int, factor: float = 1.0) -> Bounded | None:
    """Return one ratio times `factor`, None where there is none."""
    value, low, high = (float(part[column]) * factor for part in (found.ratio, found.low, found.high))
    if value != value:
        return None
    return Bounded(value) if low != low else Bounded(value, low, high)


def remarks(gain: Bounded | None, efficiency: Bounded | None) -> tuple[Remark, ...]:
    """Return what deserves a name: throughput below that at the scale before, efficiency above 1.

    Certain where the whole interval lies beyond 1; without an interval it is told, and not certain;
    where the interval holds 1 nothing is told. Give no `efficiency` at and below the reference scale.
    """
    found = []
    if gain is not None and (gain.value if gain.high is None else gain.high) < 1:
        found.append(Remark(Finding.NEGATIVE, gain.high is not None))
    if efficiency is not None and (efficiency.value if efficiency.low is None else efficiency.low) > 1:
        found.append(Remark(Finding.SUPER_LINEAR, efficiency.low is not None))
    return tuple(found)


def lasting(floor: float, scales: Sequence[float], efficiencies: Sequence[Bounded | None]) -> Lasting | None:
    """Return how far an efficiency of `floor` lasts from the first of `scales`, the reference scale.

    A scale that was not measured is passed over. None where nothing was measured.
    """
    known = [(p, one) for p, one in zip(scales, efficiencies, strict=True) if one is not None]
    if not known:
        return None
    scale = _reach([(p, one.value) for p, one in known], floor)
    has_intervals = any(one.low is not None for _, one in known)
    certain = _reach([(p, one.low) for p, one in known], floor) if has_intervals else None
    return Lasting(floor=floor, scale=known[0][0] if scale is None else scale, certain_scale=certain)


def _reach(points: list[tuple[float, float | None]], floor: float) -> float | None:
    reach = None
    for p, efficiency in points:
        if efficiency is None or efficiency < floor:
            break
        reach = p
    return reach
