"""Estimates of cases and comparisons between them: the results of the statistics."""

from __future__ import annotations

import enum
import math

import msgspec

from tare.core.values import Settings
from tare.core.verdict import Claim, Verdict
from tare.core.workload import Better


class Mean(enum.StrEnum):
    """Which mean a ratio is of."""

    GEOMETRIC = "geometric"
    """The geometric mean of the blocks' ratios, which is the ratio of the sides' geometric means."""
    ARITHMETIC = "arithmetic"
    """For what adds up, such as time: the total over all runs."""
    HARMONIC = "harmonic"
    """For rates of the same work: all of the work divided by all of the time."""
    MEDIAN = "median"
    """The median of the blocks' ratios: a typical block, no matter how far a few others deviate."""


class Correction(enum.StrEnum):
    """What is controlled at 1 − confidence when many comparisons come from one campaign."""

    HOLM = "holm"
    """The probability that any claim of the family is false (Holm 1979, Scand. J. Stat. 6:65)."""
    FDR = "fdr"
    """The expected share of false claims among those made (Benjamini and Hochberg 1995, JRSS B 57:289)."""
    NONE = "none"
    """The probability that a claim is false, for each comparison alone."""


class Estimate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The estimate of one FOM of one case: geometric mean over blocks, with its interval.

    `low` and `high` are None with fewer than three blocks. `cv` is the coefficient of variation. `note` says
    if the value is an arithmetic mean instead, as for values of zero or less, and if blocks resemble the one
    before.
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


def missed_share(n_blocks: int, confidence: float) -> float | None:
    """Return how frequent a mode may be that none of so many blocks showed; None without blocks.

    It is the share q of the runs with (1 − q)ⁿ = 1 − confidence: nearly 3/n at 95 % (Hanley and Lippman-Hand
    1983, JAMA 249:1743), 45 % for 5 blocks and 14 % for 20. No interval includes what no run showed.
    """
    if not n_blocks:
        return None
    share: float = 1 - (1 - confidence) ** (1 / n_blocks)
    return share


class RankEstimate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The Hodges–Lehmann estimate of a ratio, which no single outlying block can move far.

    `low` and `high` are its exact Wilcoxon signed-rank interval. `confidence` is the level that the interval
    reaches; few blocks keep it below what was asked: at most 0.9375 with five blocks.
    """

    ratio: float
    low: float
    high: float
    confidence: float


class MeanCost(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The ratio of contender to reference in totals, such as the time or money that all runs together take.

    For costs, such as times, it is the ratio of the arithmetic means. For rates it is the ratio of the
    harmonic means, which is work over time (Hoefler and Belli 2015, SC'15, rule 3). `low` and `high` are
    Fieller's interval. A slow run moves the ratio by as much as it costs. `is_notable` is true if it differs
    from the ratio beside it by more than the margin, or would get another verdict. `tail` names what
    `reference_tail` and `contender_tail` are, in the unit of the figure: the 95th (for rates the 5th)
    percentile of 20 runs or more, else the worst run.
    """

    mean: Mean
    ratio: float
    low: float | None
    high: float | None
    is_notable: bool = msgspec.field(default=False, name="is_telling")
    tail: str = ""
    reference_tail: float | None = None
    contender_tail: float | None = None

    @property
    def change(self) -> float:
        """Return the change of the figure itself: 0.02 for a ratio of 1.02."""
        return self.ratio - 1


