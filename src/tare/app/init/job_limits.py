"""Find what one job may have in a partition: nodes, minutes, memory. Pure.

Sources: slurm.conf(5), PartitionName; sacctmgr(1), "SPECIFICATIONS FOR QOS"; Slurm's page "Resource Limits":
of a partition's QoS, a job's QoS and an association, the first that sets a limit counts. Of GrpTRES, those of
the association and of all accounts above it count. Held against Slurm 22.05.8 with its accounting.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from tare.core.counting import count
from tare.core.units import whole_number
from tare.discovery.facts import NodeClass, Partition, SlurmFacts

_SHOWN = "scontrol show partition"
_NORMAL = "normal"  # the QoS of jobs whose association has no default (sacctmgr(1))
_MOST_TRES = ("MaxTRES", "MaxTRESPU", "MaxTRESPA", "GrpTRES")
_TIME = re.compile(r"(?:([0-9]{1,6})-)?([0-9]{1,6}(?::[0-9]{1,2}){0,2})")
FEWEST_MINUTES = 2
"""The time limit of Tare's shortest jobs (batch.options.minutes_of)."""


class Limit(msgspec.Struct, frozen=True):
    """A number, and who sets it: ``MaxNodes=1 of partition lab``."""

    value: int
    origin: str


class JobLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one job that are set; None where there is none.

    `gres` are the generic resources of a node that each job must ask for, as sbatch takes them.
    """

    min_nodes: Limit | None = None
    max_nodes: Limit | None = None
    max_minutes: Limit | None = None
    gres: tuple[str, str] = ("", "")

    def nodes(self, wanted: int) -> int:
        """Return of how many nodes a job is that wants so many."""
        most = min(wanted, self.max_nodes.value) if self.max_nodes else wanted
        return max(most, self.min_nodes.value) if self.min_nodes else most

    def refusal(self, n_usable: int) -> str:
        """Return why no job of Tare can run on `n_usable` nodes; empty if one can."""
        fewest, most, minutes = self.min_nodes, self.max_nodes, self.max_minutes
        if most and most.value < 1:
            return f"no job gets a whole node ({most.origin})"
        if fewest and fewest.value > n_usable:
            return (
                f"jobs need {count(fewest.value, 'node')} or more ({fewest.origin}), and {n_usable} "
                f"{'takes' if n_usable == 1 else 'take'} jobs"
            )
        if fewest and most and fewest.value > most.value:
            return (
                f"jobs need {count(fewest.value, 'node')} or more ({fewest.origin}), and get fewer "
                f"({most.origin})"
            )
        if minutes and minutes.value < FEWEST_MINUTES:
            return f"jobs end too soon ({minutes.origin}): those of Tare need {FEWEST_MINUTES} minutes"
        return ""

    def why(self, wanted: int) -> str:
        """Return who sets that a job which wants so many nodes has another number; empty if it has not."""
        if self.nodes(wanted) == wanted:
            return ""
        limit = self.min_nodes if self.nodes(wanted) > wanted else self.max_nodes
        return limit.origin if limit else ""


def limits_of(
    slurm: SlurmFacts, partition: Partition, kind: NodeClass | None, account: str = "", qos: str = ""
) -> JobLimits:
    """Return the limits of a job in a partition that has whole nodes of `kind`.

    `account` and `qos` are what it names; without them, it has those that Slurm gives by default.
    """
    sources = tuple(_sources(slurm, partition, account, qos)) if slurm.enforces_limits else ()
    flags = next((_flags(one.limits) for one in sources if one.is_of_job), set())
    own = {} if "PartitionTimeLimit" in flags else _own(partition, "MaxTime")
    minutes = [*_values(own), *_values(_first(sources, "MaxWall"))]
    cpus = kind.cores * kind.threads_per_core if kind else 0
    most = [] if "PartitionMaxNodes" in flags else _numbers(_own(partition, "MaxNodes"))
    fewest = [] if "PartitionMinNodes" in flags else _numbers(_own(partition, "MinNodes"))
    for key in _MOST_TRES:
        most += _tres(_first(sources, key, "node"), "node")
        most += _tres(_first(sources, key, "cpu"), "cpu", cpus) if cpus else []
    fewest += _tres(_first(sources, "MinTRES", "node"), "node")
    fewest += [_rounded_up(one, cpus) for one in _tres(_first(sources, "MinTRES", "cpu"), "cpu") if cpus]
    return JobLimits(
        min_nodes=max((one for one in fewest if one.value > 1), key=_value, default=None),
        max_nodes=min(most, key=_value, default=None),
        max_minutes=min(minutes, key=_value, default=None),
        gres=_gres(_first(sources, "MinTRES", "gres")),
    )


class _Source(NamedTuple):
    """What sets limits beside the partition: a QoS, an association or an account, and the limits.

    `is_of_job` marks the QoS of the job, whose flags count; `adds_up` an account, which several may be.
    """

    name: str
    limits: Mapping[str, str]
    is_of_job: bool = False
    adds_up: bool = False


def _sources(slurm: SlurmFacts, partition: Partition, account: str, qos: str) -> Iterator[_Source]:
    """Yield what sets limits beside the partition itself, in Slurm's order."""
    known = {one.name: one.limits for one in slurm.qos}
    here = [one for one in slurm.accounts if one.partition in ("", partition.name)]
    own = next((one for one in here if one.name == (account or slurm.default_account)), None)
    name = qos or (own.default_qos if own else "") or _NORMAL
    of_job = _Source(f"QoS {name}", known.get(name, {}), is_of_job=True)
    name = partition.limits.get("QoS", "")
    of_partition = _Source(f"QoS {name}", known.get(name, {}))
    yield from (of_job, of_partition) if "OverPartQOS" in _flags(of_job.limits) else (of_partition, of_job)
    if own:
        yield _Source(f"your association with account {own.name}", own.limits, adds_up=True)
        for name, value in own.shared.items():
            yield _Source(f"account {name}", {"GrpTRES": value}, adds_up=True)


