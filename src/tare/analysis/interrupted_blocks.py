"""Passes that something parted: runs of one block and session that lie too far apart to have run together."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence

import msgspec

from tare.core.attempt import Attempt, State
from tare.core.case import Pass

SHORTEST_S = 300.0
"""A shorter time between two runs never parts a pass; an interruption as short does not, either."""

ORDINARY = 3.0
"""So many times the ordinary span of a pass do."""

_ENOUGH = 3
"""Passes that tell what is ordinary."""


def parted(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts, those of a pass numbered by the part of it in which they ran.

    A machine is suspended, a job waits for a night: what ran before and what ran after it did not run
    together, though block and session are the same. A pass is parted where nothing of it ran for longer than
    SHORTEST_S and ORDINARY times its ordinary span. That is the median of the spans of all passes, from the
    start of the first run to the end of the last, where there are three; at the least it is the time that
    the pass's own runs took. So a queue in which every pass spends hours parts none, and one night does.
    """
    passes: dict[Pass, list[Attempt]] = defaultdict(list)
    for one in attempts:
        if _is_judged(one):
            passes[Pass(one.session, one.block)].append(one)
    spans = [_span(runs) for runs in passes.values() if len(runs) > 1]
    ordinary = statistics.median(spans) if len(spans) >= _ENOUGH else 0.0
    parts: dict[str, int] = {}
    for runs in passes.values():
        busy = sum(one.elapsed_s for one in runs)
        limit = max(SHORTEST_S, ORDINARY * max(ordinary, busy))
        part = 0
        for one, gap in _gaps(runs):
            part += gap is not None and gap > limit
            parts[one.folder] = part
    if not any(parts.values()):
        return tuple(attempts)
    return tuple(
        msgspec.structs.replace(one, part=parts[one.folder]) if parts.get(one.folder) else one
        for one in attempts
    )


def longest_gap_s(attempts: Sequence[Attempt]) -> float:
    """Return the longest time in which nothing ran between two runs that count as having run together."""
    passes: dict[Pass, list[Attempt]] = defaultdict(list)
    for one in attempts:
        if _is_judged(one):
            passes[one.together].append(one)
    return max((gap for runs in passes.values() for _, gap in _gaps(runs) if gap is not None), default=0.0)


def _is_judged(one: Attempt) -> bool:
    """Return whether a run counts, and its moments are its own: of a file, only where it tells both."""
    is_told = one.source is None or (one.source.tells_time and one.source.tells_block)
    return one.state is State.DONE and one.block >= 1 and one.started_at is not None and is_told


def _gaps(runs: Sequence[Attempt]) -> list[tuple[Attempt, float | None]]:
    """Return the runs in the order of time, each with how long nothing had run before it; None the first."""
    found: list[tuple[Attempt, float | None]] = []
    latest = 0.0
    for one in sorted(runs, key=_start):
        found.append((one, max(_start(one) - latest, 0.0) if found else None))
        latest = max(latest, _start(one) + one.elapsed_s)
    return found


def _span(runs: Sequence[Attempt]) -> float:
    return max(_start(one) + one.elapsed_s for one in runs) - min(map(_start, runs))


def _start(one: Attempt) -> float:
    return one.started_at or 0.0
