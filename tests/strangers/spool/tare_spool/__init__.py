"""A backend of Tare from another package: a batch system of one machine, whose queue is a folder."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from tare.core.backend_options import QueueOptions
from tare.core.backend_plugin import (
    BatchBackend,
    CheckContext,
    Leftover,
    OptionsReader,
    PlannedTask,
    Session,
    Surroundings,
)
from tare.core.checks import Finding
from tare.core.errors import UsageError, shown
from tare.core.fields import Count, Word
from tare.core.scheduler import Scheduler, Task
from tare.core.site import Platform
from tare.plugins.backends.batch import script
from tare.plugins.backends.batch.leftovers import left_in
from tare.plugins.backends.batch.queue import request_of
from tare.plugins.backends.batch.scheduler import BatchScheduler
from tare_spool.queue import SpoolQueue


class SpoolOptions(QueueOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the spool lies."""

    folder: Annotated[Word, Meta(description="The folder of jobs.", examples=["/var/spool/jobs"])] = ""
    in_flight: Annotated[Count, Meta(description="The most jobs at a time.", examples=[2])] = 4


class Spool(BatchBackend[SpoolOptions]):
    """Attempts are jobs of the spool."""

    name = "spool"
    title = "the spool"
    summary = "jobs in a folder of this machine"
    file_type = SpoolOptions

    def read_options(self, written: SpoolOptions | None, reader: OptionsReader) -> SpoolOptions:
        """Return the options, whose folder may name variables of the environment (see BackendPlugin)."""
        if written is None:
            reader.fault_of_platform("jobs lie in a folder; add 'spool: {folder: /var/spool/jobs}'")
            return SpoolOptions()
        folder = reader.expand(written.folder, "folder")
        if not folder.startswith("/"):
            reader.fault(f"{shown(folder)} is a relative path; write /…", "folder")
        return msgspec.structs.replace(written, folder=folder)

    @contextmanager
    def open(self, session: Session) -> Iterator[Scheduler]:
        """Yield what puts tasks into the spool (see BatchBackend)."""
        folders = {_options(platform).folder for platform in session.platforms.values()}
        if len(folders) > 1:
            raise UsageError("platforms of one study name two spools; give them the same one")

        def render(tasks: list[Task]) -> str:
            return _render(tasks, session.facts(tasks[0].platform))

        scheduler = BatchScheduler(SpoolQueue(Path(folders.pop())), lambda tasks: render(list(tasks)))
        yield scheduler
        scheduler.close()

    def show(self, planned: PlannedTask) -> str:
        """Return the job's script (see BatchBackend)."""
        return _render([planned.task], planned.facts)

    def check(self, context: CheckContext) -> Iterator[Finding]:
        """Yield whether the spool is a folder (see BackendPlugin)."""
        folder = Path(_options(context.platform).folder)
        cure = "" if folder.is_dir() else f"make it: mkdir -p {folder}"
        yield Finding(name=f"{context.name}: spool", is_met=folder.is_dir(), found=str(folder), cure=cure)

    def leftovers(self, surroundings: Surroundings) -> Iterator[Leftover]:
        """Yield what campaigns have in the spools of a site (see BackendPlugin)."""
        platforms = surroundings.site.platforms.values() if surroundings.site else ()
        for platform in platforms:
            if isinstance(platform.options, SpoolOptions):
                yield from left_in(SpoolQueue(Path(platform.options.folder)))


def _options(platform: Platform) -> SpoolOptions:
    return platform.options if isinstance(platform.options, SpoolOptions) else SpoolOptions()


def _render(tasks: list[Task], facts: str) -> str:
    request = request_of(tasks)
    directives = [f"#SPOOL name {shlex.quote(request.name)}", f"#SPOOL minutes {request.minutes}"]
    nodes = Path(__file__).with_name("nodes.sh").read_text() + script.EACH_NODE.read_text()
    return script.render(tasks, directives, nodes, facts)


BACKEND = Spool()
