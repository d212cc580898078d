"""Tasks as a script of qsub. Pure."""

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
"""The variable of a job's context (qsub -ac) that names session and campaign."""

_NODES = Path(__file__).with_name("nodes.sh")
_WATCHED_SLOTS = 3
"""Grid Engine starts as many commands on another node as it gave slots there: MPI's, and two that watch."""


def render(tasks: Sequence[Task], options: GridEngineOptions, facts: str = "") -> str:
    """Return the script for qsub that runs `tasks` one after the other on the same nodes (see batch.script).

    The script opens the file for what it prints itself: qsub's -o takes ',' and ':' in a path for its own.
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
    """Yield the options of qsub(1) that a job needs, those of the site last."""
    slots = options.slots(request.ranks_per_node, request.threads)
    yield f"-N {request.name}"
    yield "-S /bin/bash"
    yield "-V"
    yield "-j y"
    yield "-o /dev/null"
    yield "-r n"  # whether a run is tried again is for Tare to say, and to record
    yield "-R y"  # else narrow jobs of others take the nodes that a wide one waits for
    if request.comment:  # which tells `tare clean` whose job it is
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
    """Return what `qsub_options` wrote into a job's context."""
    return unquote(context)


def _has_room_to_watch(task: Task, options: GridEngineOptions) -> bool:
    layout = task.layout
    return layout.nodes == 1 or options.slots(layout.ranks_per_node, layout.threads) >= _WATCHED_SLOTS


def _unwatched(task: Task) -> Task:
    """Return a task that nothing watches: else what watches its nodes would keep its ranks from starting."""
    return msgspec.structs.replace(task, sampler=None, counter=None)
