"""Find receives that may wait for several messages, one after the other.

A rank that sends only after it has received makes the other wait for both messages, as in a ping-pong. Then
blocking receives, with the sends before them, take longer than a message does. They also do where a rank is
late, so this is a bound. There are no more such messages than blocking sends.
"""

from __future__ import annotations

import math

import numpy as np

from tare.analysis.predictions.collective_steps import BLOCKING_SENDS, RECEIVES, may_be_hidden
from tare.analysis.predictions.network_costs import Call, NetworkCosts, Side
from tare.core.profile import Calls, Profile


def is_blocking_receive(function: str) -> bool:
    """Return whether a rank goes on only when it has what it receives."""
    return function in RECEIVES and not may_be_hidden(function)


def chained_share(function: str, longest_s: float, one_s: float, sends: float) -> float:
    """Return for how many messages beside its own a call may wait at most.

    `longest_s` is the mean time of a call and of the blocking sends beside it, on the rank where it is
    longest, and `one_s` that of one message, in seconds; `sends` are these sends beside each receive.
    """
    if not is_blocking_receive(function) or not one_s:
        return 0.0
    return max(0.0, min(longest_s / one_s - 1, sends))


def chained_messages(profile: Profile, costs: NetworkCosts, side: Side) -> float:
    """Return for how many messages beside those that it receives a rank may wait in a run, at most.

    It is that of the rank with the most, and 0 where no curve says what a message takes.
    """
    more, sends = np.zeros(profile.ranks), np.zeros(profile.ranks)
    for row in profile.functions:
        calls = np.array(row.calls, np.float64)
        if row.locality.crosses and row.function in BLOCKING_SENDS:
            sends += calls
            more += np.array(row.seconds) / _one_s(row, costs, side)
        elif row.locality.crosses and is_blocking_receive(row.function):
            more += np.array(row.seconds) / _one_s(row, costs, side) - calls
    return float(np.clip(more, 0.0, sends).max())


def _one_s(row: Calls, costs: NetworkCosts, side: Side) -> float:
    """Return what one message of a row takes, in seconds; infinite where no curve says it."""
    function = row.function if is_blocking_receive(row.function) else "MPI_Recv"
    cost = costs.cost(side, Call(function, row.n_bytes, 2, 2))
    known = cost.seconds[np.isfinite(cost.seconds)] if cost else np.zeros(0)
    return float(known.mean()) if known.any() else math.inf
