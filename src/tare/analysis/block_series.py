"""Build one time series of block means for each case and each quoted figure of merit.

Takes a campaign and returns a `BlockSeries`. The quality checks (drift, warm-up, modes) read these series.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tare.analysis.aggregate import block_means
from tare.analysis.answering_figures import primary_foms
from tare.analysis.table import by_figure, tabulate
from tare.core.campaign import Campaign
from tare.core.case import Pass
from tare.core.values import Scalar
from tare.core.workload import Better
from tare.stats.intervals import MIN_BLOCKS, Floats, moments
from tare.stats.rounding import shift_of_mean
from tare.stats.variability import logarithms

_SAME = 0.99

_SLOWER = {Better.LOWER: 1.0, Better.HIGHER: -1.0, None: np.nan}


class Quoted(NamedTuple):
    """A figure of merit of a case: a primary one, or any one if its workload has no primary figure.

    `labels` are the coordinates that distinguish it from other figures of that name, such as written and read
    bytes.
    """

    case: str
    fom: str
    unit: str
    better: Better | None
    labels: tuple[tuple[str, Scalar], ...] = ()


@dataclasses.dataclass(frozen=True, eq=False)
class BlockSeries:
    """Logarithms of block means, passes × figures; NaN where a value is missing.

    A figure with a value of zero or less has none at all: the rest of its values are no fair sample.

    Each value is the geometric mean over the numeric coordinates of a run. `passes` names each row, in the
    order of time. `rounding` says for each figure how far rounding of what was printed may have moved its
    mean, as a share.
    """

    figures: tuple[Quoted, ...]
    logs: Floats
    passes: tuple[Pass, ...]
    rounding: Floats

    def slowing(self) -> Floats:
        """Return the series, negated for rates, so that higher is worse; NaN without a direction."""
        return self.logs * self.direction()

    def direction(self) -> Floats:
        """Return 1 for each figure that is better when lower, −1 when higher, and NaN without a direction."""
        return np.array([_SLOWER[one.better] for one in self.figures])

    def distinct(self) -> BlockSeries:
        """Return the series without duplicates, such as a bandwidth that repeats what the latency shows.

        A series is a duplicate if it correlates with an earlier one of the same case with |r| ≥ 0.99 over all
        blocks. Testing both would count the same data twice, and the correction for many tests would become
        needlessly strict.
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
        figures = tuple(self.figures[column] for column in columns)
        return BlockSeries(figures, self.logs[:, columns], self.passes, self.rounding[columns])

    def over(self, references: Mapping[str, str]) -> BlockSeries:
        """Return the log ratio of each figure to the same figure of its reference case, where there is one.

        `references` maps the id of each contender case to the id of its reference case.
        """
        columns_of = {figure: column for column, figure in enumerate(self.figures)}
        found = {
            figure: (column, columns_of[base])
            for figure, column in columns_of.items()
            if (base := figure._replace(case=references.get(figure.case, ""))) in columns_of
        }
        above, below = ([pair[side] for pair in found.values()] for side in (0, 1))
        rounding = self.rounding[above] + self.rounding[below]
        return BlockSeries(tuple(found), self.logs[:, above] - self.logs[:, below], self.passes, rounding)

    def within_sessions(self) -> BlockSeries:
        """Return the series with every session shifted to the level of the figure's longest session.

        A change between two sessions is neither a drift nor a second mode. A session with fewer than three
        values of a figure has no reliable level, so it is shifted like the session whose level is nearest to
        its own.
        """
        sessions = np.array([one.session for one in self.passes])
        numbers = np.unique(sessions)
        if len(numbers) < 2:
            return self
        found = [moments(self.logs[sessions == number]) for number in numbers]
        counts = np.array([one.n_blocks for one in found])
        means = np.array([one.mean for one in found])
        level = np.take_along_axis(means, counts.argmax(axis=0)[np.newaxis], axis=0)[0]
        logs = self.logs.copy()
        for number, count, mean in zip(numbers, counts, means, strict=True):
            near = np.where(count >= MIN_BLOCKS, mean, _nearest(mean, means, counts >= MIN_BLOCKS))
            logs[sessions == number] += np.where(np.isfinite(near), level - near, 0.0)
        return dataclasses.replace(self, logs=logs)


def _nearest(values: Floats, levels: Floats, is_known: npt.NDArray[np.bool_]) -> Floats:
    """Return of each column the known one of its `levels` that is nearest to its value; NaN without any.

    `levels` and `is_known` are sessions × columns.
    """
    distances = np.where(is_known, np.abs(levels - values), np.inf)
    rows = distances.argmin(axis=0)[np.newaxis]
    found: Floats = np.take_along_axis(np.where(np.isfinite(distances), levels, np.nan), rows, axis=0)[0]
    return found


def block_series(campaign: Campaign) -> BlockSeries:
    """Return the series of all quoted figures of every measured case, in the order of the plan."""
    table = tabulate(campaign)
    found: dict[Quoted, Floats] = {}
    rounding: list[float] = []
    for case in campaign.plan.cases:
        primary = primary_foms(campaign.plan, case.workload)
        for name, cells in table.once(by_figure, table.cells(case.id)).items():
            if not primary or name.fom in primary:
                figure = Quoted(case.id, name.fom, name.unit, cells[0].better, name.labels)
                columns = table.find(case.id, cells)
                (means,), _ = block_means(table.values[:, columns])
                found[figure] = means
                rounding.append(shift_of_mean(table.shifts[columns]))
    means = np.column_stack(list(found.values())) if found else np.empty((len(table.passes), 0))
    return BlockSeries(tuple(found), logarithms(means), table.passes, np.array(rounding))
