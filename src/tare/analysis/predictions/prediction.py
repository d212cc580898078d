"""Predict the difference of a program between two networks from the networks' own curves.

`predictions` takes a campaign with profiled runs, and one with curves; both may be the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from tare.analysis.causes.attribution import attributions
from tare.analysis.causes.profiles import Profiled, mean
from tare.analysis.predictions.collective_steps import (
    BLOCKING_SENDS,
    RECEIVES,
    SENDS,
    has_unknown_steps,
    may_be_hidden,
    steps,
)
from tare.analysis.predictions.forecast_interval import Error, error, forecast
from tare.analysis.predictions.link_bursts import least_seconds, shaped_link, transfer_s
from tare.analysis.predictions.message_chains import chained_share
from tare.analysis.predictions.network_costs import Call, NetworkCosts, Side, nodes_of, paired, side_of
from tare.analysis.predictions.profiled_programs import measured_on, profiled_programs, why_no_programs
from tare.analysis.predictions.tolerance import demand
from tare.core.attribution import Attribution
from tare.core.bounds import Link
from tare.core.campaign import Campaign
from tare.core.case import Case, Layout
from tare.core.interval import Bounded
from tare.core.prediction import PredictedCalls, Prediction
from tare.core.profile import Calls, function_name
from tare.stats.intervals import Floats

CONFIDENCE = 0.90

_UNSURE = 0.5
"""By this share of itself, the predicted difference of extrapolated calls may be wrong either way."""


_LEAST_NAMED = 0.01
"""As a share of the predicted difference: remarks on calls that make less of it are not repeated."""


LEAST_UNCOVERED = 0.01
"""As a share of the wall time: what calls without a curve take less than that contradicts no prediction."""


class _Row(NamedTuple):
    """The calls of one key: those of a rank in a run, and the time in them on the reference.

    `with_sends_s` is that time with the one in sends of the same size. A wait for a receive and a send is
    shared between them, and a large send lasts until its receiver has it: ranks that exchange messages wait
    for what they receive in their sends, too. `longest_s` is the time of a call with its share of blocking
    sends of the same size, on the rank where it is longest, and `sends` are these sends beside each receive.
    """

    function: str
    size_class: int
    comm_size: int
    n_bytes: float
    calls: float
    seconds: float
    with_sends_s: float
    longest_s: float
    sends: float


class _Costed(NamedTuple):
    """The calls of one key with their costs in each pass of the curves, on both sides.

    `spared` is what bursts spare at most on each side, in seconds, where a token bucket shapes its link.
    `in_full_s` is the difference, in seconds, if computation hides none of the calls on the contender, and
    if messages go the other way beside them. `waited` is the share of the calls' cost for which the reference
    waited, at most 1. `chained` are the messages for which each call may wait beside its own (see
    message_chains).
    """

    calls: PredictedCalls
    costs: tuple[Floats, Floats]
    spared: tuple[float, float]
    in_full_s: float
    waited: float
    chained: float


class _Sides(NamedTuple):
    """The reference and the contender, their costs, and the shaped links of those that have one."""

    costs: NetworkCosts
    sides: tuple[Side, Side]
    links: tuple[Link | None, Link | None]


def predictions(campaign: Campaign, curves: Campaign | None = None) -> list[Prediction]:
    """Return what each profiled case of the reference would take on each other network that has curves.

    The predicted difference is Σ calls × (cost on contender − cost on reference). Calls are those of a rank,
    the mean over ranks and profiled runs. A message costs once, when it is received; messages on one node
    cost nothing more. Of non-blocking receives only the exposed share counts: the time that the reference
    spent in them, and in sends of the same size, over what they cost there, at most 1. The interval, at
    90 %, is that of what as many runs on both sides would measure: the scatter of the program's runs
    (`forecast`) and that over the passes of the curves; half of what is extrapolated or modelled, either
    way; all that is non-blocking may be hidden; receives may wait for several messages, one after the other
    (`message_chains`); and bursts may pass a shaped link at once (`link_bursts`).
    """
    programs = profiled_programs(campaign)
    if not programs:
        return []
    costs = NetworkCosts(curves or campaign)
    if not costs.sides:
        return []
    measured = attributions(campaign, CONFIDENCE)
    made = []
    for case, runs in programs:
        own = side_of(case)
        for side in costs.sides:
            if side != own:
                links = (shaped_link(curves or campaign, own), shaped_link(curves or campaign, side))
                both = _Sides(costs, (own, side), links)
                made.append(_prediction(case, runs, both, measured_on(campaign, measured, case, side)))
    return made


def why_no_predictions(campaign: Campaign) -> str:
    """Return why `predictions` of a campaign are none, without a full stop."""
    if not profiled_programs(campaign):
        return why_no_programs(campaign)
    return "there are no curves of another network between several nodes"


def _prediction(
    case: Case, runs: Sequence[Profiled], both: _Sides, measured: Attribution | None
) -> Prediction:
    own, side = both.sides
    nothing = Prediction(
        workload=case.workload,
        case=case.id,
        reference=own[1],
        contender=side[1],
        nodes=case.layout.nodes,
        reference_platform=own[0],
        contender_platform=side[0],
        reference_s=sum(mean(one.profile.wall_s) for one in runs) / len(runs),
    )
    if own not in both.costs.sides:
        return msgspec.structs.replace(
            nothing, refusal=f"there is no curve of {_named(own)}, on which it ran"
        )
    rows: list[_Costed] = []
    uncovered: dict[str, float] = {}
    for row in _rows(runs):
        found = _costed(row, case.layout, both)
        if found is not None:
            rows.append(found)
        elif steps(row.function, row.n_bytes, row.comm_size):
            uncovered[row.function] = uncovered.get(row.function, 0.0) + row.seconds
    nothing = msgspec.structs.replace(nothing, uncovered_s=uncovered | _without_steps(runs))
    return _with_interval(nothing, rows, runs, both, measured)


def _without_steps(runs: Sequence[Profiled]) -> dict[str, float]:
    """Return the time of a run in functions that send data in messages whose number is not known."""
    found: dict[str, float] = {}
    for run in runs:
        for row in run.profile.functions:
            if row.locality.crosses and has_unknown_steps(row.function):
                seconds = mean(row.seconds) / len(runs)
                found[row.function] = found.get(row.function, 0.0) + seconds
    return found


def _rows(runs: Sequence[Profiled]) -> Iterator[_Row]:
    """Yield the calls that cross the network, as means over ranks and runs."""
    gathered: dict[tuple[str, int, int], list[Calls]] = {}
    sent: dict[tuple[int, int], list[Calls]] = defaultdict(list)
    received: dict[tuple[int, int], float] = defaultdict(float)
    for row in (row for run in runs for row in run.profile.functions if row.locality.crosses):
        size = (row.size_class, row.comm_size)
        if row.function in SENDS:
            sent[size].append(row)
        elif steps(row.function, row.n_bytes, max(row.comm_size, 2)):
            gathered.setdefault((row.function, *size), []).append(row)
            received[size] += mean(row.calls) / len(runs) if row.function in RECEIVES else 0.0
    for (function, size_class, comm_size), found in gathered.items():
        calls, seconds = _per_rank(runs, found)
        if calls.any():
            size = (size_class, comm_size)
            beside = 1 / received[size] if function in RECEIVES else 0.0  # for each receive of this size
            share = float(calls.mean()) * beside
            n_sent, sent_s = _per_rank(runs, [one for one in sent[size] if one.function in BLOCKING_SENDS])
            waited_s = seconds + share * sent_s
            yield _Row(
                function=function,
                size_class=size_class,
                comm_size=max(comm_size, 2),
                n_bytes=sum(row.n_bytes for row in found) / len(found),
                calls=float(calls.mean()),
                seconds=float(seconds.mean()),
                with_sends_s=float(seconds.mean() + share * _per_rank(runs, sent[size])[1].mean()),
                longest_s=float((waited_s[calls > 0] / calls[calls > 0]).max()),
                sends=float(n_sent.mean()) * beside,
            )


def _per_rank(runs: Sequence[Profiled], rows: Sequence[Calls]) -> tuple[Floats, Floats]:
    """Return the calls and the seconds of each rank in `rows`, as means over runs."""
    calls, seconds = np.zeros((2, max(run.profile.ranks for run in runs)))
    for row in rows:
        calls[: len(row.calls)] += row.calls
        seconds[: len(row.seconds)] += row.seconds
    return calls / len(runs), seconds / len(runs)


def _costed(row: _Row, layout: Layout, both: _Sides) -> _Costed | None:
    """Return the calls of a row with what they cost on both sides; None if no curve says it."""
    call = Call(row.function, row.n_bytes, row.comm_size, nodes_of(layout, row.comm_size))
    before, after = (both.costs.cost(side, call) for side in both.sides)
    if before is None or after is None:
        return None
    one, other = float(np.nanmean(before.seconds)), float(np.nanmean(after.seconds))
    waited = min(1.0, row.with_sends_s / (row.calls * one)) if one else 1.0
    # Nothing saves more than was waited for, whatever waited.
    exposed = waited if may_be_hidden(row.function) or other < one else 1.0
    weight = row.calls * exposed
    calls = PredictedCalls(
        function=row.function,
        size_class=row.size_class,
        comm_size=row.comm_size,
        calls=row.calls,
        reference_call_s=one,
        contender_call_s=other,
        exposed=exposed,
        difference_s=weight * (other - one),
        remarks=tuple(dict.fromkeys((*before.remarks, *after.remarks))),
    )
    spared = [0.0, 0.0]
    for at, (link, whole) in enumerate(zip(both.links, (one, other), strict=True)):
        far = None if both.links[1 - at] else both.sides[1 - at]
        least = least_seconds(both.costs, both.sides[at], link, far, call) if link else None
        spared[at] = weight * (whole - least) if least is not None else 0.0
    beside = both.costs.exchange_s(both.sides[1], row.function, row.n_bytes) or 0.0
    in_full_s = row.calls * (max(other, beside) - one)
    costs = (before.seconds * weight, after.seconds * weight)
    chained = chained_share(row.function, row.longest_s, one, row.sends)
    return _Costed(calls, costs, (spared[0], spared[1]), in_full_s, waited, chained)


def _named(side: Side) -> str:
    """Return a network with its platform, or a platform without networks."""
    return f"{side[1]} on {side[0]}" if side[1] else side[0]


def _without_costs(nothing: Prediction) -> str:
    if not nothing.uncovered_s:
        return "none of its calls is known to cross the network"
    return f"no curve covers {', '.join(function_name(one) for one in nothing.uncovered_s)}"


def _with_interval(
    nothing: Prediction,
    rows: Sequence[_Costed],
    runs: Sequence[Profiled],
    both: _Sides,
    measured: Attribution | None,
) -> Prediction:
    if not rows:
        return msgspec.structs.replace(nothing, refusal=_without_costs(nothing))
    calls = [one.calls for one in rows]
    value, wall = sum(one.difference_s for one in calls), nothing.reference_s
    if value <= -wall:
        return msgspec.structs.replace(
            nothing, refusal="by the curves the network would save more than it takes"
        )
    ratio = _ratio(value, rows, runs, both)
    ends = [None if end is None else (end - 1) * wall for end in (ratio.low, ratio.high)]
    return msgspec.structs.replace(
        nothing,
        difference_s=Bounded(value, *ends),
        ratio=ratio,
        measured_s=measured and measured.difference_s,
        measured_ratio=measured and measured.ratio,
        is_inside=_meet(ratio, measured.ratio)
        if measured and measured.ratio and nothing.uncovered_share <= LEAST_UNCOVERED
        else None,
        rows=tuple(sorted(calls, key=lambda one: -abs(one.difference_s))),
        remarks=_remarks(calls),
        shaped=_shaped(value, rows, both),
    )


def _ratio(value: float, rows: Sequence[_Costed], runs: Sequence[Profiled], both: _Sides) -> Bounded:
    """Return the ratio of wall times for a predicted difference of `value`, in seconds, with its interval."""
    walls = np.array([mean(one.profile.wall_s) for one in runs])
    wall = float(walls.mean())
    found = forecast(1 + value / wall, walls, _error([one.costs for one in rows]), CONFIDENCE)
    if found.low is None or found.high is None:
        return found
    calls = [one.calls for one in rows]
    unsure = _UNSURE * sum(abs(one.difference_s) for one in calls if one.remarks)
    may_hide = [_hidden_ends(one) for one in rows]
    waited_for = [one for one in rows if not may_be_hidden(one.calls.function)]
    spared = [sum(one.spared[at] for one in waited_for) for at in (0, 1)]
    least = value - unsure + sum(low for low, _ in may_hide) - spared[1]
    link = both.links[1]
    if link is not None:
        n_bytes = sum(demand(one.profile).n_bytes for one in runs) / len(runs)
        least = max(least, min(value, transfer_s(link, n_bytes) - wall))
    most = value + unsure + sum(high for _, high in may_hide) + spared[0]
    # No time is negative, whatever the curves' noise.
    return Bounded(
        found.value,
        max(0.0, found.low + (least - value) / wall),
        found.high + (most - value) / wall,
    )


def _hidden_ends(one: _Costed) -> tuple[float, float]:
    """Return how far the difference of calls may go down and up from its value.

    That of non-blocking ones goes from none to all of it; that of others down to the share for which the
    reference waited, as what came before it was asked for may do so again, and on a slower network up to what
    messages that wait for each other cost. A faster network cannot save more than the time that the
    reference spent in them.
    """
    calls, value = one.calls, one.calls.difference_s
    if not may_be_hidden(calls.function):
        return (value * (one.waited - 1), value * one.chained) if value > 0 else (0.0, 0.0)
    in_full = max(one.in_full_s, -calls.calls * calls.exposed * calls.reference_call_s)
    return min(in_full, value, 0.0) - value, max(in_full, value, 0.0) - value


def _shaped(value: float, rows: Sequence[_Costed], both: _Sides) -> tuple[str, ...]:
    """Return the networks whose token bucket makes the difference less sure."""
    return tuple(
        side[1]
        for at, side in enumerate(both.sides)
        if side[1] and sum(one.spared[at] for one in rows) > _LEAST_NAMED * abs(value)
    )


def _remarks(rows: Sequence[PredictedCalls]) -> tuple[str, ...]:
    """Return the remarks on calls that make a difference."""
    least = _LEAST_NAMED * sum(abs(one.difference_s) for one in rows)
    return tuple(
        dict.fromkeys(remark for one in rows if abs(one.difference_s) >= least for remark in one.remarks)
    )


def _error(totals: Sequence[tuple[Floats, Floats]]) -> Error | None:
    """Return the error of the difference of the totals, paired by pass where possible, in seconds."""
    before, after = (paired([one[side] for one in totals]).sum(axis=1) for side in (0, 1))
    found = error(after - before)
    if found is not None:
        return found
    one, other = error(before), error(after)
    if one is None or other is None:
        return None
    return Error(one.variance + other.variance, min(one.freedom, other.freedom))


def _meet(one: Bounded, other: Bounded) -> bool | None:
    if one.low is None or one.high is None:
        return None
    low = other.value if other.low is None else other.low
    high = other.value if other.high is None else other.high
    return low <= one.high and one.low <= high
