"""Find batch systems other than Slurm by their commands: PBS, LSF, Flux and Grid Engine."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tare.core.units import whole_number
from tare.discovery.commands import Commands, Report, text_of
from tare.discovery.facts import BatchSystem, ParallelEnvironment
from tare.plugins.backends.gridengine.commands import parse_table

_PBS_VERSION = re.compile(r"pbs_version\s*=\s*(\S+)")
_QUEUE = re.compile(r"[A-Za-z0-9_.@+-]{1,80}")
_MOST_ENVIRONMENTS = 40


def find_batch_systems(commands: Commands, report: Report) -> Iterator[BatchSystem]:
    """Yield the batch systems whose commands are here and whose servers answer."""
    for find in (_pbs, _lsf, _flux, _grid_engine):
        system = find(commands, report)
        if system is not None:
            yield system


def _pbs(commands: Commands, report: Report) -> BatchSystem | None:
    """PBS Professional and OpenPBS: qstat -Bf names the version, qstat -Q the queues (qstat(1B))."""
    server = commands.run(["qstat", "-B", "-f"])
    version = _PBS_VERSION.search(server.out) if server and server.code == 0 else None
    if version is None:
        return None
    queues = text_of(commands, ["qstat", "-Q"], report) or ""
    return BatchSystem(name="pbs", title="PBS", version=version[1], queues=_after_rule(queues))


def _lsf(commands: Commands, report: Report) -> BatchSystem | None:
    """LSF: lsid names the version, bqueues the queues."""
    version = commands.run(["lsid"])
    if version is None or version.code != 0 or "LSF" not in version.out:
        return None
    queues = text_of(commands, ["bqueues", "-o", "queue_name status"], report) or ""
    names = [line.split()[0] for line in queues.splitlines()[1:] if "Open:Active" in line]
    return BatchSystem(
        name="lsf", title="LSF", version=version.out.splitlines()[0].partition(",")[0], queues=_names(names)
    )


def _flux(commands: Commands, report: Report) -> BatchSystem | None:
    """Flux: an instance that answers, and its queues (flux-queue(1); without any, the name is blank)."""
    version = commands.run(["flux", "version"])
    size = commands.run(["flux", "getattr", "size"])
    if version is None or size is None or size.code != 0:
        return None
    found = re.search(r"^commands:\s*(\S+)", version.out, re.MULTILINE)
    queues = commands.run(["flux", "queue", "list", "--no-header", "--format={queue}"])
    words = queues.out.split() if queues and queues.code == 0 else []
    return BatchSystem(name="flux", title="Flux", version=found[1] if found else "", queues=_names(words))


def _grid_engine(commands: Commands, report: Report) -> BatchSystem | None:
    """Grid Engine: qconf names the version in its help, the queues and the parallel environments."""
    queues = commands.run(["qconf", "-sql"])
    if queues is None or queues.code != 0:
        return None
    version = commands.run(["qconf", "-help"])
    return BatchSystem(
        name="gridengine",
        title="Grid Engine",
        version=(version.out.splitlines() or [""])[0].strip() if version else "",
        queues=_names(queues.out.split()),
        environments=tuple(_environments(commands, report)),
    )


def _environments(commands: Commands, report: Report) -> Iterator[ParallelEnvironment]:
    """Yield the parallel environments that give each node a fixed number of slots, and let jobs start there.

    Those are what Tare can use (docs/gridengine.md). qselect(1) names the queue instances that have one.
    """
    names = _names((text_of(commands, ["qconf", "-spl"], report) or "").split())
    if len(names) > _MOST_ENVIRONMENTS:
        report(f"only the first {_MOST_ENVIRONMENTS} of {len(names)} parallel environments were looked at")
    for name in names[:_MOST_ENVIRONMENTS]:
        known = parse_table(text_of(commands, ["qconf", "-sp", name], report) or "")
        slots = whole_number(known.get("allocation_rule", ""))
        if slots and known.get("control_slaves", "").upper() == "TRUE":
            instances = text_of(commands, ["qselect", "-pe", name], report) or ""
            nodes = dict.fromkeys(one.partition("@")[2] for one in instances.split())
            yield ParallelEnvironment(name=name, slots=slots, nodes=_names([*nodes]))


def _after_rule(text: str) -> tuple[str, ...]:
    """Return the first words of the lines below a line of dashes."""
    _, rule, rows = text.partition("\n-")
    lines = rows.splitlines()[1:] if rule else []
    return _names([line.split()[0] for line in lines if line.strip()])


def _names(words: list[str]) -> tuple[str, ...]:
    return tuple(word for word in words if _QUEUE.fullmatch(word))
