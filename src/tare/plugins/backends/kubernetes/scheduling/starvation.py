"""Detect runs whose workers hold all nodes, so that none of their launchers gets one. Pure.

A launcher that must be apart may be on no node with programs of any run. So several runs at a time may take
all nodes.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from tare.core.counting import count
from tare.plugins.backends.kubernetes.diagnosis.phases import TaskPhase
from tare.plugins.backends.kubernetes.objects import naming
from tare.plugins.backends.kubernetes.scheduling.in_flight_job import InFlightJob

_STANDS_S = 30.0
_KEPT_AWAY = "pod anti-affinity"  # the scheduler's message (plugins/interpodaffinity)
_CURE = "lower 'in_flight', add 'launcher: {place: beside}', or name nodes for it"


class Starving(NamedTuple):
    """The run that must release its nodes for the launchers of the others, and why."""

    job: InFlightJob
    why: str


def makes_room(jobs: Collection[InFlightJob], now: float) -> Starving | None:
    """Return the run that must release its nodes for the others' launchers; None where that is not needed.

    If one of the runs that hold nodes can go on, its end makes room. Otherwise the latest run is stopped.
    """
    holding = [one for one in jobs if any(pod.spec.node_name for pod in one.pods.values())]
    if len(holding) < 2 or not all(map(_is_starving, holding)):
        return None
    last = max(holding, key=lambda one: one.since)
    if now - last.since < _STANDS_S:
        return None
    return Starving(
        last,
        f"{count(len(holding), 'run holds', 'runs hold')} all nodes that their launchers may have; {_CURE}",
    )


def _is_starving(job: InFlightJob) -> bool:
    launcher = job.starter
    if job.phase is not TaskPhase.STARTING or launcher is None or launcher.role != naming.LAUNCHER:
        return False
    unscheduled = launcher.unscheduled
    return not launcher.spec.node_name and unscheduled is not None and _KEPT_AWAY in unscheduled.message
