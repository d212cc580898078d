"""Estimate the level of every FOM of every case."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from tare.analysis.table import TINY, Cell, Columns, Table, tabulate
from tare.analysis.verdicts.row_notes import resembling_words, unresolved_words
from tare.core.campaign import Campaign
from tare.core.comparison import Estimate
from tare.core.telemetry import PREFIX
from tare.core.values import Scalar
from tare.stats.estimates import estimate
from tare.stats.intervals import CONFIDENCE, Floats

ARITHMETIC = "arithmetic mean: some values are zero or less"
"""The note on an estimate that is no geometric mean."""


def estimates(campaign: Campaign, foms: Collection[str] = ()) -> list[Estimate]:
    """Return an estimate for each measured case, FOM and point of its coordinates, in the plan's order.

    Figures of telemetry are included only if `foms` name them.

    The estimate is the geometric mean over blocks with a t interval on the log scale, or the arithmetic mean
    where a value is zero or less. It is wider by what rounding of printed values may hide, and where blocks
    resemble the one before. `at` holds only
    the coordinates; `case` identifies the rest.
    """
    return list(estimate_rows(campaign, foms))


def estimate_rows(campaign: Campaign, foms: Collection[str] = ()) -> EstimateRows:
    """Return the estimates of `estimates`, of which each is made when somebody asks for it."""
    table = tabulate(campaign, foms)
    cases = [case.id for case in campaign.plan.cases if case.id in table.columns]
    return EstimateRows(table, cases, foms)


class EstimateRows(Iterable[Estimate]):
    """The estimates of a campaign, case by case. `found` has the numbers of each column of the table.

    A campaign may have a hundred thousand, of which a report shows some hundreds.
    """

    def __init__(self, table: Table, cases: Sequence[str], foms: Collection[str]) -> None:
        self.cases = cases
        self.found = estimate(table.values, rounding=table.shifts)
        self._table, self._foms = table, foms
        self._cells: dict[int, list[Cell]] = {}
        self._ats: dict[int, dict[str, Scalar]] = {}  # by the id of what a table has once for all cases

    def cells(self, case: str) -> list[Cell]:
        """Return the cells of a case; cases with the same cells share the list, which nobody may change."""
        places = self._table.places(case)
        if id(places) not in self._cells:
            self._cells[id(places)] = [
                cell for cell in places if not cell.fom.startswith(PREFIX) or cell.fom in self._foms
            ]
        return self._cells[id(places)]

    def columns(self, case: str, cells: Sequence[Cell]) -> Columns:
        """Return the columns of `found` for cells of a case."""
        return self._table.find(case, cells)

    def of_cells(self, case: str, cells: Sequence[Cell]) -> list[Estimate]:
        """Return the estimates of cells of a case."""
        found, columns = self.found, self.columns(case, cells)
        rows = zip(
            cells,
            found.n_blocks[columns].tolist(),
            found.value[columns].tolist(),
            *listed(found.low[columns], found.high[columns], found.cv[columns]),
            found.minimum[columns].tolist(),
            found.maximum[columns].tolist(),
            self._notes(columns),
            strict=True,
        )
        return [
            Estimate(
                case=case,
                fom=cell.fom,
                unit=cell.unit,
                better=cell.better,
                at=self._ats.setdefault(id(cell.at), dict(cell.at)),
                n_blocks=n_blocks,
                value=value,
                low=low,
                high=high,
                cv=cv,
                minimum=minimum,
                maximum=maximum,
                confidence=CONFIDENCE,
                note=note,
            )
            for cell, n_blocks, value, low, high, cv, minimum, maximum, note in rows
        ]

    def _notes(self, columns: Columns) -> list[str]:
        """Return a note on the mean of each column, and on blocks that resemble the one before."""
        found, allowed = self.found, self.found.allowance
        rows = zip(found.is_arithmetic[columns].tolist(), self._table.has_tiny[columns].tolist(), strict=True)
        notes = [
            "; ".join([ARITHMETIC] * is_arithmetic + [TINY] * has_tiny) for is_arithmetic, has_tiny in rows
        ]
        r, unresolved = allowed.r[columns], allowed.unresolved[columns]
        for at in np.flatnonzero(np.isfinite(r) | np.isfinite(unresolved)).tolist():
            n_blocks = int(found.n_blocks[columns][at])
            if np.isfinite(r[at]):
                alike = resembling_words(float(r[at]), n_blocks)
            else:
                alike = unresolved_words(f"{unresolved[at]:.2f}", n_blocks)
            notes[at] = "; ".join(filter(None, (notes[at], alike)))
        return notes

    def of_cases(self, cases: Collection[str]) -> list[Estimate]:
        """Return the estimates of these cases."""
        chosen = (case for case in self.cases if case in cases)
        return [one for case in chosen for one in self.of_cells(case, self.cells(case))]

    def __len__(self) -> int:
        """Return the number of estimates."""
        return sum(len(self.cells(case)) for case in self.cases)

    def __iter__(self) -> Iterator[Estimate]:
        """Yield all estimates."""
        return itertools.chain.from_iterable(self.of_cells(case, self.cells(case)) for case in self.cases)


def listed(*columns: Floats) -> list[list[float | None]]:
    """Return arrays as lists, with None in place of NaN: outside arrays, None means absent."""
    return [
        [None if number != number else number for number in column]
        for column in (one.tolist() for one in columns)
    ]
