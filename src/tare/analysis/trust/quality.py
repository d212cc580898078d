"""Collect the quality warnings of a campaign, and the scatter of its cases.

`quality` takes a campaign and returns a `Quality` with all warnings about its quoted figures: drift, warm-up,
modes, autocorrelation and outliers.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

import msgspec
import numpy as np

from tare.analysis.block_series import BlockSeries, block_series
from tare.analysis.estimate import listed
from tare.analysis.pairs import pairs
from tare.analysis.trust.precision import Imprecision, imprecision
from tare.analysis.trust.repeatability import RepeatabilityResult, RepeatabilityWarning, run_test
from tare.analysis.trust.session_changes import SessionChange, session_changes
from tare.core.campaign import Campaign
from tare.core.case import Pass
from tare.core.values import Settings
from tare.stats.autocorrelation import LEAST_BLOCKS
from tare.stats.intervals import CONFIDENCE, Floats, moments
from tare.stats.multiplicity import holm
from tare.stats.variability import scatters

MIN_ALIKE = 2 / 3
"""Cases behave alike if at least this share of their figures shows at least half of the common effect."""

_SHOWN = 0.5
"""The share of a common effect from which a figure shows it."""


class QualityWarning(msgspec.Struct, frozen=True, kw_only=True):
    """A reason not to trust a number: a warning about one case that chance does not explain.

    `case` is None, and `fom` and `unit` are empty, where most cases behave alike: `n_alike` of `n_cases`.
    `blocks` are the blocks concerned, out of `n_blocks`; `passes` are the same blocks with their sessions.
    `p` is corrected for the number of cases tested. `labels` distinguish the figure from others of its name.
    `is_of_ratio` says that the warning is about the ratio of the case to its reference, and
    `is_beside_others` that it is about the case next to what most cases do alike. `size` and `levels` depend
    on the kind:

    - drift: the change per block, as a share; for all cases alike, how much worse they get;
    - warm-up: first blocks / other blocks − 1; for all cases alike, how much worse they are;
    - modes: higher / lower − 1, and both levels, in `unit`;
    - autocorrelation: the coefficient of lag 1, and its limit;
    - outliers: farthest / median − 1, and the median, in `unit`.
    """

    case: str | None
    fom: str = ""
    unit: str = ""
    kind: RepeatabilityWarning = msgspec.field(name="suspicion")
    blocks: tuple[int, ...]
    n_blocks: int
    size: float
    levels: tuple[float, ...] = ()
    p: float
    passes: tuple[Pass, ...] = ()
    is_of_ratio: bool = False
    labels: Settings = {}
    n_alike: int = 0
    n_cases: int = 0
    is_beside_others: bool = False

    @property
    def is_of_all(self) -> bool:
        """Return whether every case behaves alike."""
        return self.case is None and self.n_alike == self.n_cases

    @property
    def is_serious(self) -> bool:
        """Return whether it affects the result; single outliers hardly do, and they are real observations."""
        return self.kind is not RepeatabilityWarning.OUTLIERS

    @property
    def may_wander(self) -> bool:
        """Return whether it is a drift over so few blocks that a slowly changing state looks the same."""
        return self.kind is RepeatabilityWarning.DRIFT and self.n_blocks < LEAST_BLOCKS


class CaseScatter(msgspec.Struct, frozen=True, kw_only=True):
    """The scatter of a figure of a case between blocks: its coefficient of variation, with an interval."""

    case: str
    fom: str
    unit: str
    n_blocks: int
    cv: float | None
    low: float | None
    high: float | None
    labels: Settings = {}


class Quality(msgspec.Struct, frozen=True, kw_only=True):
    """The quality warnings of a campaign, and what was tested.

    `n_tested` gives, for each kind of warning, how many of the `n_figures` have enough blocks. `is_in_order`
    is False where the order of the runs is unknown, so that changes in time cannot be tested. `imprecision`
    is set if the machine was too noisy for most of the questions. `changes` are changes between sessions, for
    cases that ran in several.
    """

    warnings: tuple[QualityWarning, ...]
    scatters: tuple[CaseScatter, ...]
    n_figures: int
    n_tested: dict[RepeatabilityWarning, int]
    is_in_order: bool
    imprecision: Imprecision | None = None
    changes: tuple[SessionChange, ...] = ()


def quality(campaign: Campaign) -> Quality:
    """Return every warning about the quoted figures of `campaign` that noise alone does not explain.

    For each kind of warning, the chance of any false warning over all cases is at most 5 %. For
    a drift, half of this chance is for the test whether all cases drift alike. The other half is for single
    cases after the common part is removed, by Holm's procedure. The warm-up test covers all cases at once.
    Effects below the study's margin give no warning.

    Figures that repeat others are tested once. Changes between sessions are removed first, so the tests apply
    within each session. Autocorrelation is tested on the ratios of contenders to their references, since it
    affects the intervals of these ratios. An effect common to all cases of a block does not affect them.
    Without a reference, autocorrelation is tested for each case.
    """
    every = block_series(campaign)
    series = every.within_sessions().distinct()
    references = {pair.contender_case.id: pair.reference_case.id for pair in pairs(campaign)}
    least = float(np.log1p(campaign.plan.margin))
    warnings: list[QualityWarning] = []
    n_tested = dict.fromkeys(RepeatabilityWarning, 0)
    for kind in RepeatabilityWarning:
        if campaign.is_imported and kind.is_in_time:
            continue
        looked_at = series
        if kind is RepeatabilityWarning.AUTOCORRELATION and references:
            looked_at = series.over(references)
        found, n_tested[kind] = _warnings(kind, looked_at, least, 1 - CONFIDENCE)
        is_of_ratio = looked_at is not series
        warnings += [msgspec.structs.replace(one, is_of_ratio=is_of_ratio) for one in found]
        if kind is RepeatabilityWarning.WARM_UP:  # must not be found again as another problem
            series = _without_blocks(series, found)
    return Quality(
        warnings=tuple(_unexplained_by_others(warnings)),
        scatters=tuple(_case_scatters(every)),
        n_figures=len(series.figures),
        n_tested=n_tested,
        is_in_order=not campaign.is_imported,
        imprecision=imprecision(campaign),
        changes=session_changes(campaign),
    )


def _warnings(
    kind: RepeatabilityWarning, series: BlockSeries, least: float, alpha: float
) -> tuple[list[QualityWarning], int]:
    """Return the warnings of one kind, and how many series were tested."""
    logs, warnings, n_questions = series.logs, [], 1
    own = run_test(kind, series.slowing()) if kind.is_shared else None
    if own is not None and _n_tested_cases(series, own) > 1:
        n_questions = 1 if kind.is_of_campaign else 2
        common = _common(series)
        shared = run_test(kind, common)
        is_beyond = shared.p[0] * n_questions <= alpha and abs(shared.effect[0]) >= least
        if is_beyond and _is_common(own, float(shared.effect[0])):
            p_shared = float(shared.p[0] * n_questions)
            told = _warning(kind, series, shared, 0, p_shared, is_shared=True)
            n_alike, n_cases = _n_alike(series, own, float(shared.effect[0]))
            warnings.append(msgspec.structs.replace(told, n_alike=n_alike, n_cases=n_cases))
            logs = logs - np.nan_to_num(series.direction()) * np.nan_to_num(common)
    if kind.is_of_campaign:
        found = _turned(run_test(kind, logs * _ways(series)), _ways(series))
        p = found.p
    else:
        found = run_test(kind, logs)
        p = np.minimum(holm(found.p) * n_questions, 1.0)
    columns = np.flatnonzero((p <= alpha) & (np.abs(found.effect) >= least))
    is_beside_others = bool(warnings)
    warnings += [
        msgspec.structs.replace(
            _warning(kind, series, found, column, float(p[column]), is_shared=False),
            is_beside_others=is_beside_others,
        )
        for column in columns.tolist()
    ]
    return warnings, int(np.isfinite(found.p).sum())


def _ways(series: BlockSeries) -> Floats:
    """Return the direction of each figure; one without a direction is treated as a time."""
    return np.nan_to_num(series.direction(), nan=1.0)


def _turned(found: RepeatabilityResult, ways: Floats) -> RepeatabilityResult:
    effect = found.effect * ways
    return dataclasses.replace(found, effect=effect, size=np.expm1(effect))


def _common(series: BlockSeries) -> Floats:
    """Return, as one column, how much worse than its own mean the median figure is in each block."""
    slowing = series.slowing()
    centred = slowing - moments(slowing).mean
    common = np.full((len(centred), 1), np.nan)
    has_value = np.isfinite(centred).any(axis=1)
    common[has_value, 0] = np.nanmedian(centred[has_value], axis=1)
    return common


def _is_common(own: RepeatabilityResult, effect: float) -> bool:
    """Return whether most figures show the same effect as the median figure."""
    known = own.effect[np.isfinite(own.effect)]
    return bool(known.size) and float((known / effect >= _SHOWN).mean()) >= MIN_ALIKE


def _n_tested_cases(series: BlockSeries, own: RepeatabilityResult) -> int:
    """Return how many cases have a figure that could be tested."""
    is_tested = np.isfinite(own.p).tolist()
    return len({figure.case for figure, tested in zip(series.figures, is_tested, strict=True) if tested})


def _n_alike(series: BlockSeries, own: RepeatabilityResult, effect: float) -> tuple[int, int]:
    """Return how many cases show an effect with each figure that has one, and how many cases there are."""
    shares = (own.effect / effect).tolist()
    shown: dict[str, list[bool]] = {figure.case: [] for figure in series.figures}
    for figure, share in zip(series.figures, shares, strict=True):
        shown[figure.case] += [share >= _SHOWN] if math.isfinite(share) else []
    return sum(bool(one) and all(one) for one in shown.values()), len(shown)


def _warning(
    kind: RepeatabilityWarning,
    series: BlockSeries,
    found: RepeatabilityResult,
    column: int,
    p: float,
    *,
    is_shared: bool,
) -> QualityWarning:
    figure = None if is_shared else series.figures[column]
    values = series.logs if is_shared else series.logs[:, [column]]
    passes = tuple(series.passes[row] for row in np.flatnonzero(found.is_concerned[:, column]).tolist())
    return QualityWarning(
        case=figure.case if figure else None,
        fom=figure.fom if figure else "",
        unit=figure.unit if figure else "",
        labels=dict(figure.labels) if figure else {},
        kind=kind,
        blocks=tuple(dict.fromkeys(one.block for one in passes)),
        n_blocks=int(np.isfinite(values).any(axis=1).sum()),
        size=float(found.size[column]),
        levels=tuple(found.levels[:, column].tolist()),
        p=float(p),
        passes=passes,
    )


def _without_blocks(series: BlockSeries, warnings: Iterable[QualityWarning]) -> BlockSeries:
    """Return `series` without the blocks that `warnings` concern, for their case or for all cases."""
    logs = series.logs.copy()
    row_of = {held: row for row, held in enumerate(series.passes)}
    columns_of: dict[str | None, list[int]] = {None: list(range(len(series.figures)))}
    for column, figure in enumerate(series.figures):
        columns_of.setdefault(figure.case, []).append(column)
    for one in warnings:
        logs[np.ix_([row_of[held] for held in one.passes], columns_of[one.case])] = np.nan
    return dataclasses.replace(series, logs=logs)


def _unexplained_by_others(warnings: Iterable[QualityWarning]) -> list[QualityWarning]:
    """Return the warnings that no other warning about the same figure, or about all cases, explains.

    A drift separates the first blocks from the rest, and a long warm-up looks like a drift. Of the two, the
    one with the lower p value is kept.
    """
    by_figure: dict[object, dict[RepeatabilityWarning, QualityWarning]] = {}
    for one in warnings:
        figure = (one.case, one.fom, one.unit, tuple(one.labels.items()))
        by_figure.setdefault(figure, {})[one.kind] = one
    shared = _one_in_time(by_figure.pop((None, "", "", ()), {}))
    kept = [*shared.values()]
    for own in by_figure.values():
        kept += _unexplained(_one_in_time(own), shared)
    order = list(RepeatabilityWarning)
    return sorted(kept, key=lambda one: (one.case is not None, order.index(one.kind)))


def _one_in_time(
    own: dict[RepeatabilityWarning, QualityWarning],
) -> dict[RepeatabilityWarning, QualityWarning]:
    """Return `own` with only the more significant one of drift and warm-up."""
    drift, warm_up = own.get(RepeatabilityWarning.DRIFT), own.get(RepeatabilityWarning.WARM_UP)
    if drift is None or warm_up is None:
        return own
    weaker = RepeatabilityWarning.DRIFT if warm_up.p < drift.p else RepeatabilityWarning.WARM_UP
    return {kind: one for kind, one in own.items() if kind is not weaker}


def _unexplained(
    own: dict[RepeatabilityWarning, QualityWarning], shared: dict[RepeatabilityWarning, QualityWarning]
) -> list[QualityWarning]:
    """Return `own` without autocorrelation due to a drift or modes, and without outliers that are a mode."""
    explained = set()
    if RepeatabilityWarning.MODES in own:
        explained |= {RepeatabilityWarning.AUTOCORRELATION, RepeatabilityWarning.OUTLIERS}
    if RepeatabilityWarning.DRIFT in own or RepeatabilityWarning.DRIFT in shared:
        explained.add(RepeatabilityWarning.AUTOCORRELATION)
    return [one for kind, one in own.items() if kind not in explained]


def _case_scatters(series: BlockSeries) -> list[CaseScatter]:
    found = scatters(series.logs, rounding=series.rounding)
    columns = listed(found.cv, found.low, found.high)
    rows = zip(series.figures, found.n_blocks.tolist(), *columns, strict=True)
    return [
        CaseScatter(
            case=figure.case,
            fom=figure.fom,
            unit=figure.unit,
            n_blocks=n_blocks,
            cv=cv,
            low=low,
            high=high,
            labels=dict(figure.labels),
        )
        for figure, n_blocks, cv, low, high in rows
    ]
