"""Studies under the lab's real Grid Engine: what only Grid Engine has. The rest is in test_batch_runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.batch.batch_systems import GRID_ENGINE, Administrator
from cli.conftest import Tare
from lab.calls import call
from support.waiting import until
from tare.core.attempt import State
from tare.core.packets import read as read_packets
from tare.lab import AGENT, Lab, gridengine
from tare.lab.mpi import is_installed, mpi_folder
from tare.plugins.backends.gridengine.commands import GridEngine
from tare.storage.campaign import read_campaign

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="Grid Engine's daemons need root"),
    pytest.mark.skipif(bool(gridengine.missing()), reason=f"no Grid Engine here; {gridengine.CURE}"),
]


@pytest.fixture(scope="module")
def shared_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with GRID_ENGINE.lab(tmp_path_factory.mktemp("gridengine")) as lab:
        yield lab


@pytest.fixture
def master(shared_lab: Lab, tmp_path: Path) -> Iterator[Administrator]:
    """Grid Engine in a lab of our own that outlives the tare which uses it, idle between tests."""
    with GRID_ENGINE.administered(shared_lab, tmp_path) as administrator:
        yield administrator


def test_ranks_start_on_the_nodes_of_a_job_which_are_watched(
    master: Administrator, tare: Tare, tmp_path: Path
) -> None:
    if not is_installed("mpich", mpi_folder()):
        pytest.skip("no such MPI here; run: tare lab setup --mpi mpich")
    script = "hostname; [ $PMI_RANK != 0 ] || echo value: 1"
    study = GRID_ENGINE.write_study(tmp_path, script, platforms="mpich", nodes=2, is_mpi=True)
    done = tare("run", study, "--out", tmp_path / "c", "--packets")
    assert done.returncode == 0, done.stdout + done.stderr
    campaign = read_campaign(tmp_path / "c")
    assert [attempt.state for attempt in campaign.attempts] == [State.DONE] * 2
    for attempt in campaign.attempts:
        folder = tmp_path / "c" / attempt.folder
        assert {*(folder / "stdout").read_text().split()} >= {"n1", "n2"}
        assert sorted(attempt.hosts) == ["n1", "n2"]
        assert all("fab0" in attempt.traffic[node] for node in ("n1", "n2"))
        assert {host for host, _ in read_packets(folder).items()} == {"n1", "n2"}
        assert attempt.telemetry
        assert not list(folder.glob(".on.*"))
    assert {attempt.environment for attempt in campaign.attempts} <= set(campaign.environments)
    assert master.jobs() == []


def test_a_block_in_one_job_has_the_same_nodes(master: Administrator, tare: Tare, tmp_path: Path) -> None:
    study = GRID_ENGINE.write_study(tmp_path, "echo value: $JOB_ID", platforms="packed")
    assert tare("run", study, "--out", tmp_path / "c").returncode == 0
    attempts = read_campaign(tmp_path / "c").attempts
    said = {(tmp_path / "c" / attempt.folder / "stdout").read_text() for attempt in attempts}
    assert (len(attempts), len(said)) == (2, 1)


@pytest.mark.slow
def test_a_node_whose_daemon_does_not_report_is_away(master: Administrator, shared_lab: Lab) -> None:
    queue = GridEngine((str(AGENT),), "n1", {**os.environ, **shared_lab.env})

    def away() -> list[str]:
        return list(queue.away(["n1", "n2"], None, is_drained_away=False))

    assert away() == []
    call(shared_lab, "n2", "sh", "-c", "kill -9 $(cat $SGE_ROOT/spool/n2/execd.pid)")
    try:
        until(lambda: away() == ["by qstat queue lab@n2 is u"], within_s=60)  # max_unheard is 15 s
    finally:
        call(shared_lab, "n2", "/usr/sbin/sge_execd")
    until(lambda: away() == [], within_s=60)


@pytest.mark.slow
def test_a_job_on_fewer_nodes_than_asked_for_runs_nothing_and_reports_why(
    master: Administrator, tare: Tare, tmp_path: Path
) -> None:
    study = GRID_ENGINE.write_study(tmp_path, platforms="filled", nodes=2, is_mpi=True)
    study.write_text(
        study.read_text().replace("size: [1, 2]", "size: [1]").replace("retries: 1", "retries: 0")
    )
    assert tare("run", study, "--out", tmp_path / "c").returncode == 1
    (attempt,) = read_campaign(tmp_path / "c").attempts
    assert attempt.is_infrastructure
    assert "on fewer nodes than it asked for" in attempt.reason


def test_doctor_reports_what_a_parallel_environment_gives(
    master: Administrator, tare: Tare, tmp_path: Path
) -> None:
    def doctor(platform: str) -> str:
        return tare("doctor", "--site", tmp_path / "queue.yaml", "--platform", platform).stdout

    assert "lab gives 8 slots on each node" in doctor("job")
    filled = doctor("filled")
    assert "any has the allocation_rule $fill_up, and jobs want 1 slot on each node" in filled


def test_plan_shows_the_script_of_a_job(master: Administrator, tare: Tare, tmp_path: Path) -> None:
    shown = tare(
        "plan", GRID_ENGINE.write_study(tmp_path, platforms="mpich", nodes=2, is_mpi=True), "--show"
    ).stdout
    assert "#$ -pe lab 16" in shown
    assert "-bootstrap-exec tare-qrsh" in shown
