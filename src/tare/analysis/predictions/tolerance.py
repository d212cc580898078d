"""Find how much latency and how little bandwidth a program stands, from what its ranks send.

`tolerances` takes a campaign with profiled runs, and one with the curves of networks to hold against it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from tare.analysis.causes.attribution import attributions
from tare.analysis.causes.profiles import Profiled, mean
from tare.analysis.predictions.collective_steps import has_unknown_steps, may_be_hidden, steps
from tare.analysis.predictions.message_chains import chained_messages
from tare.analysis.predictions.network_costs import NetworkCosts, Side, side_of
from tare.analysis.predictions.profiled_programs import measured_on, profiled_programs
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.interval import Bounded
from tare.core.prediction import Limit, Network, Tolerance
from tare.core.profile import Locality, Profile
from tare.stats.intervals import CONFIDENCE, MIN_BLOCKS, Floats, arithmetic_intervals, geometric_intervals

SHARES = (0.01, 0.05, 0.10)
"""The slowdowns for which the latency and the bandwidth are given."""

EAGER_BYTES = 1 << 16
"""Open MPI sends larger messages over TCP after a request and its answer: they may take three latencies."""


class Demand(NamedTuple):
    """What one run asks of the network.

    `messages` follow one another for the rank that has most of them, `hidden` of them are non-blocking, and
    `announced` are large.
    `waited_s` is its time in the other ones. `n_bytes` come from other nodes to the node that gets most.
    """

    wall_s: float
    messages: float
    hidden: float
    announced: float
    n_bytes: float
    waited_s: float


def tolerances(campaign: Campaign, curves: Campaign | None = None) -> list[Tolerance]:
    """Return the tolerance of each profiled case of the reference that spans nodes; of all if none is.

    A program of M messages one after another takes M · L longer with L more latency, and V/B − V/B0 longer
    with a bandwidth B in place of B0, if a node receives V bytes: LogGP, along the rank with most messages,
    all of which count. Non-blocking messages may be hidden by computation; the interval of the latency goes
    as far as if all of them were, and down to where each large message takes three latencies, and receives
    wait for several messages (`message_chains`). Longer chains through several ranks, as of a token, are not
    seen, nor are messages of one-sided and neighbourhood calls (`uncounted`).
    """
    programs = profiled_programs(campaign)
    if not programs:
        return []
    costs = NetworkCosts(curves or campaign)
    return [_tolerance(campaign, one.case, one.runs, costs) for one in programs]


def demand(profile: Profile) -> Demand:
    """Return what a run asks of the network between nodes."""
    messages, hidden, announced, n_bytes, waited_s = (np.zeros(profile.ranks) for _ in range(5))
    n_nodes = len({*profile.nodes})
    for row in profile.functions:
        needed = steps(row.function, row.n_bytes, max(row.comm_size, 2))
        if needed is None or not row.locality.crosses:
            continue
        calls = np.array(row.calls, np.float64)
        messages += calls * needed.messages
        if may_be_hidden(row.function):
            hidden += calls * needed.messages
        else:
            waited_s += np.array(row.seconds, np.float64)
        announced += calls * needed.messages if needed.n_bytes > EAGER_BYTES * needed.messages else 0.0
        crossing = _crossing(n_nodes, row.comm_size) if row.locality is Locality.MIXED else 1.0
        n_bytes += calls * needed.n_bytes * crossing
    busiest = int(messages.argmax())
    received: dict[str, float] = {}
    for node, own in zip(profile.nodes, n_bytes.tolist(), strict=True):
        received[node] = received.get(node, 0.0) + own
    return Demand(
        wall_s=mean(profile.wall_s),
        messages=float(messages[busiest]),
        hidden=float(hidden[busiest]),
        announced=float(announced[busiest]),
        n_bytes=max(received.values()),
        waited_s=float(waited_s[busiest]),
    )


def _crossing(n_nodes: int, ranks: int) -> float:
    """Return the share of the other ranks that are on other nodes."""
    return min(1.0, ranks * (1 - 1 / n_nodes) / (ranks - 1)) if ranks > 1 else 1.0


def _tolerance(campaign: Campaign, case: Case, runs: Sequence[Profiled], costs: NetworkCosts) -> Tolerance:
    asked = [demand(one.profile) for one in runs]
    means = Demand(*(float(np.mean(column)) for column in zip(*asked, strict=True)))
    found = Tolerance(
        workload=case.workload,
        case=case.id,
        platform=case.platform,
        network=case.network,
        nodes=case.layout.nodes,
        n_runs=len(runs),
        wall_s=means.wall_s,
        messages=means.messages,
        hidden=means.hidden,
        announced=means.announced,
        chained=float(np.mean([chained_messages(one.profile, costs, side_of(case)) for one in runs])),
        n_bytes=means.n_bytes,
        link_bytes_per_s=_bytes_per_s(campaign, side_of(case), costs),
        uncounted=_uncounted(runs),
    )
    if not all(one.messages for one in asked):
        return msgspec.structs.replace(found, refusal=_without_messages(found))
    per_message = _bounded(np.array([one.wall_s / one.messages for one in asked]))
    has_bytes = all(one.n_bytes for one in asked)
    per_byte = _bounded(np.array([one.wall_s / one.n_bytes for one in asked])) if has_bytes else None
    return msgspec.structs.replace(
        found,
        limits=tuple(_limit(share, found, per_message, per_byte) for share in SHARES),
        networks=tuple(_networks(campaign, found, means, costs, per_message, per_byte)),
    )


def _uncounted(runs: Sequence[Profiled]) -> tuple[str, ...]:
    """Return the functions that send data between nodes in messages whose number is not known."""
    rows = (row for run in runs for row in run.profile.functions)
    return tuple(
        sorted(
            {
                row.function
                for row in rows
                if has_unknown_steps(row.function) and row.locality.crosses and any(row.calls)
            }
        )
    )


def _without_messages(found: Tolerance) -> str:
    if found.uncounted:
        return f"how many messages follow one another in {', '.join(found.uncounted)} is not known"
    some = "in some of its runs " if found.messages else ""
    return f"{some}none of its messages is known to cross the network"


def _bytes_per_s(campaign: Campaign, side: Side, costs: NetworkCosts) -> float | None:
    """Return the bandwidth that a side's curve has, but no more than the rate of its links.

    Without a curve it is that rate, which is a bound; None if neither is known.
    """
    link = campaign.plan.links.get(side[1] or "")
    known = [link.rate_bits_per_s / 8] if link and link.rate_bits_per_s else []
    reached = costs.bytes_per_s(side)
    return min([*known, *([reached] if reached else [])], default=None)


def _bounded(values: Floats) -> Bounded:
    if len(values) < MIN_BLOCKS:
        return Bounded(float(values.mean()))
    found = geometric_intervals(values[:, np.newaxis], CONFIDENCE)
    return Bounded.of(float(found.centre[0]), float(found.low[0]), float(found.high[0]))


def latencies_each(found: Tolerance) -> float:
    """Return how many latencies a message takes at most, in the mean.

    It takes three if it is announced, and another if its receive waits for one before it.
    """
    return 1 + (2 * found.announced + found.chained) / found.messages


def _limit(share: float, found: Tolerance, per_message: Bounded, per_byte: Bounded | None) -> Limit:
    latency = per_message.times(share)
    sure = found.messages - found.hidden
    high = None if latency.high is None or sure <= 0 else latency.high * found.messages / sure
    low = None if latency.low is None else latency.low / latencies_each(found)
    return Limit(
        share=share,
        latency_s=Bounded(latency.value, low, high),
        bandwidth=None
        if per_byte is None
        else _bandwidth(share, found.link_bytes_per_s, per_byte)
        if found.link_bytes_per_s
        else None,
    )


def _bandwidth(share: float, link: float, per_byte: Bounded) -> Bounded:
    """Return B of 1/B = 1/B0 + share · wall/bytes; more time a byte means that less bandwidth is enough.

    It may be as little as that with which the link is busy all the time: bytes pass while ranks compute.
    """

    def enough(seconds: float) -> float:
        return 1 / (1 / link + share * seconds)

    low, high = per_byte.high, per_byte.low
    return Bounded(
        enough(per_byte.value),
        None if low is None else min(enough(low), 1 / ((1 + share) * low)),
        None if high is None else enough(high),
    )


def _networks(
    campaign: Campaign,
    found: Tolerance,
    means: Demand,
    costs: NetworkCosts,
    per_message: Bounded,
    per_byte: Bounded | None,
) -> Iterator[Network]:
    """Yield what each other network with a curve costs; latencies of two networks are of the same pass."""
    here = (found.platform, found.network)
    own = costs.latency(here)
    known = attributions(campaign) if own is not None else []
    for side in costs.sides if own is not None else ():
        other = costs.latency(side)
        if side == here or other is None or own is None:
            continue
        more = (other - own)[np.isfinite(other - own)]
        if len(more) < MIN_BLOCKS:
            continue
        one = arithmetic_intervals(more[:, np.newaxis], CONFIDENCE)
        added = Bounded.of(float(one.centre[0]), float(one.low[0]), float(one.high[0]))
        by_latency, by_bytes, busy = added.over(per_message), _exactly(0.0), _exactly(-1.0)
        measured = measured_on(campaign, known, campaign.cases[found.case], side)
        bandwidth, link = _bytes_per_s(campaign, side, costs), found.link_bytes_per_s
        # A rate alone is a bound that the network may never reach.
        is_whole = per_byte is None or bool(link and costs.bytes_per_s(side))
        if per_byte is not None and bandwidth and link:
            by_bytes = _exactly(1 / bandwidth - 1 / link).over(per_byte)
            busy = _exactly(1 / bandwidth).over(per_byte) + _exactly(-1.0)
        slower = by_latency + by_bytes
        yield Network(
            platform=side[0],
            network=side[1],
            added_latency_s=added,
            bytes_per_s=bandwidth,
            slowdown=Bounded(slower.value, slower.low, _at_most(found, by_latency, by_bytes)),
            sure=_sure(_surely_paid(found, means, own), by_latency, by_bytes, busy),
            is_whole=is_whole,
            measured=measured.ratio if measured else None,
        )


def _at_most(found: Tolerance, by_latency: Bounded, by_bytes: Bounded) -> float | None:
    """Return the most that a network costs: messages take several latencies, and nothing is saved."""
    if by_latency.high is None or by_bytes.high is None:
        return None
    return max(0.0, by_latency.high) * latencies_each(found) + max(0.0, by_bytes.high)


def _exactly(value: float) -> Bounded:
    return Bounded(value, value, value)


def _surely_paid(found: Tolerance, means: Demand, own: Floats) -> float:
    """Return the share of the messages that surely cost a latency.

    None that may be hidden does. Of the others, no more than the time in them has room for on the program's
    own network: messages that were sent at the same time share a latency, and one that had come costs none.
    """
    waited_for = 1 - found.hidden / found.messages
    latency_s = float(np.nanmean(own))
    return min(waited_for, means.waited_s / (found.messages * latency_s)) if latency_s > 0 else waited_for


def _sure(waited_for: float, by_latency: Bounded, by_bytes: Bounded, busy: Bounded) -> Bounded:
    """Return the least that a network costs: what may be hidden is, and what it saves is saved."""

    def least(latency: float | None, bandwidth: float | None, full: float | None) -> float | None:
        if latency is None or bandwidth is None or full is None:
            return None
        return max(min(latency, latency * waited_for) + min(bandwidth, 0.0), full)

    return Bounded(
        least(by_latency.value, by_bytes.value, busy.value) or 0.0,
        least(by_latency.low, by_bytes.low, busy.low),
        least(by_latency.high, by_bytes.high, busy.high),
    )


class Slowdown(NamedTuple):
    """A slowdown as a share of the wall time: as predicted, at least, and at most."""

    value: float
    least: float
    most: float


def slowdown(found: Tolerance, latency_s: float) -> Slowdown:
    """Return the slowdown by an added latency.

    It is least with all non-blocking messages hidden, and most with large ones that take three latencies, and
    with receives that wait for several messages.
    """
    value = found.messages * latency_s / found.wall_s
    return Slowdown(value, value * (1 - found.hidden / found.messages), value * latencies_each(found))


def narrowing(found: Tolerance, link: float, bandwidth: float) -> tuple[float, float]:
    """Return the slowdown by `bandwidth` in place of that of the `link`, as a share of the wall time.

    The first number is without anything that passes while ranks compute, the second with all of it: then the
    link is busy all the time, and the run takes as long as its bytes.
    """
    most = found.n_bytes * (1 / bandwidth - 1 / link) / found.wall_s
    return most, min(most, max(0.0, found.n_bytes / bandwidth / found.wall_s - 1))
