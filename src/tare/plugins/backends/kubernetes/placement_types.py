"""Settings of a site file for launcher placement, spreading and gang schedulers, as a user writes them."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tare.core.fields import Bytes, Count, Labels, Seconds, Word
from tare.plugins.backends.kubernetes.pod_options import LauncherPlace


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Part of a file; an unknown key is an error."""


class TolerationFile(_File, frozen=True, kw_only=True):
    """A taint that pods put up with."""

    key: Annotated[Word, Meta(description="The taint's key.", examples=["bench"])]
    operator: Annotated[
        Literal["Equal", "Exists"], Meta(description="Whether its value counts.", examples=["Exists"])
    ] = "Equal"
    value: Annotated[str, Meta(description="Its value.")] = ""
    effect: Annotated[
        Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"], Meta(description="Its effect; '' is any.")
    ] = ""


class LauncherFile(_File, frozen=True, kw_only=True):
    """The pod that starts the ranks of several nodes, and runs none."""

    place: Annotated[
        LauncherPlace,
        Meta(
            description="apart: on no node of programs; beside: on one of its workers' nodes.",
            examples=["beside"],
        ),
    ] = LauncherPlace.APART
    cpus: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(description="CPUs that it asks for, and may take at most; default: 0.1 and 1.", examples=[2]),
    ] = None
    memory: Annotated[
        Bytes | None,
        Meta(description="Memory, likewise; default: 128 MiB and 512 MiB.", examples=["4GiB"]),
    ] = None
    nodes: Annotated[list[Word], Meta(description="Nodes for it, by name.", examples=[["login1"]])] = []
    node_selector: Annotated[
        Labels,
        Meta(description="Labels of the nodes for it.", examples=[{"node-role.kubernetes.io/infra": ""}]),
    ] = {}
    tolerations: Annotated[list[TolerationFile], Meta(description="Taints that it puts up with.")] = []


class SpreadingFile(_File, frozen=True, kw_only=True):
    """Over what the workers of a run are spread."""

    key: Annotated[Word, Meta(description="Label of nodes.", examples=["topology.kubernetes.io/zone"])]
    max_skew: Annotated[Count, Meta(description="The most by which its values may differ.")] = 1
    required: Annotated[bool, Meta(description="Pods wait rather than lie uneven.")] = True


class SchedulingPolicyFile(_File, frozen=True, kw_only=True):
    """runPolicy.schedulingPolicy of the operator, for Volcano or the scheduler plug-ins' coscheduling."""

    min_available: Annotated[
        Count | None,
        Meta(description="Pods that start together; default: the workers, and an AtStartup launcher."),
    ] = None
    queue: Annotated[Word | None, Meta(description="Queue of Volcano.", examples=["bench"])] = None
    priority_class: Annotated[Word | None, Meta(description="PriorityClass of the gang.")] = None
    min_resources: Annotated[
        Labels, Meta(description="What must be free before it starts.", examples=[{"cpu": "64"}])
    ] = {}
    schedule_timeout: Annotated[
        Seconds | None, Meta(description="How long the gang may wait.", examples=["10 min"])
    ] = None
