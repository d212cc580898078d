"""Find the objects that campaigns have in a cluster, and who created them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import msgspec

from tare.plugins.backends.kubernetes import naming
from tare.plugins.backends.kubernetes.cluster import (
    CONFIG_MAPS,
    JOBS,
    LEASES,
    MPI_JOBS,
    PODS,
    Cluster,
    Refusal,
)
from tare.plugins.backends.kubernetes.observed import SeenJob

_OURS = ",".join(f"{name}={value}" for name, value in naming.MANAGED_BY.items())
_KINDS = (MPI_JOBS, JOBS, PODS, CONFIG_MAPS)


class Origin(NamedTuple):
    """The owner of an object: the mark of the session that created it (may be empty), and its folder."""

    mark: str
    folder: str


class Leftover(NamedTuple):
    """The objects of one campaign in the cluster, with its label and the sessions that created them.

    `kept` are the pods that hold results which were not received (see kept_pods).
    """

    campaign: str
    origins: tuple[Origin, ...]
    objects: tuple[str, ...]
    kept: tuple[str, ...] = ()


def leftovers(cluster: Cluster) -> list[Leftover]:
    """Return the objects of each campaign, running or not; campaigns of two hosts may have the same label.

    Objects without an origin were created by controllers for the other objects. Raises BackendError when the
    API server does not answer.
    """
    found: dict[str, list[tuple[str, SeenJob]]] = {}
    for kind, one in _objects(cluster):
        campaign = one.metadata.labels.get(naming.CAMPAIGN)
        if campaign:
            found.setdefault(campaign, []).append((kind, one))
    return [
        Leftover(
            campaign,
            tuple(dict.fromkeys(filter(None, (_origin(one) for _, one in objects)))),
            tuple(f"{kind}/{one.metadata.name}" for kind, one in objects),
            tuple(one.metadata.name for _, one in objects if naming.KEPT in one.metadata.labels),
        )
        for campaign, objects in found.items()
    ]


def _origin(one: SeenJob) -> Origin | None:
    told = one.metadata.annotations
    return Origin(told.get(naming.SESSION, ""), told[naming.FOLDER]) if naming.FOLDER in told else None


def remove(cluster: Cluster, leftover: Leftover) -> None:
    """Delete all objects of a campaign in the cluster, also its Leases of nodes. Raises BackendError."""
    selector = f"{_OURS},{naming.CAMPAIGN}={leftover.campaign}"
    for resource in _KINDS:
        try:
            cluster.delete_all(resource, selector)
        except Refusal as refusal:
            if refusal.status != 404:  # 404: the cluster has no MPI Operator
                raise
    with suppress(Refusal):  # Leases expire by themselves
        cluster.delete_all(LEASES, selector)


def _objects(cluster: Cluster) -> Iterator[tuple[str, SeenJob]]:
    for resource in _KINDS:
        try:
            items, _ = cluster.list_all(resource, _OURS)
        except Refusal as refusal:
            if refusal.status != 404:
                raise
            continue
        for item in items:
            yield resource.kind, msgspec.json.decode(item, type=SeenJob)
