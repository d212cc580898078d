"""Compute the level and the scatter of each case, next to each other.

`case_scatters` takes a campaign and returns a row for each case and figure of merit.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from tare.analysis.estimate import listed
from tare.analysis.table import FigureName, by_figure, tabulate
from tare.core.campaign import Campaign
from tare.core.interval import Bounded
from tare.stats.estimates import estimate
from tare.stats.intervals import Floats
from tare.stats.rounding import shift_of_mean
from tare.stats.variability import logarithms, scatters


class CaseScatter(NamedTuple):
    """The mean of a figure of a case over its blocks, and the coefficient of variation between blocks.

    Each block counts as the geometric mean over the coordinates. The ends of the intervals are None with too
    few blocks.
    """

    case: str
    figure: FigureName
    n_blocks: int
    mean: Bounded
    cv: Bounded


def case_scatters(campaign: Campaign, foms: Collection[str]) -> list[CaseScatter]:
    """Return the level and the scatter of the figures `foms` of each case, in the plan's order.

    Cases with fewer than three blocks, or with values of zero or less, have no scatter and are left out.
    """
    table = tabulate(campaign, foms)
    names: list[tuple[str, FigureName]] = []
    columns: list[Floats] = []
    shifts: list[float] = []
    for case in campaign.plan.cases:
        for figure, cells in table.once(by_figure, table.cells(case.id)).items():
            if figure.fom in foms:
                names.append((case.id, figure))
                own = table.find(case.id, cells)
                columns.append(logarithms(table.values[:, own]).mean(axis=1))
                shifts.append(shift_of_mean(table.shifts[own]))
    if not columns:
        return []
    logs = np.column_stack(columns)
    rounding = np.array(shifts)
    found, levels = scatters(logs, rounding=rounding), estimate(np.exp(logs), rounding=rounding)
    numbers = zip(
        *listed(levels.value, levels.low, levels.high, found.cv, found.low, found.high), strict=True
    )
    return [
        CaseScatter(case, figure, n_blocks, Bounded(mean, low, high), Bounded(cv, cv_low, cv_high))
        for (case, figure), n_blocks, (mean, low, high, cv, cv_low, cv_high) in zip(
            names, found.n_blocks.tolist(), numbers, strict=True
        )
        if mean is not None and cv is not None
    ]
