"""Choose nodes for pods: those that a site names, apart from or beside other pods; the launcher's. Pure."""

from __future__ import annotations

import msgspec

from tare.plugins.backends.kubernetes import naming
from tare.plugins.backends.kubernetes.objects import (
    Affinity,
    LabelSelector,
    NodeAffinity,
    NodeTerm,
    NodeTerms,
    PodAffinity,
    PodSpec,
    PodTerm,
    Requirement,
    Resources,
    TolerationSpec,
    TopologySpread,
)
from tare.plugins.backends.kubernetes.options import KubernetesOptions
from tare.plugins.backends.kubernetes.pod_options import LauncherPlace, Toleration

_HOSTNAME = "kubernetes.io/hostname"
_MEASURED = (naming.WORKER, naming.SERVER, naming.CLIENT)
_LAUNCHER_CPUS, _LAUNCHER_MEMORY = "1", "512Mi"
_LITTLE = {"cpu": "100m", "memory": "128Mi"}
_NOTHING = {"cpu": "0", "memory": "0"}


def placed(spec: PodSpec, options: KubernetesOptions) -> PodSpec:
    """Return a program's pod, limited to the nodes that the site names for programs."""
    spec = msgspec.structs.replace(
        spec, node_selector=_selector(options), tolerations=_tolerations(options, options.tolerations)
    )
    return on_nodes(spec, ((_among(options.nodes),),)) if options.nodes else spec


def launcher_placed(spec: PodSpec, options: KubernetesOptions, task: str) -> PodSpec:
    """Return the launcher of `task`, placed as the site wants it: by default apart from programs.

    Labels and names that reserve nodes for programs exclude the launcher from these nodes. Where the site
    names no nodes, the launcher avoids nodes where programs of any run of the namespace are now.
    """
    own = options.launcher
    is_beside = own.place is LauncherPlace.BESIDE
    tolerated = _tolerations(options, own.tolerations) if is_beside else _written(own.tolerations)
    if own.place is LauncherPlace.ANYWHERE:
        tolerated = _tolerations(options, (*options.tolerations, *own.tolerations))
    spec = msgspec.structs.replace(spec, node_selector=dict(own.node_selector), tolerations=tolerated)
    asked = (_among(own.nodes),) if own.nodes else ()
    if is_beside:
        spec = near(spec, {naming.TASK: task, naming.ROLE: naming.WORKER})
    if own.place is not LauncherPlace.APART:
        return on_nodes(spec, (asked,)) if asked else spec
    others = _others(options)
    if others or asked:
        spec = on_nodes(spec, tuple((*asked, one) for one in others) or (asked,))
    return spec if others else _apart_from_programs(spec)


def launcher_resources(options: KubernetesOptions) -> Resources:
    """Return the launcher's resources: the site's values, or so little that workers have room beside it."""
    own = options.launcher
    least = _NOTHING if own.place is LauncherPlace.BESIDE else _LITTLE
    given = {} if own.cpus is None else {"cpu": f"{own.cpus:g}"}
    given |= {} if own.memory_bytes is None else {"memory": str(own.memory_bytes)}
    most = {"cpu": _LAUNCHER_CPUS, "memory": _LAUNCHER_MEMORY}
    return Resources(requests=least | given, limits=most | given)


def spread(spec: PodSpec, options: KubernetesOptions, task: str) -> PodSpec:
    """Return a worker of `task`, spread with the other workers over the node labels that the site names."""
    selector = LabelSelector(match_labels={naming.TASK: task, naming.ROLE: naming.WORKER})
    constraints = tuple(
        TopologySpread(
            max_skew=one.max_skew,
            topology_key=one.key,
            when_unsatisfiable="DoNotSchedule" if one.is_required else "ScheduleAnyway",
            label_selector=selector,
        )
        for one in options.topology_spread
    )
    return msgspec.structs.replace(spec, topology_spread_constraints=constraints)


def away(spec: PodSpec, labels: dict[str, str]) -> PodSpec:
    """Return `spec`, kept off nodes with pods that have these labels."""
    affinity = msgspec.structs.replace(spec.affinity or Affinity(), pod_anti_affinity=_pods(labels))
    return msgspec.structs.replace(spec, affinity=affinity)


def near(spec: PodSpec, labels: dict[str, str]) -> PodSpec:
    """Return `spec`, kept on a node with a pod that has these labels."""
    affinity = msgspec.structs.replace(spec.affinity or Affinity(), pod_affinity=_pods(labels))
    return msgspec.structs.replace(spec, affinity=affinity)


def on_nodes(spec: PodSpec, terms: tuple[tuple[Requirement, ...], ...]) -> PodSpec:
    """Return `spec`, kept on a node that meets all requirements of one of the `terms`."""
    found = NodeTerms(node_selector_terms=tuple(NodeTerm(match_expressions=one) for one in terms))
    required = NodeAffinity(required_during_scheduling_ignored_during_execution=found)
    affinity = msgspec.structs.replace(spec.affinity or Affinity(), node_affinity=required)
    return msgspec.structs.replace(spec, affinity=affinity)


def _selector(options: KubernetesOptions) -> dict[str, str]:
    """Return the labels of the nodes for programs."""
    selector = dict(options.node_selector)
    if options.isolation:
        label, _, value = options.isolation.partition("=")
        selector[label] = value
    return selector


def _others(options: KubernetesOptions) -> tuple[Requirement, ...]:
    """Return conditions; on each node that is not for programs, at least one of them holds."""
    found = [
        Requirement(key=key, operator="NotIn", values=(value,)) for key, value in _selector(options).items()
    ]
    if options.nodes:
        found.append(Requirement(key=_HOSTNAME, operator="NotIn", values=options.nodes))
    return tuple(found)


def _among(nodes: tuple[str, ...]) -> Requirement:
    return Requirement(key=_HOSTNAME, operator="In", values=nodes)


def _apart_from_programs(spec: PodSpec) -> PodSpec:
    measured = Requirement(key=naming.ROLE, operator="In", values=_MEASURED)
    selector = LabelSelector(match_labels=dict(naming.MANAGED_BY), match_expressions=(measured,))
    term = PodTerm(label_selector=selector, topology_key=_HOSTNAME)
    apart = PodAffinity(required_during_scheduling_ignored_during_execution=(term,))
    affinity = msgspec.structs.replace(spec.affinity or Affinity(), pod_anti_affinity=apart)
    return msgspec.structs.replace(spec, affinity=affinity)


def _tolerations(
    options: KubernetesOptions, tolerations: tuple[Toleration, ...]
) -> tuple[TolerationSpec, ...]:
    """Return the tolerations for nodes of programs, with one for the taint that reserves these nodes."""
    own = _written(tolerations)
    if not options.isolation:
        return own
    return (*own, TolerationSpec(key=options.isolation.partition("=")[0], operator="Exists"))


def _written(tolerations: tuple[Toleration, ...]) -> tuple[TolerationSpec, ...]:
    return tuple(
        TolerationSpec(key=one.key, operator=one.operator, value=one.value, effect=one.effect)
        for one in tolerations
    )


def _pods(labels: dict[str, str]) -> PodAffinity:
    term = PodTerm(label_selector=LabelSelector(match_labels=labels), topology_key=_HOSTNAME)
    return PodAffinity(required_during_scheduling_ignored_during_execution=(term,))
