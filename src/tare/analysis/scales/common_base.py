"""Compute the scaling of all sides over one common base: one side at its smallest measured scale.

`common_base` chooses that side, and `scalings_over` returns the curves.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from tare.analysis.estimate import listed
from tare.analysis.lines import fixed_settings
from tare.analysis.scales.point_notes import lack_note
from tare.analysis.scales.scaling import (
    VARIANT_SETTINGS,
    ScalingSubject,
    common_problem,
    direction,
    has_recorded_blocks,
    measured_scales,
    scaling_subjects,
    subject_throughput,
)
from tare.analysis.table import Table, tabulate
from tare.core.campaign import Campaign
from tare.core.interval import Bounded
from tare.core.plan import Plan
from tare.core.scaling import ScalingCurve, ScalingPoint
from tare.core.values import Settings
from tare.stats.autocorrelation import without_unresolved
from tare.stats.estimates import estimate
from tare.stats.intervals import CONFIDENCE
from tare.stats.scaling import bounded, paired_ratios

_NO_IO = "none"


def common_base(plan: Plan, base: Settings | None = None) -> Settings:
    """Return the settings of the side to which the scaling of all sides may refer.

    `base`, by default the reference of the study, is completed by the other settings that distinguish sides:
    without injected input and output (``none``) where that varies, and else as in the first case that fits.
    The result is empty if there is neither a reference nor a base.
    """
    chosen = dict(base or plan.reference)
    fitting = [case.settings for case in plan.cases if is_of(case.settings, chosen)]
    if not chosen or not fitting:
        return {}
    for name in sorted(VARIANT_SETTINGS.intersection(plan.varied).difference(chosen)):
        levels = [row[name] for row in fitting if name in row]
        if levels:
            chosen[name] = _NO_IO if _NO_IO in levels else levels[0]
            fitting = [row for row in fitting if row.get(name) == chosen[name]]
    return chosen


def is_of(settings: Settings, base: Settings) -> bool:
    """Return whether a case's `settings` have all values of `base`."""
    return all(settings.get(name) == value for name, value in base.items())


def scalings_over(campaign: Campaign, base: Settings, *, foms: Collection[str] = ()) -> list[ScalingCurve]:
    """Return the curves of all sides over one base: the smallest measured scale of the side `base`.

    So a side that is 15 % slower on one node starts at × 0.85 and not at × 1. Speedup is the throughput over
    that of the base, and efficiency is speedup · p_ref / p. Both are paired by block. Problems that the side
    `base` has not measured have no curve. Curves have neither remarks nor fitted laws.
    """
    table = tabulate(campaign)
    subjects = list(scaling_subjects(campaign.plan, table, foms))
    apart = {*VARIANT_SETTINGS, *campaign.plan.reference, *base}
    problems = [common_problem(one, campaign.plan, apart) for one in subjects]
    bases: dict[object, ScalingSubject] = {}
    for one, problem in zip(subjects, problems, strict=True):
        if all(is_of(case.settings, base) for case in one.line.members) and measured_scales(one, table):
            bases.setdefault(problem, one)
    return [
        _curve_over(bases[problem], one, table, campaign)
        for one, problem in zip(subjects, problems, strict=True)
        if problem in bases and measured_scales(one, table)
    ]


def _curve_over(base: ScalingSubject, one: ScalingSubject, table: Table, campaign: Campaign) -> ScalingCurve:
    p_ref = measured_scales(base, table)[0]
    column = base.scales.index(p_ref)
    base_case = base.line.members[column]
    work, below = (
        subject_throughput(one, table),
        subject_throughput(base, table)[:, [column] * len(one.scales)],
    )
    is_base = np.array([case.id == base_case.id for case in one.line.members], np.bool_)
    shifts = np.where(is_base, 0.0, table.shifts[one.columns] + table.shifts[base.columns[column]])
    plain, unresolved = paired_ratios(
        below,
        work,
        CONFIDENCE,
        shifts,
        is_paired=has_recorded_blocks(one, campaign) & has_recorded_blocks(base, campaign)[column],
        is_unpaired=campaign.compares_unpaired,
    )
    found = without_unresolved(plain, unresolved)
    values = estimate(table.values[:, one.columns], rounding=table.shifts[one.columns])
    levels, lows, highs = listed(values.value, values.low, values.high)
    points = tuple(
        ScalingPoint(
            scale=scale,
            case=case.id,
            n_blocks=int(values.n_blocks[at]),
            value=None if level is None else Bounded(level, lows[at], highs[at]),
            speedup=bounded(found, at),
            efficiency=bounded(found, at, p_ref / scale),
            note=lack_note(int(values.n_blocks[at])),
        )
        for at, ((scale, case), level) in enumerate(zip(one.line.cases, levels, strict=True))
    )
    return ScalingCurve(
        workload=one.line.cases[0][1].workload,
        fom=one.cell.fom,
        unit=one.cell.unit,
        better=direction(one.cell),
        kind=one.kind,
        along=one.line.along,
        settings=fixed_settings(one.line.members, campaign.plan),
        at=dict(one.cell.at),
        held=one.line.held,
        p_ref=p_ref,
        confidence=CONFIDENCE,
        points=points,
    )
