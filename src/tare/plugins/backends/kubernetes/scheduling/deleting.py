"""Delete the objects of tasks: several together after they ended, or at once when nobody waits for them.

Pods that hold the only copy of results stay; a label marks them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial

from tare.core.errors import BackendError
from tare.plugins.backends.kubernetes.api.cluster import JOBS, MPI_JOBS, PODS, Cluster, Resource
from tare.plugins.backends.kubernetes.objects import naming
from tare.plugins.backends.kubernetes.objects.merging import Json
from tare.plugins.backends.kubernetes.objects.observed import SeenPod
from tare.plugins.backends.kubernetes.scheduling.in_flight_job import InFlightJob

_TOGETHER, _TOGETHER_S = 50, 2.0  # a request deletes this many objects, or all after this time


class Deletions:
    """Deletes objects of a campaign that match `selector`; `retry` repeats a request during an outage.

    `kept` are the tasks whose objects stay because their results were not received.
    """

    def __init__(
        self,
        cluster: Cluster,
        selector: str,
        retry: Callable[[Callable[[], None]], None],
        clock: Callable[[], float],
    ) -> None:
        self._cluster = cluster
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
        return {pod.metadata.task for pod in pods}

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
        for node in sorted(nodes):
            ask = partial(
                self._cluster.delete_all,
                PODS,
                f"{self._selector},{naming.TASK}={name}",
                fields=f"spec.nodeName={node}",
                grace_s=0,
            )
            self._retry(ask)

    def _delete(self, resource: Resource, names: Sequence[str]) -> None:
        for start in range(0, len(names), _TOGETHER):
            some = ",".join(names[start : start + _TOGETHER])
            selector = f"{self._selector},{naming.TASK} in ({some})"
            self._retry(partial(self._cluster.delete_all, resource, selector))
