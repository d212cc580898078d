"""Slurm as a plug-in (see core.backend_plugin)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

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
from tare.core.scheduler import Scheduler
from tare.core.site import Platform
from tare.plugins.backends.batch.leftovers import left_in
from tare.plugins.backends.slurm.options import SlurmOptions, check_options

_CONFIGURATION = Path("/etc/slurm/slurm.conf")


class SlurmBackend(BatchBackend[SlurmOptions]):
    """Each attempt is a batch job, or a block is one allocation."""

    name = "slurm"
    title = "Slurm"
    summary = "jobs of sbatch, on nodes that Slurm chooses"
    file_type = SlurmOptions

    def read_options(self, written: SlurmOptions | None, reader: OptionsReader) -> SlurmOptions:
        """Return the options of the site file after checking them (see BackendPlugin)."""
        return check_options(written, reader) if written else SlurmOptions()

    @contextmanager
    def open(self, session: Session) -> Iterator[Scheduler]:
        """Yield the scheduler that puts tasks into the queue (see BatchBackend)."""
        from tare.plugins.backends.slurm.commands import Slurm
        from tare.plugins.backends.slurm.scheduler import slurm_scheduler

        logins = {options_of(platform).login for platform in session.platforms.values()}
        if len(logins) > 1:
            raise UsageError(
                "platforms of one study name different Slurm login hosts; give them the same one"
            )
        slurm = Slurm(session.site.agent, logins.pop(), {**os.environ, **session.env})
        scheduler = slurm_scheduler(slurm, session.facts)
        yield scheduler
        with suppress(BackendError):  # jobs that cannot be queried now are listed by `tare clean`
            scheduler.close()

    def show(self, planned: PlannedTask) -> str:
        """Return the sbatch script (see BatchBackend)."""
        from tare.plugins.backends.slurm.script import render

        return render([planned.task], options_of(planned.task.platform), planned.facts)

    def check(self, context: CheckContext) -> Iterator[Finding]:
        """Yield whether Slurm answers and accepts the platform's jobs (see BackendPlugin)."""
        from tare.plugins.backends.slurm.checks import check_slurm

        yield from check_slurm(context, options_of(context.platform))

    def leftovers(self, surroundings: Surroundings) -> Iterator[Leftover]:
        """Yield campaigns' jobs in this machine's Slurm and in the lab's (see BackendPlugin)."""
        from tare.plugins.backends.slurm.commands import Slurm

        env, lab = surroundings.env, surroundings.lab
        queues = []
        if shutil.which("squeue") and ("SLURM_CONF" in env or _CONFIGURATION.exists()):
            queues.append(Slurm((), None, env))
        if lab is not None and lab.has_service(self.name):
            queues.append(Slurm(lab.agent, lab.nodes[0], {**env, **lab.env}))
        for slurm in queues:
            try:
                yield from left_in(slurm)
            except BackendError as error:
                surroundings.report(f"Slurm's queue could not be looked at: {error}")

    def set_up_lab(self, lab: RunningLab) -> Mapping[str, str]:
        """Start Slurm in the lab (see BackendPlugin)."""
        lab.add_service(self.name)
        return {}


def options_of(platform: Platform) -> SlurmOptions:
    """Return the Slurm options of a platform."""
    return platform.options if isinstance(platform.options, SlurmOptions) else SlurmOptions()


BACKEND = SlurmBackend()
