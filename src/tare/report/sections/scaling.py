"""The section on scaling: speedup and efficiency as panels, tables and sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tare.core.scaling import Law, ScalingCurve, ScalingKind, ScalingPoint
from tare.report.sections.panels import Guide, Line, Panel, Point, broken
from tare.report.variants import Variant, Variants
from tare.report.words.numbers import coordinate, visible, words
from tare.report.words.scaling import (
    efficiency_words,
    factor,
    law_words,
    measured,
    remark_words,
    scale_words,
    sentences,
    settings_words,
    share,
    speedup_words,
)


@dataclasses.dataclass(frozen=True)
class ScalingRow:
    """One variant at one scale, in words; `is_missing` is true if it was not measured."""

    side: Variant
    at: str
    value: str
    speedup: str
    efficiency: str
    n_blocks: int
    remark: str
    is_missing: bool
    cases: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class LawRow:
    """One fitted law of one variant, in words."""

    side: Variant
    law: Law
    text: str


@dataclasses.dataclass(frozen=True)
class ScalingBlock:
    """One problem: how each variant scales, and the laws that were fitted to it."""

    title: str
    subtitle: str
    value_name: str
    speedup_name: str
    sentences: tuple[tuple[Variant, str], ...]
    rows: tuple[ScalingRow, ...]
    laws: tuple[LawRow, ...]


def scaling_blocks(curves: Sequence[ScalingCurve], sides: Variants) -> list[ScalingBlock]:
    """Return a block for each problem, with the first figure of merit of its workload."""
    return [_block(title, alike, sides) for title, alike in _by_problem(curves, sides).items()]


def speedup_panels(curves: Sequence[ScalingCurve], sides: Variants) -> list[Panel]:
    """Return panels of speedup against scale, one per problem, with the line of ideal speedup."""
    return _panels(curves, sides, is_efficiency=False)


def efficiency_panels(curves: Sequence[ScalingCurve], sides: Variants) -> list[Panel]:
    """Return panels of parallel efficiency against scale, one per problem, with the line at 100 %."""
    return _panels(curves, sides, is_efficiency=True)


def _by_problem(curves: Sequence[ScalingCurve], sides: Variants) -> dict[str, list[ScalingCurve]]:
    """Return the curves of each problem by title, only those for its first figure of merit."""
    foms: dict[str, tuple[object, ...]] = {}
    grouped: dict[str, list[ScalingCurve]] = {}
    for curve in curves:
        fixed = {name: value for name, value in curve.settings.items() if name not in sides.keys}
        parts = [coordinate(name, value, sides.kinds_of(curve.workload)) for name, value in fixed.items()]
        held = [f"{curve.held} held"] if curve.held else []
        title = visible(" · ".join([curve.workload, *parts, f"{curve.kind} scaling", *held]))
        fom = (curve.fom, curve.unit, tuple(curve.at.items()))
        if foms.setdefault(title, fom) == fom and any(point.case in sides.side_of for point in curve.points):
            grouped.setdefault(title, []).append(curve)
    return {title: alike for title, alike in grouped.items() if any(curve.measured for curve in alike)}


def _side(curve: ScalingCurve, sides: Variants) -> Variant:
    return next(sides.side_of[point.case] for point in curve.points if point.case is not None)


def _block(title: str, curves: Sequence[ScalingCurve], sides: Variants) -> ScalingBlock:
    first = curves[0]
    ordered = sorted(curves, key=lambda curve: _side(curve, sides).index)
    return ScalingBlock(
        title=title,
        subtitle=f"{words(first.fom)}{_at(first)}, {first.better} is better",
        value_name=words(first.fom).capitalize(),
        speedup_name="Speedup" if first.kind is ScalingKind.STRONG else "Scaled speedup",
        sentences=tuple((_side(curve, sides), " ".join(sentences(curve))) for curve in ordered),
        rows=tuple(_row(curve, point, _side(curve, sides)) for curve in ordered for point in curve.points),
        laws=tuple(
            LawRow(_side(curve, sides), fit.law, law_words(fit)) for curve in ordered for fit in curve.fits
        ),
    )


def _at(curve: ScalingCurve) -> str:
    return f" · {settings_words(curve.at)}" if curve.at else ""


def _row(curve: ScalingCurve, point: ScalingPoint, side: Variant) -> ScalingRow:
    return ScalingRow(
        side=side,
        at=scale_words(curve.along, point.scale),
        value=measured(point.value, curve.unit),
        speedup=speedup_words(curve, point),
        efficiency=efficiency_words(curve, point),
        n_blocks=point.n_blocks,
        remark=remark_words(point),
        is_missing=point.value is None,
        cases=() if point.case is None else (point.case,),
    )


def _panels(curves: Sequence[ScalingCurve], sides: Variants, *, is_efficiency: bool) -> list[Panel]:
    panels = []
    for title, alike in _by_problem(curves, sides).items():
        by_side = {_side(curve, sides): _points(curve, is_efficiency=is_efficiency) for curve in alike}
        lines = tuple(Line(side, by_side[side]) for side in sides.sides if by_side.get(side))
        scales = sorted({point.x for line in lines for point in line.points})
        if len(scales) > 1:
            first = alike[0]
            p_ref = next((curve.p_ref for curve in alike if curve.p_ref), scales[0])
            guide = [(x, 1.0 if is_efficiency else x / p_ref) for x in (scales[0], scales[-1])]
            name = "100 %" if is_efficiency else "ideal"
            unit = "100 %" if is_efficiency else "1"
            subtitle = f"{words(first.fom)}{_at(first)}; {scale_words(first.along, p_ref)} is {unit}"
            panels.append(
                Panel(
                    title,
                    subtitle,
                    lines,
                    first.along,
                    guide=Guide(name, tuple(guide)),
                    is_size=sides.counts_bytes(first.along, first.workload),
                )
            )
    return panels


def _points(curve: ScalingCurve, *, is_efficiency: bool) -> tuple[Point, ...]:
    """Return the measured points; the line has a gap at a missing scale."""
    points, missing = [], []
    for point in curve.points:
        value = point.efficiency if is_efficiency else point.speedup
        if value is None:
            missing.append(point.scale)
            continue
        text = share(value) if is_efficiency else factor(value)
        number, _, interval = text.partition("\u00a0")
        at = scale_words(curve.along, point.scale)
        is_reference = point.scale == curve.p_ref
        points.append(
            Point(
                x=point.scale,
                y=value.value,
                low=value.low,
                high=value.high,
                at=at,
                value=number,
                interval="" if is_reference else interval,
                n_blocks=point.n_blocks,
            )
        )
    return tuple(broken(points, missing))
