"""A busy API server says when it wants to be asked again (429 with Retry-After): then, and not before."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable

import pytest

from backends.kubernetes.conftest import Clock
from backends.kubernetes.simulated_api import SimulatedApiServer
from backends.kubernetes.situations import Situation
from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.api.cluster import PODS, Cluster, Outage, Refusal
from tare.plugins.backends.kubernetes.api.watching import News, ObjectWatch
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler

BUSY = (429, "too many requests, please try again later")


@pytest.mark.parametrize(
    ("said", "least_s", "most_s"),
    [("9", 9, 30), ("", 2, 9), ("86400", 60, 90), ("Fri, 31 Dec 1999 23:59:59 GMT", 2, 9), ("-1", 2, 9)],
)
def test_a_request_is_sent_again_when_the_server_says(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, task: Callable[..., Task], clock: Clock,
    said: str, least_s: float, most_s: float,
) -> None:  # fmt: skip
    api.refusals["POST .*/mpijobs"], api.retry_after = BUSY, said
    reports: list[str] = []

    def take(reason: str) -> None:
        reports.append(reason)
        api.refusals.clear()

    scheduler.report_waits(lambda names, reason: take(reason))
    scheduler.submit([task()])
    assert least_s <= clock.ahead <= most_s
    assert "429: too many requests" in reports[0]
    assert api.names("mpijobs") == ["tare-ca-ab12-1-1"]


def test_a_watch_is_begun_again_when_the_server_says(api: SimulatedApiServer, situation: Situation) -> None:
    api.refusals["pods"], api.retry_after = BUSY, "60"
    cluster = Cluster.connect(situation.options)
    news: queue.Queue[News] = queue.Queue()
    watch = ObjectWatch(cluster, PODS, "", news)
    watch.start()
    news.get(timeout=20)
    time.sleep(1.5)
    watch.end()
    cluster.close()
    assert sum("pods" in one for one in api.requests) == 1


def test_a_right_that_is_missing_is_missing_though_the_server_was_busy(
    api: SimulatedApiServer, situation: Situation
) -> None:
    """A server that was away may not have loaded rights; one that was busy has."""
    cluster = Cluster.connect(situation.options)
    api.refusals["pods"] = BUSY
    with pytest.raises(Outage):
        cluster.list_all(PODS)
    api.refusals["pods"] = (403, 'pods is forbidden: User "u" cannot list resource "pods"')
    with pytest.raises(Refusal):
        cluster.list_all(PODS)
    cluster.close()
