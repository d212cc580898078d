"""Decide whether pods wait in a queue or can never be placed, from Kubernetes' messages. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tare.plugins.backends.kubernetes import naming
from tare.plugins.backends.kubernetes.observed import SeenEvent, SeenJob, SeenPod

_PLAIN = frozenset({"", "default-scheduler"})
_OF_QUEUES = frozenset({"Workload", "PodGroup"})
"""Kinds of objects in whose events Kueue, Volcano and coscheduling report on a job in their queues."""
_MAY_BE_FREED = re.compile(
    r"Insufficient |Too many pods|free ports|cannot find enough sibling|[Pp]od ?[Gg]roup"
)
_N_NODES = re.compile(r"0/(\d{1,6}) nodes are available")
_NOT_HELPFUL = re.compile(r"preemption: .*?(\d{1,6}) Preemption is not helpful")
_MOST_READ, _MOST_WORDS = 4000, 600


class QueuePosition(NamedTuple):
    """What a pod without a node waits for. `may_come` says whether it can get a node of this cluster."""

    words: str
    may_come: bool


def place(pods: Sequence[SeenPod], job: SeenJob | None, events: Iterable[SeenEvent]) -> QueuePosition | None:
    """Return what pods without a node wait for; None where none waits, or nothing is reported.

    `pods` are those that are created first. Where some of them have nodes and others wait for resources, they
    are in no queue: they hold what others may wait for. The caller must check that.
    """
    of_queue = [one for one in events if one.involved_object.kind in _OF_QUEUES]
    if job is not None and job.is_suspended:
        return QueuePosition(_suspended(job, of_queue), may_come=True)
    for pod in pods:
        scheduled = pod.condition("PodScheduled")
        if pod.spec.node_name or scheduled is None or scheduled.status != "False":
            continue
        words = f"{scheduled.reason}: {_one_line(scheduled.message)}" + _last(of_queue)
        if scheduled.reason == "SchedulingGated":
            return QueuePosition(words, may_come=True)
        return QueuePosition(words, may_come=_may_fit(scheduled.message, pod.spec.scheduler_name))
    return None


def _suspended(job: SeenJob, events: Sequence[SeenEvent]) -> str:
    queue = job.metadata.labels.get(naming.QUEUE, "")
    whose = f"suspended in Kueue's queue {queue}" if queue else "the job is suspended"
    return whose + _last(events)


def _last(events: Sequence[SeenEvent]) -> str:
    """Return the last event of a queue about a job, after a semicolon."""
    if not events:
        return ""
    last = events[-1]
    return f"; {last.involved_object.kind} says {last.reason}: {_one_line(last.message)}"


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
    return " ".join(text.split())[:_MOST_WORDS]
