"""Compute how each workload scales on each side of a campaign.

`scalings` takes a campaign and returns curves with speedups, efficiencies and fitted scaling laws.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tare.analysis.answering_figures import scaling_foms
from tare.analysis.estimate import listed
from tare.analysis.lines import Line, cases_by_workload, fixed_settings, lines, wanted_scalings
from tare.analysis.pairs import recorded_blocks
from tare.analysis.scales.law_fits import fit_laws
from tare.analysis.scales.point_notes import curve_note, lack_note, pair_words, point_note
from tare.analysis.table import Cell, Table, tabulate
from tare.analysis.verdicts.missing import MissingValues
from tare.analysis.verdicts.timed_out_runs import timed_out
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.errors import UsageError
from tare.core.interval import Bounded
from tare.core.plan import Plan
from tare.core.scaling import EfficientRange, Law, ScalingCurve, ScalingKind, ScalingPoint
from tare.core.units import is_elapsed_unit, write_number
from tare.core.workload import Better
from tare.stats.estimates import Estimates, estimate
from tare.stats.intervals import CONFIDENCE, Floats
from tare.stats.scaling import Scaled, bounded, claims, lasting, remarks, scaled

FLOORS = (0.7, 0.5)
"""Efficiencies down to which a larger scale is commonly considered worthwhile."""

_PROGRESS = re.compile(r"(?:fs|ps|ns|tau|(?:time)?steps|iterations)/.*")
"""A rate of progress through one problem, such as ns/day. It does not grow with the size of the problem."""

VARIANT_SETTINGS = frozenset({"platform", "network", "storage", "io"})
_LAWS = {
    ScalingKind.STRONG: (Law.AMDAHL, Law.USL),
    ScalingKind.WEAK: (Law.GUSTAFSON, Law.USL),
}


class ScalingSubject(NamedTuple):
    """A line of cases and the cell that is followed along it; `columns` are those of the table."""

    kind: ScalingKind
    line: Line
    cell: Cell
    columns: list[int]

    @property
    def scales(self) -> list[float]:
        """Return the scales of its cases, in rising order."""
        return [scale for scale, _ in self.line.cases]


def scalings(
    campaign: Campaign,
    *,
    foms: Collection[str] = (),
    p_ref: float | None = None,
) -> list[ScalingCurve]:
    """Return a curve for each workload, side and throughput-like figure of merit (see `is_scalable`).

    Curves go along the settings in the study's ``scaling``, or else along nodes (or ranks) with the problem
    fixed. `foms` selects figures of merit, by default those of `scaling_foms`. Speedups refer to `p_ref`. By
    default this is the smallest scale that all sides have measured, so that the speedups of sides are
    comparable. If there is no such scale, it is the smallest of each side. Raises UsageError when no curve
    has the scale `p_ref`.
    """
    table = tabulate(campaign)
    subjects = list(scaling_subjects(campaign.plan, table, foms))
    if p_ref is not None and subjects:
        known = sorted({scale for one in subjects for scale in one.scales})
        if p_ref not in known:
            choice = ", ".join(write_number(scale) for scale in known)
            raise UsageError(f"p-ref {write_number(p_ref)}: no case has this scale; choose from {choice}")
    scales = _reference_scales(subjects, table, campaign.plan)
    missing = MissingValues(campaign)
    return [
        _curve(one, table, campaign, scale if p_ref is None else p_ref, missing)
        for one, scale in zip(subjects, scales, strict=True)
    ]


def figures_that_scale(campaign: Campaign) -> list[str]:
    """Return the figures of which `scalings` gives curves if they are named, whether or not by default."""
    table = tabulate(campaign)
    known = {cell.fom for case in campaign.plan.cases for cell in table.cells(case.id)}
    return sorted({one.cell.fom for one in scaling_subjects(campaign.plan, table, known)})


class ScaledCase(NamedTuple):
    """The throughput of a case beyond the reference scale, next to that at the reference scale of its line.

    `base` and `work` are throughputs by block; their ratio times `share`, p_ref / p, is the efficiency.
    `rounding` is how far the rounding of printed values may have moved it, as a logarithm. `is_paired` says
    that the blocks of both are recorded. `base_case` is the case at the reference scale, None if there is
    none.
    """

    case: Case
    cell: Cell
    along: str
    p_ref: float | None
    share: float
    base: Floats
    work: Floats
    rounding: float
    is_paired: bool
    base_case: str | None = None


def scaled_cases(campaign: Campaign, foms: Collection[str] = ()) -> Iterator[ScaledCase]:
    """Yield each case beyond the reference scale of its curve, one per figure of merit; see `scalings`.

    Lines without any measurement are included, with the figures of merit that their workload declares.
    """
    table = tabulate(campaign)
    subjects = list(scaling_subjects(campaign.plan, table, foms, has_promised=True))
    for one, p_ref in zip(subjects, _reference_scales(subjects, table, campaign.plan), strict=True):
        work = subject_throughput(one, table)
        shifts = table.shifts[one.columns]
        base, of_base, base_is_recorded = np.full(len(work), np.nan), 0.0, True
        base_case: str | None = None
        is_recorded = has_recorded_blocks(one, campaign)
        if p_ref in one.scales:
            column = one.scales.index(p_ref)
            base_case = one.line.cases[column][1].id
            base, of_base, base_is_recorded = (
                work[:, column],
                float(shifts[column]),
                bool(is_recorded[column]),
            )
        first = one.scales[0] if p_ref is None else p_ref
        for column, (scale, case) in enumerate(one.line.cases):
            if scale > first:
                shift = of_base + float(shifts[column])
                own, is_paired = work[:, column], base_is_recorded and bool(is_recorded[column])
                yield ScaledCase(
                    case,
                    one.cell,
                    one.line.along,
                    p_ref,
                    first / scale,
                    base,
                    own,
                    shift,
                    is_paired,
                    base_case,
                )


def is_scalable(unit: str, better: Better | None, names: Collection[str]) -> bool:
    """Return whether a figure of merit measures the speed of work: a time of ms or more, or a rate.

    A latency or a bandwidth at one message size measures the speed of a message. It cannot be divided among
    nodes.
    """
    if better is None or "bytes" in names or unit == "%":
        return False
    return better is Better.HIGHER or is_elapsed_unit(unit.partition("/")[0])


def throughput(
    values: Floats, scales: Sequence[float], *, unit: str, better: Better, kind: ScalingKind
) -> Floats:
    """Return the work per unit of time, up to a constant factor, of `values`, blocks × scales.

    In weak scaling the work grows with the scale. Times and rates of progress do not include this growth, so
    they are multiplied by the scale.
    """
    with np.errstate(divide="ignore"):
        speed = 1 / values if better is Better.LOWER else values
    counts_work = better is Better.HIGHER and not _PROGRESS.fullmatch(unit)
    if kind is ScalingKind.STRONG or counts_work:
        return speed
    found: Floats = speed * np.asarray(scales, np.float64)
    return found


def scaling_subjects(
    plan: Plan, table: Table, foms: Collection[str], *, has_promised: bool = False
) -> Iterator[ScalingSubject]:
    """Yield every line of cases with each figure that is followed along it.

    `foms` selects figures. A line without any measurement has those of the other lines of its workload, so
    that it does not go missing. If `has_promised`, it has those that are declared.
    """
    for cases in cases_by_workload(plan).values():
        for kind, names in wanted_scalings(plan):
            found = [(line, _cells(table, line, plan, foms)) for line in lines(cases, kind, names)]
            elsewhere = list(dict.fromkeys(cell for _, cells in found for cell in cells))
            for line, cells in found:
                if not table.cells(*(case.id for _, case in line.cases)):
                    cells = _promised(line, plan, foms) if has_promised else elsewhere
                for cell in cells:
                    columns = [int(table.find(case.id, [cell])[0]) for _, case in line.cases]
                    yield ScalingSubject(kind, line, cell, columns)


def _cells(table: Table, line: Line, plan: Plan, foms: Collection[str]) -> list[Cell]:
    """Return the cells to follow along a line: those of `scaling_foms` unless `foms` selects others."""
    found = table.cells(*(case.id for _, case in line.cases))
    fitting = [cell for cell in found if is_scalable(cell.unit, cell.better, [name for name, _ in cell.at])]
    if foms:
        return [cell for cell in fitting if cell.fom in foms]
    growing = scaling_foms(plan, line.cases[0][1].workload)
    return [cell for cell in fitting if cell.fom in growing] if growing else fitting[:1]


def _promised(line: Line, plan: Plan, foms: Collection[str]) -> list[Cell]:
    """Return the cells that a line without any measurement should have."""
    workload = line.cases[0][1].workload
    wanted = foms or scaling_foms(plan, workload)
    return [
        Cell(fom.name, fom.unit, fom.better, ())
        for fom in plan.foms.get(workload, ())
        if fom.name in wanted and is_scalable(fom.unit, fom.better, fom.by)
    ]


def _reference_scales(subjects: Sequence[ScalingSubject], table: Table, plan: Plan) -> list[float | None]:
    """Return for each subject the smallest scale that every side with the same problem has measured.

    If there is none, it is the subject's own smallest scale.
    """
    measured = [measured_scales(one, table) for one in subjects]
    problems = [common_problem(one, plan, {*VARIANT_SETTINGS, *plan.reference}) for one in subjects]
    common: dict[object, set[float]] = {}
    for problem, scales in zip(problems, measured, strict=True):
        if scales:
            common[problem] = common.get(problem, set(scales)).intersection(scales)
    return [
        min(common.get(problem, ()), default=min(own, default=None))
        for problem, own in zip(problems, measured, strict=True)
    ]


def has_recorded_blocks(one: ScalingSubject, campaign: Campaign) -> npt.NDArray[np.bool_]:
    """Return for each scale whether the blocks of its case are recorded, so that they can be paired."""
    recorded = recorded_blocks(campaign)
    return np.array([case.id in recorded for _, case in one.line.cases], np.bool_)


def measured_scales(one: ScalingSubject, table: Table) -> list[float]:
    """Return the scales that have a value, in rising order."""
    n_blocks = np.isfinite(table.values[:, one.columns]).sum(axis=0)
    return [scale for scale, n in zip(one.scales, n_blocks.tolist(), strict=True) if n]


def common_problem(one: ScalingSubject, plan: Plan, apart: Collection[str]) -> tuple[object, ...]:
    """Return what sides have in common on a line; they differ in the settings `apart`."""
    fixed = fixed_settings(one.line.members, plan, apart)
    return one.kind, one.line.along, one.line.held, one.cell, tuple(fixed.items())


def _curve(
    one: ScalingSubject, table: Table, campaign: Campaign, reference: float | None, missing: MissingValues
) -> ScalingCurve:
    cell, scales = one.cell, one.scales
    values = table.values[:, one.columns]
    work = subject_throughput(one, table)
    measured = measured_scales(one, table)
    p_ref = reference if reference in measured else None
    at = None if p_ref is None else scales.index(p_ref)
    grown = scaled(
        work,
        scales,
        at,
        rounding=table.shifts[one.columns],
        is_recorded=has_recorded_blocks(one, campaign),
        is_unpaired=campaign.compares_unpaired,
    )
    is_paired = bool(has_recorded_blocks(one, campaign).all()) and not campaign.compares_unpaired
    why = [missing.why(case.id) for _, case in one.line.cases]
    n_timed_out = [timed_out(campaign).get(case.id, 0) for _, case in one.line.cases]
    points = _points(
        one, estimate(values, rounding=table.shifts[one.columns]), grown, p_ref, n_timed_out, why
    )
    return ScalingCurve(
        workload=one.line.cases[0][1].workload,
        fom=cell.fom,
        unit=cell.unit,
        better=direction(cell),
        kind=one.kind,
        along=one.line.along,
        settings=fixed_settings(one.line.members, campaign.plan),
        at=dict(cell.at),
        held=one.line.held,
        p_ref=p_ref,
        confidence=CONFIDENCE,
        points=points,
        fits=fit_laws(_LAWS[one.kind], scales, work, at if is_paired else None, table.passes),
        lasting=_lastings(points, p_ref),
        note=curve_note(reference, p_ref, one.line.along),
    )


def subject_throughput(one: ScalingSubject, table: Table) -> Floats:
    """Return the throughput of a line, blocks × scales; see `throughput`."""
    values = table.values[:, one.columns]
    return throughput(values, one.scales, unit=one.cell.unit, better=direction(one.cell), kind=one.kind)


def direction(cell: Cell) -> Better:
    """Return the direction of a figure that scales."""
    return cell.better or Better.HIGHER  # is_scalable() accepts only figures with a direction


def _points(
    one: ScalingSubject,
    found: Estimates,
    grown: Scaled,
    p_ref: float | None,
    n_timed_out: Sequence[int],
    why: Sequence[str],
) -> tuple[ScalingPoint, ...]:
    """Return the points of a curve. No remark favours a scale of which runs timed out (`n_timed_out`).

    `why` says why each scale has no value, if it has none.
    """
    is_beyond = [p_ref is not None and scale > p_ref for scale in one.scales]
    allowed = claims(grown, np.array(is_beyond, np.bool_))
    values, lows, highs = listed(found.value, found.low, found.high)
    points: list[ScalingPoint] = []
    for column, (scale, case) in enumerate(one.line.cases):
        value = values[column]
        before = next((point for point in reversed(points) if point.value is not None), None)
        efficiency = bounded(grown.speedup, column, float(grown.share[column]))
        gain = bounded(grown.gain, column)
        points.append(
            ScalingPoint(
                scale=scale,
                case=case.id,
                n_blocks=int(found.n_blocks[column]),
                value=None if value is None else Bounded(value, lows[column], highs[column]),
                speedup=bounded(grown.speedup, column),
                efficiency=efficiency,
                gain=gain,
                remarks=remarks(
                    gain,
                    efficiency if is_beyond[column] else None,
                    can_be_negative=bool(allowed.gain[column]) and not (before and before.timed_out),
                    can_be_super_linear=bool(allowed.efficiency[column]) and not n_timed_out[column],
                ),
                note=point_note(
                    pair_words(grown, column, scale, p_ref, None if before is None else before.scale),
                    lack_note(int(found.n_blocks[column]), why[column]),
                ),
                timed_out=n_timed_out[column],
            )
        )
    return tuple(points)


def _lastings(points: Sequence[ScalingPoint], p_ref: float | None) -> tuple[EfficientRange, ...]:
    beyond = [point for point in points if p_ref is not None and point.scale >= p_ref]
    scales = [point.scale for point in beyond]
    efficiencies = [point.efficiency if point.scale == p_ref else _surely(point) for point in beyond]
    found = (lasting(floor, scales, efficiencies) for floor in FLOORS)
    return tuple(one for one in found if one is not None)


def _surely(point: ScalingPoint) -> Bounded | None:
    """Return the efficiency of a scale; of survivors of a time-out, nothing is certain to be so large."""
    found = point.efficiency
    return Bounded.of(found.value, 0.0, found.value) if found and point.timed_out else found
