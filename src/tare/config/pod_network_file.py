"""Turn the `pod` entry of a site file's network into a `PodNetwork`."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

import msgspec

from tare.config.faults import Path as KeyPath
from tare.config.faults import shown
from tare.config.pod_network_types import AttachmentFile, PodNetworkFile
from tare.core.pod_network import Addressing, Attachment, AttachmentKind, PodNetwork

Fault = Callable[[KeyPath, str], None]

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_OVERLAID = {AttachmentKind.MACVLAN, AttachmentKind.IPVLAN, AttachmentKind.HOST_DEVICE}


def pod_network(file: PodNetworkFile, path: KeyPath, fault: Fault) -> PodNetwork:
    """Return how a network is made available in pods, with every fault reported."""
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
