"""Watches that a server or a proxy ends at once: they go on, and ask no more often than that helps."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from backends.kubernetes.conftest import Clock, Happenings, begin, wait_until
from backends.kubernetes.simulated_api import SimulatedApiServer
from backends.kubernetes.test_lost_nodes import node
from tare.core.errors import BackendError
from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.api.cluster import PODS, Gone, Resource
from tare.plugins.backends.kubernetes.api.watching import News, ObjectWatch
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler

EXPIRED = b'{"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}'
BROKEN = b'{"type": "ERROR", "object": {"kind": "Status", "code": 500, "message": "etcdserver: no leader"}}'


class HastyCluster:
    """Stands for a cluster that ends each watch at once, with these lines."""

    def __init__(self, *lines: bytes, is_gone: bool = False) -> None:
        self.lines, self.is_gone = lines, is_gone
        self.n_asked = 0

    def list_all(self, resource: Resource, selector: str) -> tuple[list[msgspec.Raw], str]:
        self.n_asked += 1
        return [], "7"

    def watch(self, resource: Resource, selector: str, version: str) -> Iterator[bytes]:
        self.n_asked += 1
        if self.is_gone:
            raise Gone
        yield from self.lines


@pytest.mark.parametrize(
    "cluster",
    [HastyCluster(), HastyCluster(EXPIRED), HastyCluster(BROKEN), HastyCluster(is_gone=True)],
    ids=["ended", "expired", "broken", "gone"],
)
def test_a_watch_that_ends_at_once_is_begun_again_with_growing_delays(cluster: Any) -> None:
    news: queue.Queue[News] = queue.Queue()
    watch = ObjectWatch(cluster, PODS, "", news)
    watch.start()
    time.sleep(2)
    watch.end()
    watch.join(20)
    assert 3 <= cluster.n_asked <= 20


@pytest.mark.slow
def test_one_kind_that_is_never_served_ends_the_session_though_all_others_are(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Callable[..., Task],
    clock: Clock, reports: list[str],
) -> None:  # fmt: skip
    """As where a conversion webhook of one kind is broken: nothing would be judged, without limit."""
    begin(scheduler, happen, task())
    api.refusals["GET .*/mpijobs"] = (500, "conversion webhook for kubeflow.org/v2, Kind=MPIJob failed")
    api.forget()
    wait_until(scheduler, lambda: reports)

    def go_on() -> None:
        for _ in range(400):
            api.apply("nodes", node("w1"))  # all else goes on
            scheduler.wait()
            clock.ahead += 20

    with pytest.raises(BackendError, match="conversion webhook"):
        go_on()
    assert [one for one in reports if not one] == [], "it is not over before it is"
