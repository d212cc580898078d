"""A task waits in the queue until its last worker has a node, and no longer."""

from __future__ import annotations

import msgspec

from tare.plugins.backends.kubernetes.diagnosis.queueing import queued_s
from tare.plugins.backends.kubernetes.objects import naming
from tare.plugins.backends.kubernetes.objects.observed import SeenJob, SeenPod


def pod(role: str, made: str, placed: str | None) -> SeenPod:
    conditions = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": placed}]
    if placed is None:
        conditions = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
    content = {
        "metadata": {"name": role, "creationTimestamp": made, "labels": {naming.ROLE: role}},
        "status": {"conditions": conditions},
    }
    return msgspec.convert(content, SeenPod)


def job(made: str) -> SeenJob:
    return msgspec.convert({"metadata": {"name": "j", "creationTimestamp": made}}, SeenJob)


WORKERS = [
    pod("worker", "2026-11-23T07:00:10Z", "2026-11-23T07:00:11Z"),
    pod("worker", "2026-11-23T07:00:10Z", "2026-11-23T07:00:40Z"),
]
LAUNCHER = pod("launcher", "2026-11-23T07:00:50Z", "2026-11-23T07:00:50Z")


def test_the_queue_lasts_from_the_job_to_its_last_worker_and_not_to_its_launcher() -> None:
    assert queued_s([*WORKERS, LAUNCHER], job("2026-11-23T07:00:00Z")) == 40.0


def test_a_pod_that_runs_alone_waits_for_itself() -> None:
    assert queued_s([LAUNCHER], None) == 0.0


def test_nothing_is_known_of_what_never_had_a_node_or_of_damaged_times() -> None:
    never = pod("worker", "2026-11-23T07:00:10Z", None)
    assert queued_s([*WORKERS, never], job("2026-11-23T07:00:00Z")) is None
    assert queued_s([pod("worker", "yesterday", "2026-11-23T07:00:40Z")], None) is None
    assert queued_s([], job("2026-11-23T07:00:00Z")) is None
