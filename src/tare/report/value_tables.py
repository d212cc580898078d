"""Lay out the measured values side by side: a row for each figure of merit, a column for each variant.

The tables hold absolute values with their units. A published table, such as the figures of HPCC on several
fabrics, has this form.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from tare.analysis.estimate import ARITHMETIC, EstimateRows
from tare.analysis.table import Cell, labels_of
from tare.core.comparison import Estimate
from tare.core.plan import Plan
from tare.core.values import Scalar
from tare.core.workload import Better, Fom
from tare.report.variants import Variant, Variants
from tare.report.words.numbers import coordinate, unit_name, visible, words


@dataclasses.dataclass(frozen=True)
class ValueRow:
    """One figure of merit at one step of its problem, with the estimate of each variant that measured it.

    `at` has the coordinates in words. `best` are the variants with the best mean. It is empty if fewer than
    two variants were measured, if the figure has no direction, if only some of the means are geometric, or if
    a run of the best one timed out. `note` is what the workload says about the figure. `survivors` are the
    variants of which runs timed out and do not count.
    """

    step: str
    fom: str
    unit: str
    better: Better | None
    at: str
    note: str
    estimates: Mapping[Variant, Estimate]
    best: frozenset[Variant]
    survivors: frozenset[Variant] = frozenset()


class RowKey(NamedTuple):
    """What identifies a row of a table of values: the step of its problem, the figure, and where it is."""

    along: float
    step: str
    workload: str
    fom: str
    unit: str
    at: tuple[tuple[str, Scalar], ...]


class _Figure(NamedTuple):
    """A figure of merit at some coordinates."""

    fom: str
    unit: str
    at: tuple[tuple[str, Scalar], ...]


@dataclasses.dataclass(frozen=True)
class _Values:
    """The values of one variant at one step of a problem: the cells of a case, and the figures that they are.

    Cases with the same cells share `figures`.
    """

    along: float
    step: str
    workload: str
    variant: Variant
    case: str
    cells: Sequence[Cell]
    figures: frozenset[_Figure]
    has_timed_out: bool

    @property
    def place(self) -> tuple[float, str, str]:
        """Return what its rows have in common with those of other variants."""
        return self.along, self.step, self.workload


@dataclasses.dataclass(frozen=True)
class ValueTable:
    """The values of one problem.

    If `has_sizes`, its figures were measured at many sizes, else they are one number a run. Its `rows` are
    made when they are first used, since a page has no room for most of them.
    """

    problem: str
    has_sizes: bool
    plan: Plan = dataclasses.field(repr=False)
    values: Sequence[_Values] = dataclasses.field(repr=False)
    every: EstimateRows = dataclasses.field(repr=False)

    @functools.cached_property
    def variants(self) -> tuple[Variant, ...]:
        """Return the variants that it has values of."""
        found = {one.variant for one in self.values}
        return tuple(sorted(found, key=lambda variant: variant.index))

    @functools.cached_property
    def n_rows(self) -> int:
        """Return the number of its rows."""
        figures: dict[tuple[float, str, str], set[frozenset[_Figure]]] = {}
        for one in self.values:
            figures.setdefault(one.place, set()).add(one.figures)
        return sum(len(frozenset[_Figure]().union(*parts)) for parts in figures.values())

    @functools.cached_property
    def rows(self) -> tuple[ValueRow, ...]:
        """Return its rows, the figures in the order of the workload and each along its steps."""
        found: dict[RowKey, dict[Variant, Estimate]] = {}
        survivors = {(one.place, one.variant) for one in self.values if one.has_timed_out}
        for one in self.values:
            for cell, estimate in zip(one.cells, self.every.of_cells(one.case, one.cells), strict=True):
                key = RowKey(*one.place, cell.fom, cell.unit, cell.at)
                found.setdefault(key, {})[one.variant] = estimate
        return tuple(_rows(found, self.plan, survivors))

    @functools.cached_property
    def has_steps(self) -> bool:
        """Return whether its rows are of different numbers of nodes, or of another number that varies."""
        return len({one.step for one in self.values}) > 1

    @functools.cached_property
    def has_notes(self) -> bool:
        """Return whether the workload says something about one of its figures."""
        return any(row.note for row in self.rows)


def value_tables(
    estimates: EstimateRows,
    variants: Variants,
    foms: Collection[str] = (),
    timed_out: Collection[str] = (),
) -> tuple[ValueTable, ...]:
    """Return the tables of the figures `foms`, or of all figures, in the order of the plan.

    Figures that are one number a run and figures measured at many sizes have tables of their own. `timed_out`
    are the cases of which runs were ended at their time-out.
    """
    grouped: dict[tuple[str, bool], list[_Values]] = {}
    known: dict[int, _Parts] = {}  # by identity, since most cases share their cells
    for case in estimates.cases:
        cells = estimates.cells(case)
        if id(cells) not in known:
            known[id(cells)] = _parts(cells, foms)
        place, variant = variants.configuration_of[case], variants.variant_of[case]
        for has_sizes, part in known[id(cells)].items():
            values = _Values(place.at, place.step, place.workload, variant, case, *part, case in timed_out)
            grouped.setdefault((place.problem, has_sizes), []).append(values)
    return tuple(
        ValueTable(problem, has_sizes, variants.plan, values, estimates)
        for (problem, has_sizes), values in grouped.items()
    )


_Parts = dict[bool, tuple[list[Cell], frozenset[_Figure]]]
"""Cells and their figures: those with a size, and those without."""


def _parts(cells: Sequence[Cell], foms: Collection[str]) -> _Parts:
    parts: dict[bool, list[Cell]] = {}
    for cell in cells:
        if not foms or cell.fom in foms:
            parts.setdefault(cell.labels != cell.at, []).append(cell)
    return {
        has_size: (own, frozenset(_Figure(cell.fom, cell.unit, cell.at) for cell in own))
        for has_size, own in parts.items()
    }


def _rows(
    found: Mapping[RowKey, Mapping[Variant, Estimate]],
    plan: Plan,
    survivors: Collection[tuple[tuple[float, str, str], Variant]],
) -> Iterator[ValueRow]:
    order: dict[object, int] = {}
    for key in found:
        order.setdefault((key.fom, labels_of(key.at)), len(order))
    for key in sorted(found, key=lambda key: (order[key.fom, labels_of(key.at)], key.along)):
        declared = _declared(plan, key.workload, key.fom)
        estimates = found[key]
        better = next(iter(estimates.values())).better
        kinds = plan.kinds_of(key.workload)
        place = (key.along, key.step, key.workload)
        survived = frozenset(variant for variant in estimates if (place, variant) in survivors)
        yield ValueRow(
            step=key.step,
            fom=key.fom,
            unit=key.unit,
            better=better,
            at=" · ".join(coordinate(name, value, kinds) for name, value in key.at),
            note=visible(declared.summary) if declared else "",
            estimates=estimates,
            best=_best(estimates, better) - survived,
            survivors=survived,
        )


def _declared(plan: Plan, workload: str, fom: str) -> Fom | None:
    return next((one for one in plan.foms.get(workload, ()) if one.name == fom), None)


def _best(estimates: Mapping[Variant, Estimate], better: Better | None) -> frozenset[Variant]:
    if len(estimates) < 2 or better is None:
        return frozenset()
    if len({one.note.startswith(ARITHMETIC) for one in estimates.values()}) > 1:  # means of two kinds
        return frozenset()
    values = [one.value for one in estimates.values()]
    best = max(values) if better is Better.HIGHER else min(values)
    return frozenset(variant for variant, one in estimates.items() if one.value == best)


def figure_words(row: ValueRow) -> str:
    """Return the name of a row's figure with its coordinates: ``time avg · 64 KiB``."""
    return " · ".join(filter(None, (words(row.fom), row.at)))


def unit_words(row: ValueRow) -> str:
    """Return the unit and the direction of a row: ``µs, lower``."""
    return ", ".join(filter(None, (unit_name(row.unit), str(row.better or ""))))
