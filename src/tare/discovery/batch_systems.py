"""Find batch systems other than Slurm by their commands: PBS, LSF, Flux and Grid Engine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tare.core.units import whole_number
from tare.core.visible_text import said_line
from tare.discovery.commands import TIMED_OUT, Commands, Output, Report, text_of
from tare.discovery.facts import BatchSystem, ParallelEnvironment
from tare.plugins.backends.gridengine.commands import parse_table

_PBS_VERSION = re.compile(r"pbs_version\s*=\s*(\S+)")
_PBS_DEFAULT = re.compile(r"default_queue\s*=\s*(\S+)")
_PBS_REFUSES = re.compile(r"pbs|cannot connect to server|unauthorized request", re.IGNORECASE)
"""What qstat of PBS says that cannot ask its server; Grid Engine and Slurm have a qstat, too."""
_LSF_DEFAULT = re.compile(r"Default Queues:\s*(\S+)")
_QUEUE = re.compile(r"[A-Za-z0-9_.@+-]{1,80}")
_MOST_ENVIRONMENTS = 40
_MOST_OF_VERSION = 40


def find_batch_systems(commands: Commands, report: Report) -> Iterator[BatchSystem]:
    """Yield the batch systems whose commands are here and whose servers answer."""
    for find in (_pbs, _lsf, _flux, _grid_engine):
        system = find(commands, report)
        if system is not None:
            yield system


def _pbs(commands: Commands, report: Report) -> BatchSystem | None:
    """PBS Professional, OpenPBS and Torque: the server's version and default, and its queues (qstat(1B))."""
    command = ["qstat", "-B", "-f"]
    server = commands.run(command)
    version = _PBS_VERSION.search(server.out) if server and server.code == 0 else None
    if version is None or server is None:
        if server and (server.code == TIMED_OUT or _PBS_REFUSES.search(server.err)):
            report(_silence("PBS", command, server))
        return None
    queues = _open_queues(text_of(commands, ["qstat", "-Q", "-f"], report) or "")
    default = _PBS_DEFAULT.search(server.out)
    return BatchSystem(name="pbs", title="PBS", version=version[1], queues=_first(default, queues))


def _open_queues(text: str) -> tuple[str, ...]:
    """Return the queues of `qstat -Q -f` that take jobs and start them: its table cuts names off."""
    found = []
    for part in re.split(r"^Queue: *", text, flags=re.MULTILINE)[1:]:
        name, _, rest = part.partition("\n")
        values = dict(re.findall(r"^ +(\w+) = (\S+)", rest, re.MULTILINE))
        if all(values.get(key, "True") == "True" for key in ("enabled", "started")):
            found.append(name.strip())
    return _names(found)


def _lsf(commands: Commands, report: Report) -> BatchSystem | None:
    """LSF: lsid names the version, bqueues the queues, and bparams that which jobs get that name none."""
    version = commands.run(["lsid"])
    if version is None:
        return None
    if version.code != 0 or "LSF" not in version.out:
        report(_silence("LSF", ["lsid"], version))
        return None
    queues = text_of(commands, ["bqueues", "-o", "queue_name status"], report) or ""
    names = _names([line.split()[0] for line in queues.splitlines()[1:] if "Open:Active" in line])
    defaults = commands.run(["bparams"])
    title = next(line for line in version.out.splitlines() if "LSF" in line)
    return BatchSystem(
        name="lsf",
        title="LSF",
        version=title.partition(",")[0].strip(),
        queues=_first(_LSF_DEFAULT.search(defaults.out) if defaults else None, names),
    )


def _flux(commands: Commands, report: Report) -> BatchSystem | None:
    """Flux: an instance that answers, and its queues (flux-queue(1); without any, the name is blank).

    The command of another program, which deploys to Kubernetes, is called flux, too.
    """
    version = commands.run(["flux", "version"])
    found = re.search(r"^commands:\s*(\S+)", version.out, re.MULTILINE) if version else None
    if version is None or (found is None and version.code != TIMED_OUT):
        return None
    command = ["flux", "getattr", "size"]
    size = commands.run(command) if found else version
    if size is None or size.code != 0:
        report(_silence("Flux", command, size or version))
        return None
    queues = commands.run(["flux", "queue", "list", "--no-header", "--format={queue}"])
    words = queues.out.split() if queues and queues.code == 0 else []
    return BatchSystem(name="flux", title="Flux", version=found[1] if found else "", queues=_names(words))


def _grid_engine(commands: Commands, report: Report) -> BatchSystem | None:
    """Grid Engine: qconf names the version in its help, the queues and the parallel environments."""
    command = ["qconf", "-sql"]
    queues = commands.run(command)
    if queues is None:
        return None
    names = _names(queues.out.splitlines())  # a banner has lines of several words
    if queues.code != 0 or not names:
        report(_silence("Grid Engine", command, queues))
        return None
    version = commands.run(["qconf", "-help"])
    return BatchSystem(
        name="gridengine",
        title="Grid Engine",
        version=said_line((version.out.splitlines() or [""])[0], _MOST_OF_VERSION) if version else "",
        queues=names,
        environments=tuple(_environments(commands, report)),
    )


def _silence(title: str, command: Sequence[str], done: Output) -> str:
    """Return that a batch system is installed and does not answer, and what to do."""
    shown = " ".join(command)
    return (
        f"what {title} offers, which is installed here and does not answer ({shown}: "
        f"{done.message.rstrip('. ')}); once `{shown}` answers in your shell, call `tare init --force` there"
    )


def _first(found: re.Match[str] | None, names: Sequence[str]) -> tuple[str, ...]:
    """Return `names`, and of them first that which was found."""
    return tuple(sorted(names, key=lambda name: not (found and name == found[1])))


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


def _names(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for word in words if _QUEUE.fullmatch(word))
