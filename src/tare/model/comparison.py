"""Estimates of cases and comparisons between them: what the statistics say."""

from __future__ import annotations

import enum

import msgspec

from tare.model.values import Settings
from tare.model.workload import Better


class Verdict(enum.StrEnum):
    """What an interval says about a contender. Undecided is an answer too."""

    WORSE = "worse"
    BETTER = "better"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"

    @property
    def sign(self) -> str:
        """Return a shape that says it, so that no verdict rests on colour alone: ▲ costs more, ▼ less."""
        return _SIGNS[self]


_SIGNS = {Verdict.WORSE: "▲", Verdict.BETTER: "▼", Verdict.EQUIVALENT: "≈", Verdict.UNDECIDED: "?"}


class Correction(enum.StrEnum):
    """What is kept at 1 − confidence when many comparisons are drawn from one campaign."""

    HOLM = "holm"
    """The chance that any claim of the family is false (Holm 1979, Scand. J. Stat. 6:65)."""
    FDR = "fdr"
    """The expected share of false claims among those made (Benjamini and Hochberg 1995, JRSS B 57:289)."""
    NONE = "none"
    """The chance that a claim is false, of each comparison alone."""


class Estimate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where one FOM of one case lies: geometric mean over blocks, with its interval.

    `low` and `high` are None with fewer than three blocks. `cv` is the coefficient of variation.
    `note` says when it is an arithmetic mean instead, as for values of zero or less.
    """

    case: str
    fom: str
    unit: str
    better: Better | None
    at: Settings
    n_blocks: int
    value: float
    low: float | None
    high: float | None
    cv: float | None
    minimum: float
    maximum: float
    confidence: float = 0.95
    note: str = ""


class RankEstimate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The Hodges–Lehmann estimate of a ratio, which no single odd block can move far.

    `low` and `high` are its exact Wilcoxon signed-rank interval; `confidence` is what they reach, which few
    blocks hold below what was asked: 0.9375 at most from five.
    """

    ratio: float
    low: float
    high: float
    confidence: float


class Finding(msgspec.Struct, frozen=True, gc=False):
    """How a contender stands to its reference in one thing that was asked: a ratio, and what it lets one say.

    `ratio` is contender / reference, so 1.68 on a latency means 68 % slower. `low` and `high` are None, and
    the verdict undecided, with fewer than three blocks; `note` says so. They are the interval of this ratio
    alone, while the verdict is drawn among the `family` that was asked at once, by `correction`.

    `p_value` is that of no difference, and `p_equivalence` that of a difference as large as the margin;
    the adjusted ones are what the verdict rests on. `detectable` is the least slowing that so many blocks
    with this noise find in 80 of 100 studies, 0.03 for × 1.03; `more_blocks` how many more would decide an
    undecided one if its ratio and noise stay, None where no sensible number would. All are None where
    there is no interval, and `hodges_lehmann` where the blocks are not paired.
    """

    n_blocks: int
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
    family: int = 1
    correction: Correction = Correction.NONE
    hodges_lehmann: RankEstimate | None = None
    detectable: float | None = None
    more_blocks: int | None = None


class Comparison(Finding, frozen=True, kw_only=True, gc=False):
    """One FOM of a contender against its reference, paired by block.

    `at` holds the coordinates and the settings that both sides share; `reference` and `contender`
    the settings in which they differ.
    """

    fom: str
    unit: str
    better: Better | None
    at: Settings
    reference: Settings
    contender: Settings
    reference_case: str
    contender_case: str
    is_primary: bool = False

    @property
    def cost(self) -> float | None:
        """Return the share that the contender costs: 0.68 for a latency × 1.68, 0.22 for a bandwidth × 0.78.

        Negative where the contender is better; None where the FOM has no direction.
        """
        if self.ratio is None or self.better is None:
            return None
        return self.ratio - 1 if self.better is Better.LOWER else 1 - self.ratio
