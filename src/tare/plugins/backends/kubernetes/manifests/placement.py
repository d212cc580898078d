"""Choose nodes for pods: the nodes that a site names, and nodes apart from or beside other pods. Pure."""

from __future__ import annotations

import msgspec

from tare.plugins.backends.kubernetes.objects import created as k8s
from tare.plugins.backends.kubernetes.objects import naming
from tare.plugins.backends.kubernetes.options import KubernetesOptions, LauncherPlace, Toleration

_HOSTNAME = "kubernetes.io/hostname"
_MEASURED = (naming.WORKER, naming.SERVER, naming.CLIENT)
_MOST: k8s.Quantities = {"cpu": "1", "memory": "512Mi"}
_LITTLE: k8s.Quantities = {"cpu": "100m", "memory": "128Mi"}
_NOTHING: k8s.Quantities = {"cpu": "0", "memory": "0"}


def placed(spec: k8s.PodSpec, options: KubernetesOptions) -> k8s.PodSpec:
    """Return a program's pod, limited to the nodes that the site names for programs."""
    tolerated = _tolerations(options.all_tolerations)
    spec = msgspec.structs.replace(spec, node_selector=options.node_labels, tolerations=tolerated)
    return on_nodes(spec, ((_among(options.nodes),),)) if options.nodes else spec


def launcher_placed(spec: k8s.PodSpec, options: KubernetesOptions, task: str) -> k8s.PodSpec:
    """Return the launcher of `task`, placed as the site wants it: by default apart from programs.

    Labels and names that reserve nodes for programs exclude the launcher from these nodes. Where the site
    names no nodes, the launcher avoids nodes where programs of any run of the namespace are now.
    """
    own = options.launcher
    tolerated = {
        LauncherPlace.APART: own.tolerations,
        LauncherPlace.BESIDE: (*own.tolerations, *options.isolation_tolerations),
        LauncherPlace.ANYWHERE: (*options.tolerations, *own.tolerations, *options.isolation_tolerations),
    }[own.place]
    spec = msgspec.structs.replace(spec, node_selector=own.node_selector, tolerations=_tolerations(tolerated))
    asked = (_among(own.nodes),) if own.nodes else ()
    if own.place is LauncherPlace.BESIDE:
        spec = near(spec, {naming.TASK: task, naming.ROLE: naming.WORKER})
    if own.place is not LauncherPlace.APART:
        return on_nodes(spec, (asked,)) if asked else spec
    others = _others(options)
    if others or asked:
        spec = on_nodes(spec, tuple((*asked, one) for one in others) or (asked,))
    return spec if others else _apart_from_programs(spec)


def launcher_resources(options: KubernetesOptions) -> k8s.Resources:
    """Return the launcher's resources: the site's values, or so little that workers have room beside it."""
    own = options.launcher
    least: k8s.Quantities = _NOTHING if own.place is LauncherPlace.BESIDE else _LITTLE
    given: k8s.Quantities = {} if own.cpus is None else {"cpu": f"{own.cpus:g}"}
    given |= {} if own.memory_bytes is None else {"memory": str(own.memory_bytes)}
    return k8s.Resources(requests=least | given, limits=_MOST | given)


def spread(spec: k8s.PodSpec, options: KubernetesOptions, task: str) -> k8s.PodSpec:
    """Return a worker of `task`, spread with the other workers over the node labels that the site names."""
    selector = k8s.LabelSelector(match_labels={naming.TASK: task, naming.ROLE: naming.WORKER})
    constraints = tuple(
        k8s.TopologySpread(
            max_skew=one.max_skew,
            topology_key=one.key,
            when_unsatisfiable="DoNotSchedule" if one.is_required else "ScheduleAnyway",
            label_selector=selector,
        )
        for one in options.topology_spread
    )
    return msgspec.structs.replace(spec, topology_spread_constraints=constraints)


def away(spec: k8s.PodSpec, labels: dict[str, str], *requirements: k8s.Requirement) -> k8s.PodSpec:
    """Return `spec`, kept off nodes with pods that have these labels and meet the requirements."""
    others = _pods(labels, *requirements)
    affinity = msgspec.structs.replace(spec.affinity or k8s.Affinity(), pod_anti_affinity=others)
    return msgspec.structs.replace(spec, affinity=affinity)


def near(spec: k8s.PodSpec, labels: dict[str, str]) -> k8s.PodSpec:
    """Return `spec`, kept on a node with a pod that has these labels."""
    affinity = msgspec.structs.replace(spec.affinity or k8s.Affinity(), pod_affinity=_pods(labels))
    return msgspec.structs.replace(spec, affinity=affinity)


def on_nodes(spec: k8s.PodSpec, terms: tuple[tuple[k8s.Requirement, ...], ...]) -> k8s.PodSpec:
    """Return `spec`, kept on a node that meets all requirements of one of the `terms`."""
    found = k8s.NodeTerms(node_selector_terms=tuple(k8s.NodeTerm(match_expressions=one) for one in terms))
    required = k8s.NodeAffinity(required_during_scheduling_ignored_during_execution=found)
    affinity = msgspec.structs.replace(spec.affinity or k8s.Affinity(), node_affinity=required)
    return msgspec.structs.replace(spec, affinity=affinity)


def _others(options: KubernetesOptions) -> tuple[k8s.Requirement, ...]:
    """Return conditions; on each node that is not for programs, at least one of them holds."""
    labels = options.node_labels
    found = [k8s.Requirement(key=key, operator="NotIn", values=(value,)) for key, value in labels.items()]
    if options.nodes:
        found.append(k8s.Requirement(key=_HOSTNAME, operator="NotIn", values=options.nodes))
    return tuple(found)


def _among(nodes: tuple[str, ...]) -> k8s.Requirement:
    return k8s.Requirement(key=_HOSTNAME, operator="In", values=nodes)


def _apart_from_programs(spec: k8s.PodSpec) -> k8s.PodSpec:
    measured = k8s.Requirement(key=naming.ROLE, operator="In", values=_MEASURED)
    return away(spec, naming.MANAGED_BY, measured)


def _tolerations(tolerations: tuple[Toleration, ...]) -> tuple[k8s.TolerationSpec, ...]:
    return tuple(
        k8s.TolerationSpec(key=one.key, operator=one.operator, value=one.value, effect=one.effect)
        for one in tolerations
    )


def _pods(labels: dict[str, str], *requirements: k8s.Requirement) -> k8s.PodAffinity:
    selector = k8s.LabelSelector(match_labels=labels, match_expressions=requirements)
    term = k8s.PodTerm(label_selector=selector, topology_key=_HOSTNAME)
    return k8s.PodAffinity(required_during_scheduling_ignored_during_execution=(term,))
