"""From an interval to a word."""

from __future__ import annotations

from tare.core.verdict import Judged, Verdict, verdicts
from tare.core.workload import Better


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
    judged = Judged(low, high, margin, better, can_differ, can_be_equivalent)
    return next(one for one in verdicts() if one.rule(judged))
