"""Write tasks as a script for qsub. Pure functions."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote, unquote

import msgspec

from tare.core.scheduler import Task
from tare.plugins.backends.batch import script
from tare.plugins.backends.batch.queue import Request, request_of
from tare.plugins.backends.gridengine.options import GridEngineOptions

CONTEXT = "tare"
"""The variable in a job's context (qsub -ac) that names session and campaign."""

_NODES = Path(__file__).with_name("nodes.sh")
_WATCHED_SLOTS = 3
"""Grid Engine starts at most as many commands on another node as the job has slots there.

Tare needs three: MPI's, and two that record telemetry and packets.
"""


def render(tasks: Sequence[Task], options: GridEngineOptions, facts: str = "") -> str:
    """Return the script for qsub that runs `tasks` one after the other on the same nodes (see batch.script).

    The script itself opens the file for its output, because qsub's -o gives ',' and ':' in a path a special
    meaning.
    """
    request = request_of(tasks)
    nodes = (
        f"exec >{shlex.quote(str(request.output))} 2>&1",
        f"asked_nodes={request.nodes} first_folder={shlex.quote(str(tasks[0].folder))}",
        _NODES.read_text().rstrip(),
        script.EACH_NODE.read_text(),
    )
    directives = [f"#$ {option}" for option in qsub_options(request, options)]
    watched = [task if _has_room_to_watch(task, options) else _unwatched(task) for task in tasks]
    return script.render(watched, directives, "\n".join(nodes), facts)


def qsub_options(request: Request, options: GridEngineOptions) -> Iterator[str]:
    """Yield the options of qsub(1) that a job needs. Those of the site come last."""
    slots = options.slots(request.ranks_per_node, request.threads)
    yield f"-N {request.name}"
    yield "-S /bin/bash"
    yield "-V"
    yield "-j y"
    yield "-o /dev/null"
    yield "-r n"  # Tare itself decides and records whether a run is tried again
    yield "-R y"  # else small jobs of others take the nodes that a large job waits for
    if request.comment:  # by it, `tare clean` finds the job's owner
        yield f"-ac {CONTEXT}={quote(request.comment)}"
    yield f"-pe {options.environment_of(slots)} {request.nodes * slots}"
    yield f"-l h_rt={request.minutes * 60}"
    if options.queue is not None:
        yield f"-q {options.queue}"
    if options.project is not None:
        yield f"-P {options.project}"
    for name, value in options.resources.items():
        yield f"-l {name}={value}"
    yield from options.lines


def comment_in(context: str) -> str:
    """Return the text that `qsub_options` wrote into a job's context."""
    return unquote(context)


def _has_room_to_watch(task: Task, options: GridEngineOptions) -> bool:
    layout = task.layout
    return layout.nodes == 1 or options.slots(layout.ranks_per_node, layout.threads) >= _WATCHED_SLOTS


def _unwatched(task: Task) -> Task:
    """Return the task without sampler and packet counter, which would take the slots that its ranks need."""
    return msgspec.structs.replace(task, sampler=None, counter=None)
