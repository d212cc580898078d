"""The content of a site file, as a user writes it."""

from __future__ import annotations

import functools
from typing import Annotated, Any, Literal, TypeVar, cast

import msgspec
from msgspec import NODEFAULT, Meta

from tare.core.backend_plugin import BackendPlugin
from tare.core.fields import ByteRate, Bytes, Count, FlopRate, Name, Seconds, Word, Words
from tare.core.site import LabSpec, Network, PlatformFile
from tare.core.software import Lines, Modules, Specs
from tare.plugins.backend_registry import backends

_FileT = TypeVar("_FileT", bound=msgspec.Struct)


class TelemetryFile(msgspec.Struct, frozen=True, kw_only=True):
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


class PeaksFile(msgspec.Struct, frozen=True, kw_only=True):
    """What one node can give at most; figures are held against it."""

    memory_bandwidth: Annotated[
        ByteRate | None, Meta(description="Memory bandwidth of a node, as its maker states it.")
    ] = None
    flops: Annotated[FlopRate | None, Meta(description="Double-precision operations a second of a node.")] = (
        None
    )


_PLATFORMS = Meta(
    description="Platforms; the first is what a study gets that names none.",
    examples=[{"bare": {"launcher": "openmpi4"}}],
)


class SiteFile(msgspec.Struct, frozen=True, kw_only=True):
    """What a place offers to studies: nodes, platforms, networks and storage paths."""

    site: Annotated[Name, Meta(description="The site's name.", examples=["venus"])]
    nodes: Annotated[Words, Meta(description="Its nodes; 'n[1-4]' is a range.", examples=[["n1", "n2"]])] = ()
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
        dict[Name, Network],
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
        Word | list[Word],
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
        tuple[Word, ...], Meta(description="Interfaces of start-up traffic only.", examples=[["mgmt0"]])
    ] = ()
    bind: Annotated[
        Literal["none"] | None,
        Meta(
            description="none: ranks are bound only where a study asks for it, as where Slurm's TaskPlugin "
            "binds none. Default: ranks that fit the cores are bound.",
            examples=["none"],
        ),
    ] = None
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
    ] = ()
    modules: Modules = ()
    spack: Specs = ()
    setup: Lines = ()
    lab: Annotated[LabSpec | None, Meta(description="The lab to build for it.")] = None


_Keys = list[tuple[str, Any, Any]]


def site_file_type() -> type[SiteFile]:
    """Return SiteFile with a key in its platforms, for each installed backend, for the backend's options."""
    return _site_file_type(tuple(backends().values()))


@functools.cache
def _site_file_type(plugins: tuple[BackendPlugin[Any], ...]) -> type[SiteFile]:
    annotated: Any = Annotated
    platforms: Any = dict
    summaries = "; ".join(f"{one.name}: {one.summary}" for one in plugins)
    where = Meta(description=f"Where processes run. {summaries}.", examples=["process"])
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
    )
    return cast("type[_FileT]", made)


def _first_line(kind: type[msgspec.Struct]) -> str:
    return (kind.__doc__ or "").partition("\n")[0]
