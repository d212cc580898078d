"""A double of the MPI Operator v0.8.2: watches MPIJobs, and makes what they ask for.

    python -m kubelab.operator --kubeconfig FILE

Three threads watch, and several reconcile, a job each. Its state is the cluster's, so that it may be killed
and started again. What sets it apart: one pair of ssh keys for all jobs, and no gang scheduling.
"""

from __future__ import annotations

import argparse
import queue
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import NamedTuple, TypeVar

import msgspec

from kubelab import mpijob_objects as objects
from kubelab.mpijob import CONTROLLER, JOB_NAME, OPERATOR, REPLICA_INDEX, Doc, Meta, MpiJob, Status, faults
from kubelab.mpijob_status import Launcher, Pod, begun, told
from tare.backends.kubernetes.cluster import JOBS, MPI_JOBS, PODS, Cluster, Outage, Refusal, Resource
from tare.backends.kubernetes.watching import Change, News, Silence, Snapshot, Watch
from tare.model.kubernetes import KubernetesOptions

_RETRY_S = 1.0
_AT_ONCE = 6  # jobs, between which nothing is shared
_CONFLICT, _NOT_FOUND = 409, 404
_MOST_MESSAGE = 1024  # bytes that an Event's note holds
_SELECTOR = {MPI_JOBS: "", PODS: OPERATOR, JOBS: JOB_NAME}
_PLURALS = {
    "Service": "services",
    "ConfigMap": "configmaps",
    "Secret": "secrets",
    "Pod": "pods",
    "Job": "jobs",
}

Key = tuple[str, str]
_Name = TypeVar("_Name")
_Thing = TypeVar("_Thing")


class Seen(NamedTuple):
    """What the cluster has: jobs, their launchers, and their pods by name."""

    jobs: dict[Key, MpiJob]
    launchers: dict[Key, Launcher]
    pods: dict[Key, dict[str, Pod]]


