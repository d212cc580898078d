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


def render(tasks: Sequence[Task], options: SlurmOptions, facts: str = "") -> str:
    """Return the sbatch script that runs `tasks` one after the other on the same nodes (see batch.script)."""
    directives = [f"#SBATCH {option}" for option in sbatch_options(tasks, options)]
    return script.render(tasks, directives, _NODES.read_text(), facts)


def sbatch_options(tasks: Sequence[Task], options: SlurmOptions) -> Iterator[str]:
    """Yield the options of sbatch(1) that `tasks` need together. Those of the site come last."""
    request = request_of(tasks)
    yield f"--job-name={request.name}"
    if request.comment:  # by it, `tare clean` finds the job's owner
        yield f"--comment={_quoted(request.comment)}"
    yield f"--nodes={request.nodes}"
    yield f"--ntasks-per-node={request.ranks_per_node}"
    yield f"--cpus-per-task={request.threads}"
    yield f"--time={request.minutes}"
    yield f"--output={_quoted(request.output)}"
    yield "--no-requeue"  # Tare itself decides and records whether a run is tried again
    for name in ("partition", "account", "qos", "constraint", "reservation", "licenses", "gres"):
        value = getattr(options, name)
        if value is not None:
            yield f"--{name}={_quoted(value)}"
    if options.exclusive:
        yield "--exclusive"
    yield from options.lines


def _quoted(value: object) -> str:
    """Return an option's value, quoted for sbatch, which reads it like a shell, within one line."""
    return shlex.quote(str(value))
