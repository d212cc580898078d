"""Objects that somebody deletes while no watch reports it: the run ends, and says what was deleted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from backends.kubernetes.conftest import Clock, Happenings, begin, seen, wait_for, wait_until
from backends.kubernetes.simulated_api import SimulatedApiServer
from backends.kubernetes.test_queued_pods import FULL
from backends.kubernetes.test_scheduler_faults import unscheduled
from tare.core.scheduler import JobResult, Task
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler

Make = Callable[..., Task]


def delete_unseen(api: SimulatedApiServer) -> None:
    """Delete the job and its pods while all watches are away, and forget the history."""
    with api.changed:
        for key in [key for key in api.objects if key[0] in {"mpijobs", "jobs", "pods"}]:
            del api.objects[key]
    api.forget()


def end(scheduler: KubernetesScheduler, clock: Clock, task: Task) -> JobResult:
    wait_until(scheduler, lambda: seen(scheduler, task).gone_since is not None)
    clock.ahead += 11
    (result,) = wait_for(scheduler)
    assert result.exit.fault is None
    return result


def test_a_queued_job_that_was_deleted_unseen_is_not_waited_for(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    one = task()
    scheduler.submit([one])
    happen.workers(**unscheduled(FULL))
    wait_until(scheduler, lambda: len((it := seen(scheduler, one)).pods) == 2 and it.seen is not None)
    delete_unseen(api)
    assert end(scheduler, clock, one).reason == "its MPIJob was deleted from outside"


def test_a_suspended_job_that_was_deleted_unseen_is_not_waited_for(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    one = task()
    scheduler.submit([one])
    job = happen.job()
    api.apply("mpijobs", {**job, "spec": {**job["spec"], "runPolicy": {"suspend": True}}})
    wait_until(scheduler, lambda: (known := seen(scheduler, one).seen) is not None and known.is_suspended)
    delete_unseen(api)
    assert end(scheduler, clock, one).reason == "its MPIJob was deleted from outside"


def test_workers_that_were_deleted_unseen_are_no_pods_that_wait(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    one = task()
    scheduler.submit([one])
    happen.workers(**unscheduled(FULL))
    wait_until(scheduler, lambda: len(seen(scheduler, one).pods) == 2)
    with api.changed:
        for name in [name for kind, name in api.objects if kind == "pods"]:
            del api.objects["pods", name]
    api.forget()
    wait_until(scheduler, lambda: not seen(scheduler, one).pods)
    happen.succeed()
    (result,) = wait_for(scheduler)
    assert result.exit.code == 0


@pytest.mark.parametrize("has_pods", [False, True])
def test_what_was_deleted_is_named(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock,
    has_pods: bool,
) -> None:  # fmt: skip
    one = task()
    if has_pods:
        begin(scheduler, happen, one)
    else:
        scheduler.submit([one])
        wait_until(scheduler, lambda: seen(scheduler, one).seen is not None)
    (name,) = api.names("mpijobs")
    api._delete("mpijobs", name)
    wait_until(scheduler, lambda: seen(scheduler, one).is_job_gone)  # its pods may be heard of first
    assert end(scheduler, clock, one).reason == "its MPIJob was deleted from outside"
