"""Ask the API server which of the rights that Tare uses this user has (SelfSubjectAccessReview)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from tare.core.decoding import decode_json
from tare.plugins.backends.kubernetes.api.cluster import (
    CONFIG_MAPS,
    EVENTS,
    JOBS,
    MPI_JOBS,
    PODS,
    Cluster,
    Resource,
)
from tare.plugins.backends.kubernetes.objects.merging import Json

RIGHTS: tuple[tuple[Resource, tuple[str, ...]], ...] = (
    (MPI_JOBS, ("create", "list", "watch", "deletecollection")),
    (JOBS, ("create", "list", "watch", "deletecollection")),
    (PODS, ("create", "list", "watch", "patch", "deletecollection")),
    (CONFIG_MAPS, ("create", "list", "deletecollection")),
    (EVENTS, ("list", "watch")),
)
"""All verbs that a campaign uses; deploy/kubernetes/role.yaml grants them."""
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Right(NamedTuple):
    """A verb on a resource, or on the `part` of it that the API calls a subresource."""

    resource: Resource
    verb: str
    part: str = ""

    def __str__(self) -> str:
        """Return it as ``get pods/log``."""
        return f"{self.verb} {self.resource.plural}" + (f"/{self.part}" if self.part else "")


class _ReviewStatus(msgspec.Struct, frozen=True):
    allowed: bool = False


class _Review(msgspec.Struct, frozen=True):
    status: _ReviewStatus = _ReviewStatus()


def rights_of_campaigns(*, uses_exec: bool) -> tuple[Right, ...]:
    """Return the rights that a campaign uses in its namespace; results in a claim need no `exec`."""
    wanted = [Right(resource, verb) for resource, verbs in RIGHTS for verb in verbs]
    wanted.append(Right(PODS, "get", "log"))
    if uses_exec:
        wanted += [Right(PODS, "get", "exec"), Right(PODS, "create", "exec")]
    return tuple(wanted)


def missing_rights(cluster: Cluster, namespace: str, wanted: Iterable[Right]) -> list[Right]:
    """Return the rights that this user lacks in a namespace. Raises Refusal or Outage."""
    return [one for one in wanted if not may(cluster, namespace, one)]


def may(cluster: Cluster, namespace: str, right: Right) -> bool:
    """Return whether this user has a right in a namespace; the empty one stands for the whole cluster."""
    resource = right.resource
    attributes: Json = {
        "namespace": namespace,
        "group": "" if resource.group == "api/v1" else resource.group.split("/")[1],
        "resource": resource.plural,
        "subresource": right.part,
        "verb": right.verb,
    }
    body: Json = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    return decode_json(cluster.post(_REVIEWS, body), type=_Review).status.allowed
