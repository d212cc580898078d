"""A double of the MPI Operator v0.8.2: watches MPIJobs, and makes what they ask for.

    python -m kubelab.operator --kubeconfig FILE

Three threads watch, and two reconcile, a job each, within the real one's limits. Its state is the cluster's,
so that it may be killed and started again. tests/kubernetes_cluster/test_operator_conformance.py holds it to
the real one. What sets it apart: no gang scheduling, no leader; what others named as its own is let alone.
"""

from __future__ import annotations

import argparse
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NamedTuple, TypeVar

import msgspec

from kubelab import mpijob_objects as objects
from kubelab.limits import DEFAULT, Key, Limits, TokenBucket, WorkQueue
from kubelab.mpijob import (
    CONTROLLER,
    OPERATOR,
    Doc,
    Meta,
    MpiJob,
    Status,
    faults,
)
from kubelab.mpijob_events import Recorder, Said, now
from kubelab.mpijob_status import Launcher, Pod, begun, told
from tare.core.decoding import decode_json
from tare.plugins.backends.kubernetes.api.cluster import (
    CONFIG_MAPS,
    JOBS,
    MPI_JOBS,
    PODS,
    Cluster,
    Outage,
    Refusal,
    Resource,
)
from tare.plugins.backends.kubernetes.api.watching import Change, Interruption, News, ObjectWatch, Snapshot
from tare.plugins.backends.kubernetes.options import KubernetesOptions

_PATIENCE_S = 1.0
_AT_ONCE = 2
_CONFLICT, _NOT_FOUND = 409, 404
_SELECTOR = {MPI_JOBS: "", PODS: OPERATOR, JOBS: "app"}
_PLURALS = {
    "Service": "services",
    "ConfigMap": "configmaps",
    "Secret": "secrets",
    "Pod": "pods",
    "Job": "jobs",
}

_Name = TypeVar("_Name")
_Thing = TypeVar("_Thing")


class Seen(NamedTuple):
    """The cluster's objects as last seen: jobs, their launchers, and their pods by name."""

    jobs: dict[Key, MpiJob]
    launchers: dict[Key, Launcher]
    pods: dict[Key, dict[str, Pod]]


