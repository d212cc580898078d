"""The batch systems of the lab, each behind one face, for the suite that runs under all of them."""

from __future__ import annotations

import abc
import os
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest

from cli.conftest import TARE, standing_lab
from lab.calls import call
from support.waiting import until
from tare.core.attempt import Attempt, State
from tare.lab import Lab, gridengine, slurm
from tare.storage.campaign import read_campaign

NEEDS_SLURM = (
    pytest.mark.skipif(os.geteuid() != 0, reason="Slurm's daemons need root"),
    pytest.mark.skipif(bool(slurm.missing()), reason=f"no Slurm here; {slurm.CURE}"),
)

_LAB = """\
site: queue
lab:
  nodes: 2
  networks: {host: {kind: bridge}}
management: [mgmt0]
platforms:
"""
_STUDY = """\
study: queue
site: queue.yaml
workloads:
  echo:
    command: [sh, -c, {script!r}]
    parameters: {{size: 1}}
    foms: [{{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}}]
    mpi: {mpi}
    needs_transport: false
workload: echo
factors:
  platform: [{platforms}]
  size: [1, 2]
nodes: {nodes}
repeats: {repeats}
timeout: {timeout}
retries: 1
"""
COUNTED = "echo started >> {work}/../../../starts; sleep 3; echo value: 1"
"""A program whose starts `n_starts` counts."""


class Administrator(abc.ABC):
    """What an administrator does to a batch system, from the lab's first node."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def call(self, *words: str) -> str:
        done = call(self._lab, "n1", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @abc.abstractmethod
    def jobs(self) -> list[str]:
        """Return the ids of what is queued or runs."""

    @abc.abstractmethod
    def submit(self, name: str, comment: str = "") -> str:
        """Submit a job of somebody else's that takes ten minutes; return its id."""

    @abc.abstractmethod
    def cancel(self, job: str) -> None: ...

    @abc.abstractmethod
    def restart(self) -> None:
        """Kill the controller, and start it again from its saved state after a while."""

    def calm_down(self) -> None:
        """Cancel what a test that failed left in the queue."""
        for job in self.jobs():
            self.cancel(job)
        until(lambda: self.jobs() == [])


class SlurmAdministrator(Administrator):
    """Slurm's administrator."""

    def jobs(self) -> list[str]:
        return self.call("squeue", "--noheader", "--format=%i").split()

    def submit(self, name: str, comment: str = "") -> str:
        options = ["--parsable", "--overcommit", "--output=/dev/null", f"--job-name={name}"]
        return self.call("sbatch", *options, f"--comment={comment}", "--wrap=sleep 600").strip()

    def cancel(self, job: str) -> None:
        self.call("scancel", job)

    def restart(self) -> None:
        conf = self.call("sh", "-c", "echo $SLURM_CONF").strip()
        pid_file = Path(conf).with_name("slurmctld.pid")
        self.call("sh", "-c", f"kill -9 $(cat {pid_file}); sleep 2; PATH=$PATH:/usr/sbin slurmctld -f {conf}")

    def calm_down(self) -> None:
        """Wait until all nodes are idle, too."""
        super().calm_down()
        until(lambda: self.call("sinfo", "--noheader", "--partition=lab", "--format=%D %t") == "2 idle\n")


class GridEngineAdministrator(Administrator):
    """Grid Engine's administrator."""

    def jobs(self) -> list[str]:
        return [line.split()[0] for line in self.call("qstat", "-u", "*").splitlines()[2:]]

    def submit(self, name: str, comment: str = "") -> str:
        options = ["-terse", "-o", "/dev/null", "-j", "y", "-b", "y", "-h", "-N", name]
        context = ["-ac", f"tare={quote(comment)}"] if comment else []
        return self.call("qsub", *options, *context, "sleep", "600").strip()

    def cancel(self, job: str) -> None:
        call(self._lab, "n1", "qdel", job)  # it may have ended

    def restart(self) -> None:
        self.call(
            "sh", "-c", "kill -9 $(cat $SGE_ROOT/qmaster/qmaster.pid); sleep 2; exec /usr/sbin/sge_qmaster"
        )


