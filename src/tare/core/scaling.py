"""How a workload scales with the number of nodes, ranks or threads: the results of the statistics."""

from __future__ import annotations

import enum

import msgspec

from tare.core.interval import Bounded
from tare.core.values import Settings
from tare.core.workload import Better


class ScalingKind(enum.StrEnum):
    """Whether the problem keeps its size, or grows with the scale."""

    STRONG = "strong"
    WEAK = "weak"


class ScalingResult(enum.StrEnum):
    """A remarkable result at one scale."""

    NEGATIVE = "negative"
    """Less throughput than at the previous scale."""
    SUPER_LINEAR = "super-linear"
    """An efficiency above 1."""


class Remark(msgspec.Struct, frozen=True, gc=False):
    """A remark on one scale. It is certain if the whole interval shows it; without an interval it is not."""

    finding: ScalingResult
    is_certain: bool


class ScalingPoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One scale of a curve; values that were not measured are None, never interpolated.

    - `value` is the figure of merit.
    - `speedup` is the throughput divided by that at the reference scale (in weak scaling the scaled speedup).
    - `efficiency` is speedup · p_ref / p.
    - `gain` is the throughput divided by that at the previous measured scale.
    - `case` is None where the plan has no case at this scale.
    - `timed_out` counts the runs that were ended at their time-out and do not count. The others are faster
      than the case is, so nothing that favours it is certain.
    """

    scale: float
    case: str | None
    n_blocks: int = 0
    value: Bounded | None = None
    speedup: Bounded | None = None
    efficiency: Bounded | None = None
    gain: Bounded | None = None
    remarks: tuple[Remark, ...] = ()
    note: str = ""
    timed_out: int = 0


class Law(enum.StrEnum):
    """A law of scaling; throughput X at scale p."""

    AMDAHL = "Amdahl"
    """X = γ p / (1 + σ(p − 1)), σ the serial share of the work (Amdahl 1967, AFIPS 30:483)."""
    GUSTAFSON = "Gustafson"
    """X = γ (p − σ(p − 1)), σ the serial share of the time (Gustafson 1988, CACM 31:532)."""
    USL = "USL"
    """X = γ p / (1 + σ(p − 1) + κ p(p − 1)): contention σ and crosstalk κ (Gunther 2007, Guerrilla
    Capacity Planning, ch. 4–6)."""


class LawFit(msgspec.Struct, frozen=True, kw_only=True):
    """A law fitted to a curve; or `refusal` says why it was not fitted.

    `parameters` are ``sigma`` and, for the USL, ``kappa``. `gamma` is the throughput at p = 1. `misfit` is
    the largest relative deviation of a measured scale from the law, `r_squared` that of log throughput.
    `knee` is the scale of greatest throughput, √((1 − σ)/κ). Its high end is None where the data do not
    exclude that throughput grows for ever.
    """

    law: Law
    n_scales: int
    gamma: Bounded | None = None
    parameters: dict[str, Bounded] = {}
    misfit: float | None = None
    r_squared: float | None = None
    knee: Bounded | None = None
    refusal: str = ""


class EfficientRange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The largest scale up to which every measured efficiency is at least `floor`.

    `certain_scale` is the same for the low ends of the efficiencies' intervals; None where no scale has an
    interval.
    """

    floor: float
    scale: float
    certain_scale: float | None


class ScalingCurve(msgspec.Struct, frozen=True, kw_only=True):
    """One workload of one variant along `along`, such as ``nodes``, with all other settings fixed.

    `settings` are those of the fixed settings that vary in the study. `at` holds the coordinates of the
    figure of merit. `held` says what is the same at all scales of a weak scaling, such as ``nex²/ranks``.
    `p_ref` is the scale that speedups refer to; None where it was not measured, and `note` says so.
    """

    workload: str
    fom: str
    unit: str
    better: Better
    kind: ScalingKind
    along: str
    settings: Settings
    at: Settings
    held: str = ""
    p_ref: float | None
    confidence: float
    points: tuple[ScalingPoint, ...]
    fits: tuple[LawFit, ...] = ()
    lasting: tuple[EfficientRange, ...] = ()
    note: str = ""

    @property
    def measured(self) -> tuple[ScalingPoint, ...]:
        """Return the points that have a value."""
        return tuple(point for point in self.points if point.value is not None)

    @property
    def knee(self) -> Bounded | None:
        """Return the scale of greatest throughput according to the USL, if it was fitted and has one."""
        return next((fit.knee for fit in self.fits if fit.law is Law.USL), None)
