"""Check whether NetworkPolicies let pods of a run reach each other: sshd of workers, and MPI's ports.

A policy that selects a pod closes all that no policy opens (networking.k8s.io/v1, NetworkPolicySpec).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tare.core.errors import NOT_JSON, BackendError
from tare.plugins.backends.kubernetes.check_result import ROLE, Finding
from tare.plugins.backends.kubernetes.cluster import NETWORK_POLICIES, Cluster

_NAME = "network policies"
_CURE = "apply deploy/kubernetes/network-policy.yaml, or open all ports between its pods: MPI chooses them"
_INGRESS, _EGRESS = "Ingress", "Egress"


class _Expression(msgspec.Struct, frozen=True):
    key: str = ""
    operator: str = ""
    values: list[str] = []


class _Selector(msgspec.Struct, frozen=True, rename="camel"):
    match_labels: dict[str, str] = {}
    match_expressions: list[_Expression] = []


class _Peer(msgspec.Struct, frozen=True, rename="camel"):
    pod_selector: _Selector | None = None
    namespace_selector: _Selector | None = None
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
    pod_selector: _Selector = _Selector()
    policy_types: list[str] = []
    ingress: list[_Rule] = []
    egress: list[_Rule] = []


class _Meta(msgspec.Struct, frozen=True):
    name: str = ""


class _Policy(msgspec.Struct, frozen=True):
    metadata: _Meta
    spec: _Spec = _Spec()


def check_policies(cluster: Cluster, labels: Mapping[str, str], ssh_port: int) -> Iterator[Finding]:
    """Yield whether pods with these labels can reach each other under the policies of the namespace."""
    try:
        found = [msgspec.json.decode(one, type=_Policy) for one in cluster.list_all(NETWORK_POLICIES)[0]]
    except (BackendError, *NOT_JSON) as error:
        yield Finding(name=_NAME, is_met=None, found=f"not told: {error}", cure=ROLE)
        return
    closed = [
        one for direction in (_INGRESS, _EGRESS) if (one := _closed(found, direction, labels, ssh_port))
    ]
    if not closed:
        n_all = f"{len(found)} in the namespace" if found else "none in the namespace"
        yield Finding(name=_NAME, is_met=True, found=f"{n_all}, and pods of a run reach each other")
    for said, is_met in closed:
        yield Finding(name=_NAME, is_met=is_met, found=said, cure=_CURE)


def _closed(
    policies: Sequence[_Policy], direction: str, labels: Mapping[str, str], ssh_port: int
) -> tuple[str, bool | None] | None:
    """Return what is closed between pods in a direction, and whether it is certain; None if nothing is."""
    about = [
        one for one in policies if direction in _types(one.spec) and _takes(one.spec.pod_selector, labels)
    ]
    if not about:
        return None
    names = ", ".join(sorted(one.metadata.name for one in about)[:5])
    opened: list[_Rule] = []
    may_open: list[_Rule] = []
    for policy in about:
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
    is_told = not any(not rule.ports or _has_port(rule, ssh_port) for rule in may_open)
    doubt = "" if is_told else ", unless a rule for other namespaces or addresses opens it"
    return f"{names}: port {ssh_port} {what} pods of a run is closed{doubt}", False if is_told else None


def _types(spec: _Spec) -> list[str]:
    return spec.policy_types or [_INGRESS, *([_EGRESS] if spec.egress else [])]


def _is_own(peer: _Peer, labels: Mapping[str, str]) -> bool:
    """Return whether a peer certainly includes the pods of a run: in its namespace, or in any."""
    if peer.ip_block is not None:
        return False
    space = peer.namespace_selector
    if space is not None and (space.match_labels or space.match_expressions):
        return False
    return peer.pod_selector is None or _takes(peer.pod_selector, labels)


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


def _takes(selector: _Selector, labels: Mapping[str, str]) -> bool:
    if any(labels.get(name) != value for name, value in selector.match_labels.items()):
        return False
    return all(_holds(one, labels.get(one.key)) for one in selector.match_expressions)


def _holds(one: _Expression, value: str | None) -> bool:
    answers = {
        "In": value in one.values, "NotIn": value not in one.values,
        "Exists": value is not None, "DoesNotExist": value is None,
    }  # fmt: skip
    return answers.get(one.operator, False)
