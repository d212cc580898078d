"""Speedup and parallel efficiency of all sides over one base: one side at its smallest scale.

In the charts of speedup of each side over its own base, a side that is slower on one node starts at 1 like
the others. Here it starts below 1, so that all lines can be compared with one ideal line.
"""

from __future__ import annotations

import functools

import msgspec

from tare.analysis.scales.common_base import is_of, scalings_over
from tare.core.scaling import ScalingCurve
from tare.report.charts.drawing import Style
from tare.report.charts.kind import ChartFacts, ChartKind, ChartPart
from tare.report.charts.scaling import scaling_panels, scaling_problems
from tare.report.variants import Variants, lay_out

_OWN_COLOURS = "Lines differ in more settings than elsewhere, and have colours of their own. "


def _made(facts: ChartFacts, *, is_efficiency: bool) -> ChartPart | None:
    if not facts.base:
        return None
    curves = _curves(facts)
    variants = _variants(facts)
    problems = scaling_problems(curves, variants, is_every_fom=bool(facts.foms))
    name = _base_name(facts, variants)
    base = _base_case(curves, facts)
    panels = scaling_panels(problems, variants, is_efficiency=is_efficiency, base=base, base_name=name)
    what = "Parallel efficiency" if is_efficiency else "Speedup"
    own = "" if variants is facts.variants else _OWN_COLOURS
    return ChartPart(
        f"{what} of all over {name}",
        f"{own}Every line refers to {name} at its smallest scale, so a line that starts lower is slower. "
        "The dashed line is ideal. Bands are the intervals, paired by block.",
        panels,
    )


def _curves(facts: ChartFacts) -> list[ScalingCurve]:
    """Return the curves over the base, which are computed once for both charts."""
    key = (scalings_over, tuple(facts.base.items()), facts.foms)
    return facts.campaign.memo.get(key, lambda: scalings_over(facts.campaign, facts.base, foms=facts.foms))


def _variants(facts: ChartFacts) -> Variants:
    """Return the variants that differ in the settings of the base, too, such as injected I/O."""
    if set(facts.base) <= {*facts.variants.keys, *facts.campaign.plan.reference}:
        return facts.variants
    plan = msgspec.structs.replace(facts.campaign.plan, reference=facts.base)
    return lay_out(msgspec.structs.replace(facts.campaign, plan=plan), facts.statistics.comparisons.pairs())


def _base_case(curves: list[ScalingCurve], facts: ChartFacts) -> frozenset[str]:
    """Return the cases to which the curves refer: 1 by definition, so without an interval."""
    cases = facts.campaign.cases
    return frozenset(
        point.case
        for curve in curves
        for point in curve.points
        if point.case is not None
        and point.scale == curve.p_ref
        and is_of(cases[point.case].settings, facts.base)
    )


def _base_name(facts: ChartFacts, variants: Variants) -> str:
    for case in facts.campaign.plan.cases:
        if is_of(case.settings, facts.base):
            return variants.variant_of[case.id].name
    return "the base"


CHARTS = (
    ChartKind("speedup-common", Style("speedup"), functools.partial(_made, is_efficiency=False)),
    ChartKind(
        "efficiency-common",
        Style("efficiency", is_log=False, is_share=True),
        functools.partial(_made, is_efficiency=True),
    ),
)
