"""The findings of a judged family: a ratio, interval, verdict and notes for each of its columns.

`tare.analysis.verdicts.family_tests` judges a family. The findings are computed for those columns that are
asked for.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from tare.analysis.estimate import listed
from tare.analysis.verdicts.mean_cost import differs_from, is_beyond, mean_costs
from tare.analysis.verdicts.row_notes import (
    NO_RATIO_OF_CONTENDER,
    NO_RATIO_TO_REFERENCE,
    NOT_MEASURED,
    NOT_TOGETHER,
    UNPAIRED_BEGINS,
    WIDER,
    WITHHELD_BY_MEAN_COST,
    least_blocks,
    median_lack,
    unresolved_words,
)
from tare.core.comparison import Correction, Finding, Mean, MeanCost, RankEstimate
from tare.core.margins import are_within, excludes_one
from tare.core.verdict import Verdict, verdict_of
from tare.core.workload import Better
from tare.stats.autocorrelation import LEAST_BLOCKS, is_sure
from tare.stats.family import PValues
from tare.stats.hodges_lehmann import RankRatios, disagreements, rank_ratios
from tare.stats.intervals import CONFIDENCE, MIN_BLOCKS, Floats
from tare.stats.looks import SHOWING_BLOCKS, ColumnLooks, nominal_level
from tare.stats.power import Levels, detectable_effects, more_blocks
from tare.stats.ratios import Design, Ratios, select_columns

_COARSE = 0.25
"""As a share of the margin: smaller rounding decides nothing."""


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """The terms for verdicts: which differences do not matter, and what is controlled for a family."""

    margin: float
    correction: Correction = Correction.HOLM
    mean: Mean = Mean.GEOMETRIC


@dataclasses.dataclass(frozen=True, eq=False)
class JudgedFamily:
    """A family whose p values are adjusted, and what follows from them for each of its columns.

    Only the adjustment takes all columns at once. Everything else holds for a column alone, so it is computed
    for those columns that somebody asks for (`of`).
    """

    reference: Floats
    contender: Floats
    rounding: Floats | None
    is_in_order: bool
    found: Ratios
    unresolved: Floats
    resembling: Floats
    known: PValues
    lasting: PValues
    looks: ColumnLooks
    better: Sequence[Better | None]
    terms: Terms
    why_unpaired: Sequence[str]
    is_apart: npt.NDArray[np.bool_]
    were_few: npt.NDArray[np.bool_]

    def of(self, columns: Sequence[int]) -> JudgedFamily:
        """Return the chosen columns, judged within the whole family."""
        chosen = np.array(columns, np.intp)
        return dataclasses.replace(
            self,
            reference=np.ascontiguousarray(self.reference[:, chosen]),
            contender=np.ascontiguousarray(self.contender[:, chosen]),
            rounding=None if self.rounding is None else self.rounding[chosen],
            found=select_columns(self.found, chosen),
            unresolved=self.unresolved[chosen],
            resembling=self.resembling[chosen],
            known=self.known.of(chosen),
            lasting=self.lasting.of(chosen),
            looks=self.looks[chosen],
            better=[self.better[column] for column in columns],
            why_unpaired=[self.why_unpaired[column] for column in columns],
            is_apart=self.is_apart[chosen],
            were_few=self.were_few[chosen],
        )

    @functools.cached_property
    def is_paired(self) -> npt.NDArray[np.bool_]:
        """Return which columns were compared block by block."""
        return np.array([not reason for reason in self.why_unpaired], np.bool_)

    def findings(self) -> list[Finding]:
        """Return the finding of each column."""
        found, known, verdicts = self.found, self.known, self.verdicts()
        return list(
            map(  # in the order of Finding's fields
                Finding,
                found.n_blocks.tolist(),
                *listed(found.ratio, found.low, found.high),
                itertools.repeat(CONFIDENCE),
                verdicts,
                self.notes(verdicts),
                *listed(known.difference, known.difference_adjusted, known.equivalence),
                *listed(known.equivalence_adjusted),
                itertools.repeat(known.size),
                itertools.repeat(self.terms.correction),
                _rank_estimates(self.ranks),
                *listed(self.detectable()),
                self.more_blocks(verdicts),
                self.is_paired.tolist(),
                self.is_apart.tolist(),
                itertools.repeat(False),  # whether data crossed a network is not known from numbers
                [max(len(one), 1) for one in self.looks],
                itertools.repeat(self.terms.mean),
                self.mean_costs(verdicts),
                self.assume_independence(verdicts),
                itertools.repeat(None),  # how many blocks are planned is not known either
                itertools.repeat(""),
                np.expm1(found.rounding).tolist(),
                self._hidden_by_rounding(verdicts),
                itertools.repeat(self.terms.margin),
            )
        )

    def _hidden_by_rounding(self, verdicts: Sequence[Verdict]) -> list[bool]:
        """Return which columns are undecided by rounding alone: neither 1 nor the margin can be excluded."""
        distance, rounding = np.abs(np.log(self.found.ratio)), self.found.rounding
        can_decide = (distance > rounding) | (distance + rounding < np.log1p(self.terms.margin))
        is_hidden = (rounding > 0) & np.isfinite(self.found.low) & ~can_decide
        return [
            hidden and verdict is Verdict.UNDECIDED
            for hidden, verdict in zip(is_hidden.tolist(), verdicts, strict=True)
        ]

    @functools.cached_property
    def mean_cost(self) -> list[MeanCost | None]:
        """Return the ratio of the mean costs of each column."""
        return mean_costs(
            self.reference,
            self.contender,
            self.better,
            rounding=self.rounding,
            is_in_order=self.is_in_order,
        )

    @functools.cached_property
    def ranks(self) -> RankRatios:
        """Return the ratio of each column by ranks."""
        return _widened(rank_ratios(self.reference, self.contender), self.found.rounding)

    def verdicts(self) -> list[Verdict]:
        """Return the verdict of each column within the family.

        A column is undecided where its blocks are correlated and too few to tell how strongly. It is not
        called equivalent where the mean of its additive costs (`MeanCost`) lies beyond the margin.
        """
        drawn = self._by_intervals()
        margin = self.terms.margin
        return [
            Verdict.UNDECIDED
            if is_unresolved or (verdict is Verdict.EQUIVALENT and is_beyond(cost, margin))
            else verdict
            for verdict, cost, is_unresolved in zip(
                drawn, self.mean_cost, np.isfinite(self.unresolved).tolist(), strict=True
            )
        ]

    def _by_intervals(self) -> list[Verdict]:
        alpha = 1 - CONFIDENCE
        rows = zip(
            *listed(self.found.low, self.found.high),
            (self.known.difference_adjusted <= alpha).tolist(),
            (self.known.equivalence_adjusted <= alpha).tolist(),
            self.better,
            strict=True,
        )
        return [
            verdict_of(
                low,
                high,
                margin=self.terms.margin,
                better=better,
                can_differ=can_differ,
                can_be_equivalent=can_be_equivalent,
            )
            for low, high, can_differ, can_be_equivalent, better in rows
        ]

    def mean_costs(self, verdicts: Sequence[Verdict]) -> list[MeanCost | None]:
        """Return the `MeanCost` of each column, marked where it says something different from the verdict."""
        rows = zip(self.mean_cost, *listed(self.found.ratio), verdicts, self.better, strict=True)
        return [
            msgspec.structs.replace(cost, is_notable=True)
            if cost is not None and self._is_notable(cost, ratio, verdict, better)
            else cost
            for cost, ratio, verdict, better in rows
        ]

    def _is_notable(
        self, cost: MeanCost, ratio: float | None, verdict: Verdict, better: Better | None
    ) -> bool:
        terms = self.terms
        if cost.mean is terms.mean:
            return False
        if differs_from(cost, ratio, terms.margin):
            return True
        if verdict is Verdict.UNDECIDED:
            return False
        return verdict_of(cost.low, cost.high, margin=terms.margin, better=better) is not verdict

    def assume_independence(self, verdicts: Sequence[Verdict]) -> list[bool]:
        """Return which verdicts from few blocks would not hold if the blocks of a side were correlated."""
        alpha = 1 - CONFIDENCE
        rows = zip(
            verdicts,
            (self.found.n_blocks < SHOWING_BLOCKS).tolist(),
            (self.lasting.difference_adjusted <= alpha).tolist(),
            (self.lasting.equivalence_adjusted <= alpha).tolist(),
            strict=True,
        )
        return [
            is_few
            and verdict is not Verdict.UNDECIDED
            and not (is_equivalent if verdict is Verdict.EQUIVALENT else is_different)
            for verdict, is_few, is_different, is_equivalent in rows
        ]

    def more_blocks(self, verdicts: Sequence[Verdict]) -> list[int | None]:
        """Return how many more blocks would decide each undecided column that has a direction.

        A column whose mean cost lies beyond the margin stays without a claim of equivalence.
        """
        margin = self.terms.margin
        more = np.full(len(self.looks), np.nan)
        can_be_equivalent = np.array([not is_beyond(cost, margin) for cost in self.mean_cost], np.bool_)
        for looks, columns in self.looks.groups():
            following = (*looks, 2 * looks[-1]) if looks else ()
            more[columns] = more_blocks(
                select_columns(self.found, columns),
                margin,
                Levels(
                    nominal_level(self.known.difference_level, following),
                    nominal_level(self.known.equivalence_level, following),
                ),
                CONFIDENCE,
                can_be_equivalent=can_be_equivalent[columns],
            )
        least = np.where(np.isfinite(self.unresolved), LEAST_BLOCKS - self.found.n_blocks, 0)
        more = np.maximum(more, least)  # fewer blocks do not show how many of them count
        rows = zip(*listed(more), verdicts, self.better, strict=True)
        return [
            None if blocks is None or better is None or verdict is not Verdict.UNDECIDED else int(blocks)
            for blocks, verdict, better in rows
        ]

    def detectable(self) -> Floats:
        """Return the least slowdown of each column that it would find in 80 of 100 studies."""
        effects = np.full(len(self.looks), np.nan)
        for looks, columns in self.looks.groups():
            level = nominal_level(self.known.difference_level, looks)
            effects[columns] = detectable_effects(select_columns(self.found, columns), level)
        return effects

    def notes(self, verdicts: Sequence[Verdict]) -> list[str]:
        """Return a note for the reader on each column; mostly empty."""
        found, terms = self.found, self.terms
        notes = self._design_notes()
        for column in np.flatnonzero(np.isfinite(self.resembling)).tolist():
            r = float(self.resembling[column])
            verb = "resemble" if is_sure(r, int(found.n_blocks[column])) else "may resemble"
            effect = "too few count for an interval" if np.isnan(found.low[column]) else WIDER
            alike = f"blocks {verb} the one before (r = {r:.2f}): {effect}"
            notes[column] = _joined(notes[column], alike)
        for column in np.flatnonzero(found.rounding > terms.margin * _COARSE).tolist():
            if verdicts[column] is Verdict.UNDECIDED:
                share = f"{100 * np.expm1(found.rounding[column]):.2g}"
                notes[column] = _joined(notes[column], f"rounding of what was printed may be ± {share} %")
        for column in np.flatnonzero(self.is_apart).tolist():
            notes[column] = NOT_TOGETHER
        were_few = self.were_few & ~self.is_apart & np.isfinite(found.ratio)
        for column in np.flatnonzero(were_few).tolist():
            if not self.why_unpaired[column] and found.n_blocks[column] < MIN_BLOCKS:
                takes = f"an interval takes {least_blocks(terms.mean)}"
                notes[column] = f"too few blocks with both sides: {takes}"
        for column, note in self._of_one_claim(verdicts):
            notes[column] = _joined(notes[column], note)
        differ = disagreements(found, self.ranks) & np.isnan(self.resembling)  # ranks do not allow for it
        for column in np.flatnonzero(differ).tolist():
            notes[column] = _joined(notes[column], self._by_ranks(column))
        return notes

    def _of_one_claim(self, verdicts: Sequence[Verdict]) -> Iterator[tuple[int, str]]:
        """Yield the reason why an interval that would be a claim on its own is none."""
        found, terms = self.found, self.terms
        for column in np.flatnonzero(np.isfinite(self.unresolved)).tolist():
            yield column, unresolved_words(f"{self.unresolved[column]:.2f}", found.n_blocks[column])
        excludes = excludes_one(found.low, found.high)
        is_within = are_within(found.low, found.high, terms.margin)
        for column in np.flatnonzero(excludes | is_within).tolist():
            if verdicts[column] is Verdict.UNDECIDED and (is_within[column] or self.better[column]):
                if np.isfinite(self.unresolved[column]):
                    continue
                if is_within[column] and self.known.equivalence_adjusted[column] <= 1 - CONFIDENCE:
                    yield column, WITHHELD_BY_MEAN_COST
                    continue
                claim = "within the margin" if is_within[column] else "excludes 1"
                yield column, f"{claim} alone, but not {self._together(column)}"

    def _design_notes(self) -> list[str]:
        """Return a note on each ratio that was not paired by block, or that is missing."""
        found = self.found
        rows = zip(found.design.tolist(), *listed(found.low), self.better, self.why_unpaired, strict=True)
        takes = least_blocks(self.terms.mean)
        notes = [_explain(Design(design), low, better, why, takes) for design, low, better, why in rows]
        if self.terms.mean is Mean.MEDIAN:
            for column in np.flatnonzero(np.isnan(found.low) & ~np.isnan(found.ratio)).tolist():
                is_paired, n = found.design[column] == Design.MEDIAN, int(found.n_blocks[column])
                if is_paired or found.design[column] == Design.UNPAIRED:
                    why = "" if is_paired else f"{UNPAIRED_BEGINS}{self.why_unpaired[column]}"
                    notes[column] = _joined(why, median_lack(n, is_paired=is_paired))
        for column in np.flatnonzero(found.design == Design.ARITHMETIC).tolist():
            if np.isnan(found.ratio[column]):
                notes[column] = self._no_ratio(column)
                continue
            if np.isnan(found.low[column]) and found.n_blocks[column] >= MIN_BLOCKS:
                notes[column] = "no interval, since the mean of the reference may be zero"
            if self.terms.mean in (Mean.GEOMETRIC, Mean.MEDIAN):
                notes[column] = _joined(
                    "some values are zero or less: ratio of arithmetic means", notes[column]
                )
        return notes

    def _no_ratio(self, column: int) -> str:
        """Return which side's mean has no ratio to the other one."""
        below, above = self.reference[:, column], self.contender[:, column]
        is_common = np.isfinite(below) & np.isfinite(above)
        mean = np.nanmean(below[is_common] if is_common.any() else below)
        return NO_RATIO_TO_REFERENCE if mean <= 0 else NO_RATIO_OF_CONTENDER

    def _together(self, column: int) -> str:
        """Return the condition that makes a claim harder than its own interval does."""
        among = [f"among {self.known.size} comparisons"] if self.known.size > 1 else []
        n_looks = len(self.looks[column])
        if n_looks > 1:
            return " ".join([f"at look {n_looks}", *among])
        return "".join(among) or "at the 4 of 5 % that a first look may spend"

    def _by_ranks(self, column: int) -> str:
        ranks = self.ranks
        ratio, low, high = (_apart_from_one(part[column]) for part in (ranks.ratio, ranks.low, ranks.high))
        return f"ranks disagree: × {ratio} [{low}, {high}] at {100 * ranks.confidence[column]:.0f} %"


def _apart_from_one(ratio: float) -> str:
    """Return a ratio to four digits, or to as many more as tell it from 1."""
    texts = (f"{ratio:.{digits}g}" for digits in range(4, 10))
    return next((text for text in texts if text != "1" or ratio == 1), "1")


def _widened(ranks: RankRatios, rounding: Floats) -> RankRatios:
    """Return the rank intervals, widened for rounding in the same way as the others."""
    return dataclasses.replace(ranks, low=ranks.low * np.exp(-rounding), high=ranks.high * np.exp(rounding))


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


def _rank_estimates(ranks: RankRatios) -> list[RankEstimate | None]:
    rows = zip(
        *listed(ranks.ratio), ranks.low.tolist(), ranks.high.tolist(), ranks.confidence.tolist(), strict=True
    )
    return [
        None if ratio is None else RankEstimate(ratio=ratio, low=low, high=high, confidence=confidence)
        for ratio, low, high, confidence in rows
    ]
