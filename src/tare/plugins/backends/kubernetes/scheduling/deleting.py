"""Delete the objects of tasks: several together after they ended, or at once when nobody waits for them.

Only objects that Tare created are deleted, each by its uid: copies of them have the same labels. Pods that
hold the only copy of results stay; a label marks them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol, TypeVar

from tare.core.errors import BackendError
from tare.plugins.backends.kubernetes.api.cluster import (
    CONFIG_MAPS,
    JOBS,
    MPI_JOBS,
    PODS,
    Cluster,
    Resource,
)
from tare.plugins.backends.kubernetes.objects import naming, provenance
from tare.plugins.backends.kubernetes.objects.merging import Json
from tare.plugins.backends.kubernetes.objects.observed import SeenJob, SeenMeta, SeenPod
from tare.plugins.backends.kubernetes.objects.ownership import CreatedBy
from tare.plugins.backends.kubernetes.scheduling.in_flight_job import InFlightJob

_TOGETHER, _TOGETHER_S = 50, 2.0  # the objects of this many tasks are listed together, or all after this time
_Answer = TypeVar("_Answer")


class Retry(Protocol):
    """A function that repeats a request during an outage, and returns its answer (see OutageWait.retry)."""

    def __call__(self, ask: Callable[[], _Answer], /) -> _Answer:
        """Return what `ask` returns. Raises Refusal, or Outage when it lasts."""
        ...


class Deletions:
    """Deletes objects of a campaign that match `selector`; `retry` repeats a request during an outage.

    Objects of a copy of the campaign match it, too. Only those that are its `own` are deleted. `kept` are the
    tasks whose objects stay because their results were not received.
    """

    def __init__(
        self,
        cluster: Cluster,
        selector: str,
        own: CreatedBy,
        retry: Retry,
        clock: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._own = own
        self._selector = selector
        self._retry = retry
        self._clock = clock
        self._pending: dict[Resource, list[str]] = {}
        self._due: float | None = None
        self.kept: set[str] = set()

    def keep(self, job: InFlightJob) -> None:
        """Keep the objects of a task; label its pods, so that later sessions keep them too."""
        self.kept.add(job.name)
        for pod in (job.starter, job.server):
            if pod is not None:
                with suppress(BackendError):  # it may be gone
                    labels: Json = {naming.KEPT: "results"}
                    self._cluster.patch(PODS, pod.metadata.name, {"metadata": {"labels": labels}})

    def kept_before(self) -> set[str]:
        """Return the tasks of the campaign whose objects earlier sessions kept. Raises BackendError."""
        pods = self._cluster.read_all(PODS, SeenPod, f"{self._selector},{naming.KEPT}=results")
        return {pod.metadata.task for pod in pods if provenance.is_of_task(PODS.kind, pod.metadata)}

    def later(self, name: str, kinds: Collection[Resource]) -> None:
        """Delete the objects of a task, of these kinds, with those of other tasks, unless they are kept."""
        if name in self.kept:
            return
        for resource in kinds:
            self._pending.setdefault(resource, []).append(name)
        self._due = self._due or self._clock() + _TOGETHER_S

    def flush(self, *, is_last: bool = False) -> None:
        """Delete the objects that are due; with `is_last`, delete all that are pending."""
        if self._due is None:
            return
        most = max(len(names) for names in self._pending.values())
        if is_last or most >= _TOGETHER or self._clock() >= self._due:
            pending, self._pending, self._due = self._pending, {}, None
            for resource, names in pending.items():
                self._delete(resource, names)

    def now(self, names: Sequence[str]) -> None:
        """Delete the objects of tasks, of any kind. Raises Refusal, or Outage when it lasts."""
        for resource in (MPI_JOBS, JOBS, PODS):
            self._delete(resource, names)

    def lost(self, name: str, nodes: Collection[str]) -> None:
        """Delete the objects of a task whose nodes were lost.

        Its pods on these nodes are deleted without a grace period, since no kubelet ends them. Results that
        are missing were lost with the nodes, so its objects are not kept.
        """
        self.kept.discard(name)
        self.now([name])
        selector = f"{self._selector},{naming.TASK}={name}"
        for node in sorted(nodes):
            for meta in self._read(PODS, selector, f"spec.nodeName={node}"):
                if provenance.is_of_task(PODS.kind, meta):
                    self._retry(partial(self._cluster.delete, PODS, meta.name, meta.uid, grace_s=0))

    def shared(self) -> None:
        """Delete the ConfigMaps of the campaign. Raises Refusal, or Outage when it lasts."""
        self._delete_created(CONFIG_MAPS, self._selector)

    def _delete(self, resource: Resource, names: Sequence[str]) -> None:
        for start in range(0, len(names), _TOGETHER):
            some = ",".join(names[start : start + _TOGETHER])
            self._delete_created(resource, f"{self._selector},{naming.TASK} in ({some})")

    def _delete_created(self, resource: Resource, selector: str) -> None:
        for meta in self._read(resource, selector):
            if provenance.is_created(resource.kind, meta) and self._own.is_own(meta):
                self._retry(partial(self._cluster.delete, resource, meta.name, meta.uid))

    def _read(self, resource: Resource, selector: str, fields: str = "") -> list[SeenMeta]:
        read = partial(self._cluster.read_all, resource, SeenJob, selector, fields)
        return [one.metadata for one in self._retry(read)]
