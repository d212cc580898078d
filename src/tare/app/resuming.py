"""Decide whether a session continues the previous one, and describe the runs that it repeats."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from tare.analysis.pairing import Outstanding, Passing
from tare.core.attempt import Attempt, State
from tare.core.case import Run
from tare.core.counting import count
from tare.core.plan import Plan
from tare.core.units import format_seconds
from tare.storage.campaign import RecordedCampaign
from tare.storage.sessions import is_prompt


def continues_last_session(plan: Plan, past: RecordedCampaign, now: float) -> bool:
    """Return whether a plain `tare run` at time `now` continues the last recorded session.

    It does if that session ended a moment ago, in the block that is run next. Then nothing else runs in
    between.
    """
    if not past.n_sessions or past.last_block is None or not is_prompt(past.last_at, now):
        return False
    left = _outstanding(plan, past, past.n_sessions)
    if any(left.of_block(block, _order(plan, past, block)).order for block in range(1, past.last_block)):
        return False
    if left.of_block(past.last_block, _order(plan, past, past.last_block)).order:
        return True
    return not _has_separated_runs(plan, past)


def _has_separated_runs(plan: Plan, past: RecordedCampaign) -> bool:
    """Return whether a long time separates the runs of some pairs; only another session can repeat these."""
    left = _outstanding(plan, past, past.n_sessions + 1)
    return any(left.of_block(block, _order(plan, past, block)).parted for block in past.orders)


def describe_repeats(
    left: Sequence[Passing], warmup: Sequence[str], attempts: Sequence[Attempt]
) -> Iterator[str]:
    """Yield a sentence on the runs that are repeated although they have a result: which, why, and how long.

    In most sessions it yields nothing. `left` are the remaining runs, block by block. `warmup` has the case
    of each warm-up run of the session. `attempts` are the earlier attempts.
    """
    again = [case for passing in left for case in passing.again]
    if not again:
        return
    parted = sum(len(passing.parted) for passing in left)
    n_others = sum(len(passing.order) for passing in left) - len(again)
    parts = [f"{count(n_others, 'run')} left"]
    if n_beside := len(again) - parted:
        made = f"{_are(n_beside)} made once more beside them"
        parts.append(f"{count(n_beside, 'run')} of cases they are compared with {made}")
    if parted:
        reason = "since a long time lay within their block"
        parts.insert(1, f"{count(parted, 'run')} {_are(parted)} made once more, {reason}")
    if warmup:
        parts.append(f"{count(len(warmup), 'warm-up run')} before")
    took = _took([*again, *warmup], attempts)
    expected = f", about {took} by earlier runs" if took else ""
    yield f"{'; '.join(parts)}{expected}: only what ran together is compared"


def _took(cases: Sequence[str], attempts: Sequence[Attempt]) -> str:
    """Return how long runs of `cases` take, from the medians of earlier runs; empty if no case ever ran."""
    by_case: dict[str, list[float]] = {}
    for one in attempts:
        if one.state is State.DONE:
            by_case.setdefault(one.case, []).append(one.elapsed_s)
    if not by_case:
        return ""
    medians = {case: statistics.median(found) for case, found in by_case.items()}
    middle = statistics.median(medians.values())
    return format_seconds(sum(medians.get(case, middle) for case in cases))


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _outstanding(plan: Plan, past: RecordedCampaign, session: int) -> Outstanding:
    """Return the remaining runs; attempts without a recorded end count as running."""
    left = Outstanding(plan, session, past.passes)
    for one in past.attempts:
        left.take(one, is_settled=one.is_settled)
    for one in past.begun:
        left.take_under_way(Run(one.block, one.case), one.session)
    return left


def _order(plan: Plan, past: RecordedCampaign, block: int) -> list[str]:
    order = [case.id for case in plan.order(block)]
    return (
        order if block <= plan.repeats.min else [case for case in order if case in past.orders.get(block, [])]
    )
