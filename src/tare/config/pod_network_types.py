"""The `pod` entry of a site file's network, as a user writes it."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from tare.core.fields import Word
from tare.core.pod_network import Addressing, AttachmentKind


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Part of a file; a key that it does not know is a fault."""


class AttachmentFile(_File, frozen=True, kw_only=True):
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
    mtu: Annotated[
        Annotated[int, Meta(ge=576, le=65535)] | None, Meta(description="Largest packet.", examples=[9000])
    ] = None
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
        list[Word], Meta(description="static: server's and client's.", examples=[["10.90.0.1/24"]])
    ] = []


class PodNetworkFile(_File, frozen=True, kw_only=True):
    """How a network reaches into the pods of a cluster."""

    host: Annotated[bool, Meta(description="Pods are in the network of their node (hostNetwork).")] = False
    attachment: Annotated[
        Word | None,
        Meta(
            description="NetworkAttachmentDefinition that Multus adds as this interface.",
            examples=["hsn", "networks/hsn"],
        ),
    ] = None
    definition: Annotated[
        AttachmentFile | None, Meta(description="What to make of that name, if it is not there already.")
    ] = None
