"""Check the `pod` entry of a site file's network."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from tare.config.faults import Path, shown
from tare.core.pod_network import Addressing, Attachment, AttachmentKind, PodNetwork

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_OVERLAID = {AttachmentKind.MACVLAN, AttachmentKind.IPVLAN, AttachmentKind.HOST_DEVICE}


def pod_network_faults(pod: PodNetwork) -> Iterator[tuple[Path, str]]:
    """Yield every fault of how a network is made available in pods: its path in `pod`, and the message."""
    if pod.is_host and pod.attachment is not None:
        yield ("attachment",), "pods in the network of their node need no attachment; remove it, or 'host'"
    if pod.definition is not None and pod.attachment is None:
        yield ("definition",), "a definition needs a name; add 'attachment: hsn'"
    for part in (pod.attachment or "x").split("/", 1):
        if not _NAME.fullmatch(part):
            yield ("attachment",), f"{shown(part)} is not a name of Kubernetes; write NAMESPACE/NAME"
    if pod.definition is not None:
        for path, message in _attachment_faults(pod.definition):
            yield ("definition", *path), message


def _attachment_faults(one: Attachment) -> Iterator[tuple[Path, str]]:
    if one.kind in _OVERLAID and one.master is None:
        yield (), f"{one.kind} needs an interface of the node; add 'master: ens1f0'"
    if one.kind is AttachmentKind.SRIOV and one.resource is None:
        yield (), "sriov takes functions from a device plug-in; add 'resource: intel.com/vf'"
    if one.kind is not AttachmentKind.SRIOV:
        for key in ("resource", "vlan"):
            if getattr(one, key) is not None:
                yield (key,), f"{one.kind} takes no {key}; remove it, or use kind: sriov"
    if one.addressing is Addressing.STATIC:
        if len(one.addresses) != 2:
            yield ("addresses",), "static gives one address to a server, and one to its client; write two"
    elif one.subnet is None:
        yield (), f"{one.addressing} gives addresses from a subnet; add 'subnet: 10.90.0.0/24'"
    for key, texts in (("subnet", (one.subnet,) if one.subnet else ()), ("addresses", one.addresses)):
        for text in texts:
            if not _is_cidr(text):
                yield (key,), f"{shown(text)} is not in CIDR form; write 10.90.0.0/24"


def _is_cidr(text: str) -> bool:
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return "/" in text
