"""Hold Leases of nodes, so that campaigns notice when they use the same node (coordination.k8s.io/v1).

A campaign holds the Lease of each node on which its runs are, and renews it. Another campaign that uses the
node reads who holds the Lease, and adds that to the facts of its runs. It takes over a Lease that has
expired. Leases are in the pods' namespace. Where they may not be created, the facts say so.

Only a Lease that Tare created and that nobody else holds is deleted. Its labels prove neither: a copy has
them too, and another program that takes it over changes the holder alone. So an annotation names its node,
from which its name follows, and it is deleted by its uid and in the version in which its holder was read.
Other annotations name the session that holds it. Earlier versions wrote none: such a Lease gets them when it
is taken over, and is listed by 'tare clean' otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec

from tare.core.decoding import decode_json
from tare.core.errors import NOT_JSON, BackendError
from tare.plugins.backends.kubernetes.api.cluster import LEASES, Cluster, Outage, Refusal
from tare.plugins.backends.kubernetes.objects import naming
from tare.plugins.backends.kubernetes.objects.created import ApiObject, Manifest, Meta
from tare.plugins.backends.kubernetes.objects.merging import Json
from tare.plugins.backends.kubernetes.objects.observed import SeenMeta

HOLDING, REMOVING = ("create", "get", "patch"), ("list", "deletecollection")
"""The rights on Leases that are needed to hold them, and to delete them at the end."""
FACT = "kubernetes.lease"
_DURATION_S, _RENEW_S, _AGAIN_S, _IDLE_S = 300, 100.0, 10.0, 5.0
_SKEW_S = 60  # by which the clocks of two holders may differ
_FORBIDDEN, _NOT_FOUND = 403, 404
_LONGEST_NAME, _LONGEST_HOLDER = 253, 100


class LeaseSpec(ApiObject, frozen=True, kw_only=True):
    """Who holds a Lease, for how long, and since when."""

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    renew_time: str = ""


class Lease(Manifest, frozen=True, kw_only=True):
    """A Lease, which one holder has until it expires."""

    API_VERSION = "coordination.k8s.io/v1"
    KIND = "Lease"
    spec: LeaseSpec = LeaseSpec()


class SeenLease(msgspec.Struct, frozen=True):
    """The current state of a Lease."""

    metadata: SeenMeta = SeenMeta()
    spec: LeaseSpec = LeaseSpec()

    @property
    def is_created(self) -> bool:
        """Return whether Tare created it; a copy of it has another name."""
        return self.metadata.name == _name(self.metadata.annotations.get(naming.NODE, ""))

    @property
    def is_labelled(self) -> bool:
        """Return whether it has the label of what Tare creates."""
        return naming.MANAGED_BY.items() <= self.metadata.labels.items()

    def is_held_at(self, now: datetime) -> bool:
        """Return whether its holder has renewed it in time, by its duration and the time of day `now`.

        One without a time, or with a time without a zone, is held by nobody.
        """
        try:
            renewed = datetime.fromisoformat(self.spec.renew_time)
        except ValueError:
            return False
        patience = timedelta(seconds=min(self.spec.lease_duration_seconds, _DURATION_S) + _SKEW_S)
        return renewed.tzinfo is not None and now - renewed <= patience


class _Holder(NamedTuple):
    """Another campaign that held a node's Lease when it was last read, and the time of reading."""

    name: str
    at: float


def utc_now() -> datetime:
    """Return the time of day."""
    return datetime.now(UTC)


