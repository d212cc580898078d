"""Watches that a server or a proxy ends at once: they go on, and ask no more often than that helps."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tare.plugins.backends.kubernetes.api.cluster import PODS, Gone, Resource
from tare.plugins.backends.kubernetes.api.watching import News, ObjectWatch

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
