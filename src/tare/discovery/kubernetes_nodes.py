"""Group the nodes of a cluster by what pods get there. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tare.discovery.kubernetes_facts import NodeGroup
from tare.plugins.backends.kubernetes.diagnosis.nodes import milli_cpus
from tare.plugins.backends.kubernetes.objects.observed import SeenNode, SeenPod
from tare.plugins.backends.kubernetes.objects.quantity import parse_quantity

_HOSTNAME, _OS = "kubernetes.io/hostname", "kubernetes.io/os"
_KINDS = ("node.kubernetes.io/instance-type", "kubernetes.io/arch")
"""Labels by which nodes of the same size differ all the same."""
_PLAIN = ("cpu", "memory", "pods", "ephemeral-storage", "attachable-volumes-", "hugepages-")
_Key = tuple[object, ...]


def find_groups(nodes: Sequence[SeenNode], pods: Mapping[str, Sequence[SeenPod]]) -> tuple[NodeGroup, ...]:
    """Return the groups of nodes that take pods: those without taints first, then those with most nodes.

    `pods` are those that are on each node now.
    """
    groups: dict[_Key, list[SeenNode]] = {}
    for node in nodes:
        if node.is_ready and node.metadata.labels.get(_OS, "linux") == "linux":
            groups.setdefault(_key(node), []).append(node)
    every = [node for alike in groups.values() for node in alike]
    found = [_group(alike, every, pods) for alike in groups.values()]
    return tuple(sorted(found, key=lambda one: (bool(one.taints), -len(one.nodes), -one.cpus)))


def _key(node: SeenNode) -> _Key:
    cpus = _whole(node.status.allocatable.get("cpu", ""))
    gibibytes = _whole(node.status.allocatable.get("memory", "")) >> 30
    labels = tuple(node.metadata.labels.get(name, "") for name in _KINDS)
    return cpus, gibibytes, labels, _taints(node), tuple(sorted(_devices(node)))


def _group(
    nodes: Sequence[SeenNode], every: Sequence[SeenNode], pods: Mapping[str, Sequence[SeenPod]]
) -> NodeGroup:
    first, own = nodes[0], {one.metadata.name for one in nodes}
    labels = {
        name: value
        for name, value in first.metadata.labels.items()
        if own == {one.metadata.name for one in every if one.metadata.labels.get(name) == value}
    }
    return NodeGroup(
        nodes=tuple(one.metadata.labels.get(_HOSTNAME, one.metadata.name) for one in nodes),
        cpus=min(_whole(one.status.allocatable.get("cpu", "")) for one in nodes),
        free_cpus=min(_free_cpus(one, pods.get(one.metadata.name, ())) for one in nodes),
        memory_bytes=min(_whole(one.status.allocatable.get("memory", "")) for one in nodes),
        own_labels=labels,
        taints=_taints(first),
        devices=_devices(first),
    )


def _taints(node: SeenNode) -> tuple[str, ...]:
    hard = (one.key for one in node.spec.taints if one.effect in {"NoSchedule", "NoExecute"})
    return tuple(sorted(hard))


def _devices(node: SeenNode) -> dict[str, str]:
    """Return the extended resources of which there are any."""
    every = node.status.allocatable.items()
    return {name: amount for name, amount in every if not name.startswith(_PLAIN) and _whole(amount)}


def _free_cpus(node: SeenNode, pods: Sequence[SeenPod]) -> int:
    """Return the whole CPUs that no pod on the node has requested."""
    asked = sum(
        milli_cpus(str(one.resources.requests.get("cpu", "0")))
        for pod in pods
        if pod.status.phase in {"Running", "Pending"}
        for one in pod.spec.containers
    )
    return max((milli_cpus(node.status.allocatable.get("cpu", "")) - asked) // 1000, 0)


def _whole(quantity: str) -> int:
    return int(parse_quantity(quantity) or 0)
