"""What would settle the comparisons that are undecided."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tare.model.comparison import Comparison, Verdict
from tare.report.wording import count

_MOST_BLOCKS = 100
"""Beyond so many blocks another design is needed, not more of the same."""


def settles(comparisons: Sequence[Comparison], margin: float) -> str:
    """Return what would settle the undecided among `comparisons`; empty when there are none."""
    undecided = [one for one in comparisons if one.verdict is Verdict.UNDECIDED]
    few = [one for one in undecided if one.low is None]
    wide = [one for one in undecided if one.low is not None]
    parts = []
    if few:
        lack = "lacks" if len(few) == 1 else "lack"
        parts.append(f"{count(len(few), 'comparison')} {lack} three blocks that both sides finished.")
    if wide:
        parts.append(_more_blocks(wide, margin))
    return " ".join(parts)


def _more_blocks(wide: Sequence[Comparison], margin: float) -> str:
    needed = [blocks_needed(one, margin) for one in wide]
    known = [blocks for blocks in needed if blocks is not None and blocks <= _MOST_BLOCKS]
    if not known:
        return "The undecided lie too near the margin for any sensible number of blocks to settle them."
    rest = len(wide) - len(known)
    but = f"; {rest} more would take over {_MOST_BLOCKS}" if rest else ""
    whose = "the undecided one" if len(wide) == 1 else f"{len(known)} of the {len(wide)} undecided"
    now = max(one.n_blocks for one in wide)
    return (
        f"About {max(known)} blocks instead of {now} would settle {whose}, if the noise stays as it is{but}."
    )


def blocks_needed(one: Comparison, margin: float) -> int | None:
    """Return how many blocks would decide a comparison whose centre stays where it is.

    The half width of a log-ratio interval shrinks about as 1/√n. It must fit between the ratio and
    1, or between the ratio and the nearer end of the margin, whichever is sooner. None without an
    interval.
    """
    if one.ratio is None or one.low is None or one.high is None or not 0 < one.low < one.high:
        return None
    half = math.log(one.high / one.low) / 2
    distance = abs(math.log(one.ratio))
    room = max(distance, math.log1p(margin) - distance)
    return max(one.n_blocks + 1, math.ceil(one.n_blocks * (half / room) ** 2))
