"""A cluster to test against: a simulated one, in which a test says what happens."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from backends.kubernetes.local_pods import pods, workers  # noqa: F401  # fixtures
from backends.kubernetes.sent_results import packed, probe
from backends.kubernetes.simulated_api import Doc, SimulatedApiServer
from backends.kubernetes.situations import BASE, Situation
from tare.core.scheduler import JobResult, Task
from tare.plugins.backends.kubernetes.api.cluster import Cluster
from tare.plugins.backends.kubernetes.objects.naming import object_name
from tare.plugins.backends.kubernetes.scheduling.in_flight_job import InFlightJob
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler

PATIENCE_S = 20.0

Make = Callable[..., Task]
Tell = Callable[..., None]
_numbers = itertools.count(1)


class Happenings:
    """Lets pods of tasks happen in a simulated cluster, as the operator and kubelets would."""

    def __init__(self, api: SimulatedApiServer) -> None:
        self.api = api

    def job(self, plural: str = "mpijobs", number: int = 0) -> Doc:
        return self.api.objects[plural, self.api.names(plural)[number]]

    def workers(self, job: Doc | None = None, **status: Any) -> None:
        """Make the workers of a job, or change them; by default they are ready, on w1, w2, …"""
        job = job or self.job()
        replicas = job["spec"]["mpiReplicaSpecs"]["Worker"]
        for number in range(replicas["replicas"]):
            known: Doc = {"node": f"w{number + 1}", **(status or READY)}
            name = f"{job['metadata']['name']}-worker-{number}"
            self.api.pod(name, job, replicas["template"], **known)

    def launcher(self, job: Doc | None = None, **status: Any) -> str:
        """Make the launcher of a job, or change it; by default it runs. Return its name."""
        job = job or self.job()
        name = f"{job['metadata']['name']}-launcher-x7k2p"
        template = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]
        self.api.pod(name, job, template, **{"node": "w1", **(status or RUNNING)})
        return name

    def succeed(
        self,
        job: Doc | None = None,
        files: dict[str, str] | None = None,
        code: int = 0,
        seconds: float = 2.5,
        launcher_node: str = "w1",
    ) -> None:
        """Let a job run to its end, and leave the record of two nodes with two ranks each."""
        self.workers(job=job)
        name = self.launcher(job, **RUNNING, node=launcher_node)
        self.api.logs[name] = packed(record(code, seconds) | (files or {}))
        self.launcher(job, **over(code), node=launcher_node)


def record(code: int = 0, seconds: float = 2.5) -> dict[str, str]:
    """Return the files of a task of two nodes that came to its end."""
    result = f"began 100.5\nstep run {code} 101.0 {101 + seconds}\n"
    files = {"landed": result, "stdout": "value: 1.0\n"}
    for number, node in enumerate(("w1", "w2")):
        files[f"before.{number}"] = probe(node)
        files[f"after.{number}"] = probe(node, {2 * number: node, 2 * number + 1: node})
    return files


READY: Doc = {
    "phase": "Running",
    "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}],
    "containerStatuses": [{"ready": True, "state": {"running": {"startedAt": "x"}}}],
}
RUNNING: Doc = {"phase": "Running", "containerStatuses": [{"state": {"running": {"startedAt": "x"}}}]}


def over(code: int = 0, reason: str = "Error", message: str = "") -> Doc:
    state = {"exitCode": code, "reason": "Completed" if code == 0 else reason, "message": message}
    return {
        "phase": "Succeeded" if code == 0 else "Failed",
        "containerStatuses": [{"state": {"terminated": state}}],
    }


class Clock:
    """Stands for time; watches and tests use the real one. A wait counts `pace` times."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self.pace = 1

    def __call__(self) -> float:
        return time.monotonic() + self.ahead

    def sleep(self, seconds: float) -> None:
        self.ahead += seconds * self.pace
        time.sleep(0.01)


