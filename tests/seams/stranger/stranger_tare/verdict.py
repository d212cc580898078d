"""A verdict of a stranger's: a figure that has no direction differs."""

from __future__ import annotations

from tare.core.verdict import Claim, Look, Shade, Verdict

DIFFERENT = Verdict(
    "different",
    order=25,
    sign="≠",
    meaning="differs from the reference, and nobody said which way is better",
    against="different from",
    scatter="scatters otherwise",
    claim=Claim.DIFFERENCE,
    rule=lambda one: one.is_different and one.is_worse is None,
    look=Look(
        latex=r"\ensuremath{\neq}",
        ink=Shade("#4b2e83", "#c9b3f0"),
        fills=tuple(Shade("#e4dcf5", "#33264f") for _ in range(5)),
        terminal=97,
    ),
)
