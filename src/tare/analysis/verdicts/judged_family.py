"""The findings of a judged family: a ratio, interval, verdict and notes for each of its columns.

`tare.analysis.verdicts.family_tests` judges a family. The findings are computed for those columns that are
asked for.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from tare.analysis.estimate import listed
from tare.analysis.verdicts.finding_notes import notes_of
from tare.analysis.verdicts.mean_cost import differs_from, is_beyond, mean_costs
from tare.core.comparison import Correction, Finding, Mean, MeanCost, RankEstimate
from tare.core.verdict import Verdict, verdict_of
from tare.core.workload import Better
from tare.stats.autocorrelation import LEAST_BLOCKS
from tare.stats.family import PValues
from tare.stats.hodges_lehmann import RankRatios, rank_ratios
from tare.stats.intervals import CONFIDENCE, Floats
from tare.stats.looks import SHOWING_BLOCKS, ColumnLooks, next_look, nominal_level
from tare.stats.power import Levels, detectable_effects, more_blocks
from tare.stats.ratios import Ratios, select_columns


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
                notes_of(self, verdicts),
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
        ratios = listed(self.found.ratio, self.found.low, self.found.high)
        rows = zip(self.mean_cost, *ratios, verdicts, self.better, strict=True)
        return [
            msgspec.structs.replace(cost, is_notable=True)
            if cost is not None and self._is_notable(cost, ratio, low, high, verdict, better)
            else cost
            for cost, ratio, low, high, verdict, better in rows
        ]

    def _is_notable(
        self,
        cost: MeanCost,
        ratio: float | None,
        low: float | None,
        high: float | None,
        verdict: Verdict,
        better: Better | None,
    ) -> bool:
        terms = self.terms
        if cost.mean is terms.mean:
            return False
        if differs_from(cost, ratio, terms.margin):
            return True
        if verdict is Verdict.UNDECIDED:
            return False
        alone = verdict_of(low, high, margin=terms.margin, better=better)
        of_cost = verdict_of(cost.low, cost.high, margin=terms.margin, better=better)
        return of_cost is not verdict and of_cost is not alone

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
            following = next_look(looks) if looks else ()
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


def _widened(ranks: RankRatios, rounding: Floats) -> RankRatios:
    """Return the rank intervals, widened for rounding in the same way as the others."""
    return dataclasses.replace(ranks, low=ranks.low * np.exp(-rounding), high=ranks.high * np.exp(rounding))


def _rank_estimates(ranks: RankRatios) -> list[RankEstimate | None]:
    rows = zip(
        *listed(ranks.ratio), ranks.low.tolist(), ranks.high.tolist(), ranks.confidence.tolist(), strict=True
    )
    return [
        None if ratio is None else RankEstimate(ratio=ratio, low=low, high=high, confidence=confidence)
        for ratio, low, high, confidence in rows
    ]
