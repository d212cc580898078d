"""The panels of speedup and parallel efficiency against scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tare.core.scaling import ScalingCurve
from tare.report.charts.panels import Guide, Line, Panel, Point, broken
from tare.report.variants import Variant, Variants
from tare.report.words.numbers import coordinate, visible, words
from tare.report.words.scaling import factor, scale_words, settings_words, share

Problems = Mapping[str, Sequence[ScalingCurve]]
"""The curves of each problem by title, only those for its first figure of merit."""


def scaling_problems(
    curves: Sequence[ScalingCurve], variants: Variants, *, is_every_fom: bool = False
) -> Problems:
    """Return the curves of each problem by title, only those for its first figure of merit.

    If `is_every_fom`, each figure is a problem of its own; the title names it if there are several.
    """
    has_several = is_every_fom and len({curve.fom for curve in curves}) > 1
    foms: dict[str, tuple[object, ...]] = {}
    grouped: dict[str, list[ScalingCurve]] = {}
    for curve in curves:
        fixed = {name: value for name, value in curve.settings.items() if name not in variants.keys}
        parts = [coordinate(name, value, variants.kinds_of(curve.workload)) for name, value in fixed.items()]
        held = [f"{curve.held} held"] if curve.held else []
        named = [words(curve.fom)] if has_several else []
        title = visible(" · ".join([curve.workload, *parts, f"{curve.kind} scaling", *held, *named]))
        fom = (curve.fom, curve.unit, tuple(curve.at.items()))
        if foms.setdefault(title, fom) == fom and any(
            point.case in variants.variant_of for point in curve.points
        ):
            grouped.setdefault(title, []).append(curve)
    return {title: alike for title, alike in grouped.items() if any(curve.measured for curve in alike)}


def curve_variant(curve: ScalingCurve, variants: Variants) -> Variant:
    """Return the variant that a curve is of."""
    return next(variants.variant_of[point.case] for point in curve.points if point.case is not None)


def labels_suffix(curve: ScalingCurve) -> str:
    """Return the labels of a curve's figure as the end of its name; empty if there are none."""
    return f" · {settings_words(curve.at)}" if curve.at else ""


def scaling_panels(
    problems: Problems,
    variants: Variants,
    *,
    is_efficiency: bool = False,
    base: frozenset[str] | None = None,
    base_name: str = "",
) -> list[Panel]:
    """Return panels of speedup, or of parallel efficiency, against scale, one per problem.

    The guide is the line of ideal speedup, or the line at 100 %. The cases `base`, of the side `base_name`,
    are 1 by definition; by default it is the case at the reference scale of each curve.
    """
    panels = []
    for title, alike in problems.items():
        by_variant = {
            curve_variant(curve, variants): _points(curve, base, is_efficiency=is_efficiency)
            for curve in alike
        }
        lines = tuple(
            Line(variant, by_variant[variant]) for variant in variants.all if by_variant.get(variant)
        )
        scales = sorted({point.x for line in lines for point in line.points})
        if len(scales) > 1:
            first = alike[0]
            p_ref = next((curve.p_ref for curve in alike if curve.p_ref), scales[0])
            guide = [(x, 1.0 if is_efficiency else x / p_ref) for x in (scales[0], scales[-1])]
            name = "100 %" if is_efficiency else "ideal"
            unit = "100 %" if is_efficiency else "1"
            start = scale_words(first.along, p_ref)
            one = f"{unit} is {base_name} at {start}" if base_name else f"{start} is {unit}"
            subtitle = f"{words(first.fom)}{labels_suffix(first)}; {one}"
            panels.append(
                Panel(
                    title,
                    subtitle,
                    lines,
                    first.along,
                    guide=Guide(name, tuple(guide)),
                    is_size=variants.counts_bytes(first.along, first.workload),
                )
            )
    return panels


def _points(curve: ScalingCurve, base: frozenset[str] | None, *, is_efficiency: bool) -> tuple[Point, ...]:
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
        is_reference = point.scale == curve.p_ref if base is None else point.case in base
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
