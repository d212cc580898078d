"""How a figure of merit depends on a message size, a number of threads or another number."""

from __future__ import annotations

import msgspec

from tare.core.interval import Bounded
from tare.core.values import Settings
from tare.core.workload import Better


class HockneyFit(msgspec.Struct, frozen=True, kw_only=True):
    """The time of a message of m bytes as t0 + m/r∞; or `refusal` says why that was not fitted.

    `latency` is t0 in `unit`. `bandwidth` is r∞ in MB/s. `half_size` is n½ = t0 · r∞, the bytes at which half
    of that bandwidth is reached (Hockney 1994, Parallel Computing 20:389). `misfit` is the largest relative
    deviation of a measured time from the line; a change of protocol shows there. `timed_out` counts the runs
    that were ended at their time-out and do not count: the others are faster than the case is.
    """

    workload: str
    case: str
    fom: str
    unit: str
    settings: Settings
    at: Settings
    n_blocks: int
    n_sizes: int
    latency: Bounded | None = None
    bandwidth: Bounded | None = None
    half_size: Bounded | None = None
    misfit: float | None = None
    timed_out: int = 0
    confidence: float = 0.95
    refusal: str = ""


class Crossover(msgspec.Struct, frozen=True, kw_only=True):
    """Where the better side changes along `along`: `first` is better below `x`, `second` above.

    `is_certain` is true if on both sides of `x` some point is known to differ in that direction. Otherwise
    there are too few blocks for intervals, and only the estimates cross. `x` is interpolated between measured
    points, linearly in the logarithms. Its interval is where the interval of the ratio contains 1. That
    interval covers noise only: `between` are the measured points next to `x`, and the course between them is
    not known. `timed_out` counts the runs of both sides that were ended at their time-out; then nothing is
    certain, since each side is better somewhere.
    """

    workload: str
    fom: str
    unit: str
    along: str
    settings: Settings
    at: Settings
    first: Settings
    second: Settings
    first_cases: tuple[str, ...]
    second_cases: tuple[str, ...]
    n_blocks: int
    x: Bounded
    between: tuple[float, float]
    is_certain: bool
    timed_out: int = 0
    confidence: float = 0.95


class Saturation(msgspec.Struct, frozen=True, kw_only=True):
    """The smallest `x` along `along` at which a figure is within `margin` of its best value, the plateau.

    `certain_x` is the smallest at which the whole interval of the paired ratio to the best value is; the best
    point itself does not count, and it is None where there is no other. `possible_x` is the smallest that the
    intervals do not exclude. `best_x` is where the best value was measured.
    `timed_out` counts the runs that were ended at their time-out; no point of which any was is certain. It
    `is_open` where only the last point reaches the margin: what lies beyond is not known.
    """

    workload: str
    fom: str
    unit: str
    better: Better
    along: str
    settings: Settings
    at: Settings
    cases: tuple[str, ...]
    n_points: int
    n_blocks: int
    margin: float
    x: float
    certain_x: float | None
    possible_x: float
    best_x: float
    plateau: Bounded
    share: Bounded
    is_open: bool
    timed_out: int = 0
    confidence: float = 0.95
