"""Grid Engine in the lab: its real daemons, one execd a node, and MPIs that start their ranks through it."""

from __future__ import annotations

import itertools
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.calls import call, running_lab
from support.sleeping import sleeping
from support.waiting import until
from tare.core.errors import LabError, UsageError
from tare.core.site import LabNetwork, LabNetworkKind, LabSpec
from tare.lab import Lab, gridengine
from tare.lab.mpi import is_installed, mpi_folder

SPEC = LabSpec(nodes=2, networks={"host": LabNetwork(kind=LabNetworkKind.BRIDGE)})

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    if gridengine.missing():
        pytest.skip(f"no Grid Engine here; {gridengine.CURE}")
    if os.geteuid() != 0:
        pytest.skip("Grid Engine's lab needs root")
    with running_lab(SPEC, tmp_path_factory.mktemp("run")) as lab:
        lab.add_service("gridengine")
        yield lab


def said(lab: Lab, host: str, *argv: str) -> str:
    done = call(lab, host, *argv)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_job(lab: Lab, folder: Path, script: str, *options: str) -> str:
    """Submit a script from the second node, wait until it has left the queue, and return what it printed."""
    (folder / "job.sh").write_text(script)
    output = folder / "job.out"
    words = ["qsub", "-terse", "-V", "-S", "/bin/bash", "-j", "y", "-o", str(output), *options]
    number = said(lab, "n2", *words, str(folder / "job.sh")).strip()
    deadline = time.monotonic() + 60
    while call(lab, "n1", "qstat", "-j", number).returncode == 0:
        assert time.monotonic() < deadline, said(lab, "n1", "qstat", "-j", number)
        time.sleep(0.2)
    return output.read_text()


def test_every_node_reports_to_the_master(cluster: Lab) -> None:
    rows = [line.split() for line in said(cluster, "n2", "qhost").splitlines()]
    assert {row[0] for row in rows if len(row) > 1 and row[1].startswith("lx-")} == {"n1", "n2"}


def test_a_job_gets_whole_nodes_and_starts_commands_on_each(cluster: Lab, tmp_path: Path) -> None:
    script = (
        'cut -d" " -f1-2 "$PE_HOSTFILE"; for node in n1 n2; do qrsh -inherit -nostdin $node hostname; done'
    )
    slots = str(2 * gridengine.SLOTS_PER_NODE)
    told = run_job(cluster, tmp_path, script, "-pe", gridengine.PARALLEL_ENVIRONMENT, slots)
    assert sorted(told.split("\n")[:2]) == [f"n{n} {gridengine.SLOTS_PER_NODE}" for n in (1, 2)]
    assert told.splitlines()[2:] == ["n1", "n2"]


def test_mpich_starts_ranks_on_both_nodes_of_a_job(cluster: Lab, tmp_path: Path) -> None:
    if not is_installed("mpich", mpi_folder()):
        pytest.skip("no such MPI here; run: tare lab setup --mpi mpich")
    script = f"{mpi_folder()}/mpich/bin/mpiexec.hydra -bootstrap sge -ppn 1 -n 2 hostname"
    slots = str(2 * gridengine.SLOTS_PER_NODE)
    told = run_job(cluster, tmp_path, script, "-pe", gridengine.PARALLEL_ENVIRONMENT, slots)
    assert sorted(told.split()) == ["n1", "n2"]


def test_a_job_that_is_deleted_takes_its_processes_on_all_nodes_with_it(cluster: Lab, tmp_path: Path) -> None:
    length = f"61.{time.monotonic_ns()}"
    (tmp_path / "job.sh").write_text(
        f"qrsh -inherit -nostdin n2 sleep {length} & qrsh -inherit n1 sleep {length}"
    )
    slots = str(2 * gridengine.SLOTS_PER_NODE)
    words = ["qsub", "-terse", "-V", "-S", "/bin/bash", "-o", "/dev/null", "-j", "y"]
    words += ["-pe", gridengine.PARALLEL_ENVIRONMENT, slots, str(tmp_path / "job.sh")]
    number = said(cluster, "n1", *words).strip()
    until(lambda: len(sleeping(length)) == 2, within_s=30)
    said(cluster, "n1", "qdel", number)
    until(lambda: len(sleeping(length)) == 0, within_s=30)


def test_its_accounting_shows_how_a_job_ended(cluster: Lab, tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text("exit 7")
    words = ["qsub", "-terse", "-S", "/bin/bash", "-o", "/dev/null", "-j", "y", str(tmp_path / "job.sh")]
    number = said(cluster, "n1", *words).strip()
    deadline = time.monotonic() + 30
    while (books := call(cluster, "n1", "qacct", "-j", number)).returncode != 0:
        assert time.monotonic() < deadline, books.stderr
        time.sleep(0.2)
    assert ["exit_status", "7"] in [line.split() for line in books.stdout.splitlines()]


def test_its_daemons_end_with_the_lab(tmp_path: Path) -> None:
    if gridengine.missing() or os.geteuid() != 0:
        pytest.skip(f"no Grid Engine here; {gridengine.CURE}")
    with running_lab(LabSpec(nodes=1, networks={}), tmp_path) as lab:
        lab.add_service("gridengine")
        lab.add_service("gridengine")  # which does nothing, as it runs
        mark = f"SGE_ROOT={gridengine.environment(lab.folder)['SGE_ROOT']}".encode()
        assert len(daemons(mark)) == 2
    assert daemons(mark) == []


def test_a_lab_names_the_services_it_knows(cluster: Lab) -> None:
    assert cluster.has_service("gridengine")
    assert not cluster.has_service("slurm")
    with pytest.raises(UsageError, match="it has slurm, gridengine, containers, cluster, docker"):
        cluster.add_service("pbs")


def test_what_is_missing_is_reported_with_its_cure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(
        gridengine, "find_program", lambda name: None if name == "sge_execd" else shutil.which("true")
    )
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(LabError, match="needs sge_execd, which this machine lacks; on Debian: apt install"):
        gridengine.bring_up(_Nowhere(tmp_path), ["n1"])


def test_only_root_may_start_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LabError, match="start Grid Engine's lab as root"):
        gridengine.bring_up(_Nowhere(tmp_path), ["n1"])


def test_nodes_that_see_each_others_processes_mark_those_of_their_jobs_differently() -> None:
    nodes = [f"n{number}" for number in range(1, 101)]
    ranges = [text.split()[1] for option, _, text in gridengine.objects(nodes) if option == "-Aconf"]
    bounds = [tuple(map(int, one.split("-"))) for one in ranges]
    assert len(bounds) == 100
    assert all(before[1] < after[0] for before, after in itertools.pairwise(bounds))
    assert bounds[-1][1] < 65_534  # nobody, and what a lab of an ordinary user cannot map


class _Nowhere:
    """A lab in which nothing can be started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def command(self, host: str, argv: object) -> list[str]:
        raise AssertionError("nothing is to be started")


def daemons(mark: bytes) -> list[str]:
    """Return the daemons of Grid Engine that have `mark` in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            name = (path / "comm").read_text().strip()
            if name.startswith("sge_") and mark in (path / "environ").read_bytes():
                found.append(name)
        except OSError:
            continue
    return found
