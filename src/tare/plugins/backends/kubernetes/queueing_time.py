"""Compute how long a task waited for nodes, from the times in the cluster's objects."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from tare.plugins.backends.kubernetes import naming
from tare.plugins.backends.kubernetes.observed import SeenJob, SeenPod


def queued_s(pods: Collection[SeenPod], job: SeenJob | None) -> float | None:
    """Return the seconds from a job's creation until its last pod had a node; None where times are missing.

    Times are those of the API server and the scheduler, in whole seconds (core/v1, PodCondition). Pods that a
    queue holds back are created when the queue admits the job. The launcher does not count: it may be created
    only when its workers are ready.
    """
    pods = [pod for pod in pods if pod.role != naming.LAUNCHER] or list(pods)
    made = [_seconds(job.metadata.creation_timestamp)] if job else []
    made += [_seconds(pod.metadata.creation_timestamp) for pod in pods]
    placed = [_placed_at(pod) for pod in pods]
    begin = min((at for at in made if at is not None), default=None)
    known = [at for at in placed if at is not None]
    if begin is None or not known or len(known) < len(placed):
        return None
    return max(max(known) - begin, 0.0)


def _placed_at(pod: SeenPod) -> float | None:
    condition = pod.condition("PodScheduled")
    if condition is None or condition.status != "True":
        return None
    return _seconds(condition.last_transition_time)


def _seconds(text: str | None) -> float | None:
    try:
        return datetime.fromisoformat(text or "").timestamp()
    except ValueError:
        return None
