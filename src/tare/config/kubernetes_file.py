"""Turn what a site file says of a Kubernetes cluster into the options of a platform or network."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Collection

import msgspec

from tare.config.faults import Path as KeyPath
from tare.config.faults import nearest, shown
from tare.config.kubernetes_merge import check_merge
from tare.config.kubernetes_placement import placement_options
from tare.config.kubernetes_types import AttachmentFile, KubernetesFile, PodNetworkFile
from tare.model.kubernetes import (
    SSHD_CONFIG,
    Addressing,
    Attachment,
    AttachmentKind,
    KubernetesOptions,
    PhaseTimeouts,
    PodNetwork,
    WorkVolume,
)

Fault = Callable[[KeyPath, str], None]
Expand = Callable[[str, KeyPath], str]

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_SSHD = ("/usr/sbin/sshd", "-De")
_RENAMED = frozenset({"memory", "shm", "memlock", "results", "ephemeral_storage"})
_OVERLAID = {AttachmentKind.MACVLAN, AttachmentKind.IPVLAN, AttachmentKind.HOST_DEVICE}


def kubernetes_options(
    file: KubernetesFile, path: KeyPath, storage: Collection[str], fault: Fault, expand: Expand
) -> KubernetesOptions:
    """Return the options, with every fault told; `storage` are the names of the site's storage paths."""
    _check_names(file, path, storage, fault)
    user = None if file.user == "cluster" else file.user
    _check_user(file, user, path, fault)
    sshd = tuple(file.sshd) or (_SSHD if user == 0 else (*_SSHD, "-f", SSHD_CONFIG))
    values = msgspec.structs.asdict(file) | {
        "image": expand(file.image, (*path, "image")),
        "kubeconfig": expand(file.kubeconfig, (*path, "kubeconfig")) if file.kubeconfig else None,
        "memory_bytes": file.memory,
        "shm_bytes": file.shm,
        "results_bytes": file.results,
        "is_memlock_unlimited": file.memlock == "unlimited",
        "capabilities": tuple(file.capabilities),
        "user": user,
        "sshd": sshd,
        "pull_secrets": tuple(file.pull_secrets),
        "nodes": tuple(file.nodes),
        **placement_options(file, path, fault),
        "timeouts": PhaseTimeouts(**{f"{k}_s": v for k, v in msgspec.structs.asdict(file.timeouts).items()}),
        "work": WorkVolume(claim=file.work.claim, path=file.work.path.rstrip("/")) if file.work else None,
        "merge": msgspec.json.encode(file.merge, order="sorted").decode() if file.merge else "",
    }
    return KubernetesOptions(**{name: value for name, value in values.items() if name not in _RENAMED})


def pod_network(file: PodNetworkFile, path: KeyPath, fault: Fault) -> PodNetwork:
    """Return how a network reaches into pods, with every fault told."""
    if file.host and file.attachment is not None:
        fault((*path, "attachment"), "pods in the network of their node need none; remove it, or 'host'")
    if file.definition is not None and file.attachment is None:
        fault((*path, "definition"), "what is made needs a name; add 'attachment: hsn'")
    for part in (file.attachment or "x").split("/", 1):
        if not _NAME.fullmatch(part):
            fault((*path, "attachment"), f"{shown(part)} is not a name of Kubernetes; write NAMESPACE/NAME")
    one = file.definition
    if one is None:
        return PodNetwork(is_host=file.host, attachment=file.attachment)
    for key, message in _attachment_faults(one):
        fault((*path, "definition", key) if key else (*path, "definition"), message)
    values = msgspec.structs.asdict(one) | {"addresses": tuple(one.addresses)}
    return PodNetwork(is_host=file.host, attachment=file.attachment, definition=Attachment(**values))


def _check_names(file: KubernetesFile, path: KeyPath, storage: Collection[str], fault: Fault) -> None:
    for key, name in (("namespace", file.namespace), ("service_account", file.service_account or "x")):
        if not _NAME.fullmatch(name):
            fault((*path, key), f"{shown(name)} is not a name of Kubernetes; use a-z, 0-9 and '-'")
    for name in file.storage:
        if name not in storage:
            fault(
                (*path, "storage", name),
                f"{shown(name)} is not a storage path of this site; {nearest(name, list(storage))}",
            )
    if file.work is not None and not file.work.path.startswith("/"):
        fault((*path, "work", "path"), f"{shown(file.work.path)} is relative, and to nothing; write /…")
    if file.isolation is not None and "=" not in file.isolation:
        fault((*path, "isolation"), f"{shown(file.isolation)} has no value; write LABEL=VALUE: bench=only")
    check_merge(file.merge, (*path, "merge"), fault)


def _check_user(file: KubernetesFile, user: int | None, path: KeyPath, fault: Fault) -> None:
    if user != 0 and file.ssh_port < 1024:
        fault((*path, "ssh_port"), f"only root may listen on port {file.ssh_port}; use 2222, or user: 0")
    if user != 0 and file.capabilities:
        fault((*path, "capabilities"), "programs of other users have none; remove it, or add user: 0")
    if not file.home.startswith("/"):
        fault((*path, "home"), f"{shown(file.home)} is relative, and to nothing; write /home/…")


def _attachment_faults(one: AttachmentFile) -> list[tuple[str, str]]:
    found = []
    if one.kind in _OVERLAID and one.master is None:
        found.append(("", f"{one.kind} lies on an interface of the node; add 'master: ens1f0'"))
    if one.kind is AttachmentKind.SRIOV and one.resource is None:
        found.append(("", "sriov takes functions from a device plug-in; add 'resource: intel.com/vf'"))
    if one.kind is not AttachmentKind.SRIOV:
        for key in ("resource", "vlan"):
            if getattr(one, key) is not None:
                found += [(key, f"{one.kind} has none; remove it, or use kind: sriov")]
    if one.addressing is Addressing.STATIC:
        if len(one.addresses) != 2:
            found.append(
                ("addresses", "static gives one address to a server, and one to its client; write two")
            )
    elif one.subnet is None:
        found.append(("", f"{one.addressing} gives addresses from a subnet; add 'subnet: 10.90.0.0/24'"))
    for key, texts in (("subnet", [one.subnet] if one.subnet else []), ("addresses", one.addresses)):
        found += [
            (key, f"{shown(text)} is not in CIDR form; write 10.90.0.0/24")
            for text in texts
            if not _is_cidr(text)
        ]
    return found


def _is_cidr(text: str) -> bool:
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return "/" in text
