"""Write tasks as an sbatch script. Pure functions."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from tare.core.scheduler import Task
from tare.plugins.backends.batch import script
from tare.plugins.backends.batch.queue import request_of
from tare.plugins.backends.slurm.options import SlurmOptions

_NODES = Path(__file__).with_name("nodes.sh")
_FREE_DAEMONS = "unset SLURM_THREADS_PER_CORE SLURM_HINT\n"
"""With these, an MPI's srun would bind each of its daemons, and so all its ranks, to one hardware thread."""


def render(tasks: Sequence[Task], options: SlurmOptions, facts: str = "") -> str:
    """Return the sbatch script that runs `tasks` one after the other on the same nodes (see batch.script)."""
    directives = [f"#SBATCH {option}" for option in sbatch_options(tasks, options)]
    before = _FREE_DAEMONS if options.threads_per_core is not None else ""
    return script.render(tasks, directives, f"{before}{_NODES.read_text()}", facts)


def sbatch_options(tasks: Sequence[Task], options: SlurmOptions) -> Iterator[str]:
    """Yield the options of sbatch(1) that `tasks` need together. Those of the site come last."""
    request = request_of(tasks)
    yield f"--job-name={request.name}"
    if request.comment:  # by it, `tare clean` finds the job's owner
        yield f"--comment={_quoted(request.comment)}"
    yield f"--nodes={max(request.nodes, options.min_nodes or 1)}"
    yield f"--ntasks-per-node={request.ranks_per_node}"
    yield f"--cpus-per-task={request.threads}"
    yield f"--time={request.minutes}"
    yield f"--output={_quoted(request.output)}"
    yield "--no-requeue"  # Tare itself decides and records whether a run is tried again
    if options.cluster is not None:
        yield f"--clusters={_quoted(options.cluster)}"
    for name in ("partition", "account", "qos", "constraint", "reservation", "licenses", "gres"):
        value = getattr(options, name)
        if value is not None:
            yield f"--{name}={_quoted(value)}"
    if options.threads_per_core is not None:
        yield f"--threads-per-core={options.threads_per_core}"
    if options.exclusive:
        yield "--exclusive"
    yield from options.lines


def _quoted(value: object) -> str:
    """Return an option's value, quoted for sbatch, which reads it like a shell, within one line."""
    return shlex.quote(str(value))
