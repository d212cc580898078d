"""Keep pods that hold the only copy of results, and mark them with a label."""

from __future__ import annotations

from contextlib import suppress

from tare.core.errors import BackendError
from tare.plugins.backends.kubernetes import naming
from tare.plugins.backends.kubernetes.cluster import PODS, Cluster
from tare.plugins.backends.kubernetes.in_flight_job import InFlightJob
from tare.plugins.backends.kubernetes.observed import SeenPod


class Kept:
    """The tasks whose objects stay in the cluster because their results were not received."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._names: set[str] = set()

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __bool__(self) -> bool:
        return bool(self._names)

    def keep(self, job: InFlightJob) -> None:
        """Keep the objects of a task; label its pods, so that later sessions keep them too."""
        self._names.add(job.name)
        for pod in (job.starter, job.server):
            if pod is not None:
                with suppress(BackendError):  # it may be gone
                    change = {naming.KEPT: "results"}
                    self._cluster.patch(PODS, pod.metadata.name, {"metadata": {"labels": {**change}}})

    def drop(self, name: str) -> None:
        """Stop keeping the objects of a task."""
        self._names.discard(name)

    def names(self, selector: str) -> set[str]:
        """Return the tasks of a campaign whose objects earlier sessions kept. Raises BackendError."""
        pods = self._cluster.read_all(PODS, SeenPod, f"{selector},{naming.KEPT}=results")
        return {pod.metadata.task for pod in pods}
