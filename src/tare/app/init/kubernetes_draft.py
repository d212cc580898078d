"""Make a site of what was found in a Kubernetes cluster. Pure.

The API server checks most names, but not those of contexts, and Tare may talk to another server. Names that
a site file does not take are left out, with a remark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from tare.app.init.mpis import named_mpis
from tare.app.init.site_draft import Block, NetworkDraft, PlatformDraft, SiteDraft, Stated
from tare.core.decoding import convert
from tare.discovery.facts import NodeFacts
from tare.discovery.kubernetes_facts import AttachmentFacts, ClaimFacts, KubernetesFacts, NodeGroup
from tare.discovery.ranges import as_ranges
from tare.plugins.backends.kubernetes.objects.quantity import parse_quantity
from tare.plugins.backends.kubernetes.options import KubernetesOptions, Toleration

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_LABEL = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_./]{0,250}")
_PREFERRED = ("node.kubernetes.io/instance-type", "node-role.kubernetes.io/worker")
_HOSTNAME = "kubernetes.io/hostname"
_UNKNOWN_NODES = ("node1", "node2")
_MEMORY, _LAUNCHER_MEMORY, _MIB = 2 << 30, 512 << 20, 1 << 20
_VERSION = "v2beta1"


class KubernetesChoice(msgspec.Struct, frozen=True, kw_only=True):
    """What was chosen for pods. `inside` is what a pod reports of the image, or else `launcher` is chosen.

    `user` and `host_refusal` are what dry runs gave; an empty refusal says that pods may be on the host's
    network.
    """

    image: Stated
    launcher: Stated | None
    user: Stated
    inside: NodeFacts | None = None
    is_root_by_constraint: bool = False
    host_refusal: str = ""


def memory_of_pods(facts: KubernetesFacts) -> Stated:
    """Return the memory of a pod in bytes: 2 GiB, or less where a limit, a quota or the nodes want that."""
    found = [(_MEMORY, "a choice, so that pods are Guaranteed; large programs need more")]
    found += [(one.memory_bytes // 2, "half of a node's memory") for one in facts.groups[:1]]
    for limit in facts.limits:
        if limit.kind in {"Container", "Pod"} and (most := _bytes(limit.most)):
            found.append((most, f"the most that LimitRange {limit.name} allows a {limit.kind}"))
    for quota in facts.quotas:
        for name in ("limits.memory", "requests.memory", "memory"):
            if name in quota.hard:
                free = (_bytes(quota.hard, name) or 0) - (_bytes(quota.used, name) or 0)
                room = (free - _LAUNCHER_MEMORY) // 2
                found.append((room, f"what quota {quota.name} has left for two pods and a launcher"))
    amount, origin = min(found, key=lambda one: one[0])
    return Stated(max(amount // _MIB, 64) * _MIB, origin)


def has_operator(facts: KubernetesFacts) -> bool:
    """Return whether MPIJobs of the version that Tare makes are served."""
    return facts.operator is not None and _VERSION in facts.operator.versions


def kubernetes_draft(facts: KubernetesFacts, choice: KubernetesChoice, notes: Sequence[str]) -> SiteDraft:
    """Return the site of a cluster: its largest group of nodes, networks, claims, and one platform."""
    group = facts.groups[0] if facts.groups else None
    nodes = [one for one in group.nodes if _NAME.fullmatch(one)] if group else []
    claims = _claim_names(facts.claims)
    block = Stated(
        _pods(facts, choice, group, claims), "one pod a node; `tare schema site` lists further options"
    )
    platforms = tuple(_platforms(facts, choice, block))
    return SiteDraft(
        keys=_keys(facts, group, nodes),
        n_nodes=len(nodes) or len(_UNKNOWN_NODES),
        cores=max(group.free_cpus, 1) if group else 1,
        spare_cpus=max(group.free_cpus - 1, 0) if group and not _limits_cpus(facts) else 0,
        platforms=platforms,
        networks=tuple(_networks(facts, choice)),
        storage={
            name: Stated(f"/mnt/{name}", f"where pods mount the claim {one.name}{_size(one)}")
            for name, one in claims.items()
        },
        remarks=tuple(_remarks(facts, nodes, notes)),
        shares_files=False,
    )


def _platforms(facts: KubernetesFacts, choice: KubernetesChoice, block: Stated) -> Iterator[PlatformDraft]:
    """Yield a platform for each MPI in the image, those with IMB first, or for the MPI that was chosen."""
    origin = _operator_origin(facts)
    launcher = choice.launcher or Stated("none", "no MPI was found in the image")
    mpis = named_mpis((choice.inside,)) if choice.inside else {}
    for name, one in sorted(mpis.items(), key=lambda item: "IMB-MPI1" not in item[1].programs):
        yield PlatformDraft(
            name=name,
            options={
                "backend": "kubernetes",
                "launcher": one.launcher,
                "prefix": one.prefix,
                "path": list(one.path),
                "kubernetes": block,
            },
            origin=f"{one.family} {one.version} in the image: {one.origin}; {origin}",
            has_compiler="mpicc" in one.programs,
            has_imb="IMB-MPI1" in one.programs,
        )
    if not mpis:
        yield PlatformDraft(
            name="pods",
            options={"backend": "kubernetes", "launcher": launcher, "kubernetes": block},
            origin=origin,
            is_mpi=launcher.value != "none",
            has_compiler=None,
        )


def _limits_cpus(facts: KubernetesFacts) -> bool:
    """Return whether the namespace has a limit for CPUs, which a pod may not exceed."""
    return any("cpu" in one.most for one in facts.limits) or any(
        name.endswith("cpu") for one in facts.quotas for name in one.hard
    )


def with_places(options: KubernetesOptions, facts: KubernetesFacts) -> KubernetesOptions:
    """Return the options of a pod that goes to the nodes which the site will name."""
    values = {key: one.value for key, one in _places(facts.groups[0], facts)} if facts.groups else {}
    return msgspec.structs.replace(
        options,
        nodes=convert(values.get("nodes", ()), tuple[str, ...]),
        node_selector=convert(values.get("node_selector", {}), dict[str, str]),
        tolerations=convert(values.get("tolerations", ()), tuple[Toleration, ...]),
    )


def _keys(facts: KubernetesFacts, group: NodeGroup | None, nodes: Sequence[str]) -> dict[str, Stated]:
    name = re.sub(r"[^A-Za-z0-9_.+-]", "-", facts.context.name).strip("-._+")[:60] or "cluster"
    keys = {"site": Stated(name, f"the name of the context; Kubernetes {facts.version}")}
    if group is None or not nodes:
        why = "no node takes pods now" if facts.n_unusable else "nodes cannot be listed"
        keys["nodes"] = Stated(list(_UNKNOWN_NODES), f"not known, since {why}")
        keys["slots_per_node"] = Stated(1, "not known, likewise")
        return keys
    total = len(nodes) + facts.n_unusable + sum(len(one.nodes) for one in facts.groups[1:])
    origin = f"the API's nodes: {len(nodes)} of {total}, alike and ready"
    keys["nodes"] = Stated(list(as_ranges(nodes)), origin)
    cpus = f"of {group.cpus} allocatable CPUs, those that no pod has requested now, on the fullest node"
    keys["slots_per_node"] = Stated(max(group.free_cpus, 1), f"{cpus}; hyper-threads count as CPUs")
    return keys


def _pods(
    facts: KubernetesFacts,
    choice: KubernetesChoice,
    group: NodeGroup | None,
    claims: Mapping[str, ClaimFacts],
) -> Block:
    context = facts.context
    block: dict[str, Stated] = {"image": choice.image}
    block["context"] = Stated(context.name, f"of {context.kubeconfig}")
    block["namespace"] = Stated(facts.namespace, "where pods are made")
    memory = memory_of_pods(facts)
    block["memory"] = Stated(f"{int(str(memory.value)) // _MIB}MiB", memory.origin)
    block["user"] = choice.user
    if choice.is_root_by_constraint:
        block["seccomp"] = Stated("cluster", "pods with a profile of their own are refused, by a dry run")
    if group is not None:
        block |= _places(group, facts)
    if claims:
        named = {name: one.name for name, one in claims.items()}
        block["storage"] = Stated(named, "claims that are ReadWriteMany")
    return block


def _places(group: NodeGroup, facts: KubernetesFacts) -> Iterator[tuple[str, Stated]]:
    """Yield which nodes pods go to, and where the launcher is, as doctor.check_neighbourhood wants it."""
    others = [one for one in facts.groups[1:] if not one.taints]
    beside: dict[str, object] = {"place": "beside"}
    if group.taints:
        tolerated = [{"key": key, "operator": "Exists"} for key in group.taints if _LABEL.fullmatch(key)]
        yield "tolerations", Stated(tolerated, "taints of these nodes; there are none without")
        beside["tolerations"] = tolerated
    if others:
        label = _own_label(group)
        if label:
            yield "node_selector", Stated(dict([label]), "only these nodes have this label")
        else:
            names = [one for one in group.nodes if _NAME.fullmatch(one)]
            yield "nodes", Stated(names, "no label is theirs alone")
    elif len(group.nodes) <= 2 or group.taints:
        yield "launcher", Stated(beside, "no node is left for the pod that starts ranks")


def _own_label(group: NodeGroup) -> tuple[str, str] | None:
    """Return a label that all nodes of the group have, and no others."""
    own = [
        (name, value)
        for name, value in group.own_labels.items()
        if name != _HOSTNAME and _LABEL.fullmatch(name) and (not value or _LABEL.fullmatch(value))
    ]
    return min(own, key=lambda one: (one[0] not in _PREFERRED, one), default=None)


def _networks(facts: KubernetesFacts, choice: KubernetesChoice) -> Iterator[NetworkDraft]:
    yield NetworkDraft(
        name="pod-network", options={"interface": "eth0"}, origin="the cluster's own network, in each pod"
    )
    devices = {name for one in facts.groups for name in one.devices}
    taken = {"pod-network", "host"}
    for one in facts.attachments:
        if not (_NAME.fullmatch(one.name) and _NAME.fullmatch(one.namespace)):
            continue
        name = one.name if one.name not in taken else f"{one.namespace}-{one.name}"
        taken.add(name)
        attachment = one.name if one.namespace == facts.namespace else f"{one.namespace}/{one.name}"
        fault = _attachment_fault(one, devices)
        yield NetworkDraft(
            name=name[:100],
            options={"interface": "net1", "pod": {"attachment": attachment}},
            origin=_attachment_origin(one),
            preface=fault,
            is_off=bool(fault),
        )
    why = f"refused, by a dry run: {choice.host_refusal}" if choice.host_refusal else "taken, by a dry run"
    yield NetworkDraft(
        name="host",
        options={"interface": "eth0", "pod": {"host": True}},
        origin=f"pods on the network of their node are {why}",
        preface="The API does not say what nodes call their interface: name it to measure the host's network",
        is_off=True,
    )


def _attachment_origin(one: AttachmentFacts) -> str:
    parts = [
        f"NetworkAttachmentDefinition {one.namespace}/{one.name}: {one.kind or 'plug-in not known'}",
        f"on {one.master}" if one.master else "",
        f"addresses by {one.addressing}" if one.addressing else "",
        f"needs {one.device}, which Multus' injector requests" if one.device else "",
    ]
    return ", ".join(part for part in parts if part)


def _attachment_fault(one: AttachmentFacts, devices: set[str]) -> str:
    """Return why pods of two nodes cannot use a network as it is; empty where nothing shows that."""
    if one.addressing == "host-local":
        return "host-local gives pods of two nodes the same addresses:"
    if not one.kind:
        return "its CNI configuration names no plug-in:"
    if not one.addressing:
        return "its pods get no addresses:"
    if one.device and one.device not in devices:
        return f"no node has {one.device}:"
    return ""


def _claim_names(claims: Sequence[ClaimFacts]) -> dict[str, ClaimFacts]:
    """Return the claims that pods of several nodes may mount, by names of storage paths."""
    shared = [one for one in claims if one.is_shared and _NAME.fullmatch(one.name)]
    return {one.name[:100].strip("-."): one for one in shared}


def _size(one: ClaimFacts) -> str:
    parts = [one.size, f"storage class {one.storage_class}" if one.storage_class else "", one.phase]
    return f": {', '.join(part for part in parts if part)}"


def _operator_origin(facts: KubernetesFacts) -> str:
    one = facts.operator
    if one is None or not has_operator(facts):
        served = f" but {', '.join(one.versions)}" if one and one.versions else ""
        return f"there is no MPIJob {_VERSION}{served}: without the MPI Operator, programs without MPI"
    where = f": {one.place}, {one.image}" if one.place else ""
    return f"MPIJob {', '.join(one.versions)} of the MPI Operator{where}"


def _remarks(facts: KubernetesFacts, nodes: Sequence[str], notes: Sequence[str]) -> Iterator[str]:
    if facts.groups and len(nodes) < len(facts.groups[0].nodes):
        yield "Some nodes have names that Kubernetes does not allow; they are left out."
    for group in facts.groups[1:]:
        taints = f", with taints {', '.join(group.taints)}" if group.taints else ""
        named = ", ".join(as_ranges(group.nodes[:50]))
        yield f"Other nodes: {named}: {group.cpus} CPUs, {group.memory_bytes >> 30} GiB{taints}."
    if facts.n_unusable:
        yield f"Nodes that take no pods now (cordoned, not ready, or not Linux): {facts.n_unusable}."
    for group in facts.groups[:1]:
        for name, amount in group.devices.items():
            ask = f"'resources: {{{name}: \"1\"}}'"
            yield f"Each of these nodes has {name}: {amount}; ask for them with {ask}."
    yield from _rules(facts)
    for claim in facts.claims:
        if not claim.is_shared:
            modes = ", ".join(claim.access_modes)
            yield f"Claim {claim.name} is not for pods of several nodes: {modes}, {claim.phase}."
    for one in facts.storage_classes:
        default = ", the default" if one.is_default else ""
        yield f"Storage class {one.name}: {one.provisioner}{default}."
    if facts.missing_rights:
        lacking = ", ".join(facts.missing_rights)
        yield f"Rights that you lack in {facts.namespace}: {lacking} (deploy/kubernetes)."
    elif facts.missing_rights is not None:
        yield f"You have all rights in {facts.namespace} that campaigns use."
    for note in notes:
        yield f"Not known: {note}."


def _rules(facts: KubernetesFacts) -> Iterator[str]:
    """Yield what the namespace restricts."""
    if facts.is_openshift:
        yield "This is OpenShift: its security context constraints decide which pods it takes."
    if facts.pod_security:
        yield f"Pod Security of namespace {facts.namespace}: {facts.pod_security}."
    for quota in facts.quotas:
        used = (f"{key} {quota.used.get(key, '0')} of {most}" for key, most in quota.hard.items())
        yield f"Quota {quota.name}: {', '.join(used)}."
    for limit in facts.limits:
        parts = (("least", limit.least), ("most", limit.most), ("default", limit.default))
        shown = "; ".join(
            f"{word} {', '.join(f'{key} {value}' for key, value in amounts.items())}"
            for word, amounts in parts
            if amounts
        )
        yield f"LimitRange {limit.name}, of a {limit.kind}: {shown}."


def _bytes(amounts: Mapping[str, str], name: str = "memory") -> int | None:
    found = parse_quantity(amounts.get(name, ""))
    return None if found is None else int(found)
