"""Answers that an API server, or a proxy before it, should not give: no hang, and nobody wrongly blamed."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from backends.kubernetes.conftest import (
    READY,
    RUNNING,
    Clock,
    Happenings,
    Tell,
    begin,
    over,
    record,
    seen,
    wait_for,
    wait_until,
)
from backends.kubernetes.sent_results import packed
from backends.kubernetes.simulated_api import Doc, SimulatedApiServer
from backends.kubernetes.situations import SITUATIONS, Situation
from tare.core.errors import BackendError
from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.api.cluster import PODS, Cluster, Outage, Refusal
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler

Make = Callable[..., Task]


def answering(api: SimulatedApiServer, monkeypatch: pytest.MonkeyPatch, answer: Callable[[int], Any]) -> None:
    """Let each list be what `answer` returns for its number."""
    numbers = iter(range(10_000))

    def serve(*request: object) -> tuple[int, bytes]:
        return 200, json.dumps(answer(next(numbers))).encode()

    monkeypatch.setattr(api, "serve", serve)


@pytest.mark.parametrize(
    "answer",
    [
        lambda number: {"metadata": {"continue": "again"}, "items": []},
        lambda number: {"metadata": {"continue": f"again {number % 2}"}, "items": []},
    ],
    ids=["one token", "two in turn"],
)
def test_a_list_whose_pages_never_end_is_an_outage(
    api: SimulatedApiServer,
    situation: Situation,
    monkeypatch: pytest.MonkeyPatch,
    answer: Callable[[int], Doc],
) -> None:
    answering(api, monkeypatch, answer)
    cluster = Cluster.connect(situation.options)
    with pytest.raises(Outage, match="a page that it has sent before"):
        cluster.list_all(PODS)
    cluster.close()


@pytest.mark.parametrize("document", [{"metadata": {}, "items": None}, {"metadata": None, "items": []}, {}])
def test_a_list_of_nothing_may_be_null(
    api: SimulatedApiServer, situation: Situation, monkeypatch: pytest.MonkeyPatch, document: Doc
) -> None:
    """Go writes a list that was never filled as null."""
    answering(api, monkeypatch, lambda number: document)
    cluster = Cluster.connect(situation.options)
    assert cluster.list_all(PODS)[0] == []
    cluster.close()


@pytest.mark.parametrize("status", [408, 410, 429, 500, 502, 503, 504, 507, 520, 529])
def test_a_list_that_may_be_served_later_is_asked_for_again(
    api: SimulatedApiServer, situation: Situation, status: int
) -> None:
    """Proxies have codes of their own for a server that they do not reach; 410 is an expired list."""
    api.refusals["GET .*/pods"] = (status, "not now")
    cluster = Cluster.connect(situation.options)
    with pytest.raises(Outage):
        cluster.list_all(PODS)
    cluster.close()


def dribble(connection: socket.socket) -> None:
    """Send an answer that goes on for ever, a byte at a time."""
    with connection, suppress(OSError):
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n{")
        while True:
            time.sleep(0.02)
            connection.sendall(b" ")


def test_an_answer_that_goes_on_for_ever_is_an_outage(
    situation: Situation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No time-out of its parts ends it: each of them comes at once."""
    monkeypatch.setattr("tare.plugins.backends.kubernetes.api.reading.LONGEST_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=lambda: dribble(server.accept()[0]), daemon=True).start()
        port = server.getsockname()[1]
        config = Path(str(situation.options.kubeconfig))
        config.write_text(re.sub(r"http://127\.0\.0\.1:\d+", f"http://127.0.0.1:{port}", config.read_text()))
        cluster = Cluster.connect(situation.options)
        with pytest.raises(Outage, match=r"its answer takes longer than 0\.5 s"):
            cluster.list_all(PODS)
        cluster.close()


@pytest.mark.parametrize("status", [400, 403, 404, 405, 422, 501, 505])
def test_a_list_that_will_never_be_served_is_refused(
    api: SimulatedApiServer, situation: Situation, status: int
) -> None:
    api.refusals["GET .*/pods"] = (status, "no")
    cluster = Cluster.connect(situation.options)
    with pytest.raises(Refusal):
        cluster.list_all(PODS)
    cluster.close()


def api_suspends(api: SimulatedApiServer) -> bool:
    [name] = api.names("mpijobs")
    return bool(api.objects["mpijobs", name]["spec"]["runPolicy"].get("suspend"))


def test_pods_whose_phases_go_back_and_forth_end_as_their_program_did(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    one = task()
    launcher = begin(scheduler, happen, one)
    for phase in ("Pending", "", "Odd", "Running"):
        status: Doc = {"phase": phase}
        happen.launcher(**status)
        happen.workers(**{**READY, **status})
        assert scheduler.wait() == []
    assert launcher in api.names("pods")
    happen.succeed()
    (result,) = wait_for(scheduler)
    assert (result.exit.code, result.reason, result.problems) == (0, "", ())


@pytest.mark.parametrize("is_first_deleted", [False, True])
def test_a_second_launcher_that_a_controller_made_and_deletes_ends_no_run(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock,
    is_first_deleted: bool,
) -> None:  # fmt: skip
    """The controller of Jobs makes one when the API server ended before it answered."""
    one = task()
    first = begin(scheduler, happen, one)
    job = happen.job()
    template = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]
    second = f"{job['metadata']['name']}-launcher-second"
    api.pod(second, job, template, node="w2", **RUNNING)
    wait_until(scheduler, lambda: len(seen(scheduler, one).pods) == 4)
    gone, stays = (first, second) if is_first_deleted else (second, first)
    pod = api.objects["pods", gone]
    ending = {**pod["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    api.logs[gone] = b"words\n"
    api.apply("pods", {**pod, "metadata": ending, "status": over(143)})
    wait_until(scheduler, lambda: seen(scheduler, one).pods[gone].metadata.deletion_timestamp)
    api.remove("pods", gone)
    wait_until(scheduler, lambda: len(seen(scheduler, one).pods) == 3)
    clock.ahead += 11
    assert scheduler.wait() == []
    api.logs[stays] = packed(record())
    api.pod(stays, job, template, **over(0))
    (result,) = wait_for(scheduler)
    assert (result.exit.code, result.reason, result.problems) == (0, "", ())


@pytest.mark.parametrize("is_resumed", [False, True])
def test_a_run_that_was_suspended_is_not_said_to_be_deleted_by_somebody(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock,
    is_resumed: bool,
) -> None:  # fmt: skip
    """A queue may resume a job, for want of others, before the end of its pods is judged."""
    one = task()
    begin(scheduler, happen, one)
    job = happen.job()
    for suspend in (True, False) if is_resumed else (True,):
        policy = {**job["spec"]["runPolicy"], "suspend": suspend}
        api.apply("mpijobs", {**job, "spec": {**job["spec"], "runPolicy": policy}})
        wait_until(scheduler, lambda: seen(scheduler, one).is_suspended == api_suspends(api))
    for name in api.names("pods"):
        api.remove("pods", name)
    wait_until(scheduler, lambda: seen(scheduler, one).gone_since is not None)
    clock.ahead += 11
    (result,) = wait_for(scheduler)
    assert result.exit.fault == "its job was suspended while it ran"


def test_a_suspended_job_of_the_launcher_is_named(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock,
    tell: Tell,
) -> None:  # fmt: skip
    """As by a queue that takes all Jobs of a namespace, those of the MPI Operator as well."""
    one = task()
    scheduler.submit([one])
    happen.workers()
    name = f"{api.names('mpijobs')[0]}-launcher"
    tell("Suspended", "Job suspended", kind="Job", name=name, of="Normal")
    wait_until(scheduler, lambda: len((it := seen(scheduler, one)).pods) == 2 and it.events)
    clock.ahead += 121
    (result,) = wait_for(scheduler)
    assert result.exit.fault == f"waited 120 s for its launcher: Job {name} is suspended"


def test_a_launcher_that_is_evicted_before_it_begins_is_the_infrastructures_fault(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    scheduler.submit([task()])
    happen.workers()
    evicted: Doc = {"reason": "Evicted", "message": "The node was low on resource: ephemeral-storage."}
    happen.launcher(phase="Failed", containerStatuses=[], **evicted)
    (result,) = wait_for(scheduler)
    assert "low on resource" in str(result.exit.fault)


def test_a_quota_that_becomes_too_small_meanwhile_ends_the_run_that_waits_for_it(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    text = "exceeded quota: few, requested: count/jobs.batch=1, used: count/jobs.batch=2, limited: "
    api.refusals["POST .*/jobs"] = (403, f"{text}count/jobs.batch=2")
    one = task(of=SITUATIONS["one-node"])
    scheduler.submit([one])
    assert scheduler.wait() == []
    assert "exceeded quota" in seen(scheduler, one).waits_for
    api.refusals["POST .*/jobs"] = (403, f"{text}count/jobs.batch=0")
    clock.ahead += 11
    (result,) = wait_for(scheduler)
    assert "the run takes count/jobs.batch=1, and quota few allows 0" in result.reason
    assert "ask for more quota" in result.reason


@pytest.mark.parametrize(
    "name", ["../../../escape", "x\x1b[2Jy", "a/b", "x\ny", "", "ü", "x" * 300, "-x", "X"]
)
def test_a_pod_with_an_impossible_name_ends_the_session_and_writes_nothing_by_that_name(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, name: str
) -> None:
    one = task()
    launcher = begin(scheduler, happen, one)
    worker = api.objects["pods", f"{launcher.partition('-launcher')[0]}-worker-0"]
    api.apply("pods", {**worker, "metadata": {**worker["metadata"], "name": name}, "status": over(255)})
    with pytest.raises(BackendError, match="a name that no pod can have") as caught:
        wait_for(scheduler)
    assert str(caught.value).isprintable()
    assert not list(one.folder.parents[2].rglob("*escape*"))
