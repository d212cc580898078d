"""Find the objects that campaigns have in a cluster, and who created them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import NamedTuple

from tare.core.backend_plugin import Leftover, Owner
from tare.core.errors import BackendError
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
from tare.plugins.backends.kubernetes.objects import naming, provenance
from tare.plugins.backends.kubernetes.objects.observed import SeenJob, SeenMeta
from tare.plugins.backends.kubernetes.scheduling.leases import SeenLease, remove_leases, utc_now

_OURS = ",".join(f"{name}={value}" for name, value in naming.MANAGED_BY.items())
_KINDS = (MPI_JOBS, JOBS, PODS, CONFIG_MAPS)
_KEPT = (
    "results were not received from {}: 'tare run' of the campaign fetches what still waits there; else copy "
    "what you need (kubectl logs, kubectl cp), and delete it with kubectl"
)

_NO_SESSION = (
    "it names no session of Tare that created it, as those of earlier versions and copies do not. It has "
    "expired, and nothing deletes it: kubectl delete lease {} -n {}"
)


def leftovers(cluster: Cluster, now: Callable[[], datetime] = utc_now) -> Iterator[Leftover]:
    """Yield the objects of each campaign, running or not; campaigns of two hosts may have the same label.

    All objects of one campaign are deleted together, and those that appear later are not. Copies of them,
    which Tare did not create, are left out. Raises BackendError when the API server does not answer.
    """
    found: dict[str, list[_Found]] = {}
    for one in _of_tasks(cluster, _OURS):
        campaign = one.meta.labels.get(naming.CAMPAIGN)
        if campaign:
            found.setdefault(campaign, []).append(one)
    for campaign, objects in found.items():
        yield _leftover(cluster, campaign, objects)
    with suppress(Refusal):  # without the right to list them
        yield from _left_leases(cluster, found.keys(), now())


def _left_leases(cluster: Cluster, campaigns: Collection[str], now: datetime) -> Iterator[Leftover]:
    """Yield the Leases of campaigns that have nothing else; those of `campaigns` are deleted with the rest.

    Those that an earlier version created name no session, so that nobody can tell whether it is over.
    """
    left: dict[str, list[SeenLease]] = {}
    for one in cluster.read_all(LEASES, SeenLease, _OURS):
        campaign, annotations = one.metadata.labels.get(naming.CAMPAIGN, ""), one.metadata.annotations
        if one.is_created and naming.SESSION in annotations:
            left.setdefault(campaign, []).append(one)
        elif not one.is_held_at(now):
            name = one.metadata.name
            cure = _NO_SESSION.format(name, cluster.namespace)
            yield Leftover("delete", f"Lease/{name}", (Owner("", ""),), lambda: False, cure)
    for campaign in left.keys() - campaigns:
        metas = [one.metadata for one in left[campaign]]
        owners = tuple(dict.fromkeys(filter(None, map(_owner, metas))))
        what = f"{', '.join(f'Lease/{one.name}' for one in metas)} of {owners[0].folder}"
        yield Leftover("delete", what, owners, partial(_end_leases, cluster, campaign))


def _end_leases(cluster: Cluster, campaign: str) -> bool:
    remove_leases(cluster, campaign)
    return True


class _Found(NamedTuple):
    """An object of a campaign."""

    resource: Resource
    meta: SeenMeta


def _of_tasks(cluster: Cluster, selector: str) -> Iterator[_Found]:
    """Yield the objects that Tare or controllers created for tasks, kind by kind."""
    for resource in _KINDS:
        for one in cluster.read_all(resource, SeenJob, selector):
            if provenance.is_of_task(resource.kind, one.metadata):
                yield _Found(resource, one.metadata)


def _leftover(cluster: Cluster, campaign: str, objects: Sequence[_Found]) -> Leftover:
    """Return one campaign's objects. Those without an owner were created by controllers for the others."""
    owners = tuple(dict.fromkeys(filter(None, (_owner(one.meta) for one in objects))))
    names = ", ".join(f"{one.resource.kind}/{one.meta.name}" for one in objects)
    kept = ", ".join(one.meta.name for one in objects if naming.KEPT in one.meta.labels)

    def end() -> bool:
        _remove(cluster, campaign, objects)
        return True

    return Leftover(
        verb="delete",
        what=f"{names} of {owners[0].folder if owners else campaign}",
        owners=owners or (Owner("", ""),),
        end=end,
        kept=_KEPT.format(kept) if kept else "",
    )


def _owner(meta: SeenMeta) -> Owner | None:
    annotations = meta.annotations
    if naming.FOLDER not in annotations:
        return None
    return Owner(annotations.get(naming.SESSION, ""), annotations[naming.FOLDER])


def remove(cluster: Cluster, campaign: str) -> None:
    """Delete all objects that Tare created for a campaign, also its Leases of nodes. Raises BackendError."""
    _remove(cluster, campaign, _of_tasks(cluster, _selector(campaign)))


def _remove(cluster: Cluster, campaign: str, objects: Iterable[_Found]) -> None:
    """Delete objects that Tare created; with them go those that controllers created for them."""
    for one in objects:
        if provenance.is_created(one.resource.kind, one.meta):
            cluster.delete(one.resource, one.meta.name, one.meta.uid)
    with suppress(BackendError):  # Leases expire by themselves
        remove_leases(cluster, campaign)


def _selector(campaign: str) -> str:
    return f"{_OURS},{naming.CAMPAIGN}={campaign}"
