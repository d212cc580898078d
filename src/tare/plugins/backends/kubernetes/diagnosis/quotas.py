"""Read ResourceQuotas, sum up what pods take of them, and judge refusals for quota (core/v1).

The doctor checks whether quotas have room for all jobs of a campaign that run at a time.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

import msgspec

from tare.core.checks import Finding
from tare.core.counting import count
from tare.core.decoding import decode_json
from tare.plugins.backends.kubernetes.api.cluster import QUOTAS, Cluster, Refusal
from tare.plugins.backends.kubernetes.api.connection import MISSING_RIGHT
from tare.plugins.backends.kubernetes.manifests.rendering import Json, roles_of
from tare.plugins.backends.kubernetes.objects.created import Quantities, Requirement
from tare.plugins.backends.kubernetes.objects.observed import SeenMeta, SeenPod, SeenPodSpec
from tare.plugins.backends.kubernetes.objects.quantity import parse_quantity, show_quantity

_EXCEEDED = re.compile(
    r"exceeded quota: (?P<name>[^,]+), requested: (?P<requested>\S+), used: \S+, limited: (?P<limited>\S+)"
)

CURE = "ask for more quota, or for less: 'cpus', 'memory', 'in_flight', or fewer nodes"
_UNCOUNTED = "status unknown for quota: "
"""The refusal until a controller has counted what a new quota limits (resourcequota/controller.go)."""
_OF_MPI_JOB = {
    "count/mpijobs.kubeflow.org": 1, "count/jobs.batch": 1, "count/services": 1, "services": 1,
    "count/secrets": 1, "secrets": 1, "count/configmaps": 1, "configmaps": 1,
}  # fmt: skip
"""The objects that the MPI Operator creates for each job besides its pods (v2beta1)."""
_OF_JOB = {"count/jobs.batch": 1}
_COUNTED_ONCE = {"count/configmaps": 1, "configmaps": 1}  # Tare's own, one for a case


class ScopeExpression(msgspec.Struct, frozen=True, rename="camel"):
    """A condition on the pods that a quota counts."""

    scope_name: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class ScopeSelector(msgspec.Struct, frozen=True, rename="camel"):
    """Conditions that a quota's pods meet together."""

    match_expressions: list[ScopeExpression] = []


class QuotaSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The pods that a quota counts."""

    scopes: list[str] = []
    scope_selector: ScopeSelector = ScopeSelector()


class QuotaStatus(msgspec.Struct, frozen=True):
    """The limits of a quota, and how much of them is used."""

    hard: dict[str, str] = {}
    used: dict[str, str] = {}


class Quota(msgspec.Struct, frozen=True):
    """A ResourceQuota."""

    metadata: SeenMeta
    spec: QuotaSpec = QuotaSpec()
    status: QuotaStatus = QuotaStatus()

    def free(self, name: str) -> Fraction | None:
        """Return how much of a limit is not used; None where the quota does not limit it."""
        hard = parse_quantity(self.status.hard.get(name, ""))
        used = parse_quantity(self.status.used.get(name, "0"))
        return None if hard is None or used is None else hard - used


def read_quotas(cluster: Cluster) -> list[Quota]:
    """Return the quotas of the namespace. Raises Refusal or Outage."""
    return cluster.read_all(QUOTAS, Quota)


def demand(pods: Iterable[tuple[int, SeenPodSpec]]) -> dict[str, Fraction]:
    """Return what numbers of pods take together, under each name that quotas have for it."""
    found: defaultdict[str, Fraction] = defaultdict(Fraction)
    for n_pods, pod in pods:
        found["pods"] += n_pods
        found["count/pods"] += n_pods
        resources = [one.resources for one in pod.containers]
        requests = [one.limits | one.requests for one in resources]  # the default of a request is its limit
        limits = [one.limits for one in resources]
        for name, amount in _sum([*requests, pod.overhead]).items():
            found[f"requests.{name}"] += amount * n_pods
            found[name] += amount * n_pods
        for name, amount in _sum([*limits, pod.overhead]).items():
            found[f"limits.{name}"] += amount * n_pods
    return found


def is_exceeded(message: str) -> bool:
    """Return whether `message` reports that a quota is exceeded."""
    return "exceeded quota: " in message


def may_pass(message: str, job: Json) -> bool:
    """Return whether a quota refused all or part of `job` only because others use it, or it is new."""
    return _UNCOUNTED in message or (is_exceeded(message) and not never(message, job))


def never(message: str, job: Json) -> str:
    """Return why a quota can never admit all pods of `job`, according to `message`; empty where it may.

    `job` is the manifest of an MPIJob, a Job or a Pod.
    """
    match = _EXCEEDED.search(message)
    if match is None:
        return ""
    pods = [
        (role.n_pods, decode_json(msgspec.json.encode(role.spec), type=SeenPodSpec))
        for role in roles_of([job])
    ]
    needed, limited = demand(pods), _quantities(match["limited"])
    for name, asked in _quantities(match["requested"]).items():
        together = max(asked, needed.get(name, asked))
        if name in limited and together > limited[name]:
            allowed = show_quantity(limited[name])
            return (
                f"the run takes {name}={show_quantity(together)}, and quota {match['name']} allows {allowed}"
            )
    return ""


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
            found=f"{jobs}, {count(n_pods, 'pod')} in all: {'; '.join(lacking)}",
            cure=CURE,
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


def _sum(parts: Iterable[Quantities | Mapping[str, str]]) -> dict[str, Fraction]:
    found: defaultdict[str, Fraction] = defaultdict(Fraction)
    for one in parts:
        for name, amount in one.items():
            found[name] += parse_quantity(str(amount)) or 0
    return found


def _quantities(text: str) -> dict[str, Fraction]:
    parts = (part.partition("=") for part in text.split(","))
    return {name: amount for name, _, value in parts if (amount := parse_quantity(value)) is not None}
