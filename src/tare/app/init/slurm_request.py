"""Decide what the jobs of a site ask Slurm for: the options `slurm:` of its platforms, and why. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from tare.app.init.job_limits import JobLimits
from tare.app.init.node_choice import class_nodes, node_class
from tare.core.units import whole_number
from tare.discovery.facts import NodeClass, Partition, SlurmFacts
from tare.discovery.slurm import MEMORY_LIMITS

_PROBE_MIB = 1024
"""The memory that the job which asks nodes gets: module systems and Spack are programs, too."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a platform's `slurm:`, and why those are there that a limit demands."""

    options: Mapping[str, object]
    origins: tuple[str, ...] = ()


def request_of(
    slurm: SlurmFacts,
    partition: Partition,
    limits: JobLimits,
    account: str = "",
    qos: str = "",
    cluster: str = "",
) -> Request:
    """Return what the jobs of a site ask for: nodes of the class that was chosen, one job at a time.

    They ask for whole nodes where the partition grants these.
    """
    kind, constraint, _ = node_class(partition)
    wanted = {
        "cluster": cluster,
        "partition": partition.name,
        "account": account,
        "qos": qos,
        "constraint": constraint,
    }
    options: dict[str, object] = {key: value for key, value in wanted.items() if value}
    origins = [f"cluster {cluster}: SLURM_CLUSTERS of your shell"] if cluster else []
    n_nodes = len(class_nodes(partition))
    for key, value, origin in (*_of_limits(limits, n_nodes), *_of_nodes(slurm, partition, kind)):
        options[key] = value
        shown = " ".join(value) if isinstance(value, list) else value
        origins.append(f"{key} {shown}: {origin}")
    shared = why_shared(partition, kind)
    if shared:
        origins.append(f"no exclusive: {shared}")
    else:
        options["exclusive"] = True
    return Request(options=options | {"in_flight": 1}, origins=tuple(origins))


def why_shared(partition: Partition, kind: NodeClass | None) -> str:
    """Return why jobs get no nodes of their own in the partition; empty where they may (slurm.conf(5))."""
    limits = partition.limits
    rule, _, most = limits.get("OverSubscribe", "").partition(":")
    if rule == "FORCE" and most != "1":
        return (
            f"OverSubscribe={limits['OverSubscribe']} of partition {partition.name} lets other jobs run on "
            "the same nodes, whatever a job asks for: figures may be disturbed"
        )
    n_cpus = whole_number(limits.get("MaxCPUsPerNode", ""))
    if n_cpus and kind and n_cpus < kind.cores * kind.threads_per_core:
        return (
            f"MaxCPUsPerNode={n_cpus} of partition {partition.name} refuses jobs that ask for whole nodes; "
            "other jobs may run on the rest of a node, and disturb figures"
        )
    return ""


def _of_limits(limits: JobLimits, n_nodes: int) -> Iterator[tuple[str, object, str]]:
    gres, origin = limits.gres
    if gres:
        yield "gres", gres, origin
    if limits.min_nodes:
        yield "min_nodes", limits.min_nodes.value, f"{limits.min_nodes.origin}; runs use the first nodes"
    if limits.max_nodes and 0 < limits.max_nodes.value < n_nodes:
        yield "max_nodes", limits.max_nodes.value, limits.max_nodes.origin
    if limits.max_minutes:
        yield "max_minutes", limits.max_minutes.value, limits.max_minutes.origin


def _of_nodes(
    slurm: SlurmFacts, partition: Partition, kind: NodeClass | None
) -> Iterator[tuple[str, object, str]]:
    if kind and kind.threads_per_core > 1:
        why = f"cores have {kind.threads_per_core} hardware threads (sinfo), which srun's --cpus-per-task"
        why += " counts as CPUs; each rank gets a core"
        yield "threads_per_core", 1, why
    if slurm.allots_memory:
        most = job_memory_mib(slurm, partition, kind)
        why = "a job has only the memory that it asks for, with --exclusive too (sbatch(1)); "
        why += f"MaxMemPerNode or MaxMemPerCPU allows {most} MiB of a node" if most else "0 is all of a node"
        yield "lines", [f"--mem={most}M" if most else "--mem=0"], why


def job_memory_mib(slurm: SlurmFacts, partition: Partition, kind: NodeClass | None) -> int | None:
    """Return the most memory of a node that a job may ask for, in MiB; None where it may have all.

    The limits of the cluster hold for a partition that has none of its own (slurm.conf(5), MaxMemPerNode).
    """
    own = {key: partition.limits[key] for key in MEMORY_LIMITS if key in partition.limits}
    limits = own or slurm.memory_limits
    per_node = whole_number(limits.get("MaxMemPerNode", ""))
    per_cpu = whole_number(limits.get("MaxMemPerCPU", ""))
    most = per_cpu * kind.cores if per_cpu and kind else per_node
    has_more = kind is None or not kind.memory_mib or (most or 0) < kind.memory_mib
    return most if most and has_more else None


def probe_memory(slurm: SlurmFacts, partition: Partition) -> str | None:
    """Return the memory for the job that asks nodes, as srun takes it; None to leave it to Slurm."""
    kinds = [one for one in partition.classes if one.usable] or partition.classes
    known = [one.memory_mib for one in kinds if one.memory_mib]
    if not slurm.allots_memory or not known:
        return None
    most = job_memory_mib(slurm, partition, kinds[0])
    return f"{min(_PROBE_MIB, *known, most or _PROBE_MIB)}M"
