"""The batch systems that PSI/J submits to, and the details that Tare needs about each of them."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

_FOLDER = Path(__file__).parent


class Executor(enum.StrEnum):
    """PSI/J's executors, by its own names."""

    SLURM = "slurm"
    PBS = "pbs"
    PBS_CLASSIC = "pbs_classic"
    LSF = "lsf"
    FLUX = "flux"
    COBALT = "cobalt"
    LOCAL = "local"


class System(NamedTuple):
    """A batch system: its usual name, the commands that PSI/J calls, and the command that cancels a job.

    Options reach it as PSI/J's custom attributes, whose names begin with `prefix`. `name_option` is the
    option for a job's name; no PSI/J executor up to 0.9.11 writes it in the form that its batch system reads.
    Both are empty if PSI/J passes no options on. `script` is the file with shell code that finds a job's id
    and nodes, and starts a command on a node. With `counts_slots`, a job asks for cores without the number of
    cores for each rank. With `has_reservation_queues`, a job enters a reservation through the queue of that
    name.
    """

    title: str
    commands: tuple[str, ...]
    cancel: str
    script: str
    prefix: str = ""
    name_option: str = ""
    counts_slots: bool = False
    has_reservation_queues: bool = False

    @property
    def nodes_script(self) -> str:
        """Return the shell code for a job's script (batch/job.sh lists what it must define)."""
        own = (_FOLDER / "nodes" / self.script).read_text()
        return own + (_FOLDER / "on_node.sh").read_text()


_PBS = System("PBS", ("qsub", "qstat", "qdel"), "qdel", "pbs.sh", "pbs", "N", True, True)

SYSTEMS: Mapping[Executor, System] = MappingProxyType(
    {
        Executor.SLURM: System(
            "Slurm", ("sbatch", "squeue", "scancel"), "scancel", "slurm.sh", "slurm", "job-name"
        ),
        Executor.PBS: _PBS,
        Executor.PBS_CLASSIC: _PBS._replace(title="PBS, by nodes and ppn"),
        Executor.LSF: System("LSF", ("bsub", "bjobs", "bkill"), "bkill", "lsf.sh", "lsf", "J", True),
        Executor.FLUX: System("Flux", ("flux",), "flux cancel", "flux.sh"),
        Executor.COBALT: System(
            "Cobalt", ("qsub", "qstat", "qdel"), "qdel", "cobalt.sh", "cobalt", "jobname", False, True
        ),
        Executor.LOCAL: System("PSI/J-local", (), "kill", "local.sh"),
    }
)
