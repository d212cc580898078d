"""Write the scripts of a job: Tare's own, and PSI/J's, which starts it. Show both for `tare plan --show`."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tare.core.errors import BackendError
from tare.core.scheduler import Task
from tare.plugins.backends.batch import script
from tare.plugins.backends.batch.commands import Reach
from tare.plugins.backends.batch.queue import request_of
from tare.plugins.backends.psij.job_spec import job_of
from tare.plugins.backends.psij.library import executor, load
from tare.plugins.backends.psij.options import PsijOptions
from tare.plugins.backends.psij.systems import SYSTEMS, Executor

_UNSCRIPTED = {Executor.LOCAL, Executor.FLUX}


class _Rendered(Exception):
    """Carries PSI/J's script out of a submission that is stopped."""


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


def show(task: Task, options: PsijOptions, facts: str) -> str:
    """Return the scripts of `task`. Its folder need not exist.

    Raises BackendError if PSI/J is not installed.
    """
    own = render([task], options.executor, facts)
    return f"# PSI/J submits:\n{_psij_script(task, options)}\n\n# {task.folder}/job.sh:\n{own}"


def _psij_script(task: Task, options: PsijOptions) -> str:
    """Return PSI/J's script. It is read from a submission to `cat` instead of the batch system's command."""
    load()
    with tempfile.TemporaryDirectory() as work:
        job = job_of(task.folder / "job.sh", request_of([task]), options)
        if options.executor in _UNSCRIPTED:
            words = [job.spec.executable, *(job.spec.arguments or [])] if job.spec else []
            command = shlex.join(word for word in words if word)
            return f"# no script: {SYSTEMS[options.executor].title} starts {command}"
        found = executor(options.executor, Path(work), Reach())
        setattr(found, "get_submit_command", lambda job, path: ["cat", str(path)])  # noqa: B010
        setattr(found, "job_id_from_submit_output", _stop)  # noqa: B010
        try:
            found.submit(job)
        except _Rendered as rendered:
            lines = [line for line in str(rendered).splitlines() if line.strip()]
            return "\n".join(lines).replace(work, "{campaign}/psij").replace(job.id, "{id}")
    raise BackendError("PSI/J did not ask for the id of a job, so its script is not known")


def _stop(output: str) -> str:
    raise _Rendered(output)
