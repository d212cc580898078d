"""Split passes at long interruptions: runs that lie too far apart did not run together."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import msgspec

from tare.core.attempt import Attempt, State
from tare.core.case import Pass

SHORTEST_S = 300.0
"""A gap up to this long between two runs never splits a pass."""

ORDINARY = 3.0
"""A gap splits a pass if it is longer than this many times the usual span of a pass."""

_ENOUGH = 3
"""The least number of passes that determine the usual span."""


def parted(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts, each with the number of the part of its pass in which it ran.

    A machine may be suspended, or a job may wait overnight. Runs before and after such a gap did not run
    together, although block and session are the same. A pass is split where nothing of it ran for longer than
    SHORTEST_S and ORDINARY times its usual span. The usual span is the median span of all passes, from the
    start of the first run to the end of the last, if there are at least three. It is never less than the time
    that the pass's own runs took. So a queue in which every pass takes hours splits no pass, but a single
    night does.
    """
    passes = _by_pass(attempts, lambda one: Pass(one.session, one.block))
    spans = [_span(runs) for runs in passes.values() if len(runs) > 1]
    ordinary = statistics.median(spans) if len(spans) >= _ENOUGH else 0.0
    parts: dict[str, int] = {}
    for runs in passes.values():
        busy = sum(one.elapsed_s for one in runs)
        limit = max(SHORTEST_S, ORDINARY * max(ordinary, busy))
        part = 0
        for one, gap in _gaps(runs):
            part += gap is not None and gap > limit
            if part:
                parts[one.folder] = part
    if not parts:
        return tuple(attempts)
    return tuple(
        msgspec.structs.replace(one, part=parts[one.folder]) if one.folder in parts else one
        for one in attempts
    )


def longest_gap_s(attempts: Sequence[Attempt]) -> float:
    """Return the longest time without a run between two runs that count as having run together."""
    passes = _by_pass(attempts, lambda one: one.together)
    return max((gap for runs in passes.values() for _, gap in _gaps(runs) if gap is not None), default=0.0)


def _by_pass(attempts: Iterable[Attempt], pass_of: Callable[[Attempt], Pass]) -> dict[Pass, list[Attempt]]:
    """Return the runs that count and have their own times; an imported run must record time and block."""
    found: dict[Pass, list[Attempt]] = defaultdict(list)
    for one in attempts:
        is_recorded = one.source is None or (one.source.gives_time and one.source.gives_block)
        if one.state is State.DONE and one.block >= 1 and one.started_at is not None and is_recorded:
            found[pass_of(one)].append(one)
    return found


def _gaps(runs: Sequence[Attempt]) -> list[tuple[Attempt, float | None]]:
    """Return the runs in time order, each with the gap before it in seconds; None for the first."""
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
