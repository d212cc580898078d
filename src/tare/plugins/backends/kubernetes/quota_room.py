"""Check whether quotas have room for all jobs of a campaign that run at a time, not only for one pod."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from tare.core.checks import Finding
from tare.plugins.backends.kubernetes.cluster import Cluster, Refusal
from tare.plugins.backends.kubernetes.connection import MISSING_RIGHT
from tare.plugins.backends.kubernetes.objects import Requirement
from tare.plugins.backends.kubernetes.observed import SeenPod
from tare.plugins.backends.kubernetes.quantity import show_quantity
from tare.plugins.backends.kubernetes.quotas import Quota, ScopeExpression, demand, read_quotas

_OF_MPI_JOB = {
    "count/mpijobs.kubeflow.org": 1, "count/jobs.batch": 1, "count/services": 1, "services": 1,
    "count/secrets": 1, "secrets": 1, "count/configmaps": 1, "configmaps": 1,
}  # fmt: skip
"""The objects that the MPI Operator creates for each job besides its pods (v2beta1)."""
_OF_JOB = {"count/jobs.batch": 1}
_COUNTED_ONCE = {"count/configmaps": 1, "configmaps": 1}  # Tare's own, one for a case


def check_quotas(cluster: Cluster) -> Iterator[Finding]:
    """Yield each quota with how much of it is used."""
    try:
        quotas = read_quotas(cluster)
    except Refusal as refusal:
        yield Finding(name="quota", is_met=None, found=str(refusal), cure=MISSING_RIGHT)
        return
    for quota in quotas:
        status = quota.status
        shown = ", ".join(f"{key} {status.used.get(key, '0')} of {most}" for key, most in status.hard.items())
        yield Finding(name=f"quota {quota.metadata.name}", is_met=True, found=shown)


def check_room(
    quotas: Sequence[Quota], what: str, kind: str, pods: Sequence[tuple[int, SeenPod]], in_flight: int
) -> Iterator[Finding]:
    """Yield the quotas without room for `in_flight` jobs of a kind, each with these numbers of pods."""
    for quota in quotas:
        counted = [(count, pod) for count, pod in pods if _counts(quota, pod)]
        lacking = list(_lacking(quota, kind, counted, in_flight))
        if not lacking:
            continue
        n_pods = sum(count for count, _ in counted) * in_flight
        jobs = f"{in_flight} jobs at a time (in_flight: {in_flight})" if in_flight > 1 else "1 job"
        yield Finding(
            name=f"room in quota {quota.metadata.name} for {what}",
            is_met=False,
            found=f"{jobs}, {n_pods} pods in all: {'; '.join(lacking)}",
            cure="ask for more quota, or for less: 'cpus', 'memory', 'in_flight', or fewer nodes",
        )


def _lacking(quota: Quota, kind: str, pods: Sequence[tuple[int, SeenPod]], in_flight: int) -> Iterator[str]:
    needed = demand((count * in_flight, pod.spec) for count, pod in pods)
    if not (quota.spec.scopes or quota.spec.scope_selector.match_expressions):
        for name, number in {"MPIJob": _OF_MPI_JOB, "Job": _OF_JOB}.get(kind, {}).items():
            needed[name] = needed.get(name, Fraction(0)) + number * in_flight
        for name, number in _COUNTED_ONCE.items():
            needed[name] = needed.get(name, Fraction(0)) + number
    for name in quota.status.hard:
        amount, free = needed.get(name, Fraction(0)), quota.free(name)
        if free is not None and amount and amount > free:
            left = show_quantity(max(free, Fraction(0)))
            yield f"{name} {show_quantity(amount)} of {left} that are left"


def _counts(quota: Quota, pod: SeenPod) -> bool:
    """Return whether a quota counts a pod, by its scopes (core/v1, ResourceQuotaScope)."""
    scopes = [ScopeExpression(scope_name=one, operator="Exists") for one in quota.spec.scopes]
    return all(_is_in(one, pod) for one in (*scopes, *quota.spec.scope_selector.match_expressions))


def _is_in(scope: ScopeExpression, pod: SeenPod) -> bool:
    asks = any(one.resources.requests or one.resources.limits for one in pod.spec.containers)
    ends = pod.spec.active_deadline_seconds is not None
    if scope.scope_name == "PriorityClass":
        requirement = Requirement(key=scope.scope_name, operator=scope.operator, values=scope.values)
        return requirement.holds(pod.spec.priority_class_name or None)
    known = {"Terminating": ends, "NotTerminating": not ends, "BestEffort": not asks, "NotBestEffort": asks}
    return known.get(scope.scope_name, False)
