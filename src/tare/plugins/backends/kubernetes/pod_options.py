"""Parts of a platform's options of Kubernetes: the launcher's place, spreading, what queues are told."""

from __future__ import annotations

import enum

import msgspec


class LauncherPlace(enum.StrEnum):
    """Where the launcher may be: on no node of programs, on one of its workers' nodes, or wherever."""

    APART = "apart"
    BESIDE = "beside"
    ANYWHERE = "anywhere"


class Toleration(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A taint that pods put up with (core/v1, Toleration)."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class LauncherOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The pod that starts ranks and runs none. `cpus` and `memory_bytes` None ask for little."""

    place: LauncherPlace = LauncherPlace.APART
    cpus: float | None = None
    memory_bytes: int | None = None
    nodes: tuple[str, ...] = ()
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class Spreading(msgspec.Struct, frozen=True, kw_only=True):
    """Workers are spread over the values of the node label `key` (core/v1, TopologySpreadConstraint)."""

    key: str
    max_skew: int = 1
    is_required: bool = True


class SchedulingPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What the MPI Operator tells a gang scheduler of a job (v2beta1, SchedulingPolicy).

    `min_available` None is all pods that there are at first: without the launcher, where that waits for
    workers, which a gang that counts it would wait for.
    """

    min_available: int | None = None
    queue: str | None = None
    priority_class: str | None = None
    min_resources: dict[str, str] = {}
    schedule_timeout_s: int | None = None
