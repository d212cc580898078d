"""Reconstruct what happened in a campaign, session by session, from its attempts.

The plan says what should happen; this module says what did. `history` takes a campaign and returns a
`History`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from tare.analysis.trust.interrupted_blocks import longest_gap_s
from tare.analysis.verdicts.interim_looks import looks_at
from tare.core.attempt import Attempt, State
from tare.core.campaign import Campaign, Session
from tare.core.case import Pass

Facts = dict[tuple[str, str], dict[str, frozenset[str]]]
"""The values of each recorded fact, by case and host; a fact usually has one value."""


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What a session did, from the start of its first attempt to the end of its last, in Unix time.

    `n_resumed` counts how often it continued directly after an interruption. `hosts` are the hosts of its
    runs. `facts` are the facts recorded of each host for each case, with their values. `tare` is the version
    of Tare that started the session; empty if unknown.
    """

    number: int
    first_at: float
    last_at: float
    n_runs: int
    n_warmup: int
    n_resumed: int
    hosts: frozenset[str]
    facts: Facts
    tare: str


class History(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of what happened in a campaign.

    - `n_blocks`: blocks that were started.
    - `n_complete`: blocks with one pass that ran every case planned for the block.
    - `n_passes`: passes with two or more runs whose start times are known.
    - `n_drawn`: those of them that started their runs in the random order drawn for the block.
    - `n_orders`: how many different orders they had.
    - `n_interleaved`: how many started while an earlier pass still had runs to start.
    - `n_at_once`: the most runs of a session at the same time.
    - `n_again`: runs repeated so that compared cases ran together.
    - `n_tried_again`: runs repeated because a user asked to retry what had failed.
    - `n_repeated`: runs repeated because the infrastructure failed or tare ended.
    - `n_excluded`: attempts that do not count, by state; `n_clock`: those with a clock jump.
    - `added`: cases that the first session did not run, with the session that first ran each.
    - `n_parted`: passes that an interruption split (see `parted`).
    - `longest_gap_s`: the longest time without a run within a part of a pass.
    - `looks`: the current look of each contender (see `looks_at`).
    - `n_watched`: measured runs with telemetry; `n_measured`: all measured runs.
    """

    sessions: tuple[SessionRecord, ...]
    n_blocks: int
    n_complete: int
    n_passes: int
    n_drawn: int
    n_orders: int
    n_interleaved: int
    n_at_once: int
    n_again: int
    n_tried_again: int
    n_repeated: int
    n_excluded: dict[State, int]
    n_clock: int
    n_warmup: int
    added: dict[str, int]
    looks: dict[str, int]
    n_parted: int
    longest_gap_s: float
    n_watched: int
    n_measured: int


def history(campaign: Campaign) -> History:
    """Return what happened in `campaign`; imported runs have no sessions and are ignored.

    The result is cached, since a campaign does not change.
    """
    return campaign.memo.get(history, lambda: _history(campaign))


def _history(campaign: Campaign) -> History:
    own = [one for one in campaign.attempts if one.source is None and one.state is not State.RUNNING]
    counted = [one for one in own if one.block >= 1]
    passes = _passes(counted)
    in_time = {one: runs for one, runs in passes.items() if len(runs) > 1 and _has_moments(runs)}
    orders = {one: tuple(run.case for run in _in_order(runs)) for one, runs in in_time.items()}
    sessions = _sessions(campaign, own)
    retrying = frozenset(one.number for one in campaign.sessions if one.is_retrying)
    again, tried_again, repeated = _further(counted, retrying)
    return History(
        sessions=sessions,
        n_blocks=len({one.block for one in counted}),
        n_complete=_n_complete(campaign, counted),
        n_passes=len(in_time),
        n_drawn=sum(_is_drawn(campaign, one, order) for one, order in orders.items()),
        n_orders=len(set(orders.values())),
        n_interleaved=_n_interleaved(in_time),
        n_at_once=_n_at_once(counted),
        n_again=again,
        n_tried_again=tried_again,
        n_repeated=repeated,
        n_excluded=dict(Counter(one.state for one in counted if one.state is not State.DONE)),
        n_clock=sum(one.check == "clock" for one in counted),
        n_warmup=sum(one.block < 1 for one in own),
        added=_added(counted),
        looks=looks_at(campaign),
        n_parted=len({(one.session, one.block) for one in counted if one.part}),
        longest_gap_s=longest_gap_s(counted),
        n_watched=sum(bool(one.telemetry) for one in counted if one.state is State.DONE),
        n_measured=sum(one.state is State.DONE for one in counted),
    )


def _passes(attempts: Iterable[Attempt]) -> dict[Pass, list[Attempt]]:
    """Return the first attempt of each case in each pass."""
    found: dict[Pass, dict[str, Attempt]] = defaultdict(dict)
    for one in attempts:
        found[one.together].setdefault(one.case, one)
    return {one: list(runs.values()) for one, runs in sorted(found.items())}


def _has_moments(runs: Sequence[Attempt]) -> bool:
    return all(one.started_at is not None for one in runs)


def _in_order(runs: Sequence[Attempt]) -> list[Attempt]:
    return sorted(runs, key=lambda one: one.started_at or 0.0)


def _is_drawn(campaign: Campaign, one: Pass, order: Sequence[str]) -> bool:
    """Return whether a pass began its runs in the order that was drawn, by the ids that cases had then."""
    ids, known = campaign.plan.order_of_ids, frozenset(order)
    now = [case.id for case in campaign.plan.cases if case.id in known]
    if tuple(ids(now, one.block)) == tuple(order):
        return True
    if campaign.reparse is None:
        return False
    then = campaign.reparse.cases
    drawn = ids([then.get(case, case) for case in now], one.block)
    return drawn == [then.get(case, case) for case in order]


def _n_complete(campaign: Campaign, attempts: Sequence[Attempt]) -> int:
    done: dict[int, dict[Pass, set[str]]] = defaultdict(lambda: defaultdict(set))
    for one in attempts:
        if one.state is State.DONE:
            done[one.block][one.together].add(one.case)
    wanted = {block: set(order) for block, order in campaign.orders.items()}
    if not wanted:
        every = {case.id for case in campaign.plan.cases}
        wanted = {one.block: every for one in attempts}
    return sum(
        any(cases <= found for found in done[block].values())
        for block, cases in wanted.items()
        if block >= 1 and cases
    )


def _n_interleaved(passes: Mapping[Pass, Sequence[Attempt]]) -> int:
    """Return how many passes started before the last run of an earlier pass of their session had started."""
    latest: dict[int, float] = {}
    n = 0
    spans = [(one.session, min(moments), max(moments)) for one, moments in _moments(passes)]
    for session, first, last in sorted(spans):
        n += first < latest.get(session, float("-inf"))
        latest[session] = max(latest.get(session, last), last)
    return n


def _moments(passes: Mapping[Pass, Sequence[Attempt]]) -> Iterator[tuple[Pass, list[float]]]:
    for one, runs in passes.items():
        yield one, [run.started_at for run in runs if run.started_at is not None]


def _n_at_once(attempts: Iterable[Attempt]) -> int:
    """Return the largest number of attempts of one session that ran at the same time.

    An overlap of up to a second is rounding. Each session is considered separately, because a clock may have
    been set between sessions.
    """
    changes: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for one in attempts:
        if one.started_at is not None and one.elapsed_s > 0:
            end = max(one.started_at + one.elapsed_s - min(1.0, one.elapsed_s / 2), one.started_at)
            changes[one.session] += [(one.started_at, 1), (end, -1)]
    return max((_most(found) for found in changes.values()), default=0)


def _most(changes: Iterable[tuple[float, int]]) -> int:
    most = n = 0
    for _, change in sorted(changes):
        n += change
        most = max(most, n)
    return most


def _further(attempts: Iterable[Attempt], retrying: Collection[int]) -> tuple[int, int, int]:
    """Return how many attempts repeat a run that succeeded, one that failed, and one that was broken.

    A run is broken if the infrastructure failed or tare ended. If a successful run fails when it is repeated,
    it still counts as successful, unless a session in `retrying` tried it again.
    """
    last: dict[tuple[int, str], Attempt] = {}
    done: set[tuple[int, str]] = set()
    again = tried = repeated = 0
    for one in attempts:
        run = one.block, one.case
        before = last.get(run)
        if before is not None:
            repeated += not before.is_settled
            is_tried = before.state is not State.DONE and (run not in done or one.session in retrying)
            again += before.is_settled and not is_tried
            tried += before.is_settled and is_tried
        last[run] = one
        if one.state is State.DONE:
            done.add(run)
    return again, tried, repeated


def _added(attempts: Iterable[Attempt]) -> dict[str, int]:
    first: dict[str, int] = {}
    for one in attempts:
        first[one.case] = min(first.get(one.case, one.session), one.session)
    earliest = min(first.values(), default=0)
    return {case: session for case, session in first.items() if session > earliest}


def _sessions(campaign: Campaign, attempts: Sequence[Attempt]) -> tuple[SessionRecord, ...]:
    by_session: dict[int, list[Attempt]] = defaultdict(list)
    for one in attempts:
        if one.started_at is not None:
            by_session[one.session].append(one)
    known = {one.number: one for one in campaign.sessions}
    return tuple(
        _session(campaign, number, by_session[number], known.get(number)) for number in sorted(by_session)
    )


def _session(
    campaign: Campaign, number: int, attempts: Sequence[Attempt], known: Session | None
) -> SessionRecord:
    starts = [(one.started_at or 0.0, max(one.elapsed_s, 0.0)) for one in attempts]
    return SessionRecord(
        number=number,
        first_at=min(at for at, _ in starts),
        last_at=max(at + took for at, took in starts),
        n_runs=sum(one.block >= 1 and one.state is State.DONE for one in attempts),
        n_warmup=sum(one.block < 1 for one in attempts),
        n_resumed=known.n_resumed if known else 0,
        hosts=frozenset(host for one in attempts for host in one.hosts),
        facts=_facts(campaign, attempts),
        tare=known.tare if known else "",
    )


def _facts(campaign: Campaign, attempts: Sequence[Attempt]) -> Facts:
    found: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for case, environment in {(one.case, one.environment) for one in attempts if one.environment}:
        for host, facts in campaign.environments.get(environment, {}).items():
            for name, value in facts.items():
                found[case, host][name].add(value)
    return {key: {name: frozenset(values) for name, values in facts.items()} for key, facts in found.items()}


def changed_facts(before: Facts, after: Facts) -> dict[str, set[str]]:
    """Return the facts that changed between two sessions, by host; a fact must be recorded in both."""
    found: dict[str, set[str]] = {}
    for (case, host), facts in after.items():
        known = before.get((case, host), {})
        changed = {name for name, values in facts.items() if name in known and values != known[name]}
        if changed:
            found.setdefault(host, set()).update(changed)
    return found