class Finding(msgspec.Struct, frozen=True, gc=False):
    """The result of comparing a contender with its reference: a ratio, and what may be concluded from it.

    - `ratio` is contender / reference, so 1.68 on a latency means 68 % slower.
    - `low` and `high` are the interval of this ratio alone. With fewer than three blocks they are None and
      the verdict is undecided; `note` says so.
    - The verdict is drawn among the `family` of comparisons that were asked together, with `correction`.
    - `p_value` is for the hypothesis of no difference, `p_equivalence` for that of a difference as large as
      the margin. The verdict rests on the adjusted ones.
    - `detectable` is the smallest slowdown that so many blocks with this noise find in 80 of 100 studies,
      0.03 for × 1.03.
    - `more_blocks` is how many more blocks would decide an undecided comparison if its ratio and noise stay;
      None where no sensible number would.
    - The p values, `detectable` and `more_blocks` are None where there is no interval, and `hodges_lehmann`
      where the blocks are not paired.
    - `is_paired` is False where the compared runs did not run together.
    - `is_apart` is true if both sides were measured, but never together, so that there is no ratio.
    - `is_uncrossed` is true if the sides differ only in their networks and no data crossed those, so that
      there is no ratio either.
    - `look` counts how often a verdict could have been read, this time included. Blocks added after a look
      share the allowed error with those before it.
    - `mean` says which mean the ratio is of, and `mean_cost` is the ratio of totals. It is None without a
      direction. Means over sizes have no tails in it.
    - `assumes_independence` is true for a verdict from few blocks that would not be drawn if the state of a
      side lasted from one block to the next.
    - `planned_blocks` is set while some of them have not run: the verdict is preliminary.
    - `withheld_by` names the elapsed time that got worse where that alone prevents the verdict equivalent for
      a figure within the margin.
    - `rounding` is how far rounding of the printed figures may have moved the ratio: 0.05 for ± 5 %.
      `rounding_hides` is true where that alone keeps it undecided: no number of blocks would decide it.
    - `margin` is the margin of its verdict; None where it was drawn by an earlier version.
    - `timed_out` counts the runs of reference and contender that were ended at their time-out, and do not
      count. Nothing that favours such a side is claimed.
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
    mean_cost: MeanCost | None = msgspec.field(default=None, name="paid")
    assumes_independence: bool = False
    planned_blocks: int | None = None
    withheld_by: str = ""
    rounding: float = 0.0
    rounding_hides: bool = False
    margin: float | None = None
    timed_out: tuple[int, int] = (0, 0)

    @property
    def is_different(self) -> bool:
        """Return whether its sides certainly differ, even where its verdict is equivalent."""
        return self.p_adjusted is not None and self.p_adjusted <= 1 - self.confidence

    @property
    def is_within(self) -> bool:
        """Return whether it certainly lies within the margin, even where its verdict is not equivalent."""
        return self.verdict is Verdict.EQUIVALENT or bool(self.withheld_by)

    @property
    def p_of_claim(self) -> float | None:
        """Return the adjusted p value of what the verdict claims, of no difference if it claims nothing."""
        is_equivalent = self.verdict.claim is Claim.EQUIVALENCE
        return self.p_equivalence_adjusted if is_equivalent else self.p_adjusted

    @property
    def may_miss(self) -> float | None:
        """Return how frequent a mode may be that no run showed; None without an interval."""
        return None if self.low is None else missed_share(self.n_blocks, self.confidence)

    @property
    def change(self) -> float | None:
        """Return the change of the figure itself: 0.68 for a latency × 1.68, −0.22 for a bandwidth × 0.78.

        Its sign says whether the figure is larger or smaller; the verdict says whether that is better or
        worse.
        """
        return None if self.ratio is None else self.ratio - 1

    @property
    def distance(self) -> float:
        """Return how far the ratio lies from 1: |ln ratio|, so ∞ for a ratio of 0, and 0 without a ratio."""
        if self.ratio is None:
            return 0.0
        return abs(math.log(self.ratio)) if self.ratio > 0 else math.inf


class ConfidenceLevel(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The level that one side of a comparison reached, in the figure's own unit: the mean over its blocks.

    `low` and `high` are None with fewer than three blocks.
    """

    value: float
    low: float | None = None
    high: float | None = None


class Comparison(Finding, frozen=True, kw_only=True, gc=False):
    """One FOM of a contender compared with its reference, paired by block.

    - `at` holds the coordinates and the settings that both sides share.
    - `reference` and `contender` hold the settings in which they differ.
    - `is_primary` marks those that are quoted, `is_answer` those that answer what is asked.
    - `labels` are the coordinates that distinguish it from other figures of that name, such as ``operation``.
    - `over` names the coordinates over which it is a mean. Such a mean has no level, since no run has that
      value.
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
