"""Lay out the measured values side by side: a row for each figure of merit, a column for each variant.

The tables hold absolute values with their units. A published table, such as the figures of HPCC on several
fabrics, has this form.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tare.analysis.table import labels_of
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
    two variants were measured, or if the figure has no direction. `note` is what the workload says about the
    figure.
    """

    step: str
    fom: str
    unit: str
    better: Better | None
    at: str
    note: str
    estimates: Mapping[Variant, Estimate]
    best: frozenset[Variant]


@dataclasses.dataclass(frozen=True)
class ValueTable:
    """The values of one problem.

    If `has_sizes`, its figures were measured at many sizes, else they are one number a run. `estimates` has
    those of each row. Its `rows` are made when they are first used, since a page has no room for most of
    them.
    """

    problem: str
    has_sizes: bool
    plan: Plan = dataclasses.field(repr=False)
    variants: tuple[Variant, ...]
    estimates: Mapping[RowKey, Mapping[Variant, Estimate]] = dataclasses.field(repr=False)

    @property
    def n_rows(self) -> int:
        """Return the number of its rows."""
        return len(self.estimates)

    @functools.cached_property
    def rows(self) -> tuple[ValueRow, ...]:
        """Return its rows, the figures in the order of the workload and each along its steps."""
        return tuple(_rows(self.estimates, self.plan))

    @functools.cached_property
    def has_steps(self) -> bool:
        """Return whether its rows are of different numbers of nodes, or of another number that varies."""
        return len({key.step for key in self.estimates}) > 1

    @functools.cached_property
    def has_notes(self) -> bool:
        """Return whether the workload says something about one of its figures."""
        return any(row.note for row in self.rows)


class RowKey(NamedTuple):
    """What identifies a row of a table of values: the step of its problem, the figure, and where it is."""

    along: float
    step: str
    workload: str
    fom: str
    unit: str
    at: tuple[tuple[str, Scalar], ...]


def value_tables(
    estimates: Sequence[Estimate], variants: Variants, foms: Collection[str] = ()
) -> tuple[ValueTable, ...]:
    """Return the tables of the figures `foms`, or of all figures, in the order of the plan.

    Figures that are one number a run and figures measured at many sizes have tables of their own.
    """
    steps = {configuration: configuration.step for configuration in variants.configurations}
    places = {
        case: (one.problem, variants.variant_of[case], (one.at, steps[one], one.workload))
        for case, one in variants.configuration_of.items()
    }
    grouped: dict[tuple[str, bool], dict[RowKey, dict[Variant, Estimate]]] = {}
    points = {
        key: _point(at) for key, at in {id(one.at): one.at for one in estimates}.items()
    }  # by identity, since most cases share them
    for one in estimates:
        if foms and one.fom not in foms:
            continue
        problem, variant, step = places[one.case]
        at, has_size = points[id(one.at)]
        table = grouped.setdefault((problem, has_size), {})
        table.setdefault(RowKey(*step, one.fom, one.unit, at), {})[variant] = one
    return tuple(
        ValueTable(problem, has_sizes, variants.plan, _measured(rows.values()), rows)
        for (problem, has_sizes), rows in grouped.items()
    )


def _point(at: Mapping[str, Scalar]) -> tuple[tuple[tuple[str, Scalar], ...], bool]:
    """Return coordinates as they stand in a `RowKey`, and whether one of them is a size."""
    coordinates = tuple(at.items())
    return coordinates, labels_of(coordinates) != coordinates


def _measured(rows: Iterable[Mapping[Variant, Estimate]]) -> tuple[Variant, ...]:
    found = frozenset[Variant]().union(*rows)
    return tuple(sorted(found, key=lambda variant: variant.index))


def _rows(found: Mapping[RowKey, Mapping[Variant, Estimate]], plan: Plan) -> Iterator[ValueRow]:
    order: dict[object, int] = {}
    for key in found:
        order.setdefault((key.fom, labels_of(key.at)), len(order))
    for key in sorted(found, key=lambda key: (order[key.fom, labels_of(key.at)], key.along)):
        declared = _declared(plan, key.workload, key.fom)
        estimates = found[key]
        better = next(iter(estimates.values())).better
        kinds = plan.kinds_of(key.workload)
        yield ValueRow(
            step=key.step,
            fom=key.fom,
            unit=key.unit,
            better=better,
            at=" · ".join(coordinate(name, value, kinds) for name, value in key.at),
            note=visible(declared.summary) if declared else "",
            estimates=estimates,
            best=_best(estimates, better),
        )


def _declared(plan: Plan, workload: str, fom: str) -> Fom | None:
    return next((one for one in plan.foms.get(workload, ()) if one.name == fom), None)


def _best(estimates: Mapping[Variant, Estimate], better: Better | None) -> frozenset[Variant]:
    if len(estimates) < 2 or better is None:
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
