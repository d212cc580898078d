"""How a network of a site is made available in the pods of a cluster."""

from __future__ import annotations

import enum

import msgspec


class AttachmentKind(enum.StrEnum):
    """The CNI plug-in that makes an interface of a pod."""

    MACVLAN = "macvlan"
    IPVLAN = "ipvlan"
    SRIOV = "sriov"
    HOST_DEVICE = "host-device"


class Addressing(enum.StrEnum):
    """The CNI plug-in that gives out addresses (IPAM)."""

    STATIC = "static"
    HOST_LOCAL = "host-local"
    WHEREABOUTS = "whereabouts"


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    """A NetworkAttachmentDefinition that Tare makes.

    Its interface lies on `master` (macvlan, ipvlan, host-device), or is a virtual function of the device
    plug-in's `resource` (sriov). host-local and whereabouts give addresses from `subnet`. `addresses` are for
    static, one for each pod, in CIDR form. `mode` is the plug-in's own: bridge, l2 …
    """

    kind: AttachmentKind
    master: str | None = None
    resource: str | None = None
    mode: str | None = None
    mtu: int | None = None
    vlan: int | None = None
    addressing: Addressing = Addressing.WHEREABOUTS
    subnet: str | None = None
    addresses: tuple[str, ...] = ()


class PodNetwork(msgspec.Struct, frozen=True, kw_only=True):
    """How a network is made available in pods; by default, it is the cluster's own pod network.

    `is_host` puts pods into the network of their node. `attachment` is the NetworkAttachmentDefinition,
    ``NAME`` or ``NAMESPACE/NAME``, that Multus adds as the network's interface. `definition` is its content
    where Tare makes it.
    """

    is_host: bool = False
    attachment: str | None = None
    definition: Attachment | None = None
