"""Watch the objects of tasks, with one watch for each kind, and pass the changes to the in-flight jobs."""

from __future__ import annotations

import queue
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import msgspec

from tare.core.errors import BackendError
from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.api.cluster import (
    EVENTS,
    JOBS,
    MPI_JOBS,
    NODES,
    PODS,
    Cluster,
    Resource,
    decoded,
)
from tare.plugins.backends.kubernetes.api.outage import OutageWait
from tare.plugins.backends.kubernetes.api.watching import (
    Arrival,
    Change,
    Interruption,
    News,
    ObjectWatch,
    Snapshot,
)
from tare.plugins.backends.kubernetes.diagnosis.node_watch import Nodes
from tare.plugins.backends.kubernetes.objects import provenance
from tare.plugins.backends.kubernetes.objects.observed import SeenEvent, SeenJob, SeenMeta, SeenPod
from tare.plugins.backends.kubernetes.scheduling.in_flight_job import InFlightJob

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
"""The names of pods: DNS subdomains (RFC 1123). They become names of files, and parts of URLs."""
_PATIENCE_S = 1.0  # how long `process_news` waits for news
_LEAVE_S = 2.0  # how long a watch may take to end


class Informer:
    """Passes changes of the objects that match `selector` to `jobs`, which has them by job name.

    `news` is the queue of changes; other threads may put an Arrival into it. `nodes` are the states of the
    cluster's nodes, as far as they may be read. `interrupted` are the kinds whose watch is interrupted: no
    time-out may be judged then.
    """

    def __init__(
        self,
        cluster: Cluster,
        selector: str,
        jobs: Mapping[str, InFlightJob],
        outage: OutageWait,
        clock: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._selector = selector
        self._jobs = jobs
        self._outage = outage
        self._clock = clock
        self._watches: list[ObjectWatch] = []
        self.news: queue.Queue[News] = queue.Queue()
        self.nodes = Nodes()
        self.interrupted: set[Resource] = set()

    def watch(self, tasks: Sequence[Task]) -> None:
        """Start the watches that are missing: one for each kind of object, for any number of tasks."""
        kinds = [PODS, EVENTS, JOBS, NODES]
        if any(task.layout.nodes > 1 and not task.steps[-1].is_pair for task in tasks):
            kinds.append(MPI_JOBS)
        known = {watch.name for watch in self._watches}
        for resource in kinds:
            is_ours = resource not in {EVENTS, NODES}  # events and nodes do not have the labels of a task
            selector = self._selector if is_ours else ""
            watch = ObjectWatch(self._cluster, resource, selector, self.news)
            if watch.name not in known:
                self._watches.append(watch)
                watch.start()

    def process_news(self) -> None:
        """Process the news of the watches; raise BackendError if they have been interrupted for too long."""
        try:
            self._take(self.news.get(timeout=_PATIENCE_S))
            while True:
                self._take(self.news.get_nowait())
        except queue.Empty:
            return

    def _take(self, news: News) -> None:
        if isinstance(news, Arrival):
            return
        if isinstance(news, Interruption):
            if news.is_final and news.resource is NODES:
                self._outage.end(NODES.plural)
                self.nodes = Nodes()  # the right to watch nodes is missing; pods show less
                return
            self.interrupted.add(news.resource)
            self._outage.record(news.error, news.resource.plural, is_final=news.is_final)
            return
        self.interrupted.discard(news.resource)
        self._outage.end(news.resource.plural)
        if isinstance(news, Change):
            self.take_one(news.resource, news.content, is_deleted=news.is_deleted)
            return
        if news.resource is NODES:
            self.nodes.take_all(news.items)
            return
        for item in news.items:
            self.take_one(news.resource, item, is_deleted=False)
        self._miss(news)

    def take_one(self, resource: Resource, content: msgspec.Raw, *, is_deleted: bool) -> None:
        """Process the current state of an object, or its last state if it was deleted.

        Raises BackendError for an object in an unknown form, or a pod with a name that none can have. Events
        in such a form are left out.
        """
        now = self._clock()
        if resource is EVENTS:
            with suppress(BackendError):  # anybody may write them
                self._take_event(decoded(content, SeenEvent))
        elif resource is NODES:
            self.nodes.take(content, is_deleted=is_deleted)
        elif resource is PODS:
            pod = decoded(content, SeenPod)
            _require_name(pod.metadata)
            job = self._jobs.get(pod.metadata.task)
            if job is not None and provenance.is_of_task(resource.kind, pod.metadata):
                job.see(pod, content, now, is_deleted=is_deleted)
        else:
            seen = decoded(content, SeenJob)
            job = self._jobs.get(seen.metadata.task)
            if job is not None and provenance.is_of_task(resource.kind, seen.metadata):
                job.see_job(seen)
                if is_deleted:
                    job.miss_job(now)

    def _take_event(self, event: SeenEvent) -> None:
        about = event.involved_object.name
        job = self._jobs.get(about)
        if job is None:  # a pod's: the names of pods begin with their job's
            inside = f"-{about}-"  # and Kueue's Workloads are called KIND-NAME-…
            is_of_queue = event.involved_object.kind == "Workload"
            job = next(
                (
                    one
                    for name, one in self._jobs.items()
                    if about.startswith(f"{name}-") or (is_of_queue and f"-{name}-" in inside)
                ),
                None,
            )
        if job is not None:
            job.events.append(event)

    def _miss(self, snapshot: Snapshot) -> None:
        """Find jobs and pods of tasks that disappeared while no watch reported it."""
        there = {decoded(item, SeenJob).metadata.name for item in snapshot.items}
        for job in self._jobs.values():
            if snapshot.resource is PODS:
                job.miss_pods(there, self._clock())
            elif snapshot.resource.kind == job.kind and job.seen is not None and job.name not in there:
                job.miss_job(self._clock())

    def kinds(self) -> list[Resource]:
        """Return the kinds of objects that tasks of this session may have."""
        watched = {watch.name for watch in self._watches}
        return [one for one in (MPI_JOBS, JOBS, PODS) if f"watch {one.plural}" in watched]

    def end(self) -> None:
        """Tell the watches to end, and end all of their requests."""
        for watch in self._watches:
            watch.end()
        self._cluster.end_watches()

    def join(self) -> None:
        """Wait for the watches to end; call it before the connections that they read from are closed."""
        for watch in self._watches:
            if watch.is_alive():
                watch.join(_LEAVE_S)


def _require_name(meta: SeenMeta) -> None:
    if not _NAME.fullmatch(meta.name):
        raise BackendError(f"the API server sent a pod with a name that no pod can have: {meta.name[:300]!a}")
