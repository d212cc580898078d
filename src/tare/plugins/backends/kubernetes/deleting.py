"""Delete the objects of tasks: several together after they ended, or at once when nobody waits for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial

from tare.plugins.backends.kubernetes import naming
from tare.plugins.backends.kubernetes.cluster import JOBS, MPI_JOBS, PODS, Cluster, Resource

_TOGETHER, _TOGETHER_S = 50, 2.0  # a request deletes this many objects, or all after this time


class Deletions:
    """Deletes objects of a campaign that match `selector`; `patiently` repeats a request during an outage."""

    def __init__(
        self,
        cluster: Cluster,
        selector: str,
        patiently: Callable[[Callable[[], None]], None],
        clock: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._selector = selector
        self._patiently = patiently
        self._clock = clock
        self._pending: dict[Resource, list[str]] = {}
        self._due: float | None = None

    def later(self, name: str, kinds: Collection[Resource]) -> None:
        """Delete the objects of a task, of these kinds, together with those of other tasks."""
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

        Its pods on these nodes are deleted without a grace period, since no kubelet ends them.
        """
        self.now([name])
        for node in sorted(nodes):
            ask = partial(
                self._cluster.delete_all,
                PODS,
                f"{self._selector},{naming.TASK}={name}",
                fields=f"spec.nodeName={node}",
                grace_s=0,
            )
            self._patiently(ask)

    def _delete(self, resource: Resource, names: Sequence[str]) -> None:
        for start in range(0, len(names), _TOGETHER):
            some = ",".join(names[start : start + _TOGETHER])
            selector = f"{self._selector},{naming.TASK} in ({some})"
            self._patiently(partial(self._cluster.delete_all, resource, selector))
