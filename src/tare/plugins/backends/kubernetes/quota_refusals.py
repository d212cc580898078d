"""Decide if a quota that refuses a pod may admit it later, or never will (core/v1, ResourceQuota). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction

from tare.plugins.backends.kubernetes.manifests import Json
from tare.plugins.backends.kubernetes.quantity import parse_quantity, show_quantity

_EXCEEDED = re.compile(
    r"exceeded quota: (?P<name>[^,]+), requested: (?P<requested>\S+), used: \S+, limited: (?P<limited>\S+)"
)


def is_exceeded(message: str) -> bool:
    """Return whether `message` says that a quota is exceeded."""
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
    needed, limited = demand(job), _quantities(match["limited"])
    for name, asked in _quantities(match["requested"]).items():
        together = max(asked, needed.get(_canonical(name), asked))
        if name in limited and together > limited[name]:
            allowed = show_quantity(limited[name])
            return (
                f"the run takes {name}={show_quantity(together)}, and quota {match['name']} allows {allowed}"
            )
    return ""


def demand(job: Json) -> Mapping[str, Fraction]:
    """Return the sum of what the pods of a manifest request, under the names that quotas use."""
    amounts: dict[str, Fraction] = {}
    total = 0
    for n_pods, pod in _pods(job):
        total += n_pods
        for container in _list(_dict(pod).get("containers")):
            resources = _dict(_dict(container).get("resources"))
            limits, requests = _dict(resources.get("limits")), _dict(resources.get("requests"))
            for name, value in (limits | requests).items():
                _add(amounts, f"requests.{name}", value, n_pods)
            for name, value in limits.items():
                _add(amounts, f"limits.{name}", value, n_pods)
    return amounts | {"pods": Fraction(total)}


def _canonical(name: str) -> str:
    """Return one name for names that mean the same: ``cpu`` is ``requests.cpu``."""
    if name in {"cpu", "memory", "ephemeral-storage"}:
        return f"requests.{name}"
    return "pods" if name == "count/pods" else name


def _quantities(text: str) -> dict[str, Fraction]:
    found = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        amount = parse_quantity(value)
        if amount is not None:
            found[name] = amount
    return found


def _pods(job: Json) -> Iterator[tuple[int, Json]]:
    spec = _dict(_dict(job).get("spec"))
    replicas = _dict(spec.get("mpiReplicaSpecs"))
    for one in map(_dict, replicas.values()):
        count = one.get("replicas")
        yield count if isinstance(count, int) else 1, _dict(one.get("template")).get("spec")
    if not replicas:
        yield 1, _dict(spec["template"]).get("spec") if "template" in spec else spec


def _add(amounts: dict[str, Fraction], name: str, value: Json, n_pods: int) -> None:
    amount = parse_quantity(str(value))
    if amount is not None:
        amounts[name] = amounts.get(name, Fraction(0)) + n_pods * amount


def _dict(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