@pytest.fixture
def api() -> Iterator[SimulatedApiServer]:
    server = SimulatedApiServer()
    yield server
    server.stop()


@pytest.fixture
def happen(api: SimulatedApiServer) -> Happenings:
    return Happenings(api)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def situation(api: SimulatedApiServer, tmp_path: Path) -> Situation:
    return BASE.with_options(kubeconfig=str(api.kubeconfig(tmp_path)))


@pytest.fixture
def make_scheduler(
    situation: Situation, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], KubernetesScheduler]]:
    # Where no news comes, as after `clock` was set forward, none is worth a second's wait.
    monkeypatch.setattr("tare.plugins.backends.kubernetes.scheduling.informer._PATIENCE_S", 0.05)
    made: list[KubernetesScheduler] = []

    def make() -> KubernetesScheduler:
        cluster = Cluster.connect(situation.options)
        made.append(KubernetesScheduler(cluster, "ca", lambda platform: "", clock=clock, sleep=clock.sleep))
        return made[-1]

    yield make
    for one in made:
        one.abandon_watches()


@pytest.fixture
def scheduler(make_scheduler: Callable[[], KubernetesScheduler]) -> KubernetesScheduler:
    return make_scheduler()


@pytest.fixture
def task(situation: Situation, tmp_path: Path) -> Callable[..., Task]:
    def make(run: str = "1.1", of: Situation = situation) -> Task:
        options = msgspec.structs.replace(of.options, kubeconfig=situation.options.kubeconfig)
        folder = tmp_path / "attempts" / "ab12" / run
        folder.mkdir(parents=True)
        (folder / "in").mkdir()
        (folder / "in" / "mesh.txt").write_text("4 4\n")
        return of._replace(options=options).task(folder)

    return make


@pytest.fixture
def tell(api: SimulatedApiServer) -> Tell:
    """Let an event happen, about the one job unless another thing is named."""

    def tell_one(
        reason: str, message: str, kind: str = "MPIJob", name: str = "", of: str = "Warning"
    ) -> None:
        job = (api.names("mpijobs") or api.names("jobs"))[0]
        about = {"kind": kind, "name": name or job}
        meta = {"name": f"{job}.{next(_numbers)}"}
        event: Doc = {"metadata": meta, "type": of, "reason": reason, "message": message}
        api.apply("events", {**event, "involvedObject": about})

    return tell_one


@pytest.fixture
def reports(scheduler: KubernetesScheduler) -> list[str]:
    """What the scheduler reports of waits, in order."""
    found: list[str] = []
    scheduler.report_waits(lambda names, reason: found.append(reason))
    return found


def forbidden(why: str) -> str:
    """Return the message of a job whose worker is refused."""
    return f'worker pod created failed: pods "x-worker-0" is forbidden: {why}'


def wait_for(scheduler: KubernetesScheduler, count: int = 1) -> list[JobResult]:
    """Return what lands, once `count` tasks have."""
    found: list[JobResult] = []
    end = time.monotonic() + PATIENCE_S
    while len(found) < count:
        found += scheduler.wait()
        assert time.monotonic() < end, f"only {len(found)} of {count} landed"
    return found


def wait_until(scheduler: KubernetesScheduler, is_so: Callable[[], object]) -> None:
    """Let the scheduler work until `is_so`; nothing may land meanwhile."""
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert scheduler.wait() == []
        assert time.monotonic() < end


def begin(scheduler: KubernetesScheduler, happen: Happenings, task: Task) -> str:
    """Submit a task; return the name of its launcher once the scheduler has seen that and both workers."""
    scheduler.submit([task])
    happen.workers()
    launcher = happen.launcher()
    wait_until(scheduler, lambda: len(seen(scheduler, task).pods) == 3)
    return launcher


def seen(scheduler: KubernetesScheduler, task: Task) -> InFlightJob:
    """Return what the scheduler has seen of a task so far: the next thing happens after it."""
    return scheduler._jobs[object_name(task)]
