"""A backend as a plug-in: its options, its checks, what carries runs out, what it leaves, what `plan` shows.

An installed package registers an instance under the entry point group ``tare.backends``:

    [project.entry-points."tare.backends"]
    mybatch = "tare_mybatch:BACKEND"

`BatchBackend` is for what queues jobs, `DirectBackend` for what starts programs on hosts that Tare names.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec

from tare.core.backend_options import BackendOptions
from tare.core.case import Case
from tare.core.checks import Finding
from tare.core.job import HostRunner
from tare.core.scheduler import Scheduler, Task
from tare.core.site import Platform, Site

FileT = TypeVar("FileT", bound=msgspec.Struct)


class OptionsReader(Protocol):
    """What options in a site file are checked with. A `path` leads from the options' own key to the value."""

    @property
    def storage(self) -> Collection[str]:
        """Return the names of the site's storage paths."""
        ...

    def fault(self, message: str, *path: str | int) -> None:
        """Record that `message`, with its cure, is true of what is written at `path`."""
        ...

    def fault_of_platform(self, message: str) -> None:
        """Record that `message`, with its cure, is true of the whole platform."""
        ...

    def expand(self, text: str, *path: str | int) -> str:
        """Return `text` with ``${NAME}`` filled in from the environment."""
        ...


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """What a backend needs to carry out the runs of the campaign in `folder`, an absolute path.

    `campaign` is the mark by which its processes and jobs are known, `label` that of this session.
    `platforms` are those of this backend that the plan uses. `env` is what the way to the nodes needs in its
    environment, besides this process's own. `facts` returns the shell script that tells of a node, for a
    platform. `hosts` are those on which a DirectBackend starts programs, before others there if the session
    `boosts` them.
    """

    folder: Path
    campaign: str
    label: str
    site: Site
    platforms: Mapping[str, Platform]
    env: Mapping[str, str]
    facts: Callable[[Platform], str]
    hosts: tuple[str, ...] = ()
    boosts: bool = False


class PlannedTask(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt of `case` as it would be submitted; ``{work}`` stands for its folder.

    `facts` is the script that tells of a node. `inputs` are the files that its programs read, by name.
    """

    case: Case
    task: Task
    facts: str
    inputs: Mapping[str, str] = {}


class CheckContext(msgspec.Struct, frozen=True, kw_only=True):
    """The platform `name` of a site, to be checked; `folder` is where campaigns will lie.

    `plan` plans a small study, given as its file would be, and returns its tasks, one a case. `env` is as in
    Session.
    """

    site: Site
    name: str
    env: Mapping[str, str]
    folder: Path
    plan: Callable[[Mapping[str, object]], Sequence[PlannedTask]]

    @property
    def platform(self) -> Platform:
        """Return the platform."""
        return self.site.platforms[self.name]


class Owner(NamedTuple):
    """Whose something is: the mark of the session that made it, and its campaign's folder. Empty: unknown."""

    mark: str
    folder: str


class Leftover(NamedTuple):
    """Something of campaigns that may be left behind: what `verb` is done to, and by which function.

    It is dead only if all of its `owners` are. `kept` says why it is to stay though they are. `end` returns
    whether it is gone, and may raise BackendError.
    """

    verb: str
    what: str
    owners: tuple[Owner, ...]
    end: Callable[[], bool]
    kept: str = ""


class RunningLab(Protocol):
    """A lab that is up, as far as backends need it (see lab.Lab)."""

    @property
    def folder(self) -> Path:
        """Return where it lies, the same path inside as outside."""
        ...

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return the names of its nodes."""
        ...

    @property
    def agent(self) -> tuple[str, ...]:
        """Return the command that starts another on a host, called as ssh is."""
        ...

    @property
    def env(self) -> dict[str, str]:
        """Return the environment variables that the agent needs."""
        ...

    def command(self, host: str, argv: Sequence[str]) -> list[str]:
        """Return the command that runs exactly `argv` on `host`."""
        ...

    def has_service(self, name: str) -> bool:
        """Return whether the batch system of this name runs in it."""
        ...

    def add_service(self, name: str) -> None:
        """Start the batch system of this name on its nodes, unless it runs already."""
        ...


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """Where `tare clean` looks.

    That is what `env` leads to, the `lab` that is up, and a `site` if one is named. `tell` is
    called with what could not be looked at.
    """

    env: Mapping[str, str]
    lab: RunningLab | None
    site: Site | None
    tell: Callable[[str], None]


class BackendPlugin(abc.ABC, Generic[FileT]):
    """What all backends have. `name` is that of the entry point, and of the options' key in a platform.

    `title` is what people call it, `summary` a line for help and documentation. `file_type` is the type of
    the options as they are written, which is their schema; None where there are none. `runtime` is the one
    that the backend brings, with the fault of a platform that names another; empty where a platform chooses.
    `packet_cure` is how those who start runs get the right to count packets.
    """

    name: str
    title: str
    summary: str
    file_type: type[FileT] | None = None
    runtime: str = ""
    runtime_fault: str = ""
    packet_cure: str = (
        "root may give it to a group, as a copy of python3 on the nodes' PATH: python3-packets, chgrp GROUP, "
        "chmod 750, setcap cap_net_raw+ep"
    )
    starts_ranks_in_doctor: bool = True
    """Whether `tare doctor` starts two ranks of a program, beyond `check`."""

    @abc.abstractmethod
    def read_options(self, written: FileT | None, reader: OptionsReader) -> BackendOptions:
        """Return a platform's options, with every fault of what is `written` told to `reader`."""

    def check(self, context: CheckContext) -> Iterable[Finding]:
        """Yield what `tare doctor --site` finds of a platform before any rank is started."""
        return ()

    def leftovers(self, surroundings: Surroundings) -> Iterator[Leftover]:
        """Yield what campaigns have there, for `tare clean` to judge and to end."""
        yield from ()

    def set_up_lab(self, lab: RunningLab) -> Mapping[str, str]:
        """Start in `lab` what the backend needs, unless it is there; return further environment variables."""
        return {}


class BatchBackend(BackendPlugin[FileT]):
    """A backend that queues jobs on nodes of its own choice."""

    @abc.abstractmethod
    def open(self, session: Session) -> AbstractContextManager[Scheduler]:
        """Yield what takes the tasks of a session.

        Raises UsageError where its platforms do not go together.
        """

    @abc.abstractmethod
    def show(self, planned: PlannedTask) -> str:
        """Return what would be submitted, as `tare plan --show` prints it."""


class DirectBackend(BackendPlugin[FileT]):
    """A backend that starts programs at once, on hosts that Tare names."""

    @abc.abstractmethod
    def open(self, session: Session) -> AbstractContextManager[HostRunner]:
        """Yield what starts the programs of a session."""
