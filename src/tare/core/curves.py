"""How a figure of merit goes with a message size, a number of threads or another number."""

from __future__ import annotations

import msgspec

from tare.core.interval import Bounded
from tare.core.values import Settings
from tare.core.workload import Better


class HockneyFit(msgspec.Struct, frozen=True, kw_only=True):
    """Time of a message of m bytes as t0 + m/r∞, or in `refusal` why that was not fitted.

    `latency` is t0 in `unit`, `bandwidth` r∞ in MB/s, and `half_size` n½ = t0 · r∞, the bytes at which half
    of that bandwidth is reached (Hockney 1994, Parallel Computing 20:389). `misfit` is the largest
    relative deviation of a measured time from the line: a change of protocol shows there.
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
    confidence: float = 0.95
    refusal: str = ""


class Crossover(msgspec.Struct, frozen=True, kw_only=True):
    """Where two sides trade places along `along`: `first` is better below `x`, `second` above.

    `is_certain` says that on both sides of it some point is known to differ in that direction; else there
    are too few blocks for intervals and only the estimates cross. `x` is interpolated between measured
    points, linearly in the logarithms; its interval is where the interval of the ratio holds 1. It holds
    noise only: `between` are the measured points next to it, and how it goes between them is not known.
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
    confidence: float = 0.95


class Saturation(msgspec.Struct, frozen=True, kw_only=True):
    """The least `x` along `along` at which a figure is within `margin` of its best, the plateau.

    `certain_x` is the least at which the whole interval of the paired ratio to the best is; None where
    there is none, which the best itself is not counted as. `best_x` is where the best was measured. It
    `is_open` where nothing below the last point reaches the margin: what lies beyond is not known.
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
    best_x: float
    plateau: Bounded
    share: Bounded
    is_open: bool
    confidence: float = 0.95
