"""How a network of a site is made available in the pods of a cluster, as a site file says it."""

from __future__ import annotations

import enum
from typing import Annotated

import msgspec
from msgspec import Meta

from tare.core.fields import Mtu, Word


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
    """A NetworkAttachmentDefinition to make."""

    kind: Annotated[AttachmentKind, Meta(description="The CNI plug-in.", examples=["macvlan"])]
    master: Annotated[
        Word | None, Meta(description="The interface of the node under it.", examples=["ens1f0"])
    ] = None
    resource: Annotated[
        Word | None,
        Meta(description="sriov: what the device plug-in calls its functions.", examples=["intel.com/vf"]),
    ] = None
    mode: Annotated[Word | None, Meta(description="The plug-in's mode.", examples=["bridge", "l2"])] = None
    mtu: Annotated[Mtu | None, Meta(description="Largest packet.", examples=[9000])] = None
    vlan: Annotated[
        Annotated[int, Meta(ge=0, le=4094)] | None, Meta(description="sriov: its VLAN.", examples=[100])
    ] = None
    addressing: Annotated[
        Addressing, Meta(description="Who gives out addresses.", examples=["whereabouts"])
    ] = Addressing.WHEREABOUTS
    subnet: Annotated[
        Word | None, Meta(description="Where from, in CIDR form.", examples=["10.90.0.0/24"])
    ] = None
    addresses: Annotated[
        tuple[Word, ...], Meta(description="static: server's and client's.", examples=[["10.90.0.1/24"]])
    ] = ()


class PodNetwork(msgspec.Struct, frozen=True, kw_only=True):
    """How a network reaches into the pods of a cluster."""

    is_host: Annotated[bool, Meta(description="Pods are in the network of their node (hostNetwork).")] = (
        msgspec.field(name="host", default=False)
    )
    attachment: Annotated[
        Word | None,
        Meta(
            description="NetworkAttachmentDefinition that Multus adds as this interface.",
            examples=["hsn", "networks/hsn"],
        ),
    ] = None
    definition: Annotated[
        Attachment | None, Meta(description="What to make of that name, if it is not there already.")
    ] = None
