"""The content of a site file, as a user writes it."""

from __future__ import annotations

import functools
from typing import Annotated, Any, Literal, TypeVar, cast

import msgspec
from msgspec import NODEFAULT, Meta

from tare.config.pod_network_types import PodNetworkFile
from tare.core.backend_plugin import BackendPlugin
from tare.core.fields import (
    BitRate,
    ByteRate,
    Bytes,
    Count,
    FlopRate,
    Name,
    Seconds,
    Variables,
    Word,
    Words,
)
from tare.core.site import ContainerShape, LabNetworkKind
from tare.plugins.backend_registry import backends

_FileT = TypeVar("_FileT", bound=msgspec.Struct)


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Part of a file; a key that it does not know is a fault."""


class ContainerFile(_File, frozen=True, kw_only=True):
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
        list[Word],
        Meta(description="Paths that are seen inside: SOURCE[:TARGET[:ro]].", examples=[["/opt/mpi"]]),
    ] = []
    devices: Annotated[
        list[Word], Meta(description="Devices that are seen inside.", examples=[["/dev/infiniband"]])
    ] = []
    shm: Annotated[Bytes | None, Meta(description="Size of a /dev/shm of its own; default: the host's.")] = (
        None
    )
    memlock: Annotated[
        Literal["host", "unlimited"],
        Meta(description="Limit of locked memory; RDMA wants it unlimited.", examples=["unlimited"]),
    ] = "host"
    network: Annotated[
        Word, Meta(description="The runtime's network; host is that of the host.", examples=["host"])
    ] = "host"
    options: Annotated[
        list[Word],
        Meta(description="Further options of the runtime's command.", examples=[["--privileged"]]),
    ] = []
    program: Annotated[
        Word | None,
        Meta(description="The runtime's command, if not its name.", examples=["/opt/bin/podman"]),
    ] = None


class PlatformFile(_File, frozen=True, kw_only=True):
    """How a case becomes processes. Each installed backend adds a key of its own name for its options."""

    backend: Annotated[Word, Meta(description="Where processes run.", examples=["process"])] = "process"
    launcher: Annotated[
        Word, Meta(description="How ranks start; none for programs without MPI.", examples=["openmpi4"])
    ] = "none"
    runtime: Annotated[Word, Meta(description="What wraps a rank.", examples=["native"])] = "native"
    prefix: Annotated[
        Word | None, Meta(description="Where its MPI is installed.", examples=["/opt/openmpi"])
    ] = None
    path: Annotated[
        Words, Meta(description="Folders in which workloads find programs.", examples=[["/opt/imb/bin"]])
    ] = []
    env: Annotated[Variables, Meta(description="Environment variables of every rank.")] = {}
    container: Annotated[
        ContainerFile | None, Meta(description="What a runtime but native makes containers of.")
    ] = None


class NetworkFile(_File, frozen=True, kw_only=True):
    """A named choice of fabric."""

    interface: Annotated[
        Word, Meta(description="The network interface that must carry the traffic.", examples=["eth0"])
    ]
    host: Annotated[
        Word,
        Meta(description="The host where its ranks start, on node {node}.", examples=["'{node}-pod'"]),
    ] = "{node}"
    address: Annotated[
        Word,
        Meta(
            description="What others on this network call that host: {host}, or a name made of {node}.",
            examples=["'{node}-ib0'"],
        ),
    ] = "{host}"
    provider: Annotated[Word, Meta(description="The transport, as libfabric calls it.", examples=["tcp"])] = (
        "tcp"
    )
    rate: Annotated[
        BitRate | None,
        Meta(description="What its link carries in one direction: the bound of its figures."),
    ] = None
    device: Annotated[
        Words,
        Meta(
            description="The RDMA devices that carry the data past the kernel, with or without a port. "
            "Default: those of the interface.",
            examples=["mlx5_0:1"],
        ),
    ] = []
    options: Annotated[
        dict[str, Variables],
        Meta(
            description="Further environment variables, by launcher.",
            examples=[{"mpich": {"UCX_TLS": "tcp"}}],
        ),
    ] = {}
    pod: Annotated[
        PodNetworkFile, Meta(description="How it reaches into pods; default: it is the cluster's own.")
    ] = PodNetworkFile()


class TelemetryFile(_File, frozen=True, kw_only=True):
    """How nodes are watched while a case runs."""

    period: Annotated[
        Seconds | Literal["off"] | None,
        Meta(description="Seconds between samples, or off. Default: the site's, else 1 s.", examples=["1 s"]),
    ] = None
    packets: Annotated[
        bool | None,
        Meta(
            description="Count the packets of a case's network by size; needs CAP_NET_RAW on the nodes. "
            "Default: the site's, else false.",
            examples=[True],
        ),
    ] = None


class PeaksFile(_File, frozen=True, kw_only=True):
    """What one node can give at most; figures are held against it."""

    memory_bandwidth: Annotated[
        ByteRate | None, Meta(description="Memory bandwidth of a node, as its maker states it.")
    ] = None
    flops: Annotated[FlopRate | None, Meta(description="Double-precision operations a second of a node.")] = (
        None
    )


class LabNetworkFile(_File, frozen=True, kw_only=True):
    """One network of the lab."""

    kind: Annotated[LabNetworkKind, Meta(description="How it is made.", examples=["bridge"])]
    over: Annotated[
        Word | None, Meta(description="The bridge that carries a vxlan or macvlan.", examples=["host"])
    ] = None
    mtu: Annotated[
        Annotated[int, Meta(ge=576, le=65535)] | None, Meta(description="Largest packet.", examples=[1450])
    ] = None
    rate: Annotated[BitRate | None, Meta(description="Shape a bridge's links to this.")] = None


class LabFile(_File, frozen=True, kw_only=True):
    """A cluster of network namespaces on this machine."""

    nodes: Annotated[int, Meta(ge=1, le=200, description="How many nodes.", examples=[2])]
    networks: Annotated[
        dict[Name, LabNetworkFile],
        Meta(description="The networks between them.", examples=[{"host": {"kind": "bridge"}}]),
    ]


_PLATFORMS = Meta(
    description="Platforms; the first is what a study gets that names none.",
    examples=[{"bare": {"launcher": "openmpi4"}}],
)


class SiteFile(_File, frozen=True, kw_only=True):
    """What a place offers to studies: nodes, platforms, networks and storage paths."""

    site: Annotated[Name, Meta(description="The site's name.", examples=["venus"])]
    nodes: Annotated[Words, Meta(description="Its nodes; 'n[1-4]' is a range.", examples=[["n1", "n2"]])] = []
    slots_per_node: Annotated[
        Count | Literal["cores"],
        Meta(description="Ranks that a node has room for; 'cores' are this machine's.", examples=[32]),
    ] = 1
    memory: Annotated[
        Bytes | None,
        Meta(description="Memory of each node, which hpl and hpcc fill a share of.", examples=["128GiB"]),
    ] = None
    peaks: Annotated[
        PeaksFile,
        Meta(
            description="What one node can give at most; figures are held against it.",
            examples=[{"memory_bandwidth": "204 GB/s"}],
        ),
    ] = PeaksFile()
    platforms: Annotated[dict[Name, PlatformFile], _PLATFORMS]
    networks: Annotated[
        dict[Name, NetworkFile],
        Meta(
            description="Networks; the first is what a study gets that names none.",
            examples=[{"host": {"interface": "eth0"}}],
        ),
    ] = {}
    storage: Annotated[
        dict[Name, Word],
        Meta(description="Storage paths by name.", examples=[{"scratch": "/mnt/scratch"}]),
    ] = {}
    agent: Annotated[
        Words,
        Meta(
            description="What starts a command on a node, called as ssh is. "
            "Default: ssh, but on localhost and in the lab.",
            examples=["ssh -q"],
        ),
    ] = []
    staging: Annotated[
        Word | None,
        Meta(
            description="Folder of each node to which working folders are copied, and results back from; "
            "default: the nodes share the campaign's folder.",
            examples=["/scratch/local"],
        ),
    ] = None
    management: Annotated[
        list[Word], Meta(description="Interfaces of start-up traffic only.", examples=[["mgmt0"]])
    ] = []
    attest: Annotated[
        bool | Literal["placement"],
        Meta(
            description="Ranks say where they start, and their MPI which transport it chose; a run where "
            "either is not as asked is invalid. 'placement' for the first alone.",
            examples=["placement"],
        ),
    ] = True
    telemetry: Annotated[
        TelemetryFile,
        Meta(
            description="How nodes are watched, unless a study says otherwise.", examples=[{"period": "10 s"}]
        ),
    ] = TelemetryFile()
    redact: Annotated[
        Words,
        Meta(
            description="What no report, export or live page shows: words, or patterns between slashes. A "
            "sign stands in their place, the same for the same word.",
            examples=[["acme", "/node[0-9]+/"]],
        ),
    ] = []
    lab: Annotated[LabFile | None, Meta(description="The lab to build for it.")] = None


_Keys = list[tuple[str, Any, Any]]


def site_file_type() -> type[SiteFile]:
    """Return SiteFile with a key in its platforms, for each installed backend, for the backend's options."""
    return _site_file_type(tuple(backends().values()))


@functools.cache
def _site_file_type(plugins: tuple[BackendPlugin[Any], ...]) -> type[SiteFile]:
    annotated: Any = Annotated
    platforms: Any = dict
    told = "; ".join(f"{one.name}: {one.summary}" for one in plugins)
    where = Meta(description=f"Where processes run. {told}.", examples=["process"])
    keys: _Keys = [("backend", annotated[Word, where], "process")]
    keys += [
        (one.name, annotated[one.file_type | None, Meta(description=_first_line(one.file_type))], None)
        for one in plugins
        if one.file_type is not None
    ]
    platform = _extended(PlatformFile, keys)
    return _extended(SiteFile, [("platforms", annotated[platforms[Name, platform], _PLATFORMS], NODEFAULT)])


def _extended(kind: type[_FileT], keys: _Keys) -> type[_FileT]:
    made = msgspec.defstruct(
        kind.__name__,
        keys,
        bases=(kind,),
        namespace={"__doc__": kind.__doc__},
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
    )
    return cast("type[_FileT]", made)


def _first_line(kind: type[msgspec.Struct]) -> str:
    return (kind.__doc__ or "").partition("\n")[0]
