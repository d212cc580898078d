"""The part of a backend that all batch systems with commands share (see core.backend_plugin)."""

from __future__ import annotations

import abc
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tare.core.backend_plugin import (
    BatchBackend,
    CheckContext,
    Leftover,
    PlannedTask,
    RunningLab,
    Session,
    Surroundings,
)
from tare.core.case import Layout
from tare.core.checks import Finding
from tare.core.errors import BackendError, UsageError
from tare.core.scheduler import Scheduler, Task
from tare.core.site import Platform
from tare.plugins.backends.batch.leftovers import CampaignJob, campaign_jobs, leftover_of
from tare.plugins.backends.batch.options import OptionsT, options_of

if TYPE_CHECKING:
    from tare.plugins.backends.batch.commands import CommandQueue
    from tare.plugins.backends.batch.queue import Queue
    from tare.plugins.backends.batch.scheduler import BatchScheduler


class JobBackend(BatchBackend[OptionsT]):
    """A batch system whose tasks are scripts. The options of its platforms are a subtype of JobOptions."""

    file_type: type[OptionsT]

    @abc.abstractmethod
    def render(self, tasks: Sequence[Task], options: OptionsT, facts: str) -> str:
        """Return the script that runs `tasks` one after the other on the same nodes (see batch.script)."""

    def options_of(self, platform: Platform) -> OptionsT:
        """Return the options of a platform of this backend."""
        return options_of(platform, self.file_type)

    def scheduler(
        self,
        queue: Queue,
        facts: Callable[[Platform], str],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> BatchScheduler:
        """Return a scheduler that puts tasks into `queue` (see BatchScheduler).

        `facts` returns the shell script that nodes run before a platform's task begins (see script.render).
        """
        from tare.plugins.backends.batch.scheduler import BatchScheduler

        def render(tasks: Sequence[Task]) -> str:
            platform = tasks[0].platform
            return self.render(tasks, self.options_of(platform), facts(platform))

        return BatchScheduler(queue, render, clock=clock, sleep=sleep, now=now)


class CommandBackend(JobBackend[OptionsT]):
    """A batch system that is used through its own commands."""

    @abc.abstractmethod
    def queue(self, agent: Sequence[str], login: str | None, env: Mapping[str, str]) -> CommandQueue:
        """Return the queue as it is seen from the host `login`, which `agent` reaches (see CommandQueue)."""

    def queue_asked(self, agent: Sequence[str], env: Mapping[str, str], options: OptionsT) -> CommandQueue:
        """Return the queue that the options of a platform name, at a site whose hosts `agent` reaches."""
        return self.queue(agent, options.login, env)

    @abc.abstractmethod
    def is_here(self, env: Mapping[str, str]) -> bool:
        """Return whether the commands are installed and configured on this machine."""

    @contextmanager
    def open(self, session: Session) -> Iterator[Scheduler]:
        """Yield the scheduler that puts tasks into the queue (see BatchBackend)."""
        scheduler = self.scheduler(self.queue_of(session), session.facts)
        yield scheduler
        with suppress(BackendError):  # jobs that cannot be queried now are listed by `tare clean`
            scheduler.close()

    def queue_of(self, session: Session) -> CommandQueue:
        """Return the queue for the platforms of a session. Raises UsageError if they name several."""
        return self.queue(session.site.agent, self.login_of(session), session.env)

    def login_of(self, session: Session) -> str | None:
        """Return the host of the commands. Raises UsageError if platforms name several."""
        logins = {self.options_of(platform).login for platform in session.platforms.values()}
        if len(logins) > 1:
            raise UsageError(
                f"platforms of one study name different login hosts of {self.title}; give them the same one"
            )
        return logins.pop()

    def show(self, planned: PlannedTask) -> str:
        """Return the job's script (see BatchBackend)."""
        return self.render([planned.task], self.options_of(planned.task.platform), planned.facts)

    def leftovers(self, surroundings: Surroundings) -> Iterator[Leftover]:
        """Yield campaigns' jobs in this machine's queue, in the lab's and in the site's (see BackendPlugin).

        Platforms may name one queue in several ways; each of its jobs is yielded once.
        """
        env, lab, site = surroundings.env, surroundings.lab, surroundings.site
        queues = [self.queue((), None, env)] if self.is_here(env) else []
        if lab is not None and lab.has_service(self.name):
            queues.append(self.queue(lab.agent, lab.nodes[0], {**env, **lab.env}))
        platforms = site.platforms.values() if site is not None else ()
        asked = [self.options_of(one) for one in platforms if one.backend == self.name]
        agent = site.agent if site is not None else ()
        queues += [self.queue_asked(agent, env, options) for options in asked]
        seen = set[CampaignJob]()
        for queue in queues:
            try:
                jobs = campaign_jobs(queue.jobs(()))
            except BackendError as error:
                surroundings.report(f"{self.title}'s queue could not be looked at: {error}")
                continue
            yield from (leftover_of(queue, job) for job in jobs if job not in seen)
            seen.update(jobs)

    def set_up_lab(self, lab: RunningLab) -> Mapping[str, str]:
        """Start the batch system in the lab (see BackendPlugin)."""
        lab.add_service(self.name)
        return {}

    def check_submission(
        self, context: CheckContext, what: str, is_accepted: Callable[[Path], str]
    ) -> Finding:
        """Return whether the system would run two ranks on two nodes, or on the only one.

        `is_accepted` asks it about a script, and returns its answer or raises BackendError.
        """
        most = context.platform.options.max_nodes or 2
        n_nodes = min(2, max(1, len(context.site.nodes)), most)
        task = Task(
            name="tare-doctor",
            folder=context.folder,
            steps=(),
            layout=Layout(nodes=n_nodes, ranks=2, ranks_per_node=2 // n_nodes),
            platform=context.platform,
            timeout_s=60,
        )
        with tempfile.NamedTemporaryFile(
            "w", prefix="tare-doctor.", suffix=".sh", dir=context.folder
        ) as script:
            script.write(self.render([task], self.options_of(context.platform), ""))
            script.flush()
            try:
                found = is_accepted(Path(script.name))
            except BackendError as error:
                cure = f"correct what it names in the platform's '{self.name}'"
                return Finding(name=f"{what} takes jobs", is_met=False, found=str(error), cure=cure)
        return Finding(name=f"{what} takes jobs", is_met=True, found=found)
