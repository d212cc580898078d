"""Decide whether pods wait in a queue or can never be placed, and for how long they waited. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from tare.plugins.backends.kubernetes.objects import naming
from tare.plugins.backends.kubernetes.objects.observed import SeenEvent, SeenJob, SeenPod

_PLAIN = frozenset({"", "default-scheduler"})
_OF_QUEUES = frozenset({"Workload", "PodGroup"})
"""Kinds of objects in whose events Kueue, Volcano and coscheduling report on a job in their queues."""
_MAY_BE_FREED = re.compile(
    r"Insufficient |Too many pods|free ports|cannot find enough sibling|[Pp]od ?[Gg]roup"
)
_N_NODES = re.compile(r"0/(\d{1,6}) nodes are available")
_NOT_HELPFUL = re.compile(r"preemption: .*?(\d{1,6}) Preemption is not helpful")
_MOST_READ, _MOST_SHOWN = 4000, 600


class QueuePosition(NamedTuple):
    """Why a pod has no node. `may_come` is whether it can get a node of this cluster."""

    reason: str
    may_come: bool


def queue_position(
    pods: Sequence[SeenPod], job: SeenJob | None, events: Iterable[SeenEvent]
) -> QueuePosition | None:
    """Return what pods without a node wait for; None where none waits, or nothing is reported.

    `pods` are those that are created first. Where some of them have nodes and others wait for resources, they
    are in no queue: they hold what others may wait for. The caller must check that.
    """
    of_queue = [one for one in events if one.involved_object.kind in _OF_QUEUES]
    if job is not None and job.is_suspended:
        return QueuePosition(_suspended(job, of_queue), may_come=True)
    for pod in pods:
        unscheduled = pod.unscheduled
        if pod.spec.node_name or unscheduled is None:
            continue
        reason = f"{unscheduled.reason}: {_one_line(unscheduled.message)}" + _last(of_queue)
        is_gated = unscheduled.reason == "SchedulingGated"
        fits = is_gated or _may_fit(unscheduled.message, pod.spec.scheduler_name)
        return QueuePosition(reason, may_come=fits)
    return None


def queued_s(pods: Collection[SeenPod], job: SeenJob | None) -> float | None:
    """Return the seconds from a job's creation until its last pod had a node; None where times are missing.

    Times are those of the API server and the scheduler, in whole seconds (core/v1, PodCondition). Pods that a
    queue holds back are created when the queue admits the job. The launcher does not count: it may be created
    only when its workers are ready.
    """
    made = [_seconds(job.metadata.creation_timestamp)] if job else []
    made += [_seconds(pod.metadata.creation_timestamp) for pod in _first(pods)]
    begin = min((at for at in made if at is not None), default=None)
    placed = placed_at(pods)
    return None if begin is None or placed is None else max(placed - begin, 0.0)


def placed_at(pods: Collection[SeenPod]) -> float | None:
    """Return when the last pod of a job got its node, in seconds since the epoch; None if one has none.

    The launcher does not count (see queued_s).
    """
    placed = [_placed_at(pod) for pod in _first(pods)]
    known = [at for at in placed if at is not None]
    return max(known) if known and len(known) == len(placed) else None


def _first(pods: Collection[SeenPod]) -> list[SeenPod]:
    return [pod for pod in pods if pod.role != naming.LAUNCHER] or list(pods)


def _placed_at(pod: SeenPod) -> float | None:
    condition = pod.status.condition("PodScheduled")
    if condition is None or condition.status != "True":
        return None
    return _seconds(condition.last_transition_time)


def _seconds(text: str | None) -> float | None:
    try:
        return datetime.fromisoformat(text or "").timestamp()
    except ValueError:
        return None


def _suspended(job: SeenJob, events: Sequence[SeenEvent]) -> str:
    queue = job.metadata.labels.get(naming.QUEUE, "")
    suspended = f"suspended in Kueue's queue {queue}" if queue else "the job is suspended"
    return suspended + _last(events)


def _last(events: Sequence[SeenEvent]) -> str:
    """Return the last event of a queue about a job, after a semicolon."""
    if not events:
        return ""
    last = events[-1]
    return f"; {last.involved_object.kind} reports {last.reason}: {_one_line(last.message)}"


def _may_fit(message: str, scheduler: str) -> bool:
    """Return whether a pod without a node would fit on a node once other pods leave it.

    Preemption is not helpful on a node that is too small for the pod (Kubernetes 1.34, noderesources/fit.go).
    Earlier schedulers do not distinguish such a node from a full one.
    """
    message = message[:_MOST_READ]
    tried = message.partition("preemption:")[0]
    if not _MAY_BE_FREED.search(tried) and scheduler in _PLAIN:
        return False
    n_nodes, n_hopeless = _N_NODES.search(tried), _NOT_HELPFUL.search(message)
    return not (n_nodes and n_hopeless and n_nodes[1] == n_hopeless[1])


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_MOST_SHOWN]
