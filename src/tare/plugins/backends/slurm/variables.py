"""Keep variables of the user's shell from changing what Tare asks Slurm. Pure.

sbatch(1): "environment variables will override any options set in a batch script".
Those of squeue(1) and sinfo(1) leave out jobs and nodes.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping

_DIRECTIVE = re.compile(r"^#SBATCH --([a-z-]+)", re.MULTILINE)
_NEVER = ("SBATCH_CLUSTERS", "SBATCH_ARRAY_INX", "SBATCH_WAIT", "SBATCH_ERROR", "SBATCH_INPUT")
"""They would send a job to a cluster that other commands do not ask, make an array of it, wait for its end,
or part its messages from its output."""
_OTHER_NAMES = {
    "time": ("SBATCH_TIMELIMIT",),
    "no-requeue": ("SBATCH_REQUEUE",),
    "mem": ("SBATCH_MEM_PER_NODE", "SBATCH_MEM_PER_CPU", "SBATCH_MEM_PER_GPU"),
    "threads-per-core": ("SBATCH_THREADS_PER_CORE", "SBATCH_HINT", "SLURM_HINT"),
}
FILTERS = (
    *(f"SQUEUE_{name}" for name in ("ACCOUNT", "LICENSES", "NAMES", "PARTITION", "QOS", "USERS")),
    "SINFO_PARTITION",
)
"""Those that leave out jobs or nodes."""


def cluster_of(env: Mapping[str, str]) -> str:
    """Return the cluster to which `env` sends jobs; empty where it names none (sbatch(1))."""
    return env.get("SBATCH_CLUSTERS") or env.get("SLURM_CLUSTERS") or ""


def is_one_cluster(name: str) -> bool:
    """Return whether `name` is that of one cluster; jobs of several clusters have the same numbers."""
    return name != "all" and "," not in name


def overriding(script: str) -> tuple[str, ...]:
    """Return the variables that would override what `script`, a text, states, or what sbatch does with it."""
    options = dict.fromkeys(_DIRECTIVE.findall(script))
    own = (_OTHER_NAMES.get(one, (f"SBATCH_{one.upper().replace('-', '_')}",)) for one in options)
    return (*_NEVER, *itertools.chain.from_iterable(own))
