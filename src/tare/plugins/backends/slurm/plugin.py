"""Slurm as a plug-in (see core.backend_plugin)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tare.core.backend_plugin import CheckContext, OptionsReader, Session
from tare.core.checks import Finding
from tare.core.errors import BackendError, UsageError
from tare.core.scheduler import Task
from tare.plugins.backends.batch.plugin import CommandBackend
from tare.plugins.backends.slurm.options import SlurmOptions, check_options

if TYPE_CHECKING:
    from tare.plugins.backends.slurm.commands import Slurm

_CONFIGURATION = Path("/etc/slurm/slurm.conf")


class SlurmBackend(CommandBackend[SlurmOptions]):
    """Each attempt is a batch job, or a block is one allocation."""

    name = "slurm"
    title = "Slurm"
    summary = "jobs of sbatch, on nodes that Slurm chooses"
    file_type = SlurmOptions

    def read_options(self, written: SlurmOptions | None, reader: OptionsReader) -> SlurmOptions:
        """Return the options of the site file after checking them (see BackendPlugin)."""
        return check_options(written, reader) if written else SlurmOptions()

    def queue(
        self, agent: Sequence[str], login: str | None, env: Mapping[str, str], cluster: str | None = None
    ) -> Slurm:
        """Return Slurm's queue (see CommandBackend)."""
        from tare.plugins.backends.slurm.commands import Slurm

        return Slurm(agent, login, env, cluster)

    def queue_asked(self, agent: Sequence[str], env: Mapping[str, str], options: SlurmOptions) -> Slurm:
        """Return the queue of the cluster that the options name (see CommandBackend)."""
        return self.queue(agent, options.login, env, options.cluster)

    def queue_of(self, session: Session) -> Slurm:
        """Return the queue of the cluster that the platforms name (see CommandBackend)."""
        clusters = {self.options_of(platform).cluster for platform in session.platforms.values()}
        if len(clusters) > 1:
            raise UsageError(
                "platforms of one study name different clusters of Slurm; give each its own study"
            )
        slurm = self.queue(session.site.agent, self.login_of(session), session.env, clusters.pop())
        if slurm.ambiguity:
            raise UsageError(slurm.ambiguity)
        return slurm

    def render(self, tasks: Sequence[Task], options: SlurmOptions, facts: str) -> str:
        """Return the sbatch script (see JobBackend)."""
        from tare.plugins.backends.slurm.script import render

        return render(tasks, options, facts)

    def is_here(self, env: Mapping[str, str]) -> bool:
        """Return whether this machine has squeue and its configuration (see CommandBackend)."""
        return shutil.which("squeue") is not None and ("SLURM_CONF" in env or _CONFIGURATION.exists())

    def check(self, context: CheckContext) -> Iterator[Finding]:
        """Yield whether Slurm answers, has the platform's partition, and would run two ranks on two nodes."""
        options = self.options_of(context.platform)
        slurm = self.queue_asked(context.site.agent, context.env, options)
        what = f"{context.name}: Slurm"
        if slurm.ambiguity:
            found, _, cure = slurm.ambiguity.partition("; ")
            yield Finding(name=what, is_met=False, found=found, cure=cure)
            return
        try:
            partitions = slurm.partitions()
        except BackendError as error:
            cure = (
                "is slurmctld up, and does scontrol ping answer? Else name the host with 'slurm: {login: …}'"
            )
            yield Finding(name=what, is_met=False, found=str(error), cure=cure)
            return
        known = ", ".join(partitions)
        if options.partition and not set(options.partition.split(",")) <= set(partitions):
            cure = f"set 'slurm: {{partition: …}}' to one of {known}"
            found = f"no partition {options.partition} is up"
            yield Finding(name=what, is_met=False, found=found, cure=cure)
            return
        yield Finding(name=what, is_met=True, found=f"partitions {known}")
        yield self.check_submission(context, what, slurm.check)


BACKEND = SlurmBackend()
