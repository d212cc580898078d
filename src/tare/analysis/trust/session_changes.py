"""Measure how much the machine changed between sessions: each case in one session over an earlier one."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import msgspec
import numpy as np

from tare.analysis.block_series import BlockSeries, Quoted, block_series
from tare.analysis.pairs import pairs
from tare.analysis.table import tabulate
from tare.core.campaign import Campaign
from tare.core.values import Settings
from tare.stats.autocorrelation import allowance
from tare.stats.equivalence import difference_p_values
from tare.stats.intervals import CONFIDENCE, MIN_BLOCKS, Floats, moments
from tare.stats.multiplicity import holm
from tare.stats.ratios import Ratios, ratios


class SessionChange(msgspec.Struct, frozen=True, kw_only=True):
    """The ratio of a figure of a case in session `after` to session `before` (session numbers).

    `ratio` is that of geometric means. Its interval is Welch's, for all changes together (Bonferroni), since
    runs of two sessions cannot be paired. `p_adjusted` is Holm's. `is_reference` says that other cases are
    compared with this one. `is_serious` says that chance does not explain the change and that it is at least
    as large as the study's margin. `labels` distinguish the figure from others of its name.
    """

    case: str
    fom: str
    unit: str
    before: int
    after: int
    n_before: int
    n_after: int
    ratio: float
    low: float
    high: float
    confidence: float
    p_adjusted: float
    is_reference: bool
    is_serious: bool
    labels: Settings = {}


def session_changes(campaign: Campaign) -> tuple[SessionChange, ...]:
    """Return the changes between sessions, for each case with three or more blocks in at least two of them.

    Each session is compared with the previous one in which the case had enough blocks. References come first,
    then the largest changes. Figures that repeat others are tested once.
    """
    if len({one.session for one in campaign.measured() if one.session > 0}) < 2:
        return ()
    series = block_series(campaign).distinct()
    columns = _columns(series)
    if not columns:
        return ()
    earlier, later = (_values(series, columns, which) for which in (0, 1))
    rounding = _rounding(campaign, [figure for figure, _, _ in columns])
    confidence = 1 - (1 - CONFIDENCE) / len(columns)
    found = _wider(ratios(earlier, later, confidence, rounding=rounding), earlier, later, confidence)
    p_adjusted = holm(difference_p_values(found))
    least = np.log1p(campaign.plan.margin)
    references = {pair.reference_case.id for pair in pairs(campaign)}
    changes = [
        SessionChange(
            case=figure.case,
            fom=figure.fom,
            unit=figure.unit,
            before=numbers[0],
            after=numbers[1],
            n_before=int(np.isfinite(earlier[:, row]).sum()),
            n_after=int(np.isfinite(later[:, row]).sum()),
            ratio=float(found.ratio[row]),
            low=float(found.low[row]),
            high=float(found.high[row]),
            confidence=CONFIDENCE,
            p_adjusted=float(p_adjusted[row]),
            labels=dict(figure.labels),
            is_reference=figure.case in references,
            is_serious=bool(p_adjusted[row] <= 1 - CONFIDENCE and abs(np.log(found.ratio[row])) >= least),
        )
        for row, (figure, _, numbers) in enumerate(columns)
        if np.isfinite(found.low[row])
    ]
    return tuple(sorted(changes, key=lambda one: (not one.is_reference, -abs(np.log(one.ratio)))))


def _wider(found: Ratios, earlier: Floats, later: Floats, confidence: float) -> Ratios:
    """Return the changes with intervals that allow for blocks which resemble the one before in a session."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = [np.log(side) for side in (earlier, later)]
    within = np.fmax(*(side - moments(side).mean for side in logs))
    factor = allowance(within, confidence).factor
    low, high = (found.ratio * (end / found.ratio) ** factor for end in (found.low, found.high))
    return dataclasses.replace(found, error=found.error * factor, low=low, high=high)


def _rounding(campaign: Campaign, figures: Sequence[Quoted]) -> Floats:
    """Return how far rounding of printed values may have moved each ratio: equally on both sides."""
    table = tabulate(campaign)
    shifts = [
        [table.shifts[column] for cell, column in table.columns[one.case].items() if cell.fom == one.fom]
        for one in figures
    ]
    return np.array([2 * np.log1p(max(own, default=0.0)) for own in shifts], np.float64)


def _columns(series: BlockSeries) -> list[tuple[Quoted, int, tuple[int, int]]]:
    """Return each figure with its column and each pair of consecutive sessions that it has."""
    sessions = np.array([one.session for one in series.passes])
    numbers = [number for number in np.unique(sessions).tolist() if number > 0]
    counts = {number: np.isfinite(series.logs[sessions == number]).sum(axis=0) for number in numbers}
    return [
        (figure, column, two)
        for column, figure in enumerate(series.figures)
        for two in itertools.pairwise([one for one in numbers if counts[one][column] >= MIN_BLOCKS])
    ]


def _values(series: BlockSeries, columns: list[tuple[Quoted, int, tuple[int, int]]], which: int) -> Floats:
    sessions = np.array([one.session for one in series.passes])[:, np.newaxis]
    chosen = np.exp(series.logs[:, [column for _, column, _ in columns]])
    return np.where(sessions == np.array([numbers[which] for _, _, numbers in columns]), chosen, np.nan)
