"""What campaigns left in a cluster whose tare is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from tare.backends.kubernetes import naming
from tare.backends.kubernetes.cluster import CONFIG_MAPS, JOBS, MPI_JOBS, PODS, Cluster, Refusal
from tare.backends.kubernetes.observed import SeenJob

_OURS = ",".join(f"{name}={value}" for name, value in naming.MANAGED_BY.items())
_KINDS = (MPI_JOBS, JOBS, PODS, CONFIG_MAPS)


class Leftover(NamedTuple):
    """What one campaign has in the cluster: its label and folder, the host where it was run, and objects."""

    campaign: str
    folder: str
    host: str
    objects: tuple[str, ...]


def leftovers(cluster: Cluster, here: str, is_running: Callable[[Path], bool]) -> list[Leftover]:
    """Return what dead campaigns of the host `here` left; those of other hosts may be alive there.

    Raises BackendError when the API server does not answer.
    """
    found: dict[str, list[tuple[str, SeenJob]]] = {}
    for kind, one in _objects(cluster):
        campaign = one.metadata.labels.get(naming.CAMPAIGN)
        if campaign:
            found.setdefault(campaign, []).append((kind, one))
    dead = []
    for campaign, objects in found.items():
        marks = [one.metadata.annotations for _, one in objects if naming.FOLDER in one.metadata.annotations]
        if not marks:
            continue
        folder, host = marks[0][naming.FOLDER], marks[0].get(naming.HOST, "")
        if host == here and not is_running(Path(folder)):
            names = tuple(f"{kind}/{one.metadata.name}" for kind, one in objects)
            dead.append(Leftover(campaign, folder, host, names))
    return dead


def remove(cluster: Cluster, leftover: Leftover) -> None:
    """Delete all that a campaign has in the cluster. Raises BackendError."""
    for resource in _KINDS:
        try:
            cluster.delete_all(resource, f"{_OURS},{naming.CAMPAIGN}={leftover.campaign}")
        except Refusal as refusal:
            if refusal.status != 404:  # the cluster has no MPI Operator
                raise


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
