"""Collect facts about the nodes of a run: their properties, and which other pods run there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from tare.core.errors import BackendError
from tare.plugins.backends.kubernetes.api.cluster import NODES, PODS, Cluster
from tare.plugins.backends.kubernetes.objects import naming, provenance
from tare.plugins.backends.kubernetes.objects.observed import SeenNode, SeenPod, Taint
from tare.plugins.backends.kubernetes.objects.quantity import parse_quantity
from tare.plugins.backends.kubernetes.options import Toleration

_FRESH_S, _RECENT_S = 60.0, 10.0
_MOST_SINGLY = 16  # up to this many nodes within `_RECENT_S` are requested one by one
_MOST_LABELS = 40
_OWN_LABELS = ("kubernetes.io/", "beta.kubernetes.io/", "node.kubernetes.io/")


Facts = Mapping[str, Mapping[str, str]]


class Own(NamedTuple):
    """A run, so that its own pods do not count as its neighbours: its namespace, campaign and task.

    `beside` are the other tasks of its campaign that are still in the cluster. A listed pod of a task that
    has ended since is no neighbour.
    """

    namespace: str
    campaign: str
    task: str
    beside: Collection[str] = ()

    def is_neighbour(self, pod: SeenPod) -> bool:
        """Return whether a pod belongs to another run, and may have run at the same time."""
        meta = pod.metadata
        if pod.status.phase not in {"Running", "Pending"}:
            return False
        is_of_campaign = (
            meta.namespace == self.namespace and meta.labels.get(naming.CAMPAIGN) == self.campaign
        )
        if not is_of_campaign or not provenance.is_of_task(PODS.kind, meta):
            return True
        return meta.task in self.beside


class _Seen(NamedTuple):
    """A node and its pods at one time; `node` is None if no node has the name."""

    asked_at: float
    node: SeenNode | None
    pods: list[SeenPod]


class NodeFacts:
    """Requests the nodes of runs and their pods: each by itself, or all at once if there are many."""

    def __init__(self, cluster: Cluster, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._clock = clock
        self._seen: dict[str, _Seen] = {}

    def of(self, nodes: Iterable[str], own: Own, began: float) -> Facts:
        """Return the facts of `nodes` for a run that began at `began`, a time of the clock.

        If the nodes may not be read, a fact says so. The facts were read after the run began, or at most ten
        seconds before.
        """
        now, names = self._clock(), list(dict.fromkeys(nodes))
        self._seen = {name: one for name, one in self._seen.items() if now - one.asked_at <= _FRESH_S}
        try:
            self._ask([name for name in names if not self._is_fresh(name, now, began)], now)
        except BackendError as error:
            return {name: {"kubernetes.neighbours": f"not known: {error}"} for name in names}
        known = {name: self._seen[name] for name in names if name in self._seen}
        return {
            name: node_facts(one.node) | neighbours(filter(own.is_neighbour, one.pods))
            for name, one in known.items()
            if one.node is not None
        }

    def _is_fresh(self, name: str, now: float, began: float) -> bool:
        one = self._seen.get(name)
        return one is not None and (now - one.asked_at <= _RECENT_S or one.asked_at >= began)

    def _ask(self, names: Sequence[str], now: float) -> None:
        """Request nodes; request all of them at once where that takes fewer requests."""
        n_recent = sum(now - one.asked_at <= _RECENT_S for one in self._seen.values())
        if names and n_recent + len(names) > _MOST_SINGLY:
            pods = read_pods(self._cluster)
            every = {node.metadata.name: node for node in read_nodes(self._cluster)}
            self._seen = {name: _Seen(now, node, pods.get(name, [])) for name, node in every.items()}
            return
        for name in names:
            found = read_nodes(self._cluster, name)
            self._seen[name] = _Seen(
                now, found[0] if found else None, read_pods(self._cluster, name).get(name, [])
            )


def read_nodes(cluster: Cluster, name: str = "") -> list[SeenNode]:
    """Return all nodes, or the one of that name. Raises Refusal or Outage."""
    fields = f"metadata.name={name}" if name else ""
    return cluster.read_all(NODES, SeenNode, fields=fields)


def read_pods(cluster: Cluster, node: str = "") -> dict[str, list[SeenPod]]:
    """Return the pods of all namespaces by their node, or those of one. Raises Refusal or Outage."""
    found: dict[str, list[SeenPod]] = {}
    fields = f"spec.nodeName={node}" if node else ""
    for pod in cluster.read_everywhere(PODS, SeenPod, fields=fields):
        meta = msgspec.structs.replace(pod.metadata, annotations={})  # large, and there are many pods
        found.setdefault(pod.spec.node_name, []).append(msgspec.structs.replace(pod, metadata=meta))
    return found


def is_tolerated(node: SeenNode, tolerations: Collection[Toleration]) -> bool:
    """Return whether pods with these tolerations may be on a node."""
    hard = (one for one in node.spec.taints if one.effect in {"NoSchedule", "NoExecute"})
    return all(any(_tolerates(one, taint) for one in tolerations) for taint in hard)


def with_launcher(facts: Facts, pods: Iterable[SeenPod]) -> Facts:
    """Return `facts` with the place of the launcher pod added; runs without a launcher have none."""
    pods = list(pods)
    launcher = next((one for one in pods if one.role == naming.LAUNCHER and one.spec.node_name), None)
    if launcher is None or not any(one.role == naming.WORKER for one in pods):
        return facts
    at = launcher.spec.node_name
    where = "on a node of the run" if at in facts else "on a node without ranks"
    return {
        name: {**own, "kubernetes.launcher": "on this node" if name == at else where}
        for name, own in facts.items()
    }


def node_facts(node: SeenNode) -> dict[str, str]:
    """Return the properties of a node, and its labels and taints, which may reserve it."""
    info, labels = node.status.node_info, node.metadata.labels
    own = [f"{k}={v}" for k, v in sorted(labels.items()) if not any(part in k for part in _OWN_LABELS)]
    taints = [f"{one.key}={one.value}:{one.effect}" for one in node.spec.taints]
    return {
        "kubernetes.kubelet": info.kubelet_version,
        "kubernetes.runtime": info.container_runtime_version,
        "kubernetes.os": info.os_image,
        "kubernetes.allocatable_cpus": node.status.allocatable.get("cpu", ""),
        "kubernetes.labels": ", ".join(own[:_MOST_LABELS]),
        "kubernetes.taints": ", ".join(taints),
    }


def neighbours(pods: Iterable[SeenPod]) -> dict[str, str]:
    """Return what else runs on a node: the number of `pods` by namespace, and their requested CPUs."""
    counts: Counter[str] = Counter()
    milli = 0
    for pod in pods:
        counts[pod.metadata.namespace] += 1
        milli += sum(milli_cpus(str(one.resources.requests.get("cpu", "0"))) for one in pod.spec.containers)
    shown = ", ".join(f"{count} of {namespace}" for namespace, count in sorted(counts.items()))
    return {"kubernetes.neighbours": shown or "none", "kubernetes.neighbours_cpus": f"{milli / 1000:g}"}


def _tolerates(one: Toleration, taint: Taint) -> bool:
    """Return whether a toleration matches a taint (core/v1, Toleration)."""
    is_key = one.key == taint.key or (not one.key and one.operator == "Exists")
    is_value = one.operator == "Exists" or one.value == taint.value
    return is_key and is_value and one.effect in {"", taint.effect}


def milli_cpus(quantity: str) -> int:
    """Return a quantity of CPUs, such as ``250m`` or ``2``, in thousandths; 0 for other text."""
    return round((parse_quantity(quantity) or 0) * 1000)
