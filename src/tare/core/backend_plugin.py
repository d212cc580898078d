"""The interface of backend plug-ins: options, checks, execution, leftovers, and what `plan` shows.

An installed package registers an instance under the entry point group ``tare.backends``:

    [project.entry-points."tare.backends"]
    mybatch = "tare_mybatch:BACKEND"

Derive from `BatchBackend` for a system that queues jobs, and from `DirectBackend` for one that starts
programs on hosts that Tare names.
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
    """What a backend uses to check its options in a site file.

    A `path` leads from the key of the options to the value.
    """

    @property
    def storage(self) -> Collection[str]:
        """Return the names of the site's storage paths."""
        ...

    def fault(self, message: str, *path: str | int) -> None:
        """Record the fault `message`, with its cure, for the value at `path`."""
        ...

    def fault_of_platform(self, message: str) -> None:
        """Record the fault `message`, with its cure, for the whole platform."""
        ...

    def expand(self, text: str, *path: str | int) -> str:
        """Return `text` with each ``${NAME}`` replaced by that environment variable."""
        ...


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """What a backend needs to execute the runs of the campaign in `folder`, an absolute path.

    - `campaign` is the label by which its processes and jobs are found; `label` is that of this session.
    - `files` are the numbers of its folder's files, by which a copy of the folder is told apart.
    - `platforms` are those of this backend that the plan uses.
    - `env` holds environment variables that reaching the nodes needs, besides this process's own.
    - `facts` returns, for a platform, the shell script that prints the facts of a node.
    - `hosts` are those on which a DirectBackend starts programs. They run there at a higher priority than
      other processes if the session `boosts` them.
    """

    folder: Path
    campaign: str
    label: str
    site: Site
    platforms: Mapping[str, Platform]
    env: Mapping[str, str]
    facts: Callable[[Platform], str]
    files: str = ""
    hosts: tuple[str, ...] = ()
    boosts: bool = False


class PlannedTask(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt of `case` as it would be submitted; ``{work}`` stands for its folder.

    `facts` is the script that prints the facts of a node. `inputs` are the files that its programs read, by
    name; `copies` are those that are copied into its folder, and where they are on this machine. `products`
    are what its stages make for later runs (Stage.keeps).
    """

    case: Case
    task: Task
    facts: str
    inputs: Mapping[str, str] = {}
    copies: Mapping[str, Path] = {}
    products: tuple[str, ...] = ()


class CheckContext(msgspec.Struct, frozen=True, kw_only=True):
    """The platform `name` of a site, to be checked; `folder` is where campaigns will be.

    `plan` plans a small study, given as the content of a study file, and returns its tasks, one for each
    case. `env` is as in Session.
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
    """The owner of something: the label of the session that made it, and its campaign's folder.

    Either is empty where it is unknown.
    """

    label: str
    folder: str


class Leftover(NamedTuple):
    """Something that a campaign may have left behind, such as a job.

    `verb` says what is done to end it, `what` names it, and `end` does it. It is dead only if all of its
    `owners` are. `kept` says why it stays although they are dead. `end` returns whether it is gone, and may
    raise BackendError.
    """

    verb: str
    what: str
    owners: tuple[Owner, ...]
    end: Callable[[], bool]
    kept: str = ""


class RunningLab(Protocol):
    """A running lab, as far as backends need it (see lab.Lab)."""

    @property
    def folder(self) -> Path:
        """Return its folder, which has the same path inside and outside."""
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
        """Return whether the batch system of this name runs in the lab."""
        ...

    def add_service(self, name: str) -> str:
        """Start the batch system of this name on its nodes, unless it runs; return a remark about it."""
        ...


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """Where `tare clean` looks for leftovers.

    It looks at what `env` leads to, at the running `lab`, and at a `site` if one is named. It calls `report`
    with what it could not check.
    """

    env: Mapping[str, str]
    lab: RunningLab | None
    site: Site | None
    report: Callable[[str], None]


class BackendPlugin(abc.ABC, Generic[FileT]):
    """The part that all backends have in common.

    - `name` is that of the entry point, and the key of the options in a platform.
    - `title` is its name for people, and `summary` a line for help and documentation.
    - `file_type` is the type of the options as they are written, from which their schema is made; None where
      there are none.
    - `runtime` is the runtime that the backend itself provides, and `runtime_fault` the fault of a platform
      that names another; empty where a platform chooses.
    - `packet_cure` says how users of the backend get the right to count packets.
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
        """Return a platform's options; every fault in what is `written` is recorded with `reader`."""

    def check(self, context: CheckContext) -> Iterable[Finding]:
        """Yield what `tare doctor --site` finds about a platform before any rank starts."""
        return ()

    def leftovers(self, surroundings: Surroundings) -> Iterator[Leftover]:
        """Yield what campaigns left in this backend; `tare clean` decides what to end."""
        yield from ()

    def set_up_lab(self, lab: RunningLab) -> Mapping[str, str]:
        """Start in `lab` what the backend needs, unless it runs; return additional environment variables."""
        return {}


class BatchBackend(BackendPlugin[FileT]):
    """A backend that queues jobs on nodes that the batch system chooses."""

    @abc.abstractmethod
    def open(self, session: Session) -> AbstractContextManager[Scheduler]:
        """Return a context manager for the scheduler of a session's tasks.

        Raises UsageError where the session's platforms cannot be combined.
        """

    @abc.abstractmethod
    def show(self, planned: PlannedTask) -> str:
        """Return the text of what would be submitted, as `tare plan --show` prints it."""

    def traps(self, planned: PlannedTask) -> Iterable[str]:
        """Yield what would break the runs of a task, or their numbers, each with its cure."""
        return ()


class DirectBackend(BackendPlugin[FileT]):
    """A backend that starts programs at once, on hosts that Tare names."""

    @abc.abstractmethod
    def open(self, session: Session) -> AbstractContextManager[HostRunner]:
        """Return a context manager for what starts the programs of a session."""
