"""Write tasks as a script that a batch system runs through PSI/J. Pure functions."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from tare.core.scheduler import Task
from tare.plugins.backends.batch import script
from tare.plugins.backends.batch.queue import request_of
from tare.plugins.backends.psij.systems import SYSTEMS, Executor


def render(tasks: Sequence[Task], executor: Executor, facts: str = "") -> str:
    """Return the script that runs `tasks` one after the other on the same nodes (see batch.script).

    It holds no directives: PSI/J writes them into a script of its own, which starts this one. Only the
    recorded job runs it. PSI/J cannot find a job whose id was lost, and cannot keep every batch system from
    starting a job twice.
    """
    request = request_of(tasks)
    nodes = [
        f"exec >>{shlex.quote(str(request.output))} 2>&1",
        SYSTEMS[executor].nodes_script,
        script.EACH_NODE.read_text(),
        f"job_seconds={request.minutes * 60}",
        f"is_recorded {shlex.quote(str(tasks[0].folder))} || exit 0",
    ]
    return script.render(tasks, (), "\n".join(nodes), facts)
