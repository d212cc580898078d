"""Runs whose workers hold all nodes, so that no launcher of theirs has one: one makes room for the others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from backends.kubernetes.conftest import Clock, Happenings, seen, wait_for, wait_until
from backends.kubernetes.test_scheduler_faults import unscheduled
from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler

Make = Callable[..., Task]
KEPT_AWAY = (
    "0/4 nodes are available: 4 node(s) didn't match pod anti-affinity rules. no new claims to deallocate, "
    "preemption: 0/4 nodes are available: 4 No preemption victims found for incoming pod."
)


@pytest.fixture
def both(scheduler: KubernetesScheduler, happen: Happenings, task: Make) -> list[Task]:
    """Return two runs whose workers are ready, and whose launchers have no node."""
    every = [task("1.1"), task("2.1")]
    scheduler.submit(every)
    for number in (0, 1):
        happen.workers(happen.job(number=number))
        happen.launcher(happen.job(number=number), **unscheduled(KEPT_AWAY))
    for one in every:
        wait_until(scheduler, lambda one=one: len(seen(scheduler, one).pods) == 3)  # type: ignore[misc]
    return every


def test_one_of_two_runs_whose_launchers_starve_each_other_makes_room(
    scheduler: KubernetesScheduler, happen: Happenings, both: list[Task], clock: Clock
) -> None:
    clock.ahead += 31
    (ended,) = wait_for(scheduler)
    assert ended.exit.fault is not None
    assert "2 runs hold all nodes that their launchers may have" in ended.exit.fault
    assert "in_flight" in ended.exit.fault
    (left,) = (one for one in both if one.name != ended.name)
    clock.ahead += 31
    assert scheduler.wait() == [], "it is alone now, and waits for the nodes of the other"
    number = both.index(left)
    happen.succeed(happen.job(number=number if len(happen.api.names("mpijobs")) == 2 else 0))
    (result,) = wait_for(scheduler)
    assert (result.name, result.exit.code) == (left.name, 0)


def test_a_launcher_that_waits_beside_a_run_that_goes_on_waits_for_its_end(
    scheduler: KubernetesScheduler, happen: Happenings, both: list[Task], clock: Clock
) -> None:
    happen.launcher(happen.job(number=0))
    wait_until(scheduler, lambda: seen(scheduler, both[0]).starter.state.running)  # type: ignore[union-attr]
    clock.ahead += 60
    assert scheduler.wait() == []


def test_launchers_that_wait_for_anything_else_are_not_stopped(
    scheduler: KubernetesScheduler, happen: Happenings, both: list[Task], clock: Clock
) -> None:
    for number in (0, 1):
        happen.launcher(happen.job(number=number), **unscheduled())
    wait_until(scheduler, lambda: "untolerated" in str(seen(scheduler, both[1]).pods))
    clock.ahead += 60
    assert scheduler.wait() == []
