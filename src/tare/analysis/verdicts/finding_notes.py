"""The notes on the findings of a family: how a ratio was found, why it is missing, what limits its claim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tare.analysis.estimate import listed
from tare.analysis.verdicts.row_notes import (
    NO_RATIO_OF_CONTENDER,
    NO_RATIO_TO_REFERENCE,
    NOT_MEASURED,
    NOT_TOGETHER,
    OF_ZEROS,
    UNPAIRED_BEGINS,
    WIDER,
    WITHHELD_BY_MEAN_COST,
    least_blocks,
    median_lack,
    nth_look,
    resembling_words,
    unresolved_words,
)
from tare.core.comparison import Mean
from tare.core.counting import count
from tare.core.margins import are_within, excludes_one
from tare.core.verdict import Claim, Verdict
from tare.core.workload import Better
from tare.stats.hodges_lehmann import disagreements
from tare.stats.intervals import CONFIDENCE, MIN_BLOCKS
from tare.stats.ratios import Design

if TYPE_CHECKING:
    from tare.analysis.verdicts.judged_family import JudgedFamily

_COARSE = 0.25
"""As a share of the margin: smaller rounding decides nothing."""


def notes_of(family: JudgedFamily, verdicts: Sequence[Verdict]) -> list[str]:
    """Return a note for the reader on each column; mostly empty."""
    found, terms = family.found, family.terms
    notes = _design_notes(family)
    for column in np.flatnonzero(np.isfinite(family.resembling)).tolist():
        r = float(family.resembling[column])
        effect = "too few count for an interval" if np.isnan(found.low[column]) else WIDER
        alike = resembling_words(r, int(found.n_blocks[column]), effect)
        notes[column] = _joined(notes[column], alike)
    is_coarse = (found.rounding > terms.margin * _COARSE) & np.isfinite(found.ratio)
    for column in np.flatnonzero(is_coarse).tolist():
        if verdicts[column] is Verdict.UNDECIDED:
            share = f"{100 * np.expm1(found.rounding[column]):.2g}"
            notes[column] = _joined(notes[column], f"rounding of what was printed may be ± {share} %")
    for column in np.flatnonzero(family.is_apart).tolist():
        notes[column] = NOT_TOGETHER
    were_few = family.were_few & ~family.is_apart & np.isfinite(found.ratio)
    for column in np.flatnonzero(were_few).tolist():
        if not family.why_unpaired[column] and found.n_blocks[column] < MIN_BLOCKS:
            takes = f"an interval takes {least_blocks(terms.mean)}"
            notes[column] = f"too few blocks with both sides: {takes}"
    for column, note in _of_one_claim(family, verdicts):
        notes[column] = _joined(notes[column], note)
    differ = disagreements(found, family.ranks) & np.isnan(family.resembling)  # ranks do not allow for it
    for column in np.flatnonzero(differ).tolist():
        notes[column] = _joined(notes[column], _by_ranks(family, column))
    return notes


def _of_one_claim(family: JudgedFamily, verdicts: Sequence[Verdict]) -> Iterator[tuple[int, str]]:
    """Yield the reason why an interval that would be a claim on its own is none, or another one."""
    found, terms = family.found, family.terms
    for column in np.flatnonzero(np.isfinite(family.unresolved)).tolist():
        yield column, unresolved_words(f"{family.unresolved[column]:.2f}", found.n_blocks[column])
    excludes = excludes_one(found.low, found.high)
    is_within = are_within(found.low, found.high, terms.margin)
    for column in np.flatnonzero(excludes | is_within).tolist():
        if verdicts[column] is Verdict.UNDECIDED and (is_within[column] or family.better[column]):
            if np.isfinite(family.unresolved[column]):
                continue
            if is_within[column] and family.known.equivalence_adjusted[column] <= 1 - CONFIDENCE:
                yield column, WITHHELD_BY_MEAN_COST
                continue
            claim = "within the margin" if is_within[column] else "a difference"
            yield column, f"{claim} alone, but not {_together(family, column)}"
        elif verdicts[column].claim is Claim.DIFFERENCE and is_within[column]:
            yield column, f"within the margin alone, but not {_together(family, column)}"


def _design_notes(family: JudgedFamily) -> list[str]:
    """Return a note on each ratio that was not paired by block, or that is missing."""
    found = family.found
    rows = zip(found.design.tolist(), *listed(found.low), family.better, family.why_unpaired, strict=True)
    takes = least_blocks(family.terms.mean)
    notes = [_explain(Design(design), low, better, why, takes) for design, low, better, why in rows]
    if family.terms.mean is Mean.MEDIAN:
        for column in np.flatnonzero(np.isnan(found.low) & ~np.isnan(found.ratio)).tolist():
            is_paired, n = found.design[column] == Design.MEDIAN, int(found.n_blocks[column])
            if is_paired or found.design[column] == Design.UNPAIRED:
                why = "" if is_paired else f"{UNPAIRED_BEGINS}{family.why_unpaired[column]}"
                notes[column] = _joined(why, median_lack(n, is_paired=is_paired))
    for column in np.flatnonzero(found.design == Design.ARITHMETIC).tolist():
        if np.isnan(found.ratio[column]):
            notes[column] = _no_ratio(family, column)
            continue
        if np.isnan(found.low[column]) and found.n_blocks[column] >= MIN_BLOCKS:
            notes[column] = "no interval, since the mean of the reference may be zero"
        if family.terms.mean is not Mean.ARITHMETIC and (
            family.terms.mean is not Mean.HARMONIC or _has_zeros(family, column)
        ):
            notes[column] = _joined(OF_ZEROS, notes[column])
    return notes


def _has_zeros(family: JudgedFamily, column: int) -> bool:
    """Return whether a side has values of zero or less, which have no harmonic mean."""
    return bool((family.reference[:, column] <= 0).any() or (family.contender[:, column] <= 0).any())


def _no_ratio(family: JudgedFamily, column: int) -> str:
    """Return which side's mean has no ratio to the other one."""
    below, above = family.reference[:, column], family.contender[:, column]
    is_common = np.isfinite(below) & np.isfinite(above)
    mean = np.nanmean(below[is_common] if is_common.any() else below)
    return NO_RATIO_TO_REFERENCE if mean <= 0 else NO_RATIO_OF_CONTENDER