def _flags(limits: Mapping[str, str]) -> set[str]:
    return set(limits.get("Flags", "").split(","))


def _own(partition: Partition, key: str) -> dict[str, str]:
    """Return a limit of the partition itself by who sets it; empty if it has none."""
    value = partition.limits.get(key)
    return {f"{key}={value} of partition {partition.name}, {_SHOWN}": value} if value else {}


def _first(sources: Sequence[_Source], key: str, resource: str = "") -> dict[str, str]:
    """Return the first limit of this name by who sets it; of a list of resources, the first with this one.

    Where no QoS sets it, GrpTRES is that of the association and of each account above.
    """
    found: dict[str, str] = {}
    for one in sources:
        value = one.limits.get(key, "")
        if value and f",{resource}" in f",{value}":
            found[f"{key}={value} of {one.name}, sacctmgr show"] = value
            if key != "GrpTRES" or not one.adds_up:
                break
    return found


def _values(found: Mapping[str, str]) -> list[Limit]:
    pairs = ((minutes_in(text), origin) for origin, text in found.items())
    return [Limit(minutes, origin) for minutes, origin in pairs if minutes is not None]


def _numbers(found: Mapping[str, str]) -> list[Limit]:
    pairs = ((whole_number(text), origin) for origin, text in found.items())
    return [Limit(number, origin) for number, origin in pairs if number is not None]


def _tres(found: Mapping[str, str], resource: str, each: int = 1) -> list[Limit]:
    """Return how many nodes a list such as ``cpu=16,node=2`` allows, of which each has so much of it."""
    limits = []
    for origin, text in found.items():
        amount = whole_number(dict(_pairs(text)).get(resource, ""))
        if amount is not None:
            limits.append(Limit(amount // each, origin))
    return limits


def _rounded_up(limit: Limit, each: int) -> Limit:
    """Return how many nodes have so many CPUs, if each has `each`."""
    return Limit(-(-limit.value // each), limit.origin)


def _gres(found: Mapping[str, str]) -> tuple[str, str]:
    """Return the generic resources in ``cpu=1,gres/gpu=1`` as ``gpu:1``, and who wants them."""
    for origin, text in found.items():
        wanted = {name[5:]: amount for name, amount in _pairs(text) if name.startswith("gres/")}
        return ",".join(f"{name}:{amount}" for name, amount in wanted.items()), origin
    return "", ""


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for one in text.split(","):
        name, _, value = one.partition("=")
        yield name, value


def _value(limit: Limit) -> int:
    return limit.value


def minutes_in(text: str) -> int | None:
    """Return whole minutes of ``30``, ``MM:SS``, ``HH:MM:SS`` or ``D-HH:MM:SS`` (sbatch(1), --time)."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    numbers = [int(one) for one in found[2].split(":")]
    if found[1] is not None:
        hours, minutes, *_ = [*numbers, 0, 0]
        return (int(found[1]) * 24 + hours) * 60 + minutes
    if len(numbers) == 3:
        return numbers[0] * 60 + numbers[1]
    return numbers[0]
