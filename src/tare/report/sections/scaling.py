"""The section on scaling: speedup, efficiency and fitted laws as tables and sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

from tare.core.scaling import Law, ScalingCurve, ScalingKind, ScalingPoint
from tare.report.charts.figures import Figure
from tare.report.charts.scaling import curve_variant, labels_suffix
from tare.report.section import SectionFacts, own_section
from tare.report.variants import Variant, Variants
from tare.report.words.assumed import assumed_of_intervals
from tare.report.words.numbers import words
from tare.report.words.scaling import (
    efficiency_words,
    law_words,
    measured,
    remark_words,
    scale_words,
    sentences,
    speedup_words,
)


@dataclasses.dataclass(frozen=True)
class ScalingRow:
    """One variant at one scale, in words."""

    variant: Variant
    at: str
    value: str
    speedup: str
    efficiency: str
    n_blocks: int
    remark: str
    cases: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class LawRow:
    """One fitted law of one variant, in words."""

    variant: Variant
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


class Scaling(NamedTuple):
    """The problems that scale, the figures that show it, and what intervals of few blocks assume."""

    blocks: tuple[ScalingBlock, ...]
    figures: tuple[Figure, ...]
    assumed: str


def _made(facts: SectionFacts) -> Scaling | None:
    if not facts.scaling:
        return None
    blocks = (_block(title, alike, facts.variants) for title, alike in facts.scaling.items())
    points = (point for alike in facts.scaling.values() for curve in alike for point in curve.points)
    return Scaling(
        tuple(blocks),
        tuple(one for one in facts.figures if one.is_of_scale),
        assumed_of_intervals(point.n_blocks for point in points),
    )


SECTION = own_section(__file__, "How does it scale?", after="overview", make=_made)


def _block(title: str, curves: Sequence[ScalingCurve], variants: Variants) -> ScalingBlock:
    first = curves[0]
    ordered = sorted(curves, key=lambda curve: curve_variant(curve, variants).index)
    return ScalingBlock(
        title=title,
        subtitle=f"{words(first.fom)}{labels_suffix(first)}, {first.better} is better",
        value_name=words(first.fom).capitalize(),
        speedup_name="Speedup" if first.kind is ScalingKind.STRONG else "Scaled speedup",
        sentences=tuple((curve_variant(curve, variants), " ".join(sentences(curve))) for curve in ordered),
        rows=tuple(_row(curve, point, variants) for curve in ordered for point in curve.points),
        laws=tuple(
            LawRow(curve_variant(curve, variants), fit.law, law_words(fit))
            for curve in ordered
            for fit in curve.fits
        ),
    )


def _row(curve: ScalingCurve, point: ScalingPoint, variants: Variants) -> ScalingRow:
    return ScalingRow(
        variant=curve_variant(curve, variants),
        at=scale_words(curve.along, point.scale),
        value=measured(point.value, curve.unit),
        speedup=speedup_words(curve, point),
        efficiency=efficiency_words(curve, point),
        n_blocks=point.n_blocks,
        remark=remark_words(point),
        cases=() if point.case is None else (point.case,),
    )