def _together(family: JudgedFamily, column: int) -> str:
    """Return the condition that makes a claim harder than its own interval does."""
    among = [f"among {count(family.known.size, 'comparison')}"] if family.known.size > 1 else []
    n_looks = len(family.looks[column])
    if n_looks > 1:
        return " ".join([f"at {nth_look(n_looks)}", *among])
    return "".join(among) or "at the 4 of 5 % that a first look may spend"


def _by_ranks(family: JudgedFamily, column: int) -> str:
    ranks = family.ranks
    ratio, low, high = (_apart_from_one(part[column]) for part in (ranks.ratio, ranks.low, ranks.high))
    return f"ranks disagree: × {ratio} [{low}, {high}] at {100 * ranks.confidence[column]:.0f} %"


def _apart_from_one(ratio: float) -> str:
    """Return a ratio to four digits, or to as many more as tell it from 1."""
    texts = (f"{ratio:.{digits}g}" for digits in range(4, 10))
    return next((text for text in texts if text != "1" or ratio == 1), "1")


def _explain(design: Design, low: float | None, better: Better | None, why_unpaired: str, takes: int) -> str:
    """Return a note on how a ratio was found, or why it is missing; mostly empty."""
    if design is Design.NONE:
        return NOT_MEASURED
    if low is None:
        return f"too few blocks: an interval takes {takes} on both sides"
    if better is None:
        return "the figure of merit has no direction"
    if design is not Design.UNPAIRED:
        return "" if not why_unpaired else f"{UNPAIRED_BEGINS}{why_unpaired}"
    return f"{UNPAIRED_BEGINS}{why_unpaired}"


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))
