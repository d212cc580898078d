"""A batch system: what it takes, and what it tells of what became of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from tare.core.case import Layout
from tare.core.job import Exit
from tare.core.launch import Invocation
from tare.core.site import Network, Platform
from tare.core.telemetry import Epoch

NodeFiles = Mapping[str, Mapping[str, str]]
"""Small files of nodes, such as /proc/net/dev: their text by node and path."""

OnWait = Callable[[Collection[str], str], None]
"""Is called with names of tasks and what they wait for, in a sentence; an empty one when they go on."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One program of a task; its output goes to these files of the task's folder.

    `is_mpi` says that its command starts ranks; `is_pair` that of two ranks the first serves the second.
    """

    name: str
    invocation: Invocation
    stdout: str = "stdout"
    stderr: str = "stderr"
    is_mpi: bool = True
    is_pair: bool = False


class SharedSampler(msgspec.Struct, frozen=True):
    """What watches the nodes of a task: a Python program on a file system that they share."""

    program: Path
    period_s: float


class SharedCounter(msgspec.Struct, frozen=True):
    """What counts packets on an interface of a task's nodes: a Python program, as a sampler is one."""

    program: Path
    interface: str


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt, as a batch system takes it: steps in order, until one fails.

    `name` is unique to the attempt, and made of letters, digits, '.' and '-'. `folder` lies on a file system
    that the nodes share, or the scheduler brings its files to the nodes and back. `timeout_s` is for all
    steps together. `storage` is the name of the storage path, at `storage_path`, that the steps use;
    `own_storage` is the task's own folder below it, empty where no step writes there. It is made before the
    first step, and removed after the last one unless it `keeps_storage`.
    `labels` tell to people what it is: its campaign, case and run.
    """

    name: str
    folder: Path
    steps: tuple[Step, ...]
    layout: Layout
    platform: Platform
    timeout_s: float
    network: Network | None = None
    storage: str | None = None
    storage_path: str = ""
    own_storage: str = ""
    keeps_storage: bool = False
    labels: dict[str, str] = {}
    sampler: SharedSampler | None = None
    counter: SharedCounter | None = None


class JobResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a task ended: in which step, and what its nodes looked like before and after.

    `exit.fault` says that the batch system, not the task, is to blame; `reason` why it ended otherwise than
    by itself, such as that somebody cancelled it. `problems` are the reasons for which it must not count,
    though it ended well: it was not run as it was asked for. `facts` are of its nodes, by node, as far as the
    batch system tells them. `clock_set_s` is by how much the wall clock of its first node was set meanwhile.
    `room` is what nodes say of a failed task's storage path, as storage_room reads it.
    `queued_s` is for how long it had no nodes yet, None where that is all the time before it began.
    """

    name: str
    exit: Exit
    step: str = ""
    reason: str = ""
    started_at: float | None = None
    nodes: tuple[str, ...] = ()
    before: NodeFiles = {}
    after: NodeFiles = {}
    problems: tuple[str, ...] = ()
    facts: Mapping[str, Mapping[str, str]] = {}
    epochs: tuple[Epoch, ...] = ()
    clock_set_s: float = 0.0
    queued_s: float | None = None
    room: Mapping[str, str] = {}


class Scheduler(Protocol):
    """Queues tasks on nodes of its own choice, many at a time. One object serves one campaign."""

    def tell_waits(self, on_wait: OnWait) -> None:
        """Call `on_wait` from now on whenever what tasks wait for changes: a place in a queue, an outage."""
        ...

    def submit(self, tasks: Sequence[Task]) -> None:
        """Submit `tasks` as one job, in which they run one after the other on the same nodes.

        Raises BackendError when the batch system does not take it; nothing is then submitted.
        """
        ...

    def adopt(self, tasks: Sequence[Task]) -> Collection[str]:
        """Return the names of those of `tasks` that an earlier session submitted and that will land yet."""
        ...

    def wait(self) -> Sequence[JobResult]:
        """Wait a while, and return what has landed since; perhaps nothing.

        One query tells of all tasks. An outage of the batch system is waited out.
        """
        ...

    def cancel(self, names: Collection[str]) -> None:
        """End these tasks, queued or running; they do not land any more."""
        ...