class MpiOperator:
    """Brings what a cluster has to what its MPIJobs ask for."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._news: queue.Queue[News] = queue.Queue()
        self._seen = Seen({}, {}, {})
        self._due: set[Key] = set()
        self._discovered: dict[Key, tuple[str, ...]] = {}
        self._refused: set[str] = set()
        self._pool = ThreadPoolExecutor(_AT_ONCE)

    def run(self, ended: threading.Event) -> None:
        """Reconcile until `ended`."""
        watches = [
            Watch(self._cluster, one._replace(is_namespaced=False), selector, self._news)
            for one, selector in _SELECTOR.items()
        ]
        for watch in watches:
            watch.start()
        while not ended.is_set():
            self._hear()
            self._reconcile_due()
        for watch in watches:
            watch.end()
        self._cluster.close()

    def _hear(self) -> None:
        """Wait for news, and take in all that there are: what several say of a job is looked at once."""
        with suppress(queue.Empty):
            self._take(self._news.get(timeout=_RETRY_S))
            while True:
                self._take(self._news.get_nowait())

    def _take(self, news: News) -> None:
        match news:
            case Silence(is_final=True):
                raise news.error
            case Silence():
                return
            case Change(resource, is_deleted, content):
                self._note(resource, content, is_deleted=is_deleted)
            case Snapshot(resource, items):
                self._forget(resource)
                for item in items:
                    self._note(resource, item, is_deleted=False)

    def _forget(self, resource: Resource) -> None:
        """Forget objects of a kind, since a list of all that there are follows."""
        jobs, launchers, pods = self._seen
        self._due |= jobs.keys()
        match resource.plural:
            case MPI_JOBS.plural:
                jobs.clear()
            case JOBS.plural:
                launchers.clear()
            case _:
                pods.clear()

    def _note(self, resource: Resource, content: msgspec.Raw, *, is_deleted: bool) -> None:
        """Take note of an object; its job is to be looked at."""
        if resource.plural == MPI_JOBS.plural:
            try:
                job = msgspec.json.decode(content, type=MpiJob)
            except msgspec.ValidationError:  # which the API's schema let through; the operator stumbles too
                return
            key = job.metadata.key
            _keep(self._seen.jobs, key, job, is_deleted=is_deleted)
            if is_deleted:
                self._discovered.pop(key, None)
        elif resource.plural == JOBS.plural:
            launcher = msgspec.json.decode(content, type=Launcher)
            key = launcher.metadata.job
            _keep(self._seen.launchers, key, launcher, is_deleted=is_deleted)
        else:
            pod = msgspec.json.decode(content, type=Pod)
            key = pod.metadata.job
            _keep(self._seen.pods.setdefault(key, {}), pod.metadata.name, pod, is_deleted=is_deleted)
        self._due.add(key)

    def _reconcile_due(self) -> None:
        due, self._due = self._due, set()
        for _ in self._pool.map(self._reconcile_one, sorted(due)):
            pass

    def _reconcile_one(self, key: Key) -> None:
        job = self._seen.jobs.get(key)
        if job is None or job.metadata.deletion_timestamp or job.spec.run_policy.managed_by != CONTROLLER:
            return
        try:
            self._reconcile(job)
        except Outage:
            self._due.add(key)
        except Refusal as refusal:  # such as a quota; the operator tries again too
            if refusal.status != _NOT_FOUND:
                self._due.add(key)

    def _reconcile(self, job: MpiJob) -> None:
        """Do for `job` what is to be done next, in the order of the operator."""
        found = list(faults(job))
        if found:
            self._refuse(job, found)
            return
        if job.status.is_finished and job.status.completion_time is not None:
            self._clean(job, job.spec.run_policy.clean_pod_policy)
            return
        status = begun(job, _now())
        launcher = self._seen.launchers.get(job.metadata.key)
        if launcher is None or not launcher.is_finished:
            launcher = self._provide(job, launcher)
        if launcher is not None and launcher.spec.suspend != job.is_suspended:
            self._patch(JOBS, launcher.metadata, {"spec": {"suspend": job.is_suspended}})
        if job.is_suspended:
            self._clean(job, "All")
        self._tell(job, told(job, status, launcher, list(self._pods(job)), _now()))

    def _provide(self, job: MpiJob, launcher: Launcher | None) -> Launcher | None:
        """Make what is missing; return the launcher's Job, None while it is too early for it.

        Of a suspended job no worker is counted, so none is waited for: its launcher is made, suspended.
        """
        if job.metadata.key not in self._discovered:
            self._create(objects.service(job))
            self._create(objects.secret(job, self._keys))
        workers = {pod.metadata.name: pod for pod in self._pods(job) if pod.is_worker}
        self._discover(job, workers)
        if not job.is_suspended:
            for number in range(job.n_workers):
                if job.worker_name(number) not in workers:
                    self._make_worker(job, number)
        n_wanted = 0 if job.is_suspended else job.n_workers
        is_early = sum(pod.is_ready for pod in workers.values()) < n_wanted
        if launcher is None and not (is_early and job.spec.launcher_creation_policy == "WaitForWorkersReady"):
            self._create(objects.launcher(job))
            launcher = self._seen.launchers.get(job.metadata.key)
        return launcher

    def _make_worker(self, job: MpiJob, number: int) -> None:
        """Create a worker; why it may not be, such as a quota, an event says, as the operator's."""
        try:
            self._create(objects.worker(job, number))
        except Refusal as refusal:
            if job.metadata.uid not in self._refused:
                self._refused.add(job.metadata.uid)
                self._event(job, "Warning", "MPIJobFailed", f"worker pod created failed: {refusal}")
            raise

    def _discover(self, job: MpiJob, workers: dict[str, Pod]) -> None:
        """Keep the script that tells which workers run."""
        running = tuple(sorted(name for name, pod in workers.items() if pod.status.phase == "Running"))
        known = self._discovered.get(job.metadata.key)
        if known == running:
            return
        config = objects.config_map(job, running)
        if not self._create(config):
            meta = Meta(name=config["metadata"]["name"], namespace=job.metadata.namespace)
            self._patch(Resource("api/v1", "configmaps", "ConfigMap"), meta, {"data": config["data"]})
        self._discovered[job.metadata.key] = running

    def _clean(self, job: MpiJob, policy: str) -> None:
        """Delete workers: with `Running` those that run or may come to, with `None` none."""
        phases = {"None": set(), "Running": {"Running", "Pending"}}.get(policy)
        due = [
            pod.metadata.labels.get(REPLICA_INDEX, "")
            for pod in self._pods(job)
            if pod.is_worker and pod.metadata.deletion_timestamp is None
            if phases is None or pod.status.phase in phases
        ]
        if due:
            workers = [f"{name}={value}" for name, value in objects.labels(job, "worker").items()]
            selector = ",".join([*workers, f"{REPLICA_INDEX} in ({','.join(due)})"])
            self._cluster.delete_all(_inside(PODS, job.metadata.namespace), selector)

    def _tell(self, job: MpiJob, status: Status) -> None:
        """Write the status, where it is news."""
        if status == job.status:
            return
        seen = msgspec.structs.replace(job, status=status)
        self._patch(MPI_JOBS, job.metadata, {"status": msgspec.to_builtins(status)}, "/status")
        self._seen.jobs[job.metadata.key] = seen
        if status.is_finished and not job.status.is_finished:
            self._due.add(job.metadata.key)
        for one in status.conditions:
            if one.status == "True" and not job.status.has(one.type):
                self._event(job, "Warning" if one.type == "Failed" else "Normal", one.reason, one.message)

    def _refuse(self, job: MpiJob, found: list[str]) -> None:
        """Say why a job is not run, in an event and nowhere else, as the operator does."""
        if job.metadata.uid not in self._refused:
            self._refused.add(job.metadata.uid)
            said = "; ".join(found)
            self._event(job, "Warning", "ValidationError", f"Found validation errors: {said}")

    def _event(self, job: MpiJob, kind: str, reason: str, message: str) -> None:
        meta, now = job.metadata, _now()
        about = {
            "apiVersion": objects.API_VERSION,
            "kind": "MPIJob",
            "name": meta.name,
            "namespace": meta.namespace,
            "uid": meta.uid,
        }
        event: Doc = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{meta.name}.", "namespace": meta.namespace},
            "involvedObject": about,
            "type": kind,
            "reason": reason,
            "message": message[:_MOST_MESSAGE],
            "source": {"component": "mpi-job-controller"},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        self._cluster.post(f"/api/v1/namespaces/{meta.namespace}/events", event)

    def _create(self, made: Doc) -> bool:
        """Create an object and take note of it; return False when there is one of its name."""
        group = "api/v1" if made["apiVersion"] == "v1" else f"apis/{made['apiVersion']}"
        plural, namespace = _PLURALS[made["kind"]], made["metadata"]["namespace"]
        try:
            answer = self._cluster.post(f"/{group}/namespaces/{namespace}/{plural}", made)
        except Refusal as refusal:
            if refusal.status == _CONFLICT:
                return False
            raise
        if plural in {PODS.plural, JOBS.plural}:
            self._note(PODS if plural == PODS.plural else JOBS, msgspec.Raw(answer), is_deleted=False)
        return True

    def _patch(self, resource: Resource, meta: Meta, change: Doc, part: str = "") -> None:
        self._cluster.patch(_inside(resource, meta.namespace), f"{meta.name}{part}", change)

    def _pods(self, job: MpiJob) -> Iterator[Pod]:
        yield from self._seen.pods.get(job.metadata.key, {}).values()

    @cached_property
    def _keys(self) -> objects.KeyPair:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "key")
            make = ["ssh-keygen", "-q", "-t", "ecdsa", "-b", "521", "-m", "PEM", "-N", "", "-f", str(path)]
            subprocess.run(make, check=True)  # a fixed command
            return objects.KeyPair(path.read_bytes(), path.with_suffix(".pub").read_bytes())


def _keep(known: dict[_Name, _Thing], name: _Name, one: _Thing, *, is_deleted: bool) -> None:
    if is_deleted:
        known.pop(name, None)
    else:
        known[name] = one


def _inside(resource: Resource, namespace: str) -> Resource:
    """Return `resource` as the API's paths call it within a namespace, whichever the client's own is."""
    return resource._replace(group=f"{resource.group}/namespaces/{namespace}", is_namespaced=False)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def main() -> None:
    """Run the operator until it is told to end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kubeconfig", required=True)
    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    options = KubernetesOptions(image="", kubeconfig=parser.parse_args().kubeconfig)
    MpiOperator(Cluster.connect(options)).run(ended)


if __name__ == "__main__":
    main()
