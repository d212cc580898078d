"""Jobs on a double of Slurm, whose clock a test moves."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.simulated_slurm import SimulatedSlurm
from tare.core.case import Layout
from tare.core.launch import Invocation
from tare.core.scheduler import JobResult, Step, Task
from tare.core.site import Platform
from tare.plugins.backends.batch.scheduler import BatchScheduler
from tare.plugins.backends.slurm.options import SlurmOptions
from tare.plugins.backends.slurm.plugin import BACKEND


class Clock:
    """Stands for time: sleeping is what makes it pass."""

    def __init__(self) -> None:
        self.now = 0.0
        self.naps: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.naps.append(seconds)


@pytest.fixture
def slurm() -> SimulatedSlurm:
    return SimulatedSlurm()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def scheduler(slurm: SimulatedSlurm, clock: Clock) -> BatchScheduler:
    return make_scheduler(slurm, clock)


def make_scheduler(slurm: SimulatedSlurm, clock: Clock) -> BatchScheduler:
    def now() -> float:
        return clock.now

    return BACKEND.scheduler(slurm, lambda _: "", clock=now, sleep=clock.sleep, now=now)


def task(folder: Path, number: int = 1) -> Task:
    work = folder / str(number)
    work.mkdir(exist_ok=True)
    return Task(
        name=f"tare-abc-{number}",
        folder=work,
        steps=(Step(name="run", invocation=Invocation(argv=("true",))),),
        layout=Layout(nodes=2, ranks=2),
        platform=Platform(backend="slurm", options=SlurmOptions()),
        timeout_s=60.0,
    )


def wait_for_one(scheduler: BatchScheduler) -> JobResult:
    for _ in range(100):
        landed = scheduler.wait()
        if landed:
            (one,) = landed
            return one
    raise AssertionError("nothing landed")
