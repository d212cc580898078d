"""Detect nodes that were lost under the pods of a run, as soon as Kubernetes reports it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from tare.plugins.backends.kubernetes.api.cluster import decoded
from tare.plugins.backends.kubernetes.diagnosis import phases
from tare.plugins.backends.kubernetes.diagnosis.node_selection import selects
from tare.plugins.backends.kubernetes.diagnosis.refusals import Obstacle
from tare.plugins.backends.kubernetes.objects.observed import Condition, SeenNode, SeenPod

_SILENT_S = 5.0
"""Kubernetes has waited for the node's lease by then (node-monitor-grace-period)."""
_ALL_SILENT_S = 60.0
"""The limit if all of several nodes are silent: the control plane was away and has not read leases since.

Kubernetes evicts nothing then, either (node-lifecycle-controller, FullDisruption).
"""
_UNWELL_S = 30.0
"""The limit for a node that reports itself as not ready: a kubelet that restarts does so for seconds."""
_LEAVES_S = 45.0
"""A live kubelet has ended and reported a deleted pod by then: it has 30 s."""
_MOST_SHOWN = 300


class Nodes:
    """The reported states of the cluster's nodes; empty if Tare may not watch them."""

    def __init__(self) -> None:
        self._ready: dict[str, Condition] = {}
        self._gone: set[str] = set()
        self._taken_away: dict[str, dict[str, str]] = {}
        self._in_outage: set[str] = set()

    def take(self, content: msgspec.Raw, *, is_deleted: bool = False) -> None:
        """Record the state of a node."""
        self._record(content, is_deleted=is_deleted)
        self._update_outage()

    def _record(self, content: msgspec.Raw, *, is_deleted: bool = False) -> None:
        node = decoded(content, SeenNode)
        name, ready = node.metadata.name, node.status.condition("Ready")
        self._gone.discard(name)
        self._ready.pop(name, None)
        self._taken_away.pop(name, None)
        if not is_deleted and node.is_taken_away:
            self._taken_away[name] = node.metadata.labels
        if is_deleted:
            self._gone.add(name)
        elif ready is not None:
            self._ready[name] = ready

    def take_all(self, items: Iterable[msgspec.Raw]) -> None:
        """Record the states of all nodes of the cluster."""
        known = self._ready.keys() | self._gone
        self._ready.clear()
        self._taken_away.clear()
        for item in items:
            self._record(item)
        self._gone |= known - self._ready.keys()
        self._update_outage()

    def losses(self, pods: Sequence[SeenPod]) -> Iterator[Obstacle]:
        """Yield which of `pods` were lost with their nodes, and after how long that is certain."""
        for pod in pods:
            if pod.spec.node_name and not pod.is_over:
                yield from self._loss(pod, pod.spec.node_name)

    def may_give_back(self, pod: SeenPod) -> bool:
        """Return whether a node that is taken away may be one that a pod asks for.

        The scheduler does not tell: it compares selectors only with nodes that are not taken away. True if no
        node is known to be taken away.
        """
        taken = self._taken_away.values()
        return not taken or any(selects(pod.spec, labels) for labels in taken)

    def _loss(self, pod: SeenPod, node: str) -> Iterator[Obstacle]:
        where = f"node {node} of pod {pod.metadata.name}"
        ready = self._ready.get(node)
        if pod.status.phase == "Unknown" or pod.status.reason == "NodeLost":
            yield Obstacle(node, f"{where} was lost: {pod.status.reason or 'its phase is Unknown'}", 0.0)
        elif node in self._gone:
            yield Obstacle(node, f"{where} was deleted from the cluster", _SILENT_S)
        elif ready is not None and ready.status != "True":
            reason = f"{ready.reason}: {' '.join(ready.message.split())[:_MOST_SHOWN]}"
            silent_s = _ALL_SILENT_S if node in self._in_outage else _SILENT_S
            certain_s = silent_s if ready.status == "Unknown" else _UNWELL_S
            yield Obstacle(node, f"{where} is not ready: {reason}", certain_s)
        elif ready is None and _is_marked(pod):
            yield Obstacle(node, f"{where} is not ready", _SILENT_S)
        elif pod.metadata.deletion_timestamp and (why := phases.disruption(pod)):
            yield Obstacle(node, f"{why}; it does not end", _LEAVES_S)

    def _update_outage(self) -> None:
        """Note which nodes fell silent together with all others, until each reports again.

        After an outage of the control plane, nodes report again one after another.
        """
        silent = {name for name, ready in self._ready.items() if ready.status == "Unknown"}
        if len(silent) > 1 and len(silent) == len(self._ready):
            self._in_outage |= silent
        self._in_outage &= silent


def _is_marked(pod: SeenPod) -> bool:
    """Return whether the node controller, and not the pod's kubelet, has marked the pod as not ready.

    A kubelet gives a reason for that; the controller gives none (pkg/controller/util/node, MarkPodsNotReady).
    """
    ready = pod.status.condition("Ready")
    is_running = pod.state.running is not None
    return is_running and ready is not None and ready.status == "False" and not ready.reason
