"""Find Slurm's partitions, classes of nodes, settings and types of MPI (sinfo(1), scontrol(1), srun(1))."""

from __future__ import annotations

import re

from tare.discovery.commands import Commands, Report, text_of
from tare.discovery.facts import Partition, SlurmFacts
from tare.discovery.slurm_accounting import find_accounting
from tare.discovery.slurm_nodes import SHAPES, STATES, read_classes, read_states

_PARTITIONS = ("scontrol", "--all", "show", "partition", "--oneliner")
MEMORY_LIMITS = ("MaxMemPerCPU", "MaxMemPerNode")
"""The entries of a partition, and of the whole cluster, that limit the memory of a job."""
_LIMITS = (
    "AllocNodes",
    "RootOnly",
    "ReqResv",
    "MaxTime",
    "DefaultTime",
    "MaxNodes",
    "MinNodes",
    "AllowGroups",
    "AllowAccounts",
    "DenyAccounts",
    "AllowQos",
    "DenyQos",
    "QoS",
    "OverSubscribe",
    "MaxCPUsPerNode",
    "DefMemPerCPU",
    "DefMemPerNode",
    *MEMORY_LIMITS,
)
_NO_LIMIT = {"", "ALL", "NONE", "N/A", "NO", "UNLIMITED", "0", "(null)"}
_NOT_TYPES = {"MPI", "plugin", "types", "are...", "specific", "versions", "available:"}
_FIELD = re.compile(r"(?:^|\s)([A-Za-z]\w*)=(\S*)")


def find_slurm(commands: Commands, user: str, report: Report) -> SlurmFacts | None:
    """Return the Slurm whose commands are here and whose controller answers; None where there is none."""
    version = commands.run(["sinfo", "--version"])
    if version is None:
        return None
    if version.code != 0:  # without a configuration, not even its version is printed
        report(f"sinfo --version: {version.message}")
        return None
    nodes = text_of(commands, SHAPES, report)
    if nodes is None:
        return None
    states = text_of(commands, STATES, report) or ""
    partitions = text_of(commands, _PARTITIONS, report) or ""
    settings = read_configuration(text_of(commands, ["scontrol", "show", "config"], report) or "")
    cluster = settings.get("ClusterName", "")
    accounting = find_accounting(commands, user, cluster, report)
    types = commands.run(["srun", "--mpi=list"])
    plugin = settings.get("TaskPlugin")
    return SlurmFacts(
        version=(version.out.split() or [""])[-1],
        cluster=cluster,
        partitions=read_partitions(partitions, nodes, states),
        accounts=accounting.accounts,
        default_account=accounting.default_account,
        qos=accounting.qos,
        enforces_limits=not {"limits", "safe"}.isdisjoint(_words(settings, "AccountingStorageEnforce")),
        allots_memory=any(one.endswith("memory") for one in _words(settings, "SelectTypeParameters")),
        memory_limits={key: settings[key] for key in MEMORY_LIMITS if settings.get(key, "") not in _NO_LIMIT},
        mpi_types=read_mpi_types(types.out + types.err) if types else (),
        binds_ranks=None if not plugin else "affinity" in plugin or "cgroup" in plugin,
    )


def _words(settings: dict[str, str], name: str) -> list[str]:
    """Return the values of a setting that is a list, in small letters."""
    return settings.get(name, "").lower().split(",")


def read_partitions(partitions: str, nodes: str, states: str = "") -> tuple[Partition, ...]:
    """Return the partitions of `scontrol show partition --oneliner`, the default first.

    `nodes` and `states` are the outputs of slurm_nodes.SHAPES and STATES.
    """
    classes = read_classes(nodes, read_states(states))
    found = []
    for line in partitions.splitlines():
        fields = dict(_FIELD.findall(line))
        name = _partition_name(line)
        if not name:
            continue
        found.append(
            Partition(
                name=name,
                is_default=fields.get("Default") == "YES",
                is_up=fields.get("State") == "UP",
                is_hidden=fields.get("Hidden") == "YES",
                classes=classes.get(name, ()),
                limits={key: fields[key] for key in _LIMITS if fields.get(key, "") not in _NO_LIMIT},
            )
        )
    return tuple(sorted(found, key=lambda one: not one.is_default))


def _partition_name(line: str) -> str:
    """Return the partition's name, which may hold blanks and signs: all before the next key."""
    found = re.match(r"PartitionName=(.+?) AllowGroups=", line)
    return found[1] if found else ""


def read_mpi_types(text: str) -> tuple[str, ...]:
    """Return the types that `srun --mpi=list` names, without a prefix ``srun:`` of each line (Slurm < 22)."""
    words = " ".join(line.removeprefix("srun:") for line in text.splitlines()).replace(",", " ").split()
    known = [word for word in words if word not in _NOT_TYPES and re.fullmatch(r"[a-z][a-z0-9_]*", word)]
    return tuple(dict.fromkeys(known))


def read_configuration(text: str) -> dict[str, str]:
    """Return the settings of `scontrol show config`, whose lines are ``Name = value``."""
    pairs = (line.partition("=") for line in text.splitlines())
    return {name.strip(): value.strip() for name, sign, value in pairs if sign}
