"""Check the nodes for programs: which other pods run there, and whether there is room for the launcher."""

from __future__ import annotations

from collections.abc import Iterator

from tare.core.checks import Finding
from tare.core.counting import count
from tare.core.errors import NOT_JSON, BackendError
from tare.plugins.backends.kubernetes.api.cluster import Cluster
from tare.plugins.backends.kubernetes.diagnosis.nodes import is_tolerated, neighbours, read_nodes, read_pods
from tare.plugins.backends.kubernetes.objects.observed import SeenNode, SeenPod
from tare.plugins.backends.kubernetes.options import KubernetesOptions, LauncherPlace

_HOSTNAME = "kubernetes.io/hostname"
_MOST_NAMES, _MOST_GROUPS = 8, 20
_ALONE = (
    "set nodes apart ('isolation', with a taint of that key), or name some with fewer neighbours ('nodes'); "
    "pods of DaemonSets stay"
)


def check_neighbourhood(cluster: Cluster, options: KubernetesOptions) -> Iterator[Finding]:
    """Yield which pods share the nodes for programs, and whether there is a node for a launcher."""
    try:
        every, pods = read_nodes(cluster), read_pods(cluster)
    except (BackendError, *NOT_JSON):
        return  # the check of the rights has reported it
    usable = [node for node in every if _is_usable(node, options)]
    if not usable:
        cure = (
            "correct 'nodes', 'node_selector', 'isolation' or 'tolerations': kubectl get nodes --show-labels"
        )
        found = (
            f"none of {count(len(every), 'node')} is one that the site names, ready, and without a taint "
            "in the way"
        )
        yield Finding(name="nodes of programs", is_met=False, found=found, cure=cure)
        return
    yield Finding(
        name="nodes of programs", is_met=True, found=f"{len(usable)} of {len(every)}: {_listed(usable)}"
    )
    yield from _shared(usable, pods)
    yield from _launcher(every, usable, options)


def _shared(nodes: list[SeenNode], pods: dict[str, list[SeenPod]]) -> Iterator[Finding]:
    """Yield the pods that are on the nodes now, with one finding for all nodes that are alike."""
    groups: dict[tuple[str, str], list[SeenNode]] = {}
    for node in nodes:
        there = [
            one for one in pods.get(node.metadata.name, []) if one.status.phase in {"Running", "Pending"}
        ]
        facts = neighbours(there)
        key = (facts["kubernetes.neighbours"], facts["kubernetes.neighbours_cpus"])
        groups.setdefault(key, []).append(node)
    for (who, cpus), alike in list(groups.items())[:_MOST_GROUPS]:
        name = f"neighbours on {_listed(alike)}"
        if who == "none":
            yield Finding(name=name, is_met=True, found="none")
        else:
            yield Finding(name=name, is_met=None, found=f"{who}; they ask for {cpus} CPUs", cure=_ALONE)
    if len(groups) > _MOST_GROUPS:
        left = sum(len(alike) for alike in list(groups.values())[_MOST_GROUPS:])
        yield Finding(
            name="neighbours elsewhere", is_met=None, found=f"{count(left, 'node')} more", cure=_ALONE
        )


def _launcher(every: list[SeenNode], usable: list[SeenNode], options: KubernetesOptions) -> Iterator[Finding]:
    """Yield whether a launcher that must be apart has a node: one not for programs, or a spare one."""
    own = options.launcher
    if own.place is not LauncherPlace.APART:
        return
    is_named = bool(options.nodes or options.node_labels)
    for_it = [
        node
        for node in every
        if node.is_ready
        and is_tolerated(node, own.tolerations)
        and own.node_selector.items() <= node.metadata.labels.items()
        and (not own.nodes or node.metadata.labels.get(_HOSTNAME, node.metadata.name) in own.nodes)
        and not (is_named and _is_named(node, options))
    ]
    name, cure = "a node for the launcher", "add 'launcher: {place: beside}', or name nodes for it"
    at_once = options.in_flight
    if not for_it:
        found = "none is left beside those of programs"
        yield Finding(name=name, is_met=False, found=found, cure=cure)
    elif not is_named and len(for_it) <= 2 and len(usable) <= 2:
        found = f"{len(for_it)}, on which programs are, too: a run of two nodes leaves none"
        yield Finding(name=name, is_met=False, found=found, cure=cure)
    elif not is_named and at_once > 1 and len(for_it) <= 2 * at_once and len(usable) <= 2 * at_once:
        found = (
            f"{len(for_it)}, all for programs too: {count(at_once, 'run')} at a time (in_flight) may leave "
            "none"
        )
        yield Finding(name=name, is_met=None, found=found, cure=f"lower 'in_flight', {cure}")
    else:
        yield Finding(name=name, is_met=True, found=f"{len(for_it)}: {_listed(for_it)}")


def _is_usable(node: SeenNode, options: KubernetesOptions) -> bool:
    is_allowed = is_tolerated(node, options.all_tolerations)
    return node.is_ready and is_allowed and _is_named(node, options)


def _is_named(node: SeenNode, options: KubernetesOptions) -> bool:
    labels = node.metadata.labels
    name = labels.get(_HOSTNAME, node.metadata.name)
    return options.node_labels.items() <= labels.items() and (not options.nodes or name in options.nodes)


def _listed(nodes: list[SeenNode]) -> str:
    names = [node.metadata.name for node in nodes]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
