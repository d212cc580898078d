"""Evaluate an A/A campaign, in which both sides are the same.

The result says how often Tare reports a difference that does not exist, and how small an effect it can find
at this site. Takes the campaign of an A/A study and returns a `Calibration`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from tare.analysis.pairs import Pair
from tare.analysis.verdicts.compare import aggregates, comparisons, terms_of
from tare.analysis.verdicts.families import Family, FamilyKind, Subject
from tare.analysis.verdicts.judged_family import Terms
from tare.analysis.verdicts.questions import Questions, questions
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison
from tare.core.errors import UsageError
from tare.core.margins import are_within, excludes_one
from tare.core.values import Settings
from tare.core.verdict import Verdict
from tare.stats.family import p_values
from tare.stats.intervals import CONFIDENCE, MIN_BLOCKS, Floats
from tare.stats.looks import Looks
from tare.stats.ratios import log_ratios, ratios
from tare.stats.relabelling import relabellings

_MOST_RELABELLINGS = 256
"""This many relabellings tell a rate of 5 % to ± 3 % for a single comparison, and far better for many."""

_ALARMS = (Verdict.BETTER, Verdict.WORSE)

Flags = npt.NDArray[np.bool_]


class Calibrated(msgspec.Struct, frozen=True, kw_only=True):
    """What one figure of merit of one case shows when it is compared with itself.

    `n_comparisons` counts its points that can get a verdict, `false_alarms` those that `compare` calls better
    or worse. `alarm_rate` is the share of such verdicts after relabelling. `interval_rate` is the share of
    single intervals that exclude 1. `ratio`, `low` and `high` are for all points together, and so is
    `detectable`: the smallest effect that this many blocks find four times out of five.
    """

    at: Settings
    fom: str
    unit: str
    is_primary: bool
    n_blocks: int
    n_comparisons: int
    false_alarms: int
    alarm_rate: float | None
    interval_rate: float | None
    ratio: float | None
    low: float | None
    high: float | None
    detectable: float | None


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """The calibration of all figures; `campaign_rate`: share of relabelled campaigns with false alarms."""

    rows: tuple[Calibrated, ...]
    n_comparisons: int
    false_alarms: int
    n_relabellings: int
    alarm_rate: float | None
    interval_rate: float | None
    campaign_rate: float | None
    margin: float
    confidence: float


def calibration(campaign: Campaign) -> Calibration:
    """Return the false-alarm rates and the detectable effects that the A/A campaign `campaign` shows.

    Raises UsageError where its two sides differ in more than the name.
    """
    if set(campaign.plan.reference) != {"twin"}:
        raise UsageError(
            f"{campaign.folder} is no A/A campaign: its reference is not its own twin; make one with "
            f"'tare calibrate {campaign.folder}'"
        )
    asked = questions(campaign)
    relabelled = _relabel(asked, campaign)
    found = comparisons(campaign)
    by_figure: dict[object, list[int]] = {}
    for column, one in enumerate(found):
        if relabelled.is_judged[column]:
            by_figure.setdefault(_key(one), []).append(column)
    rows = tuple(
        _row(one, [found[column] for column in columns], relabelled, columns)
        for one in aggregates(campaign)
        if (columns := by_figure.get(_key(one)))
    )
    judged = np.flatnonzero(relabelled.is_judged)
    return Calibration(
        rows=rows,
        n_comparisons=len(judged),
        false_alarms=sum(found[column].verdict in _ALARMS for column in judged.tolist()),
        n_relabellings=relabelled.n,
        alarm_rate=_mean(relabelled.alarms[judged]),
        interval_rate=_mean(relabelled.intervals[judged]),
        campaign_rate=relabelled.n_campaigns / relabelled.n if relabelled.n else None,
        margin=campaign.plan.margin,
        confidence=CONFIDENCE,
    )


def _key(one: Comparison) -> object:
    return one.contender_case, one.fom, one.unit, tuple(one.labels.items())


def _row(
    whole: Comparison, parts: Sequence[Comparison], relabelled: _Relabelled, columns: Sequence[int]
) -> Calibrated:
    return Calibrated(
        at=whole.at,
        fom=whole.fom,
        unit=whole.unit,
        is_primary=whole.is_primary,
        n_blocks=max(one.n_blocks for one in parts),
        n_comparisons=len(parts),
        false_alarms=sum(one.verdict in _ALARMS for one in parts),
        alarm_rate=_mean(relabelled.alarms[columns]),
        interval_rate=_mean(relabelled.intervals[columns]),
        ratio=whole.ratio,
        low=whole.low,
        high=whole.high,
        detectable=whole.detectable,
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _Relabelled:
    """Per column, the share of `n` relabelled campaigns with a false verdict (or interval alone).

    `n_campaigns` counts the relabelled campaigns with any false verdict.
    """

    is_judged: Flags
    alarms: Floats
    intervals: Floats
    n: int
    n_campaigns: int


def _relabel(asked: Questions, campaign: Campaign) -> _Relabelled:
    """Compute all verdicts again for each relabelling, in the same families as `compare` uses."""
    if not asked.families:
        nothing = np.zeros(0)
        return _Relabelled(np.zeros(0, np.bool_), nothing, nothing, 0, 0)
    subjects = [one for family in asked.families for one in family.subjects]
    logs = np.hstack([log_ratios(family.below, family.above) for family in asked.families])
    which = _pair_numbers([one.pair for one in subjects])
    parts = _parts(asked.families)
    terms = {kind: terms_of(campaign, None, kind.correction) for kind in parts}
    always = np.ones(len(subjects), np.bool_)
    looks = asked.ends.looks(logs, logs, always)
    rows = np.array([parts[row.kind].start + row.number for one in asked.points for row in one.rows], np.intp)
    is_judged = _is_judged(subjects, logs)[rows]
    alarms, intervals = np.zeros(len(rows)), np.zeros(len(rows))
    n = n_campaigns = 0
    if is_judged.any():
        random = np.random.default_rng(campaign.plan.seed)
        for signs in relabellings(len(logs), int(which.max()) + 1, random, _MOST_RELABELLINGS):
            drawn = logs * signs[:, which]
            found = [_alarms(drawn[:, part], terms[kind], looks[part]) for kind, part in parts.items()]
            is_alarm, excludes = (np.concatenate(flags)[rows] for flags in zip(*found, strict=True))
            is_alarm &= is_judged
            alarms += is_alarm
            intervals += excludes
            n += 1
            n_campaigns += bool(is_alarm.any())
    return _Relabelled(is_judged, alarms / max(n, 1), intervals / max(n, 1), n, n_campaigns)


def _parts(families: Sequence[Family]) -> dict[FamilyKind, slice]:
    """Return the slice of columns of each family, with the families side by side."""
    ends = np.cumsum([len(family.subjects) for family in families]).tolist()
    return {
        family.kind: slice(start, end) for family, start, end in zip(families, [0, *ends], ends, strict=False)
    }


def _alarms(logs: Floats, terms: Terms, looks: Sequence[Looks]) -> tuple[Flags, Flags]:
    """Return which columns have a verdict of a difference, and which have an interval that excludes 1."""
    found = ratios(np.ones_like(logs), np.exp(logs))
    known = p_values(found, terms.margin, CONFIDENCE, terms.correction, looks)
    alpha = 1 - CONFIDENCE
    excludes = excludes_one(found.low, found.high)
    is_within = are_within(found.low, found.high, terms.margin)
    is_equivalent = is_within & (known.equivalence_adjusted <= alpha)
    return excludes & (known.difference_adjusted <= alpha) & ~is_equivalent, excludes


def _is_judged(subjects: Sequence[Subject], logs: Floats) -> Flags:
    """Return which columns have a paired interval and a direction, so that a false alarm is possible."""
    has_interval = (np.isfinite(logs).sum(axis=0) >= MIN_BLOCKS) & ~np.isinf(logs).any(axis=0)
    flags: Flags = has_interval & np.array([one.better is not None for one in subjects], np.bool_)
    return flags


def _pair_numbers(pairs: Sequence[Pair]) -> npt.NDArray[np.intp]:
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(pair.contender_case.id, len(numbers)) for pair in pairs], np.intp)


def _mean(shares: Floats) -> float | None:
    return float(shares.mean()) if shares.size else None
