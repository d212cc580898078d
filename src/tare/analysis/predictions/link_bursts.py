"""What calls cost at least where a token bucket lets short bursts pass faster than the link's rate.

Microbenchmarks send all the time, so they empty the bucket, and their curves have the link's rate. A program
that computes between its messages finds the bucket filled again.
"""

from __future__ import annotations

import numpy as np

from tare.analysis.predictions.collective_steps import steps
from tare.analysis.predictions.network_costs import Call, NetworkCosts, Side
from tare.core.bounds import Link
from tare.core.campaign import Campaign


def shaped_link(campaign: Campaign, side: Side) -> Link | None:
    """Return the link of a side, if its plan knows the rate and the bucket that shape it."""
    link = campaign.plan.links.get(side[1] or "")
    return link if link and link.rate_bits_per_s and link.burst_bytes else None


def least_seconds(
    costs: NetworkCosts, side: Side, link: Link, other: Side | None, call: Call
) -> float | None:
    """Return the least that a call costs on a `side` with a shaped link, in seconds; None without a curve.

    The call costs the latency there, and in place of what the rate takes for its bytes, what these add on
    the `other` side. That is nothing where the other is None, because it is shaped too. Bytes that do not
    fit into the bucket pass at the rate.
    """
    needed = steps(call.function, call.n_bytes, call.ranks)
    empty = call._replace(n_bytes=0.0)
    whole, latency = _mean(costs, side, call), _mean(costs, side, empty)
    if needed is None or whole is None or latency is None:
        return None
    added = 0.0
    if other is not None:
        ends = _mean(costs, other, call), _mean(costs, other, empty)
        added = max(0.0, ends[0] - ends[1]) if ends[0] is not None and ends[1] is not None else 0.0
    return min(whole, latency + added + transfer_s(link, needed.n_bytes))


def transfer_s(link: Link, n_bytes: float) -> float:
    """Return the time in which a shaped link passes `n_bytes` at least, in seconds, with a full bucket."""
    rate = (link.rate_bits_per_s or 0.0) / 8
    return max(0.0, n_bytes - (link.burst_bytes or 0)) / rate if rate else 0.0


def _mean(costs: NetworkCosts, side: Side, call: Call) -> float | None:
    found = costs.cost(side, call)
    return None if found is None else float(np.nanmean(found.seconds))
