"""Check whether quotas have room for all jobs of a campaign that run at a time, not only for one pod."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import msgspec

from tare.plugins.backends.kubernetes.check_result import ROLE, Finding
from tare.plugins.backends.kubernetes.cluster import QUOTAS, Cluster, Refusal
from tare.plugins.backends.kubernetes.quantity import parse_quantity, show_quantity
from tare.plugins.backends.kubernetes.trial import TriedPod

_OF_MPI_JOB = {
    "count/mpijobs.kubeflow.org": 1, "count/jobs.batch": 1, "count/services": 1, "services": 1,
    "count/secrets": 1, "secrets": 1, "count/configmaps": 1, "configmaps": 1,
}  # fmt: skip
"""The objects that the MPI Operator creates for each job besides its pods (v2beta1)."""
_OF_JOB = {"count/jobs.batch": 1}
_COUNTED_ONCE = {"count/configmaps": 1, "configmaps": 1}  # Tare's own, one for a case


class _Name(msgspec.Struct, frozen=True):
    name: str = ""


class _Expression(msgspec.Struct, frozen=True, rename="camel"):
    scope_name: str = ""
    operator: str = ""
    values: list[str] = []


class _Selector(msgspec.Struct, frozen=True, rename="camel"):
    match_expressions: list[_Expression] = []


class _QuotaSpec(msgspec.Struct, frozen=True, rename="camel"):
    scopes: list[str] = []
    scope_selector: _Selector = _Selector()


class _QuotaStatus(msgspec.Struct, frozen=True):
    hard: dict[str, str] = {}
    used: dict[str, str] = {}


class Quota(msgspec.Struct, frozen=True):
    """A ResourceQuota: its limits, and how much of them is used."""

    metadata: _Name
    spec: _QuotaSpec = _QuotaSpec()
    status: _QuotaStatus = _QuotaStatus()


def read_quotas(cluster: Cluster) -> list[Quota]:
    """Return the quotas of the namespace. Raises Refusal or Outage."""
    return [msgspec.json.decode(one, type=Quota) for one in cluster.list_all(QUOTAS)[0]]


def check_quotas(cluster: Cluster) -> Iterator[Finding]:
    """Yield each quota with how much of it is used."""
    try:
        quotas = read_quotas(cluster)
    except Refusal as refusal:
        yield Finding(name="quota", is_met=None, found=str(refusal), cure=ROLE)
        return
    for quota in quotas:
        status = quota.status
        shown = ", ".join(f"{key} {status.used.get(key, '0')} of {most}" for key, most in status.hard.items())
        yield Finding(name=f"quota {quota.metadata.name}", is_met=True, found=shown)


def check_room(
    quotas: Sequence[Quota], what: str, kind: str, pods: Sequence[tuple[int, TriedPod]], in_flight: int
) -> Iterator[Finding]:
    """Yield the quotas without room for `in_flight` jobs of a kind, each with these numbers of pods."""
    for quota in quotas:
        counted = [(count, pod) for count, pod in pods if _counts(quota, pod)]
        wanted = _wanted(counted, kind if not _is_scoped(quota) else "", in_flight)
        lacking = list(_lacking(quota, wanted))
        if not lacking:
            continue
        n_pods = sum(count for count, _ in counted) * in_flight
        beside = f" at a time (in_flight: {in_flight})" if in_flight > 1 else ""
        cure = "ask for more quota, or for less: 'cpus', 'memory', 'in_flight', or fewer nodes"
        jobs = f"{in_flight} jobs" if in_flight > 1 else "1 job"
        yield Finding(
            name=f"room in quota {quota.metadata.name} for {what}",
            is_met=False,
            found=f"{jobs}{beside}, {n_pods} pods in all: {'; '.join(lacking)}",
            cure=cure,
        )


def _lacking(quota: Quota, wanted: Mapping[str, Fraction]) -> Iterator[str]:
    for key, most in quota.status.hard.items():
        hard, used = parse_quantity(most), parse_quantity(quota.status.used.get(key, "0"))
        amount = wanted.get(key, Fraction(0))
        if hard is None or used is None or amount == 0 or amount <= hard - used:
            continue
        left = show_quantity(max(hard - used, Fraction(0)))
        yield f"{key} {show_quantity(amount)} of {left} that are left"


def _wanted(pods: Sequence[tuple[int, TriedPod]], kind: str, in_flight: int) -> dict[str, Fraction]:
    """Return the amounts that `in_flight` jobs take, under the names that quotas use."""
    found: defaultdict[str, Fraction] = defaultdict(Fraction)
    for count, pod in pods:
        n_pods = count * in_flight
        found["pods"] += n_pods
        found["count/pods"] += n_pods
        parts = [one.resources for one in pod.spec.containers]
        for asked, prefix in (
            ([one.requests for one in parts], "requests."),
            ([one.limits for one in parts], "limits."),
        ):
            for name, amount in _summed([*asked, pod.spec.overhead]).items():
                found[f"{prefix}{name}"] += amount * n_pods
                if prefix == "requests.":
                    found[name] += amount * n_pods
    for name, number in {"MPIJob": _OF_MPI_JOB, "Job": _OF_JOB}.get(kind, {}).items():
        found[name] += number * in_flight
    for name, number in _COUNTED_ONCE.items() if kind else ():
        found[name] += number
    return found


def _summed(parts: Sequence[Mapping[str, str]]) -> dict[str, Fraction]:
    found: defaultdict[str, Fraction] = defaultdict(Fraction)
    for one in parts:
        for name, text in one.items():
            found[name] += parse_quantity(text) or 0
    return found


def _is_scoped(quota: Quota) -> bool:
    return bool(quota.spec.scopes or quota.spec.scope_selector.match_expressions)


def _counts(quota: Quota, pod: TriedPod) -> bool:
    """Return whether a quota counts a pod, by its scopes (core/v1, ResourceQuotaScope)."""
    asks = [(one.operator, one.scope_name, one.values) for one in quota.spec.scope_selector.match_expressions]
    asks += [("Exists", scope, []) for scope in quota.spec.scopes]
    return all(_is_in(scope, operator, values, pod) for operator, scope, values in asks)


def _is_in(scope: str, operator: str, values: Sequence[str], pod: TriedPod) -> bool:
    asked = any(one.resources.requests or one.resources.limits for one in pod.spec.containers)
    ends = pod.spec.active_deadline_seconds is not None
    if scope == "PriorityClass":
        name = pod.spec.priority_class_name
        answers = {
            "In": name in values, "NotIn": name not in values, "Exists": bool(name), "DoesNotExist": not name
        }  # fmt: skip
        return answers.get(operator, False)
    known = {"Terminating": ends, "NotTerminating": not ends, "BestEffort": not asked, "NotBestEffort": asked}
    return known.get(scope, False)
