"""A campaign against another one, such as published results: different runs, never paired."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tare.answers.estimate import absent_as_none
from tare.answers.table import Cell, Table, tabulate
from tare.model.campaign import Campaign
from tare.model.case import Case
from tare.model.comparison import Comparison
from tare.model.values import Scalar
from tare.stats.intervals import MIN_BLOCKS, Floats
from tare.stats.ratios import ratios
from tare.stats.verdict import verdict

_Key = tuple[str, str, frozenset[tuple[str, Scalar]]]


class _Match(NamedTuple):
    """A figure that both campaigns have: a case and a column of each."""

    theirs: Case
    ours: Case
    cell: Cell
    below: int
    above: int


def against(
    ours: Campaign, theirs: Campaign, *, margin: float | None = None, confidence: float = 0.95
) -> list[Comparison]:
    """Return every figure of `ours` against the same one of `theirs`, which is the reference.

    A figure is the same where workload, figure of merit, unit and coordinates are. Cases meet unless they
    contradict each other in a number that varies within `theirs`, such as that of nodes; other
    differences are in `reference` and `contender`. The ratio is that of the geometric means, unpaired; with
    fewer than three runs on either side it has no interval, and the verdict is undecided.
    """
    below, above = tabulate(theirs), tabulate(ours)
    matches = list(_matches(ours, theirs, above, below))
    if not matches:
        return []
    reference = below.values[:, [match.below for match in matches]]
    contender = above.values[:, [match.above for match in matches]]
    # Blocks of two campaigns have nothing in common: stacked, no row has both sides.
    found = ratios(
        np.vstack([reference, np.full_like(contender, np.nan)]),
        np.vstack([np.full_like(reference, np.nan), contender]),
        confidence,
    )
    margin = ours.plan.margin if margin is None else margin
    rows = zip(
        matches,
        found.n_blocks.tolist(),
        absent_as_none(found.ratio.tolist()),
        absent_as_none(found.low.tolist()),
        absent_as_none(found.high.tolist()),
        _counts(reference),
        _counts(contender),
        strict=True,
    )
    return [
        Comparison(
            fom=match.cell.fom,
            unit=match.cell.unit,
            better=match.cell.better,
            at={"workload": match.ours.workload, **dict(match.cell.at)},
            reference=_telling(match.theirs, match.ours),
            contender=_telling(match.ours, match.theirs),
            reference_case=match.theirs.id,
            contender_case=match.ours.id,
            n_blocks=n_blocks,
            ratio=ratio,
            low=low,
            high=high,
            confidence=confidence,
            verdict=verdict(low, high, margin=margin, better=match.cell.better),
            is_primary=True,
            note=_note(low, n_theirs, n_ours),
        )
        for match, n_blocks, ratio, low, high, n_theirs, n_ours in rows
    ]


def _matches(ours: Campaign, theirs: Campaign, above: Table, below: Table) -> Iterator[_Match]:
    for case in ours.plan.cases:
        cells = {_key(cell): column for cell, column in above.columns.get(case.id, {}).items()}
        for other in theirs.plan.cases:
            if other.workload != case.workload or not _meet(case, other, theirs.plan.varied):
                continue
            for cell, column in below.columns.get(other.id, {}).items():
                if _key(cell) in cells:
                    yield _Match(other, case, cell, column, cells[_key(cell)])


def _key(cell: Cell) -> _Key:
    return cell.fom, cell.unit, frozenset(cell.at)


def _meet(ours: Case, theirs: Case, varied: tuple[str, ...]) -> bool:
    """Return whether the cases agree in every number that varies within theirs; names may differ."""
    one, other = ours.settings, theirs.settings
    shared = [name for name in varied if name in one and name in other]
    return all(one[name] == other[name] for name in shared if not isinstance(other[name], str))


def _telling(case: Case, other: Case) -> dict[str, Scalar]:
    """Return the settings of `case` that are not those of `other`."""
    rest = other.settings
    return {name: value for name, value in case.settings.items() if rest.get(name) != value}


def _counts(values: Floats) -> list[int]:
    counts: list[int] = np.isfinite(values).sum(axis=0).tolist()
    return counts


def _note(low: float | None, n_theirs: int, n_ours: int) -> str:
    if low is None:
        runs = f"{n_theirs} published run{'' if n_theirs == 1 else 's'} and {n_ours} here"
        return f"{runs}: an interval takes {MIN_BLOCKS} on both sides"
    return "unpaired: runs of another time and place"
