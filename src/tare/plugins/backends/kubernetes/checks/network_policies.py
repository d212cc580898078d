"""Check whether NetworkPolicies let pods of a run reach each other: sshd of workers, and MPI's ports.

A policy that selects a pod closes all that no policy opens (networking.k8s.io/v1, NetworkPolicySpec).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tare.core.checks import Finding
from tare.core.errors import NOT_JSON, BackendError
from tare.plugins.backends.kubernetes.api.cluster import NETWORK_POLICIES, Cluster
from tare.plugins.backends.kubernetes.api.connection import MISSING_RIGHT
from tare.plugins.backends.kubernetes.objects.created import LabelSelector
from tare.plugins.backends.kubernetes.objects.observed import SeenMeta

_NAME = "network policies"
_CURE = "apply deploy/kubernetes/network-policy.yaml, or open all ports between its pods: MPI chooses them"
_INGRESS, _EGRESS = "Ingress", "Egress"


class _Peer(msgspec.Struct, frozen=True, rename="camel"):
    pod_selector: LabelSelector | None = None
    namespace_selector: LabelSelector | None = None
    ip_block: dict[str, Any] | None = None


class _Port(msgspec.Struct, frozen=True, rename="camel"):
    port: int | str | None = None
    end_port: int | None = None
    protocol: str = "TCP"


class _Rule(msgspec.Struct, frozen=True):
    sources: list[_Peer] = msgspec.field(name="from", default=[])
    to: list[_Peer] = []
    ports: list[_Port] = []


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    pod_selector: LabelSelector = LabelSelector()
    policy_types: list[str] = []
    ingress: list[_Rule] = []
    egress: list[_Rule] = []


class _Policy(msgspec.Struct, frozen=True):
    metadata: SeenMeta
    spec: _Spec = _Spec()


def check_policies(cluster: Cluster, labels: Mapping[str, str], ssh_port: int) -> Iterator[Finding]:
    """Yield whether pods with these labels can reach each other under the policies of the namespace."""
    try:
        found = cluster.read_all(NETWORK_POLICIES, _Policy)
    except (BackendError, *NOT_JSON) as error:
        yield Finding(name=_NAME, is_met=None, found=f"not known: {error}", cure=MISSING_RIGHT)
        return
    closed = [
        one for direction in (_INGRESS, _EGRESS) if (one := _closed(found, direction, labels, ssh_port))
    ]
    if not closed:
        n_all = f"{len(found)} in the namespace" if found else "none in the namespace"
        yield Finding(name=_NAME, is_met=True, found=f"{n_all}, and pods of a run reach each other")
    for message, is_met in closed:
        yield Finding(name=_NAME, is_met=is_met, found=message, cure=_CURE)


def _closed(
    policies: Sequence[_Policy], direction: str, labels: Mapping[str, str], ssh_port: int
) -> tuple[str, bool | None] | None:
    """Return what is closed between pods in a direction, and whether it is certain; None if nothing is."""
    selecting = [
        one for one in policies if direction in _types(one.spec) and one.spec.pod_selector.selects(labels)
    ]
    if not selecting:
        return None
    names = ", ".join(sorted(one.metadata.name for one in selecting)[:5])
    opened: list[_Rule] = []
    may_open: list[_Rule] = []
    for policy in selecting:
        for rule in policy.spec.ingress if direction == _INGRESS else policy.spec.egress:
            peers = rule.sources if direction == _INGRESS else rule.to
            if not peers or any(_is_own(one, labels) for one in peers):
                opened.append(rule)
            elif any(_may_be_own(one) for one in peers):
                may_open.append(rule)
    what = "to" if direction == _INGRESS else "from"
    if any(not rule.ports for rule in opened):
        return None
    if any(_has_port(rule, ssh_port) for rule in opened):
        return f"{names}: {what} pods of a run only some ports are open, {ssh_port} among them", None
    message = f"{names}: port {ssh_port} {what} pods of a run is closed"
    if any(_has_port(rule, ssh_port) for rule in may_open):
        return f"{message}, unless a rule for other namespaces or addresses opens it", None
    return message, False


def _types(spec: _Spec) -> list[str]:
    return spec.policy_types or [_INGRESS, *([_EGRESS] if spec.egress else [])]


def _is_own(peer: _Peer, labels: Mapping[str, str]) -> bool:
    """Return whether a peer certainly includes the pods of a run: in its namespace, or in any."""
    if peer.ip_block is not None:
        return False
    space = peer.namespace_selector
    if space is not None and (space.match_labels or space.match_expressions):
        return False
    return peer.pod_selector is None or peer.pod_selector.selects(labels)


def _may_be_own(peer: _Peer) -> bool:
    """Return whether a peer may include the pods of a run: by address, or by namespace."""
    return peer.ip_block is not None or peer.namespace_selector is not None


def _has_port(rule: _Rule, port: int) -> bool:
    return not rule.ports or any(
        one.protocol == "TCP"
        and (one.port is None or one.port == port or _is_within(one.port, one.end_port, port))
        for one in rule.ports
    )


def _is_within(first: int | str, last: int | None, port: int) -> bool:
    return isinstance(first, int) and last is not None and first <= port <= last
