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


class Comparison(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One FOM of a contender against its reference, paired by block.

    `at` holds the coordinates and the settings that both sides share; `reference` and `contender`
    the settings in which they differ. `ratio` is contender / reference, so 1.68 on a latency means
    68 % slower. `low` and `high` are None, and the verdict undecided, with fewer than three blocks;
    `note` says so.
    """

    fom: str
    unit: str
    better: Better | None
    at: Settings
    reference: Settings
    contender: Settings
    reference_case: str
    contender_case: str
    n_blocks: int
    ratio: float | None
    low: float | None
    high: float | None
    confidence: float
    verdict: Verdict
    is_primary: bool = False
    note: str = ""

    @property
    def cost(self) -> float | None:
        """Return the share that the contender costs: 0.68 for a latency × 1.68, 0.22 for a bandwidth × 0.78.

        Negative where the contender is better; None where the FOM has no direction.
        """
        if self.ratio is None or self.better is None:
            return None
        return self.ratio - 1 if self.better is Better.LOWER else 1 - self.ratio
