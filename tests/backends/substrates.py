"""Every way in which the built-in backends run a program, behind one face, for the contract that all keep."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Protocol

import pytest

from backends.real_ssh import sshd
from tare.core.case import Layout
from tare.core.job import Exit, Job
from tare.core.launch import Invocation, Placement
from tare.core.scheduler import JobResult, Step, Task
from tare.core.site import LabNetwork, LabNetworkKind, LabSpec, Platform
from tare.lab import AGENT, Lab, gridengine, slurm
from tare.lab.mpi import is_installed, mpi_folder
from tare.plugins import registry
from tare.plugins.backends.batch.commands import Reach
from tare.plugins.backends.batch.scheduler import BatchScheduler
from tare.plugins.backends.gridengine.options import GridEngineOptions
from tare.plugins.backends.gridengine.plugin import BACKEND as GRID_ENGINE
from tare.plugins.backends.ownership.sessions import new_session
from tare.plugins.backends.process.backend import ProcessBackend
from tare.plugins.backends.psij.plugin import BACKEND as PSIJ
from tare.plugins.backends.psij.queue import PsijQueue
from tare.plugins.backends.psij.register import Register
from tare.plugins.backends.psij.systems import Executor
from tare.plugins.backends.slurm.options import SlurmOptions
from tare.plugins.backends.slurm.plugin import BACKEND as SLURM

SPEC = LabSpec(nodes=2, networks={"host": LabNetwork(kind=LabNetworkKind.BRIDGE)})
WHOLE_NODES = GridEngineOptions(
    parallel_environment=gridengine.PARALLEL_ENVIRONMENT, slots_per_node=gridengine.SLOTS_PER_NODE
)
IN_GRID_ENGINE = Platform(backend="gridengine", options=WHOLE_NODES)
"""How jobs ask the lab's Grid Engine for nodes."""
IN_SLURM = Platform(backend="slurm", options=SlurmOptions())


class Substrate(Protocol):
    """Runs one program at a time in `folder`."""

    folder: Path

    def run(self, *argv: str, env: Mapping[str, str] | None = None, timeout_s: float = 60) -> Exit:
        """Run it to its end, or to its time-out."""
        ...

    def interrupt(self, *argv: str, when: Callable[[], bool]) -> None:
        """Begin it, and end it as an interrupted tare does once `when` says so."""
        ...


class Launched:
    """A launcher on a substrate: one rank, started by its mpirun or srun."""

    def __init__(
        self,
        inner: Substrate,
        name: str,
        platform: Platform,
        *,
        is_allocated: bool = False,
        agent: tuple[str, ...] = (),
    ) -> None:
        self.folder = inner.folder
        self._inner = inner
        self._launcher = registry.launcher(name)
        self._placement = Placement(
            hosts=() if is_allocated or agent else ("localhost",),
            layout=Layout(),
            platform=platform,
            is_allocated=is_allocated,
            agent=agent,
            hostfile="hostfile" if agent else None,
        )

    def run(self, *argv: str, env: Mapping[str, str] | None = None, timeout_s: float = 60) -> Exit:
        command = self._launcher.launch(Invocation(argv=argv, env=dict(env or {})), self._placement)
        return self._inner.run(*command.argv, env=command.env, timeout_s=timeout_s)

    def interrupt(self, *argv: str, when: Callable[[], bool]) -> None:
        command = self._launcher.launch(Invocation(argv=argv), self._placement)
        self._inner.interrupt("env", *(f"{k}={v}" for k, v in command.env.items()), *command.argv, when=when)


def mpi_platform(name: str) -> Platform:
    """Return a platform whose launcher is of the MPI called `name` here; skip where it is not."""
    if name == "openmpi4":
        if shutil.which("mpirun.openmpi") is None:
            pytest.skip("no Open MPI 4 here; apt install openmpi-bin")
        return Platform(launcher=name, prefix="/usr")
    folder = "openmpi" if name == "openmpi5" else name
    if not is_installed(folder, mpi_folder()):
        pytest.skip(f"no such MPI here; run: tare lab setup --mpi {folder}")
    return Platform(launcher=name, prefix=str(mpi_folder() / folder))


