"""Find the job in which this program runs, and its nodes: of PBS, LSF, Grid Engine or Flux.

Sources: PBS Professional's User's Guide 2021.1, 5.1.1 ($PBS_NODEFILE); LSF 10.1, environment variable
reference; sge_pe(5) and submit(1) ($PE_HOSTFILE); flux-broker-attributes(7) and flux-hostlist(1).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tare.core.units import whole_number
from tare.discovery.commands import Commands
from tare.discovery.facts import Allocation

_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]*")
_MOST_BYTES = 4 << 20


def find_allocation(environment: Mapping[str, str], commands: Commands) -> Allocation | None:
    """Return the job in which this program runs; None outside of one."""
    for find in (_pbs, _lsf, _grid_engine):
        found = find(environment)
        if found is not None:
            return found
    return _flux(commands) if "FLUX_URI" in environment else None


def _pbs(environment: Mapping[str, str]) -> Allocation | None:
    """PBS names a node once for each of its MPI ranks; $NCPUS are the cores of a node."""
    slots = Counter(_first_words(environment.get("PBS_NODEFILE")))
    least = min(slots.values(), default=0)
    n_cpus = least if least > 1 else whole_number(environment.get("NCPUS", ""))
    return _allocation("PBS", environment.get("PBS_JOBID"), slots, n_cpus, "$PBS_NODEFILE")


def _lsf(environment: Mapping[str, str]) -> Allocation | None:
    """LSF names a host once for each slot; LSB_MCPU_HOSTS is "hostA 4 hostB 4"."""
    slots, origin = Counter(_first_words(environment.get("LSB_DJOB_HOSTFILE"))), "$LSB_DJOB_HOSTFILE"
    words = environment.get("LSB_MCPU_HOSTS", "").split()
    if not slots and words:
        pairs = zip(words[::2], words[1::2], strict=False)
        slots, origin = Counter({host: whole_number(count) or 1 for host, count in pairs}), "$LSB_MCPU_HOSTS"
    if not slots:
        slots, origin = Counter(environment.get("LSB_HOSTS", "").split()), "$LSB_HOSTS"
    return _allocation("LSF", environment.get("LSB_JOBID"), slots, min(slots.values(), default=None), origin)


def _grid_engine(environment: Mapping[str, str]) -> Allocation | None:
    """Grid Engine's file has lines "HOST SLOTS QUEUE PROCESSORS", and perhaps several for a host."""
    slots: Counter[str] = Counter()
    for line in _lines(environment.get("PE_HOSTFILE")):
        host, count, *_ = [*line.split(), "", ""]
        if host:
            slots[host] += whole_number(count) or 1
    job = environment.get("JOB_ID")
    return _allocation("Grid Engine", job, slots, min(slots.values(), default=None), "$PE_HOSTFILE")


def _flux(commands: Commands) -> Allocation | None:
    """Flux: an instance that is a job itself has the attribute `jobid`, and its nodes as `hostlist`."""
    job = commands.run(["flux", "getattr", "jobid"])
    ranges = commands.run(["flux", "getattr", "hostlist"])
    if job is None or job.code != 0 or ranges is None or ranges.code != 0:
        return None
    names = commands.run(["flux", "hostlist", "--expand", "--delimiter=,", ranges.out.strip()])
    if names is None or names.code != 0:
        return None
    hosts = Counter(names.out.strip().split(","))
    return _allocation("Flux", job.out.strip(), hosts, None, "flux getattr hostlist")


def _allocation(
    title: str, job: str | None, slots: Mapping[str, int], least: int | None, origin: str
) -> Allocation | None:
    """Return the allocation; None outside of a job, and where a name is none of a host."""
    if not job or not slots or not all(_HOST.fullmatch(host) for host in slots):
        return None
    return Allocation(title=title, job=job, hosts=tuple(slots), slots=least or None, origin=origin)


def _first_words(path: str | None) -> list[str]:
    return [words[0] for line in _lines(path) if (words := line.split())]


def _lines(path: str | None) -> list[str]:
    """Return the lines of a file that the batch system has written; none if it cannot be read."""
    if not path:
        return []
    try:
        with Path(path).open(encoding="utf-8", errors="replace") as file:
            return file.read(_MOST_BYTES).splitlines()
    except OSError:
        return []
