"""Describe how a workload scales in words, for the page and for the terminal."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from tare.analysis.verdicts.row_notes import NO_SPEEDUP
from tare.analysis.verdicts.timed_out_runs import timed_out_words
from tare.core.interval import Bounded
from tare.core.scaling import Law, LawFit, ScalingCurve, ScalingKind, ScalingPoint, ScalingResult
from tare.core.units import write_number
from tare.core.values import Settings
from tare.core.workload import ParameterKind
from tare.report.words.numbers import (
    NARROW,
    NO_KINDS,
    SPACE,
    bracket,
    coordinate,
    counts_bytes,
    listed,
    number,
    percent,
    quantity,
    ratio,
    ratio_bounds,
    visible,
    words,
)

_MOST_DECIMALS = 4

_NEAR = 0.3
"""The largest misfit of a law, as a share; a text warns of a law that misses a measured point by more."""


def settings_words(settings: Settings, kinds: Mapping[str, ParameterKind] = NO_KINDS) -> str:
    """Return settings as a name, with the units of their `kinds`: ``host · size 12 KiB``."""
    values = (
        visible(value) if isinstance(value, str) else coordinate(name, value, kinds)
        for name, value in settings.items()
    )
    return " · ".join(values)


def is_bytes(along: str, kinds: Mapping[str, ParameterKind]) -> bool:
    """Return whether a scale counts bytes."""
    return counts_bytes(along) or kinds.get(along) is ParameterKind.BYTES


def scale_words(along: str, scale: float, kinds: Mapping[str, ParameterKind] = NO_KINDS) -> str:
    """Return a scale with its noun: ``1 node``, ``12.3 nodes``."""
    if is_bytes(along, kinds):
        return coordinate(along, float(scale), kinds)  # float: the scale may be estimated
    if scale.is_integer():
        return coordinate(along, int(scale), kinds)
    return f"{number(scale)}{NARROW}{words(along)}"


def factor(one: Bounded | None) -> str:
    """Return a ratio with its interval: ``× 3.40 [3.21, 3.60]``."""
    if one is None:
        return "–"
    return f"{ratio(one.value)}{SPACE}{ratio_bounds(one.value, one.low, one.high)}".rstrip()


def share(one: Bounded | None) -> str:
    """Return a share in percent with its interval: ``43 % [40, 45]``."""
    if one is None:
        return "–"
    bounds = None if one.low is None or one.high is None else (one.low, one.high)
    decimals = _share_decimals(one.value, bounds)
    return (
        f"{percent(one.value, is_signed=False, decimals=decimals)}{SPACE}{bracket(bounds, decimals)}".rstrip()
    )


def _share_decimals(value: float, bounds: tuple[float, float] | None) -> int:
    """Return the least number of decimals that hide nothing, at most `_MOST_DECIMALS`.

    The ends of an interval look different, and what is not 0 does not look like 0.
    """
    seen = {value, *(bounds or ())}
    n_looks = 2 if bounds is not None and bounds[0] < bounds[1] else 1
    for n in range(_MOST_DECIMALS):
        looks = {float(f"{end * 100:.{n}f}") for end in bounds or (value,)}
        if len(looks) >= n_looks and (looks != {0.0} or seen == {0.0}):
            return n
    return _MOST_DECIMALS


def speedup_words(curve: ScalingCurve, point: ScalingPoint) -> str:
    """Return the speedup of a point; that of the reference scale is 1 by definition."""
    return f"×{NARROW}1" if _is_base(curve, point) else factor(point.speedup)


def efficiency_words(curve: ScalingCurve, point: ScalingPoint) -> str:
    """Return the efficiency of a point; that of the reference scale is 1 by definition."""
    return f"100{NARROW}%" if _is_base(curve, point) else share(point.efficiency)


def _is_base(curve: ScalingCurve, point: ScalingPoint) -> bool:
    return point.scale == curve.p_ref and point.note != NO_SPEEDUP


def measured(one: Bounded | None, unit: str) -> str:
    """Return a measured value with its unit and interval: ``87.6 s [86.1, 89.2]``."""
    if one is None:
        return "–"
    return f"{quantity(one.value, unit)}{SPACE}{span(one)}".rstrip()


def span(one: Bounded, digits: int = 3) -> str:
    """Return an interval alone, ``[9.1, 20]``; ``…`` stands for an unknown upper end."""
    if one.low is None:
        return ""
    return f"[{number(one.low, digits)},{SPACE}{'…' if one.high is None else number(one.high, digits)}]"


def remark_words(point: ScalingPoint) -> str:
    """Return the remarks on one scale: its findings, and why a value is missing."""
    found = [
        str(one.finding) + (" scaling" if one.finding is ScalingResult.NEGATIVE else "")
        if one.is_certain
        else f"seems {one.finding}"
        for one in point.remarks
    ]
    survived = timed_out_words(0, point.timed_out, is_alone=True) if point.timed_out else ""
    return "; ".join(filter(None, (*found, point.note, survived)))


def sentences(curve: ScalingCurve) -> list[str]:
    """Return the results of a curve as sentences that do not name their subject."""
    if not curve.measured:
        notes = dict.fromkeys(point.note for point in curve.points)
        return [f"{next(iter(notes)).capitalize()}." if len(notes) == 1 else "Not measured."]
    found = [
        *(_growth(curve), _lasting(curve), *_findings(curve), _knee(curve)),
        *(_missing(curve), *_timed_out(curve)),
    ]
    return [one for one in found if one]


def _growth(curve: ScalingCurve) -> str:
    known = [one for one in curve.measured if one.speedup is not None]
    last = known[-1] if known else curve.measured[-1]
    if curve.p_ref is None or not known or last.scale == curve.p_ref:
        return f"{curve.note.capitalize()}." if curve.note else ""
    fast = "as fast" if curve.kind is ScalingKind.STRONG else "the throughput"
    where = scale_words(curve.along, last.scale)
    return (
        f"{factor(last.speedup)} {fast} on {where} as on {write_number(curve.p_ref)}, an efficiency of "
        f"{share(last.efficiency)}{_lack(last)}."
    )


def _lack(point: ScalingPoint) -> str:
    return f" ({point.note})" if point.note else ""


def _lasting(curve: ScalingCurve) -> str:
    """Return up to which scale the efficiency stays above each floor.

    A floor is left out if a higher one says as much: it is stayed above up to the same scale, as surely. Of
    floors that no scale beyond the reference reaches, the lowest says the most.
    """
    largest = curve.measured[-1].scale
    if curve.p_ref is None:
        return ""
    beyond = [one.scale for one in curve.measured if one.efficiency is not None and one.scale > curve.p_ref]
    if not beyond:
        return ""
    parts: list[str] = []
    reached: tuple[float, float | None] | None = None
    for one, lower in itertools.zip_longest(curve.lasting, curve.lasting[1:]):
        floor = percent(one.floor, is_signed=False)
        if (one.scale, one.certain_scale) == reached:
            continue
        if one.scale == curve.p_ref:
            if lower is not None and lower.scale == one.scale:
                continue
            parts.append(_below_words(curve, beyond, one.floor))
            continue
        reached = (one.scale, one.certain_scale)
        sure = one.certain_scale
        surely = "" if sure is None or sure == one.scale else f" (surely up to {write_number(sure)})"
        reach = "to the last" if one.scale == largest else f"up to {scale_words(curve.along, one.scale)}"
        stays = "seems to stay" if one.certain_scale is None else "stays"
        verb = "" if parts and parts[-1].startswith(stays) else f"{stays} "
        parts.append(f"{verb}at {floor} or more {reach}{surely}")
        if one.scale == largest:
            break
    return f"Efficiency {', and '.join(parts)}."


def _below_words(curve: ScalingCurve, beyond: Sequence[float], floor: float) -> str:
    """Return where the efficiency is below a floor that the first scale beyond the reference does not reach.

    It is below from there on only if no later scale reaches the floor.
    """
    first, *later = beyond
    again = [scale for scale in later if _reaches(curve, scale, floor)]
    is_sure = all(_is_below(curve, scale, floor) for scale in beyond if scale not in again)
    found = f"{'is' if is_sure else 'seems'} below {percent(floor, is_signed=False)}"
    where = scale_words(curve.along, first)
    if not again:
        return f"{found} from {where} on"
    reached = listed([*(write_number(scale) for scale in again[:-1]), scale_words(curve.along, again[-1])])
    return f"{found} at {where} but not at {reached}"


def _reaches(curve: ScalingCurve, scale: float, floor: float) -> bool:
    found = next((one.efficiency for one in curve.measured if one.scale == scale), None)
    return found is not None and found.value >= floor


def _is_below(curve: ScalingCurve, scale: float, floor: float) -> bool:
    """Return whether the efficiency at a scale is below a floor with its whole interval."""
    found = next((one.efficiency for one in curve.measured if one.scale == scale), None)
    is_too_small = any(one.timed_out for one in curve.measured if one.scale == curve.p_ref)
    return not is_too_small and (found is None or (found.high is not None and found.high < floor))


def _findings(curve: ScalingCurve) -> list[str]:
    found = []
    earlier: ScalingPoint | None = None
    super_linear = []
    for point in curve.measured:
        for one in point.remarks:
            if one.finding is ScalingResult.NEGATIVE and earlier is not None:
                verb = "is" if one.is_certain else "seems"
                step = f"from {write_number(earlier.scale)} to {scale_words(curve.along, point.scale)}"
                found.append(
                    f"Scaling {verb} negative {step}: throughput {factor(point.gain)}{_lack(point)}."
                )
            elif one.finding is ScalingResult.SUPER_LINEAR:
                seems = "" if one.is_certain else "seemingly "
                super_linear.append(
                    f"{seems}{scale_words(curve.along, point.scale)}, {share(point.efficiency)}{_lack(point)}"
                )
        earlier = point
    if super_linear:
        found.append(f"Super-linear (efficiency above 100{NARROW}%) at {listed(super_linear)}.")
    return found


def _knee(curve: ScalingCurve) -> str:
    fit = next((one for one in curve.fits if one.law is Law.USL and not one.refusal), None)
    if fit is None:
        return ""
    if fit.knee is None:
        open_end = f"{_not_excluded(curve, fit)}{_misfit_warning(fit)}"
        return f"The USL’s best fit has no peak of throughput; {open_end}."
    smallest, largest = curve.measured[0].scale, curve.measured[-1].scale
    if fit.knee.value < smallest:
        peak = f"{scale_words(curve.along, smallest)}, the smallest that was measured, or below"
        return f"The USL puts the peak of throughput at {peak}{_misfit_warning(fit)}."
    beyond = f", beyond the {write_number(largest)} that were measured" if fit.knee.value > largest else ""
    open_end = ", if there is one" if fit.knee.low is not None and fit.knee.high is None else ""
    peak = f"{scale_words(curve.along, _to_three_digits(fit.knee.value))}{SPACE}{span(fit.knee)}".rstrip()
    return f"The USL puts the peak of throughput at {peak}{open_end}{beyond}{_misfit_warning(fit)}."


def _to_three_digits(scale: float) -> float:
    """Return an estimated scale as the ends of its interval are printed, so that it does not leave them."""
    return float(f"{scale:.3g}") if scale < 1000 else float(round(scale))


def _not_excluded(curve: ScalingCurve, fit: LawFit) -> str:
    """Return from which scale on a peak is possible: √((1 − σ)/κ) of the high ends of both intervals."""
    sigma, kappa = fit.parameters["sigma"].high, fit.parameters["kappa"].high
    if _is_beyond(fit, "kappa"):
        return "none is seen at any scale"
    if sigma is None or kappa is None:
        return "without intervals, none is excluded"
    least = math.sqrt(max(1 - sigma, 0.0) / kappa)
    if least < curve.measured[0].scale:
        return "one at any scale is not excluded"
    return f"one at {scale_words(curve.along, math.floor(10 * least) / 10)} or more is not excluded"


def _is_beyond(fit: LawFit, name: str) -> bool:
    """Return whether the measured points ask for less, or more, of a parameter than its law allows."""
    has_blocks = fit.gamma is not None and fit.gamma.low is not None
    return has_blocks and fit.parameters[name].low is None


def _misfit_warning(fit: LawFit) -> str:
    if fit.misfit is None or fit.misfit <= _NEAR:
        return ""
    return f"; it misses a measured point by {percent(fit.misfit, is_signed=False)}, so do not lean on it"


def _missing(curve: ScalingCurve) -> str:
    missing = [scale_words(curve.along, point.scale) for point in curve.points if point.value is None]
    without = [point for point in curve.measured if point.speedup is None]
    apart = [scale_words(curve.along, point.scale) for point in without if point.note != NO_SPEEDUP]
    parts = [f"Not measured: {listed(missing)}."] if missing else []
    if below := [scale_words(curve.along, point.scale) for point in without if point.note == NO_SPEEDUP]:
        where = f" on {listed(below)}" if len(below) < len(curve.measured) else ""
        parts.append(f"{NO_SPEEDUP.capitalize().replace(':', f'{where}:')}.")
    if apart and curve.p_ref is not None:
        parts.append(f"Not measured together with {scale_words(curve.along, curve.p_ref)}: {listed(apart)}.")
    return " ".join(parts)


def _timed_out(curve: ScalingCurve) -> Iterator[str]:
    """Yield a sentence on each scale of which runs timed out, and on what is then too large or too small."""
    for point in curve.measured:
        if not point.timed_out:
            continue
        runs = timed_out_words(0, point.timed_out, is_alone=True)
        is_base = point.scale == curve.p_ref
        bias = "speedups over it are too small" if is_base else "its speedup is too large"
        where = scale_words(curve.along, point.scale)
        yield f"On {where}, {runs}: it is slower than shown, and {bias}."


def _at_bound(one: Bounded) -> str:
    return f"(the {'least' if one.value < 0.5 else 'most'} that the law allows, which does not fit)"


def law_words(fit: LawFit) -> str:
    """Return a law's parameters, ``σ = 0.031 [0.029, 0.034]``, and its misfit; or why it was not fitted."""
    if fit.refusal:
        return f"not fitted: {fit.refusal}"
    signs = {"sigma": "σ", "kappa": "κ"}
    parts = []
    for name, one in fit.parameters.items():
        how_sure = _at_bound(one) if _is_beyond(fit, name) else span(one, 2)
        parts.append(f"{signs[name]} = {number(one.value, 2)}{SPACE}{how_sure}".rstrip())
    misfit = "" if fit.misfit is None else f"; misses by {percent(fit.misfit, is_signed=False)} at most"
    return ", ".join(parts) + misfit
