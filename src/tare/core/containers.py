"""A platform's containers: how many there are, what they are made of, and what they see of their host."""

from __future__ import annotations

import enum
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tare.core.fields import Bytes, Word


class ContainerShape(enum.StrEnum):
    """How many containers there are."""

    RANK = "rank"
    """One container for each rank: the MPI of the host starts them, as it starts any program."""
    NODE = "node"
    """One container on each node, for the whole campaign: the MPI inside starts ranks across them."""


class ContainerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a container is made of, and what of its host it sees."""

    shape: Annotated[
        ContainerShape,
        Meta(description="A container a rank, or one a node that stays.", examples=["node"]),
    ] = ContainerShape.RANK
    image: Annotated[
        Word | None, Meta(description="The image.", examples=["docker.io/library/debian:12"])
    ] = None
    rootfs: Annotated[
        Word | None,
        Meta(description="Or a root file system, a folder.", examples=["${TARE_ROOTFS}/debian"]),
    ] = None
    binds: Annotated[
        tuple[Word, ...],
        Meta(description="Paths that are seen inside: SOURCE[:TARGET[:ro]].", examples=[["/opt/mpi"]]),
    ] = ()
    devices: Annotated[
        tuple[Word, ...], Meta(description="Devices that are seen inside.", examples=[["/dev/infiniband"]])
    ] = ()
    shm_bytes: Annotated[
        Bytes | None, Meta(description="Size of a /dev/shm of its own; default: the host's.")
    ] = msgspec.field(name="shm", default=None)
    memlock: Annotated[
        Literal["host", "unlimited"],
        Meta(description="Limit of locked memory; RDMA wants it unlimited.", examples=["unlimited"]),
    ] = "host"
    network: Annotated[
        Word, Meta(description="The runtime's network; host is that of the host.", examples=["host"])
    ] = "host"
    options: Annotated[
        tuple[Word, ...],
        Meta(description="Further options of the runtime's command.", examples=[["--privileged"]]),
    ] = ()
    program: Annotated[
        Word | None,
        Meta(description="The runtime's command, if not its name.", examples=["/opt/bin/podman"]),
    ] = None

    @property
    def is_memlock_unlimited(self) -> bool:
        """Return whether memory may be locked without limit; otherwise the limit is that of the host."""
        return self.memlock == "unlimited"

    @property
    def source(self) -> str:
        """Return the image or root file system."""
        return self.rootfs or self.image or ""
