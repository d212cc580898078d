"""Read ResourceQuotas, sum up what pods take of them, and judge refusals for quota (core/v1)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction

import msgspec

from tare.plugins.backends.kubernetes.cluster import QUOTAS, Cluster
from tare.plugins.backends.kubernetes.manifests import Json, roles_of
from tare.plugins.backends.kubernetes.objects import Quantities
from tare.plugins.backends.kubernetes.observed import SeenMeta, SeenPodSpec
from tare.plugins.backends.kubernetes.quantity import parse_quantity, show_quantity

_EXCEEDED = re.compile(
    r"exceeded quota: (?P<name>[^,]+), requested: (?P<requested>\S+), used: \S+, limited: (?P<limited>\S+)"
)


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
    """Return whether a quota refused all or part of `job` only because others use it now."""
    return is_exceeded(message) and not never(message, job)


def never(message: str, job: Json) -> str:
    """Return why a quota can never admit all pods of `job`, according to `message`; empty where it may.

    `job` is the manifest of an MPIJob, a Job or a Pod.
    """
    match = _EXCEEDED.search(message)
    if match is None:
        return ""
    pods = [(role.n_pods, msgspec.convert(role.spec, SeenPodSpec)) for role in roles_of([job])]
    needed, limited = demand(pods), _quantities(match["limited"])
    for name, asked in _quantities(match["requested"]).items():
        together = max(asked, needed.get(name, asked))
        if name in limited and together > limited[name]:
            allowed = show_quantity(limited[name])
            return (
                f"the run takes {name}={show_quantity(together)}, and quota {match['name']} allows {allowed}"
            )
    return ""


def _sum(parts: Iterable[Quantities | Mapping[str, str]]) -> dict[str, Fraction]:
    found: defaultdict[str, Fraction] = defaultdict(Fraction)
    for one in parts:
        for name, amount in one.items():
            found[name] += parse_quantity(str(amount)) or 0
    return found


def _quantities(text: str) -> dict[str, Fraction]:
    parts = (part.partition("=") for part in text.split(","))
    return {name: amount for name, _, value in parts if (amount := parse_quantity(value)) is not None}
