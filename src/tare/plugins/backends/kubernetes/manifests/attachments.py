"""Build NetworkAttachmentDefinitions of additional pod networks, and pods' requests for them. Pure.

The format is that of the Kubernetes Network Plumbing Working Group, which Multus implements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from tare.core.decoding import decode_json
from tare.core.errors import NOT_JSON
from tare.core.pod_network import Addressing, Attachment, AttachmentKind
from tare.core.site import Network
from tare.plugins.backends.kubernetes.objects.created import AttachmentDefinition, AttachmentSpec, Meta

REQUEST = "k8s.v1.cni.cncf.io/networks"
STATUS = "k8s.v1.cni.cncf.io/network-status"
_RESOURCE = "k8s.v1.cni.cncf.io/resourceName"
_CNI_VERSION = "0.4.0"


class _Ipam(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    type: str
    ranges: list[list[dict[str, str]]] = []
    range: str = ""


class _Config(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A CNI configuration, for any of the plug-ins (containernetworking.io, plugins)."""

    cni_version: str
    name: str
    type: str
    master: str | None = None
    device: str | None = None
    mode: str | None = None
    mtu: int | None = None
    vlan: int | None = None
    capabilities: dict[str, bool] = {}
    ipam: _Ipam


class _Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One element of the annotation by which a pod requests networks."""

    name: str
    namespace: str = ""
    interface: str
    ips: list[str] = []


class _Status(msgspec.Struct, frozen=True, kw_only=True):
    """One element of the annotation in which Multus reports the networks."""

    interface: str = ""
    ips: list[str] = []


def split_name(attachment: str, namespace: str) -> tuple[str, str]:
    """Return namespace and name of ``NAME`` or ``NAMESPACE/NAME``."""
    before, slash, after = attachment.partition("/")
    return (before, after) if slash else (namespace, before)


def definition(network: Network, namespace: str) -> AttachmentDefinition | None:
    """Return the definition to create for `network`; None where it exists already, or none is needed."""
    pod = network.pod
    if pod.attachment is None or pod.definition is None:
        return None
    home, name = split_name(pod.attachment, namespace)
    resource = pod.definition.resource
    return AttachmentDefinition(
        metadata=Meta(name=name, namespace=home, annotations={_RESOURCE: resource} if resource else {}),
        spec=AttachmentSpec(config=msgspec.json.encode(_config(name, pod.definition)).decode()),
    )


def request(network: Network, namespace: str, number: int | None = None) -> dict[str, str]:
    """Return the annotation that requests `network`; pod `number` requests its static address."""
    pod = network.pod
    if pod.attachment is None:
        return {}
    home, name = split_name(pod.attachment, namespace)
    addresses = pod.definition.addresses if pod.definition else ()
    one = _Request(
        name=name,
        namespace="" if home == namespace else home,
        interface=network.interface,
        ips=[addresses[number]] if number is not None and number < len(addresses) else [],
    )
    return {REQUEST: msgspec.json.encode([one]).decode()}


def device_requests(network: Network | None) -> dict[str, str]:
    """Return the devices that a pod on `network` requests from the device plug-in."""
    if network is None or network.pod.definition is None or network.pod.definition.resource is None:
        return {}
    return {network.pod.definition.resource: "1"}


def address_on(interface: str, status: str) -> str | None:
    """Return the first address of `interface` in Multus' report; None while there is none."""
    try:
        found = decode_json(status, type=list[_Status])
    except NOT_JSON:
        return None
    return next((one.ips[0] for one in found if one.interface == interface and one.ips), None)


def duplicate_address(interface: str, statuses: Iterable[str]) -> str:
    """Return an address that several pods have on `interface`, by Multus' reports; empty if there is none."""
    counted = Counter(address for one in statuses if (address := address_on(interface, one)))
    return next((address for address, count in counted.items() if count > 1), "")


def _config(name: str, one: Attachment) -> _Config:
    is_device = one.kind is AttachmentKind.HOST_DEVICE
    return _Config(
        cni_version=_CNI_VERSION,
        name=name,
        type=one.kind.value,
        master=one.master if one.kind in {AttachmentKind.MACVLAN, AttachmentKind.IPVLAN} else None,
        device=one.master if is_device else None,
        mode=one.mode,
        mtu=one.mtu,
        vlan=one.vlan,
        capabilities={"ips": True} if one.addressing is Addressing.STATIC else {},
        ipam=_ipam(one),
    )


def _ipam(one: Attachment) -> _Ipam:
    match one.addressing:
        case Addressing.STATIC:
            return _Ipam(type="static")
        case Addressing.HOST_LOCAL:
            return _Ipam(type="host-local", ranges=[[{"subnet": one.subnet or ""}]])
        case Addressing.WHEREABOUTS:
            return _Ipam(type="whereabouts", range=one.subnet or "")
