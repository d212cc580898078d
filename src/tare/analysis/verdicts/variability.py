"""Test whether a contender scatters less than its reference; this variability is a result in its own right.

`variabilities` takes a campaign and returns one row for each pair and quoted figure of merit.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec
import numpy as np

from tare.analysis.estimate import listed
from tare.analysis.table import tabulate
from tare.analysis.verdicts.families import FamilyKind, Subject
from tare.analysis.verdicts.questions import half_steps_of, questions
from tare.analysis.verdicts.row_notes import NOT_TOGETHER, ROUNDED_AWAY
from tare.analysis.verdicts.timed_out_runs import favours_survivors, timed_out, timed_out_words
from tare.core.campaign import Campaign
from tare.core.counting import count
from tare.core.values import Settings
from tare.core.verdict import Verdict, verdict_of
from tare.core.workload import Better
from tare.stats.intervals import CONFIDENCE, MIN_BLOCKS, Floats
from tare.stats.looks import Looks, sequential_p_values
from tare.stats.multiplicity import holm
from tare.stats.ratios import common_rows, never_ran_together, paired_columns
from tare.stats.scatter_ratios import MIN_COMPARED, ScatterRatios, scatter_ratios
from tare.stats.variability import Scatters, logarithms, scatters

SAME_SCATTER = 0.25
"""Scatters within 25 % of each other count as equal. To know a scatter to 10 % takes 200 blocks."""


class Variability(msgspec.Struct, frozen=True, kw_only=True):
    """The scatter of a contender between blocks compared with that of its reference, in one figure of merit.

    `reference_cv` and `contender_cv` are the coefficients of variation of the block means. `ratio` is that of
    the mean absolute deviations of their logarithms, which a single outlier changes less. A ratio of 0.5
    means half the scatter, and the verdict `better`. `low` and `high` are for each row alone. They are None
    with fewer than three blocks (six for an interval), or where values are zero or less or all equal.
    The p values are adjusted for all rows, which are one family, and for all looks. The other fields are as
    in a Comparison.
    """

    fom: str
    unit: str
    at: Settings
    reference: Settings
    contender: Settings
    reference_case: str
    contender_case: str
    n_blocks: int
    reference_cv: float | None
    contender_cv: float | None
    ratio: float | None
    low: float | None
    high: float | None
    confidence: float
    verdict: Verdict
    note: str = ""
    p_value: float | None = None
    p_adjusted: float | None = None
    p_equivalence: float | None = None
    p_equivalence_adjusted: float | None = None
    family: int = msgspec.field(default=0, name="n_comparisons")
    assumes_independence: ClassVar[bool] = False

    @property
    def is_different(self) -> bool:
        """Return whether the scatters certainly differ, even where the verdict is equivalent."""
        return self.p_adjusted is not None and self.p_adjusted <= 1 - self.confidence


def variabilities(campaign: Campaign, *, reference: Settings | None = None) -> list[Variability]:
    """Compare the scatter of each contender with that of its reference, with one row for each quoted FOM.

    Each block counts as the geometric mean over the coordinates. `reference` replaces that of the study.
    Raises UsageError when no case has its settings.
    """
    asked = questions(campaign, reference)
    family = next((one for one in asked.families if one.kind is FamilyKind.QUOTED), None)
    is_crossed = [not one.is_uncrossed for one in family.subjects] if family else []
    if family is None or not any(is_crossed):
        return []
    below, above = (side.compress(is_crossed, axis=1) for side in (family.below, family.above))
    is_recorded = family.is_recorded.compress(is_crossed)
    is_paired = paired_columns(below, above, is_recorded, is_unpaired=campaign.compares_unpaired)
    is_apart = never_ran_together(below, above, is_paired).tolist()
    logs = [logarithms(side) for side in common_rows(below, above, is_paired)]
    subjects = list(itertools.compress(family.subjects, is_crossed))
    found = scatter_ratios(logs[0], logs[1], is_paired, half_steps=_half_steps(campaign, subjects))
    looks = asked.ends.looks(below, above, is_paired)
    has_zeros = [
        bool((one <= 0).any() or (other <= 0).any()) for one, other in zip(below.T, above.T, strict=True)
    ]
    judged = _judged(subjects, [scatters(side) for side in logs], found, looks, has_zeros)
    return [
        msgspec.structs.replace(one, note=NOT_TOGETHER) if apart else _of_survivors(one, timed_out(campaign))
        for one, apart in zip(judged, is_apart, strict=True)
    ]


def _half_steps(campaign: Campaign, subjects: Sequence[Subject]) -> tuple[Floats, Floats]:
    """Return how far rounding may have moved the block means of both sides, as shares of them."""
    table = tabulate(campaign)
    sides = [half_steps_of(table, one.pair, one.cells) for one in subjects]
    below, above = np.array(sides).reshape(-1, 2).T
    return below, above


def _of_survivors(one: Variability, n_timed_out: Mapping[str, int]) -> Variability:
    """Return a row without what favours a side of which runs timed out: the others scatter less than all."""
    reference, contender = (n_timed_out.get(case, 0) for case in (one.reference_case, one.contender_case))
    if not (reference or contender):
        return one
    verdict = Verdict.UNDECIDED if favours_survivors(one.verdict, reference, contender) else one.verdict
    note = "; ".join(filter(None, (one.note, timed_out_words(reference, contender))))
    return msgspec.structs.replace(one, verdict=verdict, note=note)


def _judged(
    subjects: Sequence[Subject],
    cvs: list[Scatters],
    found: ScatterRatios,
    looks: Sequence[Looks],
    has_zeros: Sequence[bool],
) -> list[Variability]:
    low, high = found.interval()
    difference, equivalence = found.difference_p_values(), found.equivalence_p_values(SAME_SCATTER)
    size = int(np.isfinite(difference).sum())
    columns = {
        "reference_cv": cvs[0].cv,
        "contender_cv": cvs[1].cv,
        "ratio": found.ratio,
        "low": low,
        "high": high,
        "p_value": difference,
        "p_adjusted": holm(sequential_p_values(difference, looks)),
        "p_equivalence": equivalence,
        "p_equivalence_adjusted": holm(sequential_p_values(equivalence, looks)),
    }
    numbers = zip(*listed(*columns.values()), strict=True)
    is_rounded = np.isinf(found.hidden + found.made).tolist()
    sides = found.n_blocks.tolist(), found.is_paired.tolist()
    rows = zip(subjects, *sides, numbers, has_zeros, is_rounded, strict=True)
    return [
        _with_verdict(
            Variability(
                fom=one.fom,
                unit=one.unit,
                at=one.at,
                reference=one.pair.reference,
                contender=one.pair.contender,
                reference_case=one.pair.reference_case.id,
                contender_case=one.pair.contender_case.id,
                n_blocks=n_blocks,
                confidence=CONFIDENCE,
                verdict=Verdict.UNDECIDED,
                note="" if is_paired else "unpaired",
                family=size,
                **dict(zip(columns, row, strict=True)),
            ),
            has_zeros=zeros,
            is_rounded=rounded,
        )
        for one, n_blocks, is_paired, row, zeros, rounded in rows
    ]


def _with_verdict(one: Variability, *, has_zeros: bool, is_rounded: bool) -> Variability:
    """Return a row with its verdict, adjusted for all rows, and a note for the reader."""
    alpha = 1 - one.confidence
    drawn = verdict_of(
        one.low,
        one.high,
        margin=SAME_SCATTER,
        better=Better.LOWER,
        can_differ=one.p_adjusted is not None and one.p_adjusted <= alpha,
        can_be_equivalent=one.p_equivalence_adjusted is not None and one.p_equivalence_adjusted <= alpha,
    )
    return msgspec.structs.replace(
        one, verdict=drawn, note=_note(one, drawn, has_zeros=has_zeros, is_rounded=is_rounded)
    )


def _note(one: Variability, drawn: Verdict, *, has_zeros: bool, is_rounded: bool) -> str:
    if one.n_blocks < MIN_BLOCKS and has_zeros:
        return "no scatter: some values are zero or less"
    if one.n_blocks < MIN_BLOCKS:
        return f"too few blocks: a scatter takes {MIN_BLOCKS} on both sides"
    if one.ratio is None:
        return "a side shows no scatter"
    parts = [one.note]
    if is_rounded and one.n_blocks >= MIN_COMPARED:
        parts.append(ROUNDED_AWAY)
    if one.low is None and one.n_blocks < MIN_COMPARED:
        parts.append(f"too few blocks: scatters are compared from {MIN_COMPARED} on")
    if (
        drawn is Verdict.UNDECIDED
        and one.low is not None
        and one.high is not None
        and not one.low <= 1 <= one.high
    ):
        parts.append(f"a difference alone, but not among {count(one.family, 'comparison')}")
    return "; ".join(filter(None, parts))
