"""What the blocks of two sides say of each of many subjects, drawn together."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from tare.answers.estimate import absent_as_none
from tare.model.comparison import Correction, Finding, RankEstimate, Verdict
from tare.model.workload import Better
from tare.stats.family import PValues, p_values
from tare.stats.hodges_lehmann import RankRatios, disagreements, rank_ratios
from tare.stats.intervals import MIN_BLOCKS, Floats
from tare.stats.power import detectable_effects, more_blocks
from tare.stats.ratios import Design, Ratios, ratios, set_apart
from tare.stats.verdict import verdict


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """On what terms verdicts are drawn: which differences do not matter, and how surely."""

    margin: float
    confidence: float = 0.95
    correction: Correction = Correction.HOLM


def findings(
    reference: Floats,
    contender: Floats,
    better: Sequence[Better | None],
    terms: Terms,
    is_paired: npt.NDArray[np.bool_] | None = None,
    why_unpaired: str = "nothing tells which runs of the two sides belong together",
) -> list[Finding]:
    """Return what each column says, blocks × subjects, all of them being one family.

    `better` holds the direction of each column. Rows of a column that is not paired are runs in no order
    that both sides share: all of one side are held against all of the other, and `why_unpaired` says why.
    """
    is_paired = np.ones(reference.shape[1], np.bool_) if is_paired is None else is_paired
    reference, contender = set_apart(reference, contender, is_paired)
    found = ratios(reference, contender, terms.confidence)
    drawn = _Drawn(
        found=found,
        ranks=rank_ratios(reference, contender, terms.confidence),
        known=p_values(found, terms.margin, terms.confidence, terms.correction),
        better=better,
        terms=terms,
        is_paired=is_paired,
        why_unpaired=why_unpaired,
    )
    known, verdicts = drawn.known, drawn.verdicts()
    return list(
        map(  # in the order of Finding's fields
            Finding,
            found.n_blocks.tolist(),
            *_listed(found.ratio, found.low, found.high),
            itertools.repeat(terms.confidence),
            verdicts,
            drawn.notes(verdicts),
            *_listed(known.difference, known.difference_adjusted, known.equivalence),
            *_listed(known.equivalence_adjusted),
            itertools.repeat(known.size),
            itertools.repeat(terms.correction),
            _rank_estimates(drawn.ranks),
            *_listed(detectable_effects(found, known.level)),
            drawn.more_blocks(verdicts),
        )
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _Drawn:
    """All that is computed of a family of columns, and what follows for each."""

    found: Ratios
    ranks: RankRatios
    known: PValues
    better: Sequence[Better | None]
    terms: Terms
    is_paired: npt.NDArray[np.bool_]
    why_unpaired: str

    def verdicts(self) -> list[Verdict]:
        """Return the verdict of each column among all of them."""
        alpha = 1 - self.terms.confidence
        rows = zip(
            *_listed(self.found.low, self.found.high),
            (self.known.difference_adjusted <= alpha).tolist(),
            (self.known.equivalence_adjusted <= alpha).tolist(),
            self.better,
            strict=True,
        )
        return [
            verdict(
                low,
                high,
                margin=self.terms.margin,
                better=better,
                can_differ=can_differ,
                can_be_equivalent=can_be_equivalent,
            )
            for low, high, can_differ, can_be_equivalent, better in rows
        ]

    def more_blocks(self, verdicts: Sequence[Verdict]) -> list[int | None]:
        """Return how many more blocks would decide each undecided column that has a direction."""
        more = more_blocks(self.found, self.terms.margin, self.known.level, self.terms.confidence)
        rows = zip(absent_as_none(more.tolist()), verdicts, self.better, strict=True)
        return [
            None if blocks is None or better is None or word is not Verdict.UNDECIDED else int(blocks)
            for blocks, word, better in rows
        ]

    def notes(self, verdicts: Sequence[Verdict]) -> list[str]:
        """Return what a reader must know of each column; mostly nothing."""
        found, terms = self.found, self.terms
        rows = zip(
            found.design.tolist(), *_listed(found.low), self.better, self.is_paired.tolist(), strict=True
        )
        notes = [
            _explain(Design(design), low, better, "" if is_paired else self.why_unpaired)
            for design, low, better, is_paired in rows
        ]
        excludes = (found.low > 1) | (found.high < 1)
        is_within = (found.low >= 1 / (1 + terms.margin)) & (found.high <= 1 + terms.margin)
        for column in np.flatnonzero(excludes | is_within).tolist():
            if verdicts[column] is Verdict.UNDECIDED and (is_within[column] or self.better[column]):
                alone = "within the margin" if is_within[column] else "excludes 1"
                notes[column] = _joined(
                    notes[column], f"{alone} alone, but not among {self.known.size} comparisons"
                )
        for column in np.flatnonzero(disagreements(found, self.ranks)).tolist():
            notes[column] = _joined(notes[column], self._by_ranks(column))
        return notes

    def _by_ranks(self, column: int) -> str:
        ranks = self.ranks
        ratio, low, high = (f"{part[column]:.4g}" for part in (ranks.ratio, ranks.low, ranks.high))
        return f"ranks disagree: × {ratio} [{low}, {high}] at {100 * ranks.confidence[column]:.0f} %"


def _explain(design: Design, low: float | None, better: Better | None, why_unpaired: str) -> str:
    """Return what a reader must know of how a ratio was found, or why it was not; mostly nothing."""
    if design is Design.NONE:
        return "not measured on both sides"
    if design is Design.ARITHMETIC:
        return "some values are zero or less: ratio of arithmetic means, without an interval"
    if low is None:
        return f"too few blocks: an interval takes {MIN_BLOCKS} on both sides"
    if better is None:
        return "the figure of merit has no direction"
    if design is Design.PAIRED:
        return ""
    return f"unpaired: {why_unpaired or 'fewer than three blocks have both sides'}"


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))


def _rank_estimates(ranks: RankRatios) -> list[RankEstimate | None]:
    rows = zip(
        *_listed(ranks.ratio), ranks.low.tolist(), ranks.high.tolist(), ranks.confidence.tolist(), strict=True
    )
    return [
        None if ratio is None else RankEstimate(ratio=ratio, low=low, high=high, confidence=confidence)
        for ratio, low, high, confidence in rows
    ]


def _listed(*columns: Floats) -> list[list[float | None]]:
    return [absent_as_none(column.tolist()) for column in columns]
