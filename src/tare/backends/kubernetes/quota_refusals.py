"""Whether a quota that refuses a pod may let it in later, or never will (core/v1, ResourceQuota). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation

from tare.backends.kubernetes.manifests import Json

_EXCEEDED = re.compile(
    r"exceeded quota: (?P<name>[^,]+), requested: (?P<requested>\S+), used: \S+, limited: (?P<limited>\S+)"
)
_QUANTITY = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)(m|[kMGTPE]i?|e[0-9]{1,2})?")
_FACTORS = {"": Decimal(1), "m": Decimal("0.001"), "k": Decimal(1000)} | {
    f"{letter}{i}": Decimal(1024 if i else 1000) ** power
    for power, letter in enumerate("KMGTPE", 1)
    for i in ("", "i")
}


def is_exceeded(message: str) -> bool:
    """Return whether a quota refused what `message` is about for what is used of it."""
    return "exceeded quota: " in message


def may_pass(message: str, job: Json) -> bool:
    """Return whether a quota refused all or part of `job` for what others use of it."""
    return is_exceeded(message) and not never(message, job)


def never(message: str, job: Json) -> str:
    """Return why a quota, by what `message` says, never lets in all pods of `job`; empty where it may.

    `job` is the manifest of an MPIJob, a Job or a Pod.
    """
    match = _EXCEEDED.search(message)
    if match is None:
        return ""
    needed, limited = demand(job), _quantities(match["limited"])
    for name, asked in _quantities(match["requested"]).items():
        together = max(asked, needed.get(_canonical(name), asked))
        if name in limited and together > limited[name]:
            allowed = _shown(limited[name])
            return f"the run takes {name}={_shown(together)}, and quota {match['name']} allows {allowed}"
    return ""


def demand(job: Json) -> Mapping[str, Decimal]:
    """Return what the pods of a manifest ask for together, by the names that quotas give it."""
    amounts: dict[str, Decimal] = {}
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
    return amounts | {"pods": Decimal(total)}


def quantity(text: str) -> Decimal | None:
    """Return a quantity such as ``250m`` or ``2Gi`` (resource.Quantity); None for what is none."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    unit = match[2] or ""
    try:
        factor = Decimal(f"1{unit}") if unit[:1] == "e" else _FACTORS["k" if unit == "k" else unit]
        return Decimal(match[1]) * factor
    except (InvalidOperation, KeyError):
        return None


def _canonical(name: str) -> str:
    """Return the one name of those that mean the same: ``cpu`` is ``requests.cpu``."""
    if name in {"cpu", "memory", "ephemeral-storage"}:
        return f"requests.{name}"
    return "pods" if name == "count/pods" else name


def _quantities(text: str) -> dict[str, Decimal]:
    found = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        amount = quantity(value)
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


def _add(amounts: dict[str, Decimal], name: str, value: Json, n_pods: int) -> None:
    amount = quantity(str(value))
    if amount is not None:
        amounts[name] = amounts.get(name, Decimal(0)) + n_pods * amount


def _dict(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _shown(amount: Decimal) -> str:
    return f"{amount.normalize():f}"
