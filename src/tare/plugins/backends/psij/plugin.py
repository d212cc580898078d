"""PSI/J as a plug-in (see core.backend_plugin)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from tare.core.backend_plugin import (
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
from tare.plugins.backends.batch.leftovers import left_in
from tare.plugins.backends.batch.plugin import JobBackend
from tare.plugins.backends.psij.options import PsijOptions, check_options
from tare.plugins.backends.psij.register import Register, campaigns_folder, registers, work_folder
from tare.plugins.backends.psij.systems import Executor


class PsijBackend(JobBackend[PsijOptions]):
    """Each attempt is a job of a batch system that PSI/J supports, or a block is one allocation."""

    name = "psij"
    title = "PSI/J"
    summary = "jobs of PBS Professional, LSF, Flux and others, through PSI/J"
    file_type = PsijOptions

    def read_options(self, written: PsijOptions | None, reader: OptionsReader) -> PsijOptions:
        """Return the options of the site file after checking them (see BackendPlugin)."""
        if written is None:
            known = ", ".join(Executor)
            reader.fault_of_platform(f"name the batch system: 'psij: {{executor: …}}', one of {known}")
            return PsijOptions(executor=Executor.LOCAL)
        return check_options(written, reader)

    @contextmanager
    def open(self, session: Session) -> Iterator[Scheduler]:
        """Yield the scheduler that puts tasks into the queue (see BatchBackend)."""
        from tare.plugins.backends.batch.commands import Reach
        from tare.plugins.backends.psij.queue import PsijQueue

        options = [self.options_of(platform) for platform in session.platforms.values()]
        if len({(one.executor, one.login) for one in options}) > 1:
            raise UsageError("platforms of one study name different batch systems or login hosts of PSI/J")
        executor = options[0].executor
        register = Register(work_folder(session.folder, session.campaign), executor, campaigns_folder())
        reach = Reach.of(session.site.agent, options[0].login, session.env)
        queue = PsijQueue(executor, register, reach, poll_s=min(one.poll_s for one in options))
        scheduler = self.scheduler(queue, session.facts)
        yield scheduler
        with suppress(BackendError):  # jobs that cannot be queried now are listed by `tare clean`
            scheduler.close()
        queue.close()

    def render(self, tasks: Sequence[Task], options: PsijOptions, facts: str) -> str:
        """Return Tare's script, which PSI/J's script starts (see JobBackend)."""
        from tare.plugins.backends.psij.script import render

        return render(tasks, options.executor, facts)

    def show(self, planned: PlannedTask) -> str:
        """Return PSI/J's script, and Tare's script, which PSI/J's script starts (see BatchBackend)."""
        from tare.plugins.backends.psij.script import show

        return show(planned.task, self.options_of(planned.task.platform), planned.facts)

    def check(self, context: CheckContext) -> Iterator[Finding]:
        """Yield whether PSI/J is installed and its batch system answers (see BackendPlugin)."""
        from tare.plugins.backends.psij.checks import check_psij

        yield from check_psij(context, self.options_of(context.platform))

    def leftovers(self, surroundings: Surroundings) -> Iterator[Leftover]:
        """Yield the recorded jobs of this user's campaigns that are not over (see BackendPlugin).

        PSI/J cannot list jobs by their names. The records of jobs that are over are deleted.
        """
        for register in registers(campaigns_folder(surroundings.env)):
            try:
                yield from _left_in(register, surroundings)
            except BackendError as error:
                surroundings.report(f"the jobs of {register.work} could not be looked at: {error}")

    def set_up_lab(self, lab: RunningLab) -> Mapping[str, str]:
        """Start Slurm in the lab.

        The lab has no other batch system that PSI/J supports (see BackendPlugin).
        """
        lab.add_service("slurm")
        return {}


def _left_in(register: Register, surroundings: Surroundings) -> Iterator[Leftover]:
    from tare.plugins.backends.batch.commands import Reach
    from tare.plugins.backends.psij.queue import PsijQueue

    env = {**surroundings.env, **(surroundings.lab.env if surroundings.lab else {})}
    for way in dict.fromkeys(entry.way for entry in register.entries().values()):
        queue = PsijQueue(register.executor, register, Reach(way, env), poll_s=1.0)
        yield from left_in(queue)
        queue.stop()  # keeps the files, which are needed if the campaign is continued


BACKEND = PsijBackend()
