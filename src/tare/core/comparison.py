"""Estimates of cases and comparisons between them: what the statistics say."""

from __future__ import annotations

import enum

import msgspec

from tare.core.values import Settings
from tare.core.verdict import Verdict
from tare.core.workload import Better


class Mean(enum.StrEnum):
    """Which mean of the runs of a side stands in a ratio."""

    GEOMETRIC = "geometric"
    """Of the ratios of the blocks, which is that of the geometric means of the sides."""
    ARITHMETIC = "arithmetic"
    """For what adds up, such as time: what all runs together took."""
    HARMONIC = "harmonic"
    """For rates of the same work: all of the work over all of the time."""
    MEDIAN = "median"
    """Of the ratios of the blocks: what a typical block says, however far a few lie off."""


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


class Paid(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the contender takes of what adds up, over the reference: the ratio of the means that people pay.

    Of costs, such as times, it is that of the arithmetic means; of rates that of the harmonic means, which is
    the work over the time (Hoefler and Belli 2015, SC'15, rule 3). `low` and `high` are Fieller's. A slow run
    moves it as much as it costs. `is_telling` says that it differs from the ratio beside it by more than the
    margin, or would be judged otherwise. `tail` names what `reference_tail` and `contender_tail` are, in the
    unit of the figure: the 95th (of rates the 5th) percentile of 20 runs or more, else the worst run.
    """

    mean: Mean
    ratio: float
    low: float | None
    high: float | None
    is_telling: bool = False
    tail: str = ""
    reference_tail: float | None = None
    contender_tail: float | None = None

    @property
    def change(self) -> float:
        """Return the change of the figure itself."""
        return self.ratio - 1


class Finding(msgspec.Struct, frozen=True, gc=False):
    """How a contender stands to its reference in one thing that was asked: a ratio, and what it lets one say.

    `ratio` is contender / reference, so 1.68 on a latency means 68 % slower. `low` and `high` are None, and
    the verdict undecided, with fewer than three blocks; `note` says so. They are the interval of this ratio
    alone, while the verdict is drawn among the `family` that was asked at once, by `correction`.

    `p_value` is that of no difference, and `p_equivalence` that of a difference as large as the margin;
    the adjusted ones are what the verdict rests on. `detectable` is the least slowing that so many blocks
    with this noise find in 80 of 100 studies, 0.03 for × 1.03; `more_blocks` how many more would decide an
    undecided one if its ratio and noise stay, None where no sensible number would. All are None where
    there is no interval, and `hodges_lehmann` where the blocks are not paired. `is_paired` is False where
    runs are compared that did not run together; `is_apart` says that both sides were measured, but never
    together, so that there is no ratio; `is_uncrossed` that nothing crossed the networks in which alone they
    differ, so that there is none either. `look` counts the times that a verdict could have been read, this
    one included: blocks that were added after a look share the error that is allowed with those before.
    `mean` is that of the ratio, and `paid` the ratio of what adds up; None without a direction, and of means
    over sizes the tails, too. `assumes_independence` says of a verdict from few blocks that it would not be
    drawn if what a side is like lasted from one block to the next. `planned_blocks` is there while some of
    them have yet to be run: it is preliminary. `withheld_by` names the elapsed time that got worse where it
    alone keeps a figure within the margin from being called equivalent.
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
    is_paired: bool = True
    is_apart: bool = False
    is_uncrossed: bool = False
    look: int = 1
    mean: Mean = Mean.GEOMETRIC
    paid: Paid | None = None
    assumes_independence: bool = False
    planned_blocks: int | None = None
    withheld_by: str = ""

    @property
    def is_within(self) -> bool:
        """Return whether it surely lies within the margin, whether or not it is called equivalent."""
        return self.verdict is Verdict.EQUIVALENT or bool(self.withheld_by)

    @property
    def may_miss(self) -> float | None:
        """Return how common a mode may be that no run met; None without an interval.

        The share q of the runs with (1 − q)ⁿ = 1 − confidence: nearly 3/n at 95 % (Hanley and Lippman-Hand
        1983, JAMA 249:1743), 45 % of 5 blocks and 14 % of 20. What no run met is in no interval.
        """
        if self.low is None or not self.n_blocks:
            return None
        share: float = 1 - (1 - self.confidence) ** (1 / self.n_blocks)
        return share

    @property
    def change(self) -> float | None:
        """Return the change of the figure itself: 0.68 for a latency × 1.68, −0.22 for a bandwidth × 0.78.

        Its sign says whether the figure is more or less; what is worse or better is the verdict's to say.
        """
        return None if self.ratio is None else self.ratio - 1


class ConfidenceLevel(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one side of a comparison measured, in the figure's own unit: the mean over its blocks.

    `low` and `high` are None with fewer than three blocks.
    """

    value: float
    low: float | None = None
    high: float | None = None


class Comparison(Finding, frozen=True, kw_only=True, gc=False):
    """One FOM of a contender against its reference, paired by block.

    `at` holds the coordinates and the settings that both sides share; `reference` and `contender`
    the settings in which they differ. Primary ones are quoted; `is_answer` ones answer what is asked.
    `labels` are the coordinates that tell it from other figures of that name, such as ``operation``. `over`
    names the coordinates over which it is a mean; such a mean has no level, since it is the value of
    nothing that ran.
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
    is_answer: bool = False
    over: tuple[str, ...] = ()
    labels: Settings = {}
    reference_level: ConfidenceLevel | None = None
    contender_level: ConfidenceLevel | None = None
