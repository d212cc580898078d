"""Pods that hold the only copy of results: they stay, and say so by a label."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from tare.backends.kubernetes import naming
from tare.backends.kubernetes.cluster import PODS, Cluster
from tare.backends.kubernetes.flight import Flight
from tare.backends.kubernetes.observed import SeenPod
from tare.errors import BackendError


class Kept:
    """The tasks whose objects stay in the cluster, since their results are not home."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._names: set[str] = set()

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __bool__(self) -> bool:
        return bool(self._names)

    def keep(self, flight: Flight) -> None:
        """Let the objects of a task stay, and label its pods, so that later sessions let them stay too."""
        self._names.add(naming.object_name(flight.task))
        for pod in (flight.starter, flight.server):
            if pod is not None:
                with suppress(BackendError):  # it may be gone
                    change = {naming.KEPT: "results"}
                    self._cluster.patch(PODS, pod.metadata.name, {"metadata": {"labels": {**change}}})

    def drop(self, name: str) -> None:
        """Keep the objects of a task no longer."""
        self._names.discard(name)

    def names(self, selector: str) -> set[str]:
        """Return the tasks of a campaign that earlier sessions let stay. Raises BackendError."""
        items = self._cluster.list_all(PODS, f"{selector},{naming.KEPT}=results")[0]
        return {msgspec.json.decode(item, type=SeenPod).metadata.task for item in items}
