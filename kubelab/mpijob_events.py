"""Write the events of the MPI Operator as client-go's recorder does: repeated events are counted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from kubelab.mpijob import API_VERSION, Doc, MpiJob
from tare.core.decoding import decode_json
from tare.plugins.backends.kubernetes.api.cluster import EVENTS, Cluster

SOURCE = "mpi-job-controller"
_MOST_MESSAGE = 1024  # the longest note of an Event, in bytes
_MOST_OF_A_JOB = 25  # more are dropped, except one in five minutes (client-go, events_cache.go)


class Said(NamedTuple):
    """An event: its type, ``Normal`` or ``Warning``, its reason, and a sentence."""

    kind: str
    reason: str
    message: str


class _Made(msgspec.Struct, frozen=True):
    class Meta(msgspec.Struct, frozen=True):
        name: str

    metadata: Meta


class Recorder:
    """Writes events of jobs; before each request it calls `wait`. Threads may share it."""

    def __init__(self, cluster: Cluster, wait: Callable[[], None]) -> None:
        self._cluster, self._wait = cluster, wait
        self._names: dict[tuple[str, Said], tuple[str, int]] = {}
        self._n_of_job: dict[str, int] = {}
        self._lock = threading.Lock()

    def record(self, job: MpiJob, said: Said) -> None:
        """Write an event, or increase the count of one that was written before."""
        meta = job.metadata
        with self._lock:
            count = self._n_of_job[meta.uid] = self._n_of_job.get(meta.uid, 0) + 1
            known = self._names.get((meta.uid, said))
        if count > _MOST_OF_A_JOB:
            return
        self._wait()
        if known is None:
            path = f"/api/v1/namespaces/{meta.namespace}/events"
            made = decode_json(self._cluster.post(path, _event(job, said)), type=_Made)
            name, n_times = made.metadata.name, 1
        else:
            name, n_times = known[0], known[1] + 1
            inside = EVENTS._replace(group=f"{EVENTS.group}/namespaces/{meta.namespace}", is_namespaced=False)
            self._cluster.patch(inside, name, {"count": n_times, "lastTimestamp": now()})
        with self._lock:
            self._names[meta.uid, said] = (name, n_times)

    def forget(self, uid: str) -> None:
        """Forget the events of a job that is gone."""
        with self._lock:
            self._n_of_job.pop(uid, None)
            self._names = {key: value for key, value in self._names.items() if key[0] != uid}


def now() -> str:
    """Return the current time in the format of the API."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _event(job: MpiJob, said: Said) -> Doc:
    meta, time_of_day = job.metadata, now()
    about = {
        "apiVersion": API_VERSION,
        "kind": "MPIJob",
        "name": meta.name,
        "namespace": meta.namespace,
        "uid": meta.uid,
    }
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{meta.name}.", "namespace": meta.namespace},
        "involvedObject": about,
        "type": said.kind,
        "reason": said.reason,
        "message": said.message[:_MOST_MESSAGE],
        "source": {"component": SOURCE},
        "firstTimestamp": time_of_day,
        "lastTimestamp": time_of_day,
        "count": 1,
    }
