"""Grid Engine as a plug-in (see core.backend_plugin)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from tare.core.backend_plugin import (
    BatchBackend,
    CheckContext,
    Leftover,
    OptionsReader,
    PlannedTask,
    RunningLab,
    Session,
    Surroundings,
)
from tare.core.checks import Finding
from tare.core.errors import BackendError, UsageError
from tare.core.scheduler import Scheduler, Task
from tare.core.site import Platform
from tare.plugins.backends.batch.leftovers import left_in
from tare.plugins.backends.gridengine.options import GridEngineOptions, check_options


class GridEngineBackend(BatchBackend[GridEngineOptions]):
    """Each attempt is a batch job, or a block is one."""

    name = "gridengine"
    title = "Grid Engine"
    summary = "jobs of qsub, on nodes that Grid Engine chooses"
    file_type = GridEngineOptions

    def read_options(self, written: GridEngineOptions | None, reader: OptionsReader) -> GridEngineOptions:
        """Return the options of the site file after checking them (see BackendPlugin)."""
        if written is None:
            reader.fault_of_platform(
                "Grid Engine gives nodes by a parallel environment; name it: "
                "'gridengine: {parallel_environment: mpi-24, slots_per_node: 24}'"
            )
            return GridEngineOptions(parallel_environment="mpi")
        return check_options(written, reader)

    @contextmanager
    def open(self, session: Session) -> Iterator[Scheduler]:
        """Yield the scheduler that puts tasks into the queue (see BatchBackend)."""
        from tare.plugins.backends.batch.scheduler import BatchScheduler
        from tare.plugins.backends.gridengine.commands import GridEngine
        from tare.plugins.backends.gridengine.script import render

        logins = {options_of(platform).login for platform in session.platforms.values()}
        if len(logins) > 1:
            raise UsageError(
                "platforms of one study name different hosts to call qsub; give them the same one"
            )

        def rendered(tasks: Sequence[Task]) -> str:
            platform = tasks[0].platform
            return render(tasks, options_of(platform), session.facts(platform))

        queue = GridEngine(session.site.agent, logins.pop(), {**os.environ, **session.env})
        scheduler = BatchScheduler(queue, rendered)
        yield scheduler
        with suppress(BackendError):  # jobs that cannot be queried now are listed by `tare clean`
            scheduler.close()

    def show(self, planned: PlannedTask) -> str:
        """Return the script for qsub (see BatchBackend)."""
        from tare.plugins.backends.gridengine.script import render

        return render([planned.task], options_of(planned.task.platform), planned.facts)

    def check(self, context: CheckContext) -> Iterator[Finding]:
        """Yield whether Grid Engine answers and accepts the platform's jobs (see BackendPlugin)."""
        from tare.plugins.backends.gridengine.checks import check_grid_engine

        yield from check_grid_engine(context, options_of(context.platform))

    def leftovers(self, surroundings: Surroundings) -> Iterator[Leftover]:
        """Yield campaigns' jobs in this machine's Grid Engine and in the lab's (see BackendPlugin)."""
        from tare.plugins.backends.gridengine.commands import GridEngine

        env, lab = surroundings.env, surroundings.lab
        queues = []
        if shutil.which("qstat") and "SGE_ROOT" in env:
            queues.append(GridEngine((), None, env))
        if lab is not None and lab.has_service(self.name):
            queues.append(GridEngine(lab.agent, lab.nodes[0], {**env, **lab.env}))
        for queue in queues:
            try:
                yield from left_in(queue)
            except BackendError as error:
                surroundings.report(f"Grid Engine's queue could not be looked at: {error}")

    def set_up_lab(self, lab: RunningLab) -> Mapping[str, str]:
        """Start Grid Engine in the lab (see BackendPlugin)."""
        lab.add_service(self.name)
        return {}


def options_of(platform: Platform) -> GridEngineOptions:
    """Return the Grid Engine options of a platform."""
    if isinstance(platform.options, GridEngineOptions):
        return platform.options
    raise TypeError(f"{type(platform.options).__name__} are no options of Grid Engine")


BACKEND = GridEngineBackend()
