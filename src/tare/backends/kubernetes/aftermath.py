"""Whether a run that failed was failed by a node of which Kubernetes does not know yet that it is lost."""

from __future__ import annotations

import msgspec

from tare.backends.kubernetes import memory, phases
from tare.backends.kubernetes.flight import Flight
from tare.backends.kubernetes.node_watch import Nodes
from tare.model.backend import Exit
from tare.model.scheduler import Landing

_KNOWS_S = 75.0
"""Kubernetes calls a node lost 40 to 50 s after its last lease (node-monitor-grace-period)."""


def unheard(flight: Flight, landing: Landing) -> list[str]:
    """Return the nodes of a run that failed that told of themselves before it, and not after it."""
    has_workers = flight.n_workers > 0 and not flight.rendered.is_pair
    ended = landing.exit
    if not has_workers or ended.code == 0 or ended.fault or ended.is_timeout or landing.reason:
        return []
    return sorted(landing.before.keys() - landing.after.keys())


def judge(flight: Flight, landing: Landing, nodes: Nodes, now: float) -> Landing | None:
    """Return how such a run ended, by what has become of its nodes since; None while that is not known.

    MPI notices a cut network in seconds, and its launcher fails: that is no word of the program's.
    """
    pods = list(flight.pods.values())
    if reason := memory.why_killed({}, {}, pods):
        return msgspec.structs.replace(landing, reason=reason)
    losses = [one for one in nodes.losses(pods) if one.key in flight.unheard]
    fault = flight.losing.final(losses, now) or next(filter(None, map(phases.disruption, pods)), "")
    if fault:
        flight.lost = frozenset(one.key for one in losses)
        elapsed_s = landing.exit.elapsed_s
        return msgspec.structs.replace(landing, exit=Exit(fault=fault, elapsed_s=elapsed_s))
    if now - flight.since > _KNOWS_S and not losses:
        return landing
    flight.waits_for = f"it failed, and node {', '.join(flight.unheard)} did not answer: waits for word of it"
    return None
