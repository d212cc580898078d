"""The batch systems that PSI/J submits to: what Tare has to know of each, besides what PSI/J does."""

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
    """A batch system: its name to people, the commands that PSI/J calls, and the one that cancels a job.

    Options go to it as PSI/J's custom attributes, whose names begin with `prefix`; `name_option` is the one
    for the name of a job, which no PSI/J executor up to 0.9.11 writes as its batch system reads it. Both are
    empty where PSI/J passes none on. `script` is the shell code that finds a job's id and nodes, and starts a
    command on a node. Where `counts_slots`, a job asks for cores without saying how many belong to a rank.
    Where it `has_reservation_queues`, a job gets into a reservation by the queue of that name.
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
        """Return the shell code for a job's script (see batch/job.sh for what it defines)."""
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