class NodeLeases:
    """The Leases of one campaign. `clock` counts seconds; `now` is the time of day written into Leases.

    `about` are annotations that name the session.
    """

    def __init__(
        self,
        cluster: Cluster,
        campaign: str,
        clock: Callable[[], float],
        now: Callable[[], datetime] = utc_now,
        about: Mapping[str, str] | None = None,
    ) -> None:
        self._about = dict(about or {})
        self._cluster, self._campaign, self._clock, self._now = cluster, campaign, clock, now
        self._renewed: dict[str, float] = {}
        self._used: dict[str, float] = {}
        self._others: dict[str, _Holder] = {}
        self._ask_after = 0.0
        self._refusal = ""
        self._has_any = False

    def keep(self, nodes: Collection[str]) -> None:
        """Hold the Leases of `nodes`, where runs are now; renew those that are due, and release idle ones."""
        if self._refusal:
            return
        now = self._clock()
        self._used |= dict.fromkeys(nodes, now)
        if now < self._ask_after:
            return
        try:
            for node in nodes:
                self._hold(node, now)
            for node in [one for one in self._renewed if now - self._used.get(one, now) > _IDLE_S]:
                self._let_go(node)
        except Outage:  # the scheduler waits until it ends
            self._ask_after = now + _AGAIN_S
        except Refusal as refusal:
            self._ask_after = now + _AGAIN_S
            if refusal.status in {_FORBIDDEN, _NOT_FOUND}:
                self._refusal = f"not held: {refusal}"

    def with_holders(
        self, facts: Mapping[str, Mapping[str, str]], began: float
    ) -> Mapping[str, Mapping[str, str]]:
        """Return `facts` of nodes with the holders of their Leases, for a run that began at `began`.

        `began` is a time of `clock`.
        """
        return {node: {**one, FACT: self._holder(node, began)} for node, one in facts.items()}

    def end(self) -> None:
        """Delete the campaign's Leases, if it has any."""
        if self._has_any:
            with suppress(BackendError):  # they expire by themselves
                remove_leases(self._cluster, self._campaign)

    def _holder(self, node: str, began: float) -> str:
        other = self._others.get(node)
        if other is not None and other.at >= began:
            return f"held by campaign {other.name}"
        return self._refusal or ("held by this campaign" if node in self._renewed else "not known")

    def _hold(self, node: str, now: float) -> None:
        renewed, other = self._renewed.get(node), self._others.get(node)
        if renewed is not None and now - renewed < _RENEW_S:
            return
        if renewed is None and other is not None and now - other.at < _AGAIN_S:
            return
        lease = self._read(node) if renewed is not None or not self._create(node) else None
        if lease is None and renewed is not None:
            self._create(node)  # it was deleted meanwhile
        if lease is not None and self._is_anothers(lease):
            self._renewed.pop(node, None)
            self._others[node] = _Holder(lease.spec.holder_identity[:_LONGEST_HOLDER], now)
            return
        if lease is not None:
            self._cluster.patch(LEASES, _name(node), self._taken(lease, node).as_json())
        self._renewed[node] = now
        self._has_any = True

    def _create(self, node: str) -> bool:
        """Create a Lease; return False if there is one already."""
        meta = Meta(
            name=_name(node),
            namespace=self._cluster.namespace,
            labels=self._labels,
            annotations=self._annotations(node),
        )
        return self._cluster.create(self._lease(meta).as_json())

    def _taken(self, lease: SeenLease, node: str) -> Lease:
        """Return the change by which this campaign holds a Lease; one that others created stays theirs."""
        meta = Meta(resource_version=lease.metadata.resource_version)
        if lease.is_labelled:
            meta = msgspec.structs.replace(meta, labels=self._labels, annotations=self._annotations(node))
        return self._lease(meta)

    @property
    def _labels(self) -> dict[str, str]:
        return naming.MANAGED_BY | {naming.CAMPAIGN: self._campaign}

    def _annotations(self, node: str) -> dict[str, str]:
        return {naming.NODE: node, **self._about}

    def _lease(self, meta: Meta) -> Lease:
        """Return a Lease that this campaign holds from now on."""
        return Lease(
            metadata=meta,
            spec=LeaseSpec(
                holder_identity=self._campaign,
                lease_duration_seconds=_DURATION_S,
                renew_time=self._now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            ),
        )

    def _read(self, node: str) -> SeenLease | None:
        """Return the Lease of a node; None where there is none. One in an unknown form is nobody's."""
        content = self._cluster.get(LEASES, _name(node))
        try:
            return None if content is None else decode_json(content, type=SeenLease)
        except NOT_JSON:
            return SeenLease()

    def _is_anothers(self, lease: SeenLease) -> bool:
        """Return whether another campaign still holds it, by the Lease's duration and our time of day."""
        return lease.spec.holder_identity not in {"", self._campaign} and lease.is_held_at(self._now())

    def _let_go(self, node: str) -> None:
        """Release a Lease as client libraries do, without a holder, unless another one holds it by now."""
        del self._renewed[node]
        self._used.pop(node, None)
        lease = self._read(node)
        if lease is not None and lease.spec.holder_identity == self._campaign:
            released: Json = {"holderIdentity": ""}
            version: Json = {"resourceVersion": lease.metadata.resource_version}
            self._cluster.patch(LEASES, _name(node), {"metadata": version, "spec": released})


def remove_leases(cluster: Cluster, campaign: str) -> None:
    """Delete the Leases of a campaign that Tare created and nobody else holds. Raises BackendError."""
    labels = naming.MANAGED_BY | {naming.CAMPAIGN: campaign}
    selector = ",".join(f"{name}={value}" for name, value in labels.items())
    for lease in cluster.read_all(LEASES, SeenLease, selector):
        if lease.is_created and lease.spec.holder_identity in {"", campaign}:
            meta = lease.metadata
            cluster.delete(LEASES, meta.name, meta.uid, version=meta.resource_version)


def _name(node: str) -> str:
    return f"tare-node-{node}"[:_LONGEST_NAME]