class MpiOperator:
    """Creates, changes and deletes objects until a cluster has what its MPIJobs ask for."""

    def __init__(self, cluster: Cluster, limits: Limits) -> None:
        self._cluster = cluster
        # The real operator has one client for MPIJobs and one for all else, each with a limit.
        self._jobs_limit = TokenBucket(limits.qps, limits.burst)
        self._limit = TokenBucket(limits.qps, limits.burst)
        self._due = WorkQueue(TokenBucket(limits.queue_rate, limits.queue_burst))
        self._recorder = Recorder(cluster, self._limit.wait)
        self._news: queue.Queue[News] = queue.Queue()
        self._seen = Seen({}, {}, {})
        self._discovered: dict[Key, tuple[str, ...]] = {}
        self._ended = threading.Event()

    def run(self, ended: threading.Event) -> None:
        """Reconcile until `ended`."""
        watches = [
            ObjectWatch(self._cluster, one._replace(is_namespaced=False), selector, self._news)
            for one, selector in _SELECTOR.items()
        ]
        workers = [threading.Thread(target=self._work, daemon=True) for _ in range(_AT_ONCE)]
        for thread in (*watches, *workers):
            thread.start()
        while not ended.is_set():
            with suppress(queue.Empty):
                self._take(self._news.get(timeout=_PATIENCE_S))
        self._ended.set()
        for watch in watches:
            watch.end()
        self._cluster.close()

    def _take(self, news: News) -> None:
        match news:
            case Interruption(is_final=True):
                raise news.error
            case Interruption():
                return
            case Change(resource, is_deleted, content):
                self._hear(resource, content, is_deleted=is_deleted)
            case Snapshot(resource, items):
                self._forget(resource)
                for item in items:
                    self._hear(resource, item, is_deleted=False)

    def _forget(self, resource: Resource) -> None:
        """Forget the objects of a kind, since a complete list follows."""
        jobs, launchers, pods = self._seen
        for key in list(jobs):
            self._due.add(key)
        match resource.plural:
            case MPI_JOBS.plural:
                jobs.clear()
            case JOBS.plural:
                launchers.clear()
            case _:
                pods.clear()

    def _hear(self, resource: Resource, content: msgspec.Raw, *, is_deleted: bool) -> None:
        """Record an object, and queue its job."""
        key = self._note(resource, content, is_deleted=is_deleted)
        if key is not None:
            self._due.add(key)

    def _note(self, resource: Resource, content: msgspec.Raw, *, is_deleted: bool) -> Key | None:
        """Record an object; return the key of its job, or None where the object cannot be read."""
        if resource.plural == MPI_JOBS.plural:
            try:
                job = decode_json(content, type=MpiJob)
            except msgspec.ValidationError:  # the API's schema accepts it, the real operator does not
                return None
            key = job.metadata.key
            _keep(self._seen.jobs, key, job, is_deleted=is_deleted)
            if is_deleted:
                self._discovered.pop(key, None)
                self._recorder.forget(job.metadata.uid)
        elif resource.plural == JOBS.plural:
            launcher = decode_json(content, type=Launcher)
            key = launcher.metadata.job
            _keep(self._seen.launchers, key, launcher, is_deleted=is_deleted)
        else:
            pod = decode_json(content, type=Pod)
            key = pod.metadata.job
            _keep(self._seen.pods.setdefault(key, {}), pod.metadata.name, pod, is_deleted=is_deleted)
        return key

    def _work(self) -> None:
        """Reconcile one job after the other, in `_AT_ONCE` threads; jobs share no data."""
        while not self._ended.is_set():
            key = self._due.take(_PATIENCE_S)
            if key is not None:
                self._due.done(key, is_well=self._look_at(key))

    def _look_at(self, key: Key) -> bool:
        """Reconcile a job; return False if it is to be tried again.

        A refusal such as that of a quota is tried again, as the real operator does.
        """
        job = self._seen.jobs.get(key)
        if job is None or job.metadata.deletion_timestamp or job.spec.run_policy.managed_by != CONTROLLER:
            return True
        try:
            self._reconcile(job)
        except Outage as outage:
            print(f"{key}: {outage}", file=sys.stderr, flush=True)
            return False
        except Refusal as refusal:
            print(f"{key}: {refusal}", file=sys.stderr, flush=True)
            return refusal.status in {_NOT_FOUND, _CONFLICT}  # it changed meanwhile; a watch reports that
        return True

    def _reconcile(self, job: MpiJob) -> None:
        """Do the next steps for `job`, in the order of the real operator."""
        found = list(faults(job))
        if found:
            said = f"Found validation errors: {'; '.join(found)}"
            self._recorder.record(job, Said("Warning", "ValidationError", said))
            return
        now_is = now()
        status, events = begun(job, now_is)
        self._say(job, events)
        if status.is_finished and status.completion_time is not None:
            self._clean_up(job)
            return
        launcher, workers = self._seen.launchers.get(job.metadata.key), list[Pod]()
        if launcher is None or not launcher.is_finished:
            launcher, workers = self._provide(job, launcher)
        if launcher is not None and launcher.spec.suspend != job.is_suspended:
            self._suspend(job, launcher)
        if job.is_suspended:
            self._clean(job, "All")
        starters = [pod for pod in self._pods(job) if not pod.is_worker]
        status, events = told(job, status, launcher, starters, workers, now_is)
        self._say(job, events)
        self._tell(job, status)

    def _provide(self, job: MpiJob, launcher: Launcher | None) -> tuple[Launcher | None, list[Pod]]:
        """Create missing objects; return the launcher's Job and the workers.

        The Job is None while it must not be created yet. Workers of a suspended job do not count, so none is
        waited for: its launcher is created, suspended.
        """
        key = job.metadata.key
        self._discover(job)
        if not job.is_suspended:
            self._make_workers(job)
        workers = [] if job.is_suspended else [pod for pod in self._pods(job) if pod.is_worker]
        is_early = sum(pod.is_ready for pod in workers) < (0 if job.is_suspended else job.n_workers)
        if launcher is None and not (is_early and job.spec.launcher_creation_policy == "WaitForWorkersReady"):
            self._warn_of_restarts(job)
            self._create_or_say(job, objects.launcher(job), "launcher")
            launcher = self._seen.launchers.get(key)
        return launcher, workers

    def _make_workers(self, job: MpiJob) -> None:
        there = {pod.metadata.name for pod in self._pods(job)}
        for number in range(job.n_workers):
            if job.worker_name(number) not in there:
                self._create_or_say(job, objects.worker(job, number), "worker")

    def _create_or_say(self, job: MpiJob, made: Doc, what: str) -> None:
        """Create a pod or a Job; if it is refused, such as by a quota, write a new event each time."""
        try:
            self._create(job, made)
        except Refusal as refusal:
            why = str(refusal).partition(": ")[2]
            said = Said("Warning", "MPIJobFailed", f"{what} pod created failed: {why}")
            self._recorder.record(job, said)
            raise

    def _discover(self, job: MpiJob) -> None:
        """Create the Service and the keys, and update the script that lists the running workers."""
        key = job.metadata.key
        pods = (pod for pod in self._pods(job) if pod.is_worker and pod.status.phase == "Running")
        running = tuple(sorted(pod.metadata.name for pod in pods))
        known = self._discovered.get(key)
        if known == running:
            return
        if known is None:
            self._create(job, objects.service(job))
        config = objects.config_map(job, running)
        if known is not None or not self._create(job, config):
            meta = Meta(name=config["metadata"]["name"], namespace=job.metadata.namespace)
            self._patch(CONFIG_MAPS, meta, {"data": config["data"]})
            self._due.add(key)
        if known is None:
            self._create(job, objects.secret(job, _key_pair()))
        self._discovered[key] = running

    def _suspend(self, job: MpiJob, launcher: Launcher) -> None:
        """Suspend or resume the launcher's Job; its start time is then reset."""
        if not job.is_suspended:
            if launcher.status.start_time is not None:
                self._patch(JOBS, launcher.metadata, {"status": {"startTime": None}}, "/status")
            self._warn_of_restarts(job)
        self._patch(JOBS, launcher.metadata, {"spec": {"suspend": job.is_suspended}})

    def _warn_of_restarts(self, job: MpiJob) -> None:
        replicas = job.spec.mpi_replica_specs.launcher
        if replicas is not None and replicas.template.get("spec", {}).get("restartPolicy"):
            said = "Restart policy in pod template overridden by restart policy in replica spec"
            self._recorder.record(job, Said("Warning", "SetPodTemplateRestartPolicy", said))

    def _clean_up(self, job: MpiJob) -> None:
        """Delete the workers of a job that ended, if its policy says so."""
        policy = job.spec.run_policy.clean_pod_policy
        if policy != "None":
            self._clean(job, policy)
            self._tell(job, job.status)

    def _clean(self, job: MpiJob, policy: str) -> None:
        """Delete workers; with the policy `Running`, only those that run or may still run."""
        for pod in self._pods(job):
            is_due = policy == "All" or pod.status.phase in {"Running", "Pending"}
            if pod.is_worker and pod.metadata.deletion_timestamp is None and is_due:
                self._limit.wait()
                inside = _inside(PODS, job.metadata.namespace)
                self._cluster.delete(inside, pod.metadata.name, pod.metadata.uid)

    def _say(self, job: MpiJob, events: list[Said]) -> None:
        for said in events:
            self._recorder.record(job, said)

    def _tell(self, job: MpiJob, status: Status) -> None:
        """Write the status if it has changed."""
        if status == job.status:
            return
        change = msgspec.to_builtins(status)
        change["replicaStatuses"] = {
            role: {name: counts.get(name) for name in ("active", "failed", "succeeded")}
            for role, counts in status.replica_statuses.items()
        }
        # The API server refuses this if the job has changed meanwhile.
        seen: Doc = {"resourceVersion": job.metadata.resource_version}
        inside = _inside(MPI_JOBS, job.metadata.namespace)
        self._jobs_limit.wait()
        self._cluster.patch(inside, f"{job.metadata.name}/status", {"metadata": seen, "status": change})

    def _create(self, job: MpiJob, made: Doc) -> bool:
        """Create an object and record it; return False if one of its name exists."""
        group = "api/v1" if made["apiVersion"] == "v1" else f"apis/{made['apiVersion']}"
        plural, namespace = _PLURALS[made["kind"]], made["metadata"]["namespace"]
        self._limit.wait()
        try:
            answer = self._cluster.post(f"/{group}/namespaces/{namespace}/{plural}", made)
        except Refusal as refusal:
            if refusal.status == _CONFLICT:
                return False
            raise
        if plural == PODS.plural:  # a watch may have reported a newer state already
            pod = decode_json(answer, type=Pod)
            self._seen.pods.setdefault(pod.metadata.job, {}).setdefault(pod.metadata.name, pod)
        elif plural == JOBS.plural:
            launcher = decode_json(answer, type=Launcher)
            self._seen.launchers.setdefault(launcher.metadata.job, launcher)
        else:  # the real operator watches these, as it does pods and Jobs
            self._due.add(job.metadata.key)
        return True

    def _patch(self, resource: Resource, meta: Meta, change: Doc, part: str = "") -> None:
        self._limit.wait()
        self._cluster.patch(_inside(resource, meta.namespace), f"{meta.name}{part}", change)

    def _pods(self, job: MpiJob) -> list[Pod]:
        return list(self._seen.pods.get(job.metadata.key, {}).values())


def _key_pair() -> objects.KeyPair:
    """Return a new pair of ssh keys; each job has its own."""
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
    """Return `resource` with the API path of a namespace, which may differ from the client's own."""
    return resource._replace(group=f"{resource.group}/namespaces/{namespace}", is_namespaced=False)


def main() -> None:
    """Run the operator until it is told to end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kubeconfig", required=True)
    for name, value in DEFAULT.flags().items():
        parser.add_argument(name, type=int, default=value, help="as the real one's")
    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    given = vars(parser.parse_args())
    options = KubernetesOptions(image="", kubeconfig=given.pop("kubeconfig"))
    MpiOperator(Cluster.connect(options), Limits(*given.values())).run(ended)


if __name__ == "__main__":
    main()
