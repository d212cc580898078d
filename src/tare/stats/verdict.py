"""Turn an interval into a verdict: better, worse, equivalent or undecided."""

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
    """Return the verdict for the interval [low, high] of contender / reference.

    It is equivalent where the interval lies wholly within [1/(1 + margin), 1 + margin], even if it excludes
    1: a difference that is certain and too small to matter. Otherwise it is worse or better where the
    interval excludes 1. Otherwise it is undecided, as it is without an interval or without a direction. The
    bounds are symmetric on the log scale, so that swapping the sides gives the same verdict or its opposite.
    This is the procedure of two one-sided tests (Schuirmann 1987, J. Pharmacokinet. Biopharm. 15:657) with
    the whole interval, which is stricter than the required 1 − 2α interval.

    Among many comparisons, a single interval proves less: `can_differ` and `can_be_equivalent` say which
    claims the adjusted p values allow (see tare.stats.family).
    """
    if low is None or high is None:
        return Verdict.UNDECIDED
    judged = Judged(low, high, margin, better, can_differ, can_be_equivalent)
    return next(one for one in verdicts() if one.rule(judged))