class BatchSystem(NamedTuple):
    """A batch system, as a backend uses it: with the platforms `job` and `packed`.

    `title` is its name in messages. `is_mpi` says that each rank runs the program of a study.
    """

    name: str
    service: str
    title: str
    cancel_command: str
    platforms: str
    administrator: Callable[[Lab], Administrator]
    missing: Callable[[], list[str]]
    cure: str
    is_mpi: bool = True
    lists_jobs_by_name: bool = True

    @property
    def site(self) -> str:
        """Return the site file."""
        return _LAB + self.platforms

    @contextmanager
    def lab(self, folder: Path) -> Iterator[Lab]:
        """Have a lab up in which it runs, and which outlives the tare that uses it."""
        (folder / "queue.yaml").write_text(self.site)
        with standing_lab("--spec", folder / "queue.yaml", "--with", self.service) as lab:
            yield lab

    @contextmanager
    def administered(self, lab: Lab, folder: Path) -> Iterator[Administrator]:
        """Have it idle before a test and after it; the site file lies in `folder`."""
        (folder / "queue.yaml").write_text(self.site)
        administrator = self.administrator(lab)
        yield administrator
        administrator.calm_down()

    def write_study(
        self,
        folder: Path,
        script: str = "echo value: 1",
        *,
        platforms: str = "job",
        nodes: int = 1,
        repeats: int = 1,
        timeout: str = "30 s",
        is_mpi: bool | None = None,
    ) -> Path:
        path = folder / "study.yaml"
        mpi = "true" if (self.is_mpi if is_mpi is None else is_mpi) else "false"
        settings = {"platforms": platforms, "nodes": nodes, "repeats": repeats, "timeout": timeout}
        path.write_text(_STUDY.format(script=script, mpi=mpi, **settings))
        return path


SLURM = BatchSystem(
    name="slurm",
    service="slurm",
    title="Slurm",
    cancel_command="scancel",
    platforms="""\
  job: {backend: slurm, launcher: srun, slurm: {login: n1, in_flight: 4, lines: [--overcommit]}}
  packed: {backend: slurm, launcher: srun, slurm: {login: n1, mode: packed}}
""",
    administrator=SlurmAdministrator,
    missing=slurm.missing,
    cure=slurm.CURE,
)
PSIJ = SLURM._replace(
    name="psij",
    platforms="""\
  job:
    backend: psij
    launcher: srun
    psij: {executor: slurm, login: n1, in_flight: 4, queue: lab, poll_s: 0.5, attributes: {slurm.nice: "1"}}
  packed: {backend: psij, launcher: srun, psij: {executor: slurm, login: n1, mode: packed, poll_s: 0.5}}
""",
    lists_jobs_by_name=False,
)
GRID_ENGINE = BatchSystem(
    name="gridengine",
    service="gridengine",
    title="Grid Engine",
    cancel_command="qdel",
    platforms="""\
  job:
    backend: gridengine
    launcher: none
    gridengine: {login: n1, parallel_environment: lab, slots_per_node: 8}
  packed:
    backend: gridengine
    launcher: none
    gridengine: {login: n1, parallel_environment: lab, slots_per_node: 8, mode: packed}
  filled: {backend: gridengine, launcher: mpich, gridengine: {login: n1, parallel_environment: any}}
  mpich:
    backend: gridengine
    launcher: mpich
    prefix: "${TARE_MPI}/mpich"
    path: ["${TARE_MPI}/mpich/bin"]
    gridengine: {login: n1, parallel_environment: lab, slots_per_node: 8, in_flight: 1}
""",
    administrator=GridEngineAdministrator,
    missing=gridengine.missing,
    cure=gridengine.CURE,
    is_mpi=False,
)
SYSTEMS = (SLURM, PSIJ, GRID_ENGINE)


def states(campaign: Path) -> Counter[State]:
    return Counter(attempt.state for attempt in read_campaign(campaign).attempts)


def n_starts(campaign: Path) -> int:
    return (campaign / "starts").read_text().count("started")


def start(study: Path, campaign: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([TARE, "run", str(study), "--out", str(campaign)], cwd=study.parent)


def end(runner: subprocess.Popen[bytes]) -> int:
    return runner.wait(timeout=120)


def attempts_by(campaign: Path, is_wanted: Callable[[Attempt], bool]) -> list[Attempt]:
    return [attempt for attempt in read_campaign(campaign).attempts if is_wanted(attempt)]
