"""A double of Slurm's commands: its queue is a list, and what jobs do is for the test to say."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from pathlib import Path

from tare.core.errors import BackendError
from tare.plugins.backends.batch.phases import NOT_OVER, Phase
from tare.plugins.backends.batch.queue import QueuedJob, QueueFullError, Request
from tare.plugins.backends.slurm.commands import Slurm, parse_queue
from tare.plugins.backends.slurm.states import phase_of

FULL = (
    "sbatch: error: QOSMaxSubmitJobPerUserLimit sbatch: error: Batch job submission failed: Job violates "
    "accounting/QOS policy (job submit limit, user's size and/or time limits)"
)
"""What sbatch of Slurm 22.05 printed for a QoS with MaxSubmitJobsPerUser=1."""


class SimulatedSlurm(Slurm):
    """Stands for sbatch, squeue and scancel, and for the nodes on which jobs run."""

    def __init__(self) -> None:
        super().__init__((), None, {})
        self.in_queue: dict[str, QueuedJob] = {}
        self.scripts: dict[str, Path] = {}
        self.n_queries = 0
        self.n_outages = 0
        self.refusal = ""
        self.most_jobs: int | None = None
        self.loses_answers = False
        self.on_taken: Callable[[], None] = lambda: None
        self.cancelled: list[str] = []
        self.removed: list[str] = []
        self.node_states: dict[str, str] = {}
        self.daemons: dict[str, float] = {}
        self.accounts: dict[str, QueuedJob] = {}

    def submit(self, script: Path, request: Request) -> str:
        self._answer()
        if self.refusal:
            raise BackendError(self.refusal)
        if self.most_jobs is not None and self._n_unfinished() >= self.most_jobs:
            raise QueueFullError(FULL)
        number = str(len(self.in_queue) + 1)
        text = script.read_text()
        found = re.search(r"--job-name=(\S+)", text)
        assert found
        self.in_queue[number] = QueuedJob(number, Phase.QUEUED, "PENDING", found[1])
        self.scripts[number] = script
        self.on_taken()
        if self.loses_answers:
            raise BackendError("sbatch: Socket timed out on send/recv operation")
        return number

    def _n_unfinished(self) -> int:
        return sum(job.phase in NOT_OVER for job in self.in_queue.values())

    def jobs(self, ids: Collection[str] = ()) -> list[QueuedJob]:
        self.n_queries += 1
        self._answer()
        return list(self.in_queue.values())

    def account(self, ids: Collection[str]) -> list[QueuedJob]:
        self.n_queries += bool(self.accounts)
        return [self.accounts[number] for number in ids if number in self.accounts]

    def states(self, nodes: Collection[str]) -> dict[str, str]:
        return {node: self.node_states.get(node, "mixed") for node in nodes}

    def daemons_started(self, nodes: Collection[str]) -> dict[str, float]:
        return {node: self.daemons.get(node, 1.0) for node in nodes}

    def set_reason(self, number: int | str, reason: str, partition: str = "compute") -> None:
        job = self.in_queue[str(number)]
        line = f"{job.id}|{job.state}|{job.name}|{reason}|{partition}|{job.comment}"
        (self.in_queue[str(number)],) = parse_queue(line)

    def forget(self, number: int | str, state: str = "") -> None:
        """Let the controller forget a job, as after MinJobAge; accounting has it where `state` is given."""
        job = self.in_queue.pop(str(number))
        if state:
            self.accounts[str(number)] = job._replace(phase=phase_of(state), state=state)

    def remove(self, folder: str) -> bool:
        self.removed.append(folder)
        return True

    def cancel(self, ids: Collection[str]) -> None:
        self.cancelled += ids

    def set_state(self, number: int | str, state: str) -> None:
        job = self.in_queue[str(number)]
        self.in_queue[str(number)] = job._replace(phase=phase_of(state), state=state)

    def run(self, number: int | str, code: int = 0, seconds: float = 1.0) -> None:
        """Let the tasks of a job run, each with one step that ends with `code`, as job.sh records it."""
        folders = re.findall(r"^task (\S+) ", self.scripts[str(number)].read_text(), re.MULTILINE)
        for folder in folders:
            record = f"job {number} n[1-2]\nbegan 100.5\nstep run {code} 101.0 {101 + seconds}\n"
            (Path(folder) / "landed").write_text(record)
        self.set_state(number, "COMPLETED" if code == 0 else "FAILED")

    def _answer(self) -> None:
        if self.n_outages:
            self.n_outages -= 1
            raise BackendError("squeue: Unable to contact slurm controller (connect failure)")
