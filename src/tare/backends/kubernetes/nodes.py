"""What the cluster tells of the nodes of a run: what they are, and what else runs there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import msgspec

from tare.backends.kubernetes.cluster import NODES, PODS, Cluster
from tare.backends.kubernetes.naming import MANAGED_BY
from tare.errors import BackendError

_FRESH_S = 60.0
_QUANTITY = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?(?:[eE][+-]?[0-9]{1,2})?)([numk]?)")
_MILLI = {"n": 1e-6, "u": 1e-3, "m": 1.0, "": 1e3, "k": 1e6}
"""Thousandths of a CPU in each unit that a quantity may have (k8s.io/apimachinery, resource.Quantity)."""
_MOST_LABELS = 40
_OWN_LABELS = ("kubernetes.io/", "beta.kubernetes.io/", "node.kubernetes.io/")


class _Taint(msgspec.Struct, frozen=True):
    key: str
    value: str = ""
    effect: str = ""


class _NodeSpec(msgspec.Struct, frozen=True):
    taints: list[_Taint] = []


class _NodeInfo(msgspec.Struct, frozen=True, rename="camel"):
    kubelet_version: str = ""
    container_runtime_version: str = ""
    os_image: str = ""


class _NodeStatus(msgspec.Struct, frozen=True, rename="camel"):
    node_info: _NodeInfo = _NodeInfo()
    allocatable: dict[str, str] = {}


class _Meta(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}


class _Node(msgspec.Struct, frozen=True):
    metadata: _Meta
    spec: _NodeSpec = _NodeSpec()
    status: _NodeStatus = _NodeStatus()


class _Resources(msgspec.Struct, frozen=True):
    requests: dict[str, str] = {}


class _Container(msgspec.Struct, frozen=True):
    resources: _Resources = _Resources()


class _PodSpec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""
    containers: list[_Container] = []


class _PodStatus(msgspec.Struct, frozen=True):
    phase: str = ""


class _Pod(msgspec.Struct, frozen=True):
    metadata: _Meta
    spec: _PodSpec = _PodSpec()
    status: _PodStatus = _PodStatus()


Facts = Mapping[str, Mapping[str, str]]


class NodeFacts:
    """Asks the cluster about all of its nodes at once, at most once a minute, however many runs land."""

    def __init__(self, cluster: Cluster, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._clock = clock
        self._facts: dict[str, dict[str, str]] = {}
        self._asked_at: float | None = None

    def of(self, nodes: Iterable[str]) -> Facts:
        """Return the facts of `nodes`; one that may not be asked says so in place of them."""
        now = self._clock()
        if self._asked_at is None or now - self._asked_at > _FRESH_S:
            self._asked_at, self._facts = now, self._ask()
        return {node: self._facts.get(node, self._facts.get("", {})) for node in nodes}

    def _ask(self) -> dict[str, dict[str, str]]:
        try:
            nodes = [msgspec.json.decode(one, type=_Node) for one in self._cluster.list_all(NODES)[0]]
            pods = [msgspec.json.decode(one, type=_Pod) for one in self._cluster.list_everywhere(PODS)]
        except BackendError as error:
            return {"": {"kubernetes.neighbours": f"not known: {error}"}}
        return {node.metadata.name: node_facts(node) | neighbours(node, pods) for node in nodes}


def node_facts(node: _Node) -> dict[str, str]:
    """Return what a node is, and its labels and taints, by which it may be set apart."""
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


def neighbours(node: _Node, pods: Iterable[_Pod]) -> dict[str, str]:
    """Return what else runs on a node: pods by namespace, and the CPUs that they asked for."""
    counts: Counter[str] = Counter()
    milli = 0
    for pod in pods:
        is_here = pod.spec.node_name == node.metadata.name and pod.status.phase in {"Running", "Pending"}
        if is_here and not MANAGED_BY.items() <= pod.metadata.labels.items():
            counts[pod.metadata.namespace] += 1
            milli += sum(milli_cpus(one.resources.requests.get("cpu", "0")) for one in pod.spec.containers)
    shown = ", ".join(f"{count} of {namespace}" for namespace, count in sorted(counts.items()))
    return {"kubernetes.neighbours": shown or "none", "kubernetes.neighbours_cpus": f"{milli / 1000:g}"}


def milli_cpus(quantity: str) -> int:
    """Return a quantity of CPUs, such as ``250m`` or ``2``, in thousandths; 0 for what is none."""
    match = _QUANTITY.fullmatch(quantity)
    return round(float(match[1]) * _MILLI[match[2]]) if match else 0