class Processes:
    """The backend ``process``: here, or on `host`, with the folder shared or staged to `place`."""

    def __init__(
        self, backend: ProcessBackend, prefix: str, folder: Path, host: str | None, place: Path | None
    ) -> None:
        self.folder = folder
        self._backend = backend
        self._prefix = prefix
        self._host = host
        self._place = place

    def run(self, *argv: str, env: Mapping[str, str] | None = None, timeout_s: float = 60) -> Exit:
        return self._backend.run(
            Job(
                label=f"{self._prefix}case/1.1;",
                invocation=Invocation(argv=argv, env=dict(env or {})),
                host=self._host,
                folder=self.folder,
                timeout_s=timeout_s,
                staging_folder=self._place,
            )
        )

    def interrupt(self, *argv: str, when: Callable[[], bool]) -> None:
        def look(number: int, frame: FrameType | None) -> None:
            if when():
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.raise_signal(signal.SIGINT)  # as a Ctrl-C: held back where a backend defers it

        before = signal.signal(signal.SIGALRM, look)
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        try:
            with pytest.raises(KeyboardInterrupt):
                self.run(*argv)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


class Queue:
    """A batch system's queue: a job a run, or the second of two runs in one allocation."""

    _numbers = itertools.count()

    def __init__(
        self, scheduler: BatchScheduler, folder: Path, *, is_packed: bool, platform: Platform = IN_SLURM
    ) -> None:
        self.folder = folder / "attempts" / "case" / "1.1"
        self.folder.mkdir(parents=True)
        self._first = folder / "attempts" / "case" / "1.0"
        self._first.mkdir()
        self._is_packed = is_packed
        self._scheduler = scheduler
        self._platform = platform

    def run(self, *argv: str, env: Mapping[str, str] | None = None, timeout_s: float = 60) -> Exit:
        name = self._submit(argv, env or {}, timeout_s)
        landed: list[JobResult] = []
        while name not in {one.name for one in landed}:
            landed += self._scheduler.wait()
        return next(one.exit for one in landed if one.name == name)

    def interrupt(self, *argv: str, when: Callable[[], bool]) -> None:
        name = self._submit(argv, {}, 60)
        while not when():
            time.sleep(0.02)
        self._scheduler.cancel([name])

    def _submit(self, argv: tuple[str, ...], env: Mapping[str, str], timeout_s: float) -> str:
        number = next(self._numbers)
        tasks = [self._task(f"tare-t{number}", self.folder, Invocation(argv=argv, env=dict(env)), timeout_s)]
        if self._is_packed:
            tasks.insert(0, self._task(f"tare-f{number}", self._first, Invocation(argv=("true",)), 60))
        self._scheduler.submit(tasks)
        return tasks[-1].name

    def _task(self, name: str, folder: Path, invocation: Invocation, timeout_s: float) -> Task:
        return Task(
            name=name,
            folder=folder,
            steps=(Step(name="run", invocation=invocation),),
            layout=Layout(),
            platform=self._platform,
            timeout_s=timeout_s,
        )


def in_slurm(lab: Lab) -> BatchScheduler:
    """Return what puts tasks into the queue of a lab's Slurm."""
    return SLURM.scheduler(SLURM.queue((str(AGENT),), "n1", lab.env), lambda platform: "")


def in_grid_engine(lab: Lab) -> BatchScheduler:
    """Return what puts tasks into the queue of a lab's Grid Engine."""
    return GRID_ENGINE.scheduler(GRID_ENGINE.queue((str(AGENT),), "n1", lab.env), lambda platform: "")


@contextlib.contextmanager
def through_psij(executor: Executor, folder: Path, lab: Lab | None) -> Iterator[BatchScheduler]:
    """Yield what puts tasks into a queue through PSI/J, on a lab's first node, with its files in `folder`."""
    reach = Reach.of([str(AGENT)], "n1", lab.env) if lab else Reach()
    queue = PsijQueue(executor, Register(folder / "psij", executor, folder / "state"), reach, poll_s=0.5)
    scheduler = PSIJ.scheduler(queue, lambda platform: "")
    yield scheduler
    scheduler.close()
    queue.close()


@contextlib.contextmanager
def processes(
    folder: Path, agent: tuple[str, ...], env: Mapping[str, str], host: str | None, place: Path | None
) -> Iterator[Substrate]:
    prefix = str(new_session(f"contract{time.monotonic_ns()}"))
    hosts = [host] if host else []
    with ProcessBackend(label=prefix, agent=agent, hosts=hosts, env=env) as backend:
        yield Processes(backend, prefix, folder, host, place)


@contextlib.contextmanager
def ssh_agent(folder: Path) -> Iterator[tuple[str, ...]]:
    with sshd(folder) as agent:
        yield agent


def require_slurm() -> None:
    if slurm.missing():
        pytest.skip(f"no Slurm here; {slurm.CURE}")


def require_grid_engine() -> None:
    if gridengine.missing() or os.geteuid() != 0:
        pytest.skip(f"no Grid Engine here, or no root; {gridengine.CURE}")
