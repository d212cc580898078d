"""From an interval to a word."""

from __future__ import annotations

from tare.model.comparison import Verdict
from tare.model.workload import Better


def verdict(
    low: float | None,
    high: float | None,
    *,
    margin: float,
    better: Better | None,
    can_differ: bool = True,
    can_be_equivalent: bool = True,
) -> Verdict:
    """Return what the interval [low, high] of contender / reference says.

    Equivalent where it lies wholly within [1/(1 + margin), 1 + margin], even when it excludes 1: a
    difference that is known and too small to matter. Else worse or better where it excludes 1.
    Else undecided, as without an interval or without a direction. The bounds are symmetric on the
    log scale, so that swapping the sides gives the same word or its opposite. This is the
    two one-sided tests procedure (Schuirmann 1987, J. Pharmacokinet. Biopharm. 15:657) with the
    whole interval, which is stricter than the 1 − 2α interval that it asks for.

    Among many comparisons an interval of its own proves less: `can_differ` and `can_be_equivalent` say
    which claims the adjusted p values allow (see tare.stats.family).
    """
    if low is None or high is None:
        return Verdict.UNDECIDED
    if can_be_equivalent and low >= 1 / (1 + margin) and high <= 1 + margin:
        return Verdict.EQUIVALENT
    if not can_differ or better is None or low <= 1 <= high:
        return Verdict.UNDECIDED
    return Verdict.WORSE if (low > 1) == (better is Better.LOWER) else Verdict.BETTER
