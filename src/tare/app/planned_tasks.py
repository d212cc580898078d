"""Build the tasks of attempts as they would be submitted, for `plan --show` and the checks of `doctor`."""

from __future__ import annotations

from pathlib import Path

from tare.app.planning import Loaded
from tare.app.provenance import fact_scripts
from tare.core.backend_plugin import BatchBackend, PlannedTask
from tare.core.case import Case
from tare.core.errors import UsageError
from tare.execution.batch import make_task
from tare.plugins.backend_registry import backend


def job_script(loaded: Loaded, case: Case) -> str:
    """Return the job script of an attempt of `case`, in which ``{work}`` stands for its folder.

    Raises UsageError if its backend is no batch system.
    """
    plugin = backend(loaded.composer.site.platforms[case.platform].backend)
    if not isinstance(plugin, BatchBackend):
        raise UsageError(f"backend {plugin.name} queues nothing")
    return plugin.show(planned_task(loaded, case))


def planned_task(loaded: Loaded, case: Case) -> PlannedTask:
    """Return the task of an attempt of `case` as it would be submitted, with its input files."""
    task = make_task(loaded.composer, case, f"tare-{case.id}", Path("{work}"), loaded.plan.timeout_s)
    stages = loaded.composer.workloads[case.workload].stages(case)
    inputs = {name: text for stage in stages for name, text in stage.files.items()}
    return PlannedTask(case=case, task=task, facts=fact_scripts(loaded)(task.platform), inputs=inputs)
