"""A busy API server says when it wants to be asked again (429 with Retry-After): then, and not before."""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from backends.kubernetes.conftest import Clock
from backends.kubernetes.sent_results import listed, sent_lines, tarred
from backends.kubernetes.simulated_api import SimulatedApiServer
from backends.kubernetes.situations import Situation
from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.api.cluster import PODS, Cluster, Outage, Refusal
from tare.plugins.backends.kubernetes.api.watching import News, ObjectWatch
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler
from tare.plugins.backends.kubernetes.transfer.fetching import fetch
from tare.plugins.backends.kubernetes.transfer.receiving import Receiver

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


@pytest.mark.parametrize(("said", "waits_s"), [("9", [9.0, 9.0]), ("", [2.0, 4.0]), ("86400", [60.0, 60.0])])
def test_a_file_in_a_pod_is_asked_for_again_when_the_server_says(
    api: SimulatedApiServer, situation: Situation, tmp_path: Path, said: str, waits_s: list[float]
) -> None:
    api.refusals["GET .*/exec"], api.retry_after = BUSY, said
    cluster = Cluster.connect(situation.options)
    receiver = Receiver(tmp_path, "launcher", set(), 2**30)
    for line in sent_lines(listed({"large": b"x" * 9}), tarred({}), waits="yes").splitlines(keepends=True):
        receiver.take(line)
    slept: list[float] = []
    with pytest.raises(Outage, match="429") as caught:
        fetch(cluster, "pod", receiver, lambda: False, slept.append)
    cluster.close()
    assert slept == waits_s
    assert caught.value.retry_after_s == float(min(int(said or 0), 60)), "whoever tries later waits as well"


def test_a_file_whose_transfer_goes_on_is_not_asked_for_at_once_where_the_server_is_busy(
    api: SimulatedApiServer, situation: Situation, tmp_path: Path
) -> None:
    cluster = Cluster.connect(situation.options)
    api.files["/tare/work/large"] = data = os.urandom(100_000)
    api.exec_cuts, api.retry_after = [50_000], "9"
    receiver = Receiver(tmp_path, "launcher", set(), 2**30)
    for line in sent_lines(listed({"large": data}), tarred({}), waits="yes").splitlines(keepends=True):
        receiver.take(line)
    slept: list[float] = []
    fetch(cluster, "pod", receiver, lambda: False, slept.append)
    cluster.close()
    assert receiver.lacks() == []
    assert slept == [0.0], "a connection that was cut is no wish of the server"
