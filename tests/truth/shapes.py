"""What is claimed of scales and of curves whose shape is known: laws, lines, crossovers, saturation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tare.analysis.scales.curves import curves
from tare.analysis.scales.scaling import scalings
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.curves import Crossover, HockneyFit, Saturation
from tare.core.scaling import Law, ScalingCurve, ScalingResult
from tare.core.workload import Better
from truth.campaigns import Truth
from truth.claimed import Asked, misses
from truth.wild import BYTES_OF_LATENCY, Wild

_ROUNDING = 1e-9
_LIKE_ITSELF = ("log-normal 0.3 %", "log-normal 1 %", "log-normal 3 %", "normal")
"""Noise whose centre few runs show: of a case by itself, slow runs that few blocks met are in no interval."""


def of_shapes(study: Wild, found: Campaign) -> Iterator[Asked]:
    """Yield what is asked of scales and curves."""
    truth = study.truth
    if truth.zeros:
        return  # what is zero lies on no curve
    if "pingpong" not in truth.workloads:
        for curve in scalings(found):
            if not curve.at:
                remarks = []
                for told in _of_scaling(truth, curve, found):
                    if told.family == "scaling: remarks":
                        remarks.append(told)
                    else:
                        yield told
                yield together(remarks)
    else:
        known = curves(found)
        for one in known.hockney:
            yield from _of_line(study, one, found)
        yield from _of_crossovers(truth, known.crossovers, found)
        for saturation in known.saturations:
            yield from _of_saturation(truth, saturation, found)


def together(found: Sequence[Asked], family: str = "scaling: remarks") -> Asked:
    """Return what is said of the points of one curve as one thing: they are a family."""
    false = next((one for one in found if one.is_false), None)
    return Asked(
        family,
        any(one.is_claimed for one in found),
        false is not None,
        any(one.could_be_false for one in found),
        false.text if false else "",
    )


def speed(truth: Truth, case: Case, fom: str) -> float:
    """Return how fast a case truly is: the inverse of how many times slower."""
    return 1 / truth.slowing(case.settings, fom)


def _of_scaling(truth: Truth, curve: ScalingCurve, found: Campaign) -> Iterator[Asked]:
    speeds = {
        point.scale: speed(truth, found.cases[point.case], curve.fom)
        for point in curve.points
        if point.case is not None
    }
    before: float | None = None
    for point in curve.measured:
        certain = {one.finding for one in point.remarks if one.is_certain}
        if before is not None and point.gain is not None and point.gain.low is not None:
            is_negative = ScalingResult.NEGATIVE in certain
            grows = speeds[point.scale] >= speeds[before] * (1 - _ROUNDING)
            yield Asked("scaling: remarks", is_negative, is_negative and grows, grows, str(point))
        before = point.scale
        if curve.p_ref is None or point.scale <= curve.p_ref or point.efficiency is None:
            continue
        efficiency = speeds[point.scale] / speeds[curve.p_ref] * curve.p_ref / point.scale
        is_missed = misses(point.efficiency, efficiency)
        if is_missed is not None:
            yield Asked("interval of an efficiency", True, is_missed, text=f"{efficiency} {point}")
            is_super = ScalingResult.SUPER_LINEAR in certain
            is_no_more = efficiency <= 1 + _ROUNDING
            yield Asked("scaling: remarks", is_super, is_super and is_no_more, is_no_more, str(point))
    if "solver" in truth.workloads:
        yield from _of_laws(truth, curve, found)


def _of_laws(truth: Truth, curve: ScalingCurve, found: Campaign) -> Iterator[Asked]:
    """Yield whether the shares of the law that made the times lie in their intervals."""
    case = next(found.cases[point.case] for point in curve.points if point.case is not None)
    named = {**case.settings}
    at = {p: truth.slowing({**named, "nodes": p}, "time") * p - 1 for p in (2, 4)}
    kappa = (at[4] - 3 * at[2]) / 6  # 1 + σ(p − 1) + κ p(p − 1) at two scales
    sigma = at[2] - 2 * kappa
    for fit in curve.fits:
        is_its_law = fit.law is Law.USL or (fit.law is Law.AMDAHL and abs(kappa) < _ROUNDING)
        if not is_its_law or fit.refusal:
            continue
        for name, share in (("sigma", sigma), ("kappa", kappa)):
            is_missed = misses(fit.parameters.get(name), share)
            if is_missed is not None:
                yield Asked("interval of a law's σ and κ", True, is_missed, text=f"{share} {fit}")


def line_of(truth: Truth, case: Case, fom: str) -> tuple[float, float]:
    """Return t₀ in µs and r∞ in bytes a µs of a case."""
    figure = truth.figure(case, fom)
    assert figure.curve is not None
    start = figure.curve(case.settings, {"bytes": 0})
    share = figure.curve(case.settings, {"bytes": BYTES_OF_LATENCY}) - start
    return figure.level * start, BYTES_OF_LATENCY / (figure.level * share)


def _of_line(study: Wild, one: HockneyFit, found: Campaign) -> Iterator[Asked]:
    truth = study.truth
    latency, rate = line_of(truth, found.cases[one.case], one.fom)
    is_rounded = truth.decimals is not None
    is_missed = misses(one.half_size, latency * rate)
    if is_missed is not None and not is_rounded:
        yield Asked("interval of a line's n½", True, is_missed, text=f"{latency * rate} {one}")
    moves = truth.drift or truth.step or truth.together or truth.late_slower != 1 or is_rounded
    if study.noise in _LIKE_ITSELF and not moves:
        for what, held, value in (("t₀", one.latency, latency), ("r∞", one.bandwidth, rate)):
            is_missed = misses(held, value)
            if is_missed is not None:
                yield Asked(f"interval of a line's {what}", True, is_missed, text=f"{value} {one}")


def _of_crossovers(truth: Truth, told: tuple[Crossover, ...], found: Campaign) -> Iterator[Asked]:
    """Yield whether sides that are said to trade places do, the right way round and there."""
    cases = {case.network: case for case in found.plan.cases}
    for fom in ("latency", "bandwidth"):
        lines = {side: line_of(truth, cases[side], "latency") for side in ("a", "b")}
        starts = lines["b"][0] - lines["a"][0]
        shares = 1 / lines["a"][1] - 1 / lines["b"][1]
        at = starts / shares if shares else math.inf
        crosses = starts * shares > 0
        certain = [one for one in told if one.fom == fom and one.is_certain]
        could = not crosses or not 1 < at < 1048576
        if not certain:
            yield Asked("crossover: claimed", False, False, could)
        for one in certain:
            first = "a" if starts > 0 else "b"
            is_so = crosses and one.first.get("network") == first
            yield Asked("crossover: claimed", True, not is_so, could, str(one))
            is_missed = misses(one.x, at) if is_so else None
            if is_missed is not None and truth.decimals is None:
                yield Asked("interval of a crossover", True, is_missed, text=f"{at} {one}")


def _of_saturation(truth: Truth, one: Saturation, found: Campaign) -> Iterator[Asked]:
    """Yield whether what is surely within 5 % of the best is."""
    if one.better is not Better.HIGHER or truth.decimals is not None:
        return
    case = found.cases[one.cases[0]]
    figure = truth.figure(case, one.fom)
    assert figure.curve is not None
    best = figure.curve(case.settings, {"bytes": int(one.best_x)})
    xs = [float(point[0]) for point in figure.points if isinstance(point[0], int)]
    shares = {x: best / figure.curve(case.settings, {"bytes": int(x)}) for x in xs}
    sure = one.certain_x
    is_wrong = sure is not None and shares[sure] < 1 - one.margin - _ROUNDING
    could = any(share < 1 - one.margin for share in shares.values())
    yield Asked("saturation: surely reached", sure is not None, is_wrong, could, f"{shares} {one}")
