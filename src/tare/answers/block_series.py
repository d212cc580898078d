"""One series of block means for each case and figure of merit that people quote."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from tare.answers.aggregate import block_means
from tare.answers.compare import primary_foms
from tare.answers.table import Cell, Table, tabulate
from tare.model.campaign import Campaign
from tare.model.workload import Better
from tare.stats.intervals import Floats, moments

_SAME = 0.99

_SLOWER = {Better.LOWER: 1.0, Better.HIGHER: -1.0, None: np.nan}


class Quoted(NamedTuple):
    """A figure of merit of a case: a primary one, or any where its workload has none."""

    case: str
    fom: str
    unit: str
    better: Better | None


@dataclasses.dataclass(frozen=True, eq=False)
class BlockSeries:
    """Logarithms of block means, blocks × figures, NaN where a block lacks one or it is zero or less.

    Each is the geometric mean over the coordinates of a run. `blocks` holds the number of each row.
    """

    figures: tuple[Quoted, ...]
    logs: Floats
    blocks: tuple[int, ...]

    def slowing(self) -> Floats:
        """Return the series turned so that more is worse, NaN for figures without a direction."""
        return self.logs * self.direction()

    def direction(self) -> Floats:
        """Return 1 for each figure that is better when lower, −1 when higher, NaN without a direction."""
        return np.array([_SLOWER[one.better] for one in self.figures])

    def distinct(self) -> BlockSeries:
        """Return the series without those that tell the same again, as a bandwidth tells its latency.

        They follow an earlier one of the same case in every block: |r| ≥ 0.99. To look at both would be
        to look twice, and to correct for it.
        """
        centred = self.logs - moments(self.logs).mean
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = np.nan_to_num(centred / np.sqrt(np.nansum(np.square(centred), axis=0)))
        kept: dict[str, list[int]] = {}
        for column, figure in enumerate(self.figures):
            known = kept.setdefault(figure.case, [])
            if not (np.abs(scaled[:, known].T @ scaled[:, column]) >= _SAME).any():
                known.append(column)
        columns = [column for columns in kept.values() for column in columns]
        return BlockSeries(
            tuple(self.figures[column] for column in columns), self.logs[:, columns], self.blocks
        )


def block_series(campaign: Campaign) -> BlockSeries:
    """Return the series of every measured case, in the order of the plan."""
    table = tabulate(campaign)
    found: dict[Quoted, Floats] = {}
    for case in campaign.plan.cases:
        primary = primary_foms(campaign.plan, case.workload)
        for figure, cells in _by_figure(table, case.id).items():
            if not primary or figure.fom in primary:
                (means,), _ = block_means(table.values[:, table.find(case.id, cells)])
                found[figure] = means
    blocks = tuple(sorted({attempt.block for attempt in campaign.measured()}))
    means = np.column_stack(list(found.values())) if found else np.empty((len(blocks), 0))
    return BlockSeries(tuple(found), np.log(np.where(means > 0, means, np.nan)), blocks)


def _by_figure(table: Table, case: str) -> dict[Quoted, list[Cell]]:
    grouped: dict[Quoted, list[Cell]] = {}
    for cell in table.cells(case):
        grouped.setdefault(Quoted(case, cell.fom, cell.unit, cell.better), []).append(cell)
    return grouped
