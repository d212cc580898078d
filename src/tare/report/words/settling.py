"""The texts on what would settle the undecided comparisons, such as more blocks."""

from __future__ import annotations

from collections.abc import Sequence

from tare.analysis.verdicts.row_notes import (
    NO_COMMON_POINT,
    NO_RUN_HAS_IT,
    NOT_AT_EACH,
    TOO_FEW_OR_ZERO,
    is_without_ratio,
    least_blocks,
)
from tare.core.comparison import Finding
from tare.core.counting import count, every
from tare.core.verdict import Verdict
from tare.stats.intervals import MIN_BLOCKS

_MOST_BLOCKS = 100
"""The most blocks that are suggested; beyond this, a different study is needed instead of more blocks."""

_TIMES_AS_MANY = 2
"""Of what was measured, the multiple that is suggested even where it is more than these."""


def settles(comparisons: Sequence[Finding]) -> str:
    """Return what would settle the undecided ones of `comparisons`; empty if there are none."""
    undecided = [one for one in comparisons if one.verdict is Verdict.UNDECIDED and not one.is_within]
    few = [one for one in undecided if _lacks_blocks(one)]
    able = [one for one in undecided if one.low is not None and not _has_own_reason(one)]
    hidden = [one for one in able if one.rounding_hides]
    wide = [one for one in able if not one.rounding_hides]
    parts = []
    if few:
        lack = "lacks" if len(few) == 1 else "lack"
        parts.append(
            f"{count(len(few), 'comparison')} {lack} {_least(few)} blocks with values of both sides."
        )
    if hidden:
        parts.append(_more_digits(len(hidden), len(undecided)))
    if wide:
        parts.append(_more_blocks(wide, len(undecided)))
    return " ".join(parts)


def _has_own_reason(one: Finding) -> bool:
    """Return whether a note says why it is undecided, for a reason that blocks do not settle."""
    return any(one.timed_out) or NOT_AT_EACH in one.note


def _lacks_blocks(one: Finding) -> bool:
    """Return whether a comparison has no interval because too few blocks have both sides."""
    has_none = one.low is None and not is_without_ratio(one) and TOO_FEW_OR_ZERO not in one.note
    if one.note.startswith(NO_COMMON_POINT) or NO_RUN_HAS_IT in one.note:
        return False  # more blocks like these would not have it either
    return has_none and one.n_blocks < least_blocks(one.mean)


def _least(few: Sequence[Finding]) -> str:
    least = max(least_blocks(one.mean) for one in few)
    return "three" if least == MIN_BLOCKS else str(least)


def _more_digits(n_hidden: int, n_undecided: int) -> str:
    why = "the figures are printed with too few digits"
    return f"No number of blocks would settle {_some(n_hidden, n_undecided, 'any of the')}: {why}."


def _more_blocks(wide: Sequence[Finding], n_undecided: int) -> str:
    """Return how many blocks would settle the `wide` ones of the undecided comparisons."""
    now = max(one.n_blocks for one in wide)
    most = max(_MOST_BLOCKS, _TIMES_AS_MANY * now)
    needed = [one.n_blocks + one.more_blocks for one in wide if one.more_blocks is not None]
    known = [blocks for blocks in needed if blocks <= most]
    if not known:
        whose = _some(len(wide), n_undecided, "any of the")
        return f"{count(most, 'block')} would not settle {whose}, {_IF}."
    rest = len(wide) - len(known)
    but = f"; {rest} more would take over {most}" if rest else ""
    whose = _some(len(known), n_undecided)
    return f"About {count(max(known), 'block')} instead of {now} would settle {whose}, {_IF}{but}."


_IF = "if ratio and noise stay as they are"


def _some(n: int, n_undecided: int, lead: str = "") -> str:
    """Return which of the undecided comparisons are meant: ``both undecided``, ``1 of the 3 undecided``."""
    if n_undecided == 1:
        return "the undecided one"
    if n < n_undecided:
        return f"{n} of the {n_undecided} undecided"
    return f"{lead} {n} undecided" if lead else f"{every(n)} undecided"


def more(one: Finding) -> str:
    """Return what would settle one comparison: ``12 more blocks would settle it``; empty if not known."""
    if one.verdict is not Verdict.UNDECIDED or one.more_blocks is None:
        return ""
    return f"{count(one.more_blocks, 'more block')} would settle it"
