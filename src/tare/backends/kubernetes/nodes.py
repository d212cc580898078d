"""What the cluster tells of the nodes of a run: what they are, and what else runs there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

import msgspec

from tare.backends.kubernetes import naming
from tare.backends.kubernetes.cluster import NODES, PODS, Cluster
from tare.backends.kubernetes.observed import SeenPod
from tare.errors import BackendError

_FRESH_S, _RECENT_S = 60.0, 10.0
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


class Own(NamedTuple):
    """A run, whose pods are no neighbours of its own: where, whose, and what it is called.

    `beside` are the other tasks of its campaign that are in the cluster still: what was listed of a task
    that has landed since is no neighbour.
    """

    namespace: str
    campaign: str
    task: str
    beside: Collection[str] = ()

    def is_neighbour(self, pod: _Pod) -> bool:
        """Return whether a pod is none of the run's, and may have run beside it."""
        meta = pod.metadata
        if pod.status.phase not in {"Running", "Pending"}:
            return False
        if meta.namespace != self.namespace or meta.labels.get(naming.CAMPAIGN) != self.campaign:
            return True
        return meta.labels.get(naming.TASK) in self.beside


class NodeFacts:
    """Asks the cluster about all of its nodes at once, however many runs land."""

    def __init__(self, cluster: Cluster, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._clock = clock
        self._nodes: dict[str, _Node] = {}
        self._pods: dict[str, list[_Pod]] = {}
        self._refusal = ""
        self._asked_at: float | None = None

    def of(self, nodes: Iterable[str], own: Own, began: float) -> Facts:
        """Return the facts of `nodes` for a run of which `began` is the start, by the clock.

        Nodes that may not be asked about say so in place of them. What is told was so after the run began,
        or within ten seconds before.
        """
        now = self._clock()
        age = None if self._asked_at is None else now - self._asked_at
        if age is None or age > _FRESH_S or (age > _RECENT_S and now - age < began):
            self._asked_at = now
            self._ask()
        if self._refusal:
            return {node: {"kubernetes.neighbours": self._refusal} for node in nodes}
        known = {name: self._nodes[name] for name in nodes if name in self._nodes}
        return {
            name: node_facts(node) | neighbours(filter(own.is_neighbour, self._pods.get(name, ())))
            for name, node in known.items()
        }

    def _ask(self) -> None:
        self._nodes, self._pods, self._refusal = {}, {}, ""
        try:
            self._nodes = {node.metadata.name: node for node in read_nodes(self._cluster)}
            self._pods = read_pods(self._cluster)
        except BackendError as error:
            self._refusal = f"not known: {error}"


def read_nodes(cluster: Cluster) -> list[_Node]:
    """Return all nodes. Raises Refusal or Outage."""
    return [msgspec.json.decode(one, type=_Node) for one in cluster.list_all(NODES)[0]]


def read_pods(cluster: Cluster) -> dict[str, list[_Pod]]:
    """Return the pods of all namespaces by their node. Raises Refusal or Outage."""
    found: dict[str, list[_Pod]] = {}
    for one in cluster.list_everywhere(PODS):
        pod = msgspec.json.decode(one, type=_Pod)
        found.setdefault(pod.spec.node_name, []).append(pod)
    return found


def with_launcher(facts: Facts, pods: Iterable[SeenPod]) -> Facts:
    """Return `facts` with where the pod was that started the ranks; other runs have none beside them."""
    pods = list(pods)
    launcher = next((one for one in pods if one.role == naming.LAUNCHER and one.spec.node_name), None)
    if launcher is None or not any(one.role == naming.WORKER for one in pods):
        return facts
    at = launcher.spec.node_name
    where = "on a node of the run" if at in facts else "on a node without ranks"
    return {
        name: {**told, "kubernetes.launcher": "on this node" if name == at else where}
        for name, told in facts.items()
    }


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


def neighbours(pods: Iterable[_Pod]) -> dict[str, str]:
    """Return what else runs on a node: `pods` by namespace, and the CPUs that they asked for."""
    counts: Counter[str] = Counter()
    milli = 0
    for pod in pods:
        counts[pod.metadata.namespace] += 1
        milli += sum(milli_cpus(one.resources.requests.get("cpu", "0")) for one in pod.spec.containers)
    shown = ", ".join(f"{count} of {namespace}" for namespace, count in sorted(counts.items()))
    return {"kubernetes.neighbours": shown or "none", "kubernetes.neighbours_cpus": f"{milli / 1000:g}"}


def milli_cpus(quantity: str) -> int:
    """Return a quantity of CPUs, such as ``250m`` or ``2``, in thousandths; 0 for what is none."""
    match = _QUANTITY.fullmatch(quantity)
    return round(float(match[1]) * _MILLI[match[2]]) if match else 0
