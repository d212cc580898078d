"""Find the objects that campaigns have in a cluster, and who created them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from tare.core.backend_plugin import Leftover, Owner
from tare.plugins.backends.kubernetes.api.cluster import (
    CONFIG_MAPS,
    JOBS,
    LEASES,
    MPI_JOBS,
    PODS,
    Cluster,
    Refusal,
    Resource,
)
from tare.plugins.backends.kubernetes.objects import naming
from tare.plugins.backends.kubernetes.objects.observed import SeenJob

_OURS = ",".join(f"{name}={value}" for name, value in naming.MANAGED_BY.items())
_KINDS = (MPI_JOBS, JOBS, PODS, CONFIG_MAPS)
_KEPT = (
    "results were not received from {}: 'tare run' of the campaign fetches what still waits there; else copy "
    "what you need (kubectl logs, kubectl cp), and delete it with kubectl"
)


def leftovers(cluster: Cluster) -> Iterator[Leftover]:
    """Yield the objects of each campaign, running or not; campaigns of two hosts may have the same label.

    All objects of one campaign are deleted together, by its label. Raises BackendError when the API server
    does not answer.
    """
    found: dict[str, list[tuple[Resource, SeenJob]]] = {}
    for resource in _KINDS:
        for one in cluster.read_all(resource, SeenJob, _OURS):
            campaign = one.metadata.labels.get(naming.CAMPAIGN)
            if campaign:
                found.setdefault(campaign, []).append((resource, one))
    for campaign, objects in found.items():
        yield _leftover(cluster, campaign, objects)


def _leftover(cluster: Cluster, campaign: str, objects: Sequence[tuple[Resource, SeenJob]]) -> Leftover:
    """Return one campaign's objects. Those without an owner were created by controllers for the others."""
    owners = tuple(dict.fromkeys(filter(None, (_owner(one) for _, one in objects))))
    names = ", ".join(f"{resource.kind}/{one.metadata.name}" for resource, one in objects)
    kept = ", ".join(one.metadata.name for _, one in objects if naming.KEPT in one.metadata.labels)

    def end() -> bool:
        remove(cluster, campaign)
        return True

    return Leftover(
        verb="delete",
        what=f"{names} of {owners[0].folder if owners else campaign}",
        owners=owners or (Owner("", ""),),
        end=end,
        kept=_KEPT.format(kept) if kept else "",
    )


def _owner(one: SeenJob) -> Owner | None:
    annotations = one.metadata.annotations
    if naming.FOLDER not in annotations:
        return None
    return Owner(annotations.get(naming.SESSION, ""), annotations[naming.FOLDER])


def remove(cluster: Cluster, campaign: str) -> None:
    """Delete all objects of a campaign in the cluster, also its Leases of nodes. Raises BackendError."""
    selector = f"{_OURS},{naming.CAMPAIGN}={campaign}"
    for resource in _KINDS:
        cluster.delete_all(resource, selector)
    with suppress(Refusal):  # Leases expire by themselves
        cluster.delete_all(LEASES, selector)
