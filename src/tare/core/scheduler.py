"""The protocol of batch systems: the tasks that they take, and the job results that they return."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from tare.core.case import Layout
from tare.core.job import Exit
from tare.core.launch import Invocation
from tare.core.site import Network, Platform
from tare.core.software import Layers
from tare.core.telemetry import Epoch

NodeFiles = Mapping[str, Mapping[str, str]]
"""Small files of nodes, such as /proc/net/dev: their text by node and path."""

OnWait = Callable[[Collection[str], str], None]
"""A function that takes names of tasks and, in a sentence, what they wait for; empty when they continue."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One program of a task; its output goes to the files `stdout` and `stderr` in the task's folder.

    `is_mpi` is true if its command starts ranks. `is_pair` is true if it has two ranks, of which the first
    serves the second.
    """

    name: str
    invocation: Invocation
    stdout: str = "stdout"
    stderr: str = "stderr"
    is_mpi: bool = True
    is_pair: bool = False


class SharedSampler(msgspec.Struct, frozen=True):
    """The sampler for the nodes of a task: a Python program on a file system that they share."""

    program: Path
    period_s: float


class SharedCounter(msgspec.Struct, frozen=True):
    """The packet counter for an interface of a task's nodes: a Python program, as the sampler is."""

    program: Path
    interface: str


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt as a batch system takes it: steps that run in order, until one fails.

    - `name` is unique to the attempt, and consists of letters, digits, '.' and '-'.
    - `folder` is on a file system that the nodes share; otherwise the scheduler copies its files to the nodes
      and back.
    - `timeout_s` is for all steps together.
    - `storage` is the name of the storage path, at `storage_path`, that the steps use.
    - `own_storage` is the task's own folder below it, empty where no step writes there. It is made before the
      first step, and removed after the last one unless the task `keeps_storage`.
    - `software` is what its steps load; its nodes give their facts where it is loaded, too.
    - `labels` describe the task to people: its campaign, case and run.
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
    software: Layers = ()


class JobResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a task ended: in which step, and what was measured on its nodes before and after.

    - `exit.fault` says that the batch system, not the task, is the cause.
    - `reason` says why it did not end by itself, for example that a person cancelled it.
    - `problems` are the reasons why it must not count although it ended well: it did not run as it was asked
      to.
    - `facts` are those of its nodes, by node, as far as the batch system gives them.
    - `clock_set_s` is by how much the wall clock of its first node was set during the task.
    - `storage_space` is what nodes report about a failed task's storage path, as probes.storage_space reads
      it.
    - `queued_s` is how long it waited for nodes, None where that is all the time before it began.
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
    storage_space: Mapping[str, str] = {}


class Held(NamedTuple):
    """Since when a task has had its nodes, in seconds since the epoch, and which, as far as that is known."""

    since: float
    nodes: tuple[str, ...] = ()


class Scheduler(Protocol):
    """Queues tasks on nodes that it chooses, many at a time. One object serves one campaign."""

    def report_waits(self, on_wait: OnWait) -> None:
        """From now on, call `on_wait` when what tasks wait for changes: a place in a queue, an outage."""
        ...

    def submit(self, tasks: Sequence[Task]) -> None:
        """Submit `tasks` as one job, in which they run one after the other on the same nodes.

        Raises BackendError when the batch system refuses; nothing is then submitted.
        """
        ...

    def adopt(self, tasks: Sequence[Task]) -> Collection[str]:
        """Return the names of those `tasks` that an earlier session submitted and whose end is to come."""
        ...

    def wait(self) -> Sequence[JobResult]:
        """Wait for a short time, and return the job results that arrived; perhaps none.

        One query covers all tasks. During an outage of the batch system, it waits.
        """
        ...

    def held(self, name: str) -> Held | None:
        """Return what a task that has not ended has; None while it is queued, or where that is not known."""
        ...

    def cancel(self, names: Collection[str]) -> None:
        """End these tasks, queued or running; they give no job results any more."""
        ...
