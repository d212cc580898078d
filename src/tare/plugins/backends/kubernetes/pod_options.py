"""Parts of a Kubernetes platform's options: the launcher's place, spreading, and gang scheduling."""

from __future__ import annotations

import enum

import msgspec


class LauncherPlace(enum.StrEnum):
    """Where the launcher may be: on no node of programs, on one of its workers' nodes, or on any node."""

    APART = "apart"
    BESIDE = "beside"
    ANYWHERE = "anywhere"


class Toleration(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A taint that pods tolerate (core/v1, Toleration)."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class LauncherOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The pod that starts ranks; no rank runs in it. `cpus` and `memory_bytes` None request little."""

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
    """The settings that the MPI Operator passes to a gang scheduler for a job (v2beta1, SchedulingPolicy).

    `min_available` None means all pods that exist at first. A launcher that waits for workers is not counted:
    a gang with it could never start.
    """

    min_available: int | None = None
    queue: str | None = None
    priority_class: str | None = None
    min_resources: dict[str, str] = {}
    schedule_timeout_s: int | None = None
