"""Studies through PSI/J on the lab's real Slurm: what only PSI/J has. The rest is in test_batch_runs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.batch.batch_systems import COUNTED, NEEDS_SLURM, PSIJ, Administrator, end, n_starts, start
from cli.batch.test_slurm_runs import ON_BOTH, ONCE
from cli.conftest import TARE, Tare
from cli.killed_campaigns import ended_runs
from support.waiting import until
from tare.core.attempt import State
from tare.core.packets import read as read_packets
from tare.lab import Lab
from tare.storage.campaign import read_campaign

pytestmark = [
    pytest.mark.lab,
    *NEEDS_SLURM,
]


@pytest.fixture(scope="module")
def shared_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with PSIJ.lab(tmp_path_factory.mktemp("psij")) as lab:
        yield lab


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep what is on record of campaigns' jobs from that of this machine's user."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def controller(shared_lab: Lab, tmp_path: Path) -> Iterator[Administrator]:
    with PSIJ.administered(shared_lab, tmp_path) as administrator:
        yield administrator


def test_a_job_a_run_and_a_block_in_one_allocation_both_measure(
    controller: Administrator, tare: Tare, tmp_path: Path, own_state: Path
) -> None:
    study = PSIJ.write_study(tmp_path, ONCE, platforms="job, packed", nodes=2)
    done = tare("run", study, "--out", tmp_path / "c", "--packets")
    assert done.returncode == 0, done.stdout + done.stderr
    campaign = read_campaign(tmp_path / "c")
    assert [attempt.state for attempt in campaign.attempts] == [State.DONE] * 4
    counted = [read_packets(tmp_path / "c" / attempt.folder) for attempt in campaign.attempts]
    assert all(
        {(host, one.interface, one.fault) for host, one in found.items()} == ON_BOTH for found in counted
    )
    assert all(attempt.hosts == ["n1", "n2"] for attempt in campaign.attempts)
    assert all("fab0" in attempt.traffic["n2"] for attempt in campaign.attempts)
    assert controller.jobs() == []
    assert list((own_state / "tare" / "psij").iterdir()) == []
    assert not (tmp_path / "c" / "psij").exists(), "PSI/J's files are gone with the last job"


def test_a_job_whose_number_was_lost_runs_nothing(
    controller: Administrator, tare: Tare, tmp_path: Path, own_state: Path
) -> None:
    """As one that was submitted in the moment in which Tare was killed: no list of PSI/J's has its name."""
    campaign = tmp_path / "c"
    controller.call("scontrol", "update", "nodename=n[1-2]", "state=drain", "reason=test")
    study = PSIJ.write_study(tmp_path, COUNTED, platforms="job")
    runner = start(study, campaign)
    until(lambda: len(controller.jobs()) == 2)
    runner.kill()
    runner.wait()
    for record in campaign.glob("attempts/*/*/job"):
        record.unlink()
    for entry in (campaign / "psij" / "jobs" / "slurm").iterdir():
        entry.unlink()
    lost = controller.jobs()
    resumed = subprocess.Popen([TARE, "run", str(campaign)], cwd=tmp_path)
    until(lambda: len(controller.jobs()) == 4)
    for job in lost:
        controller.call("scontrol", "update", f"jobid={job}", "nice=0", "timelimit=2")
    controller.call("scontrol", "update", "nodename=n[1-2]", "state=resume")
    assert end(resumed) == 0
    assert n_starts(campaign) == 2, "a run was run twice"
    assert set(ended_runs(campaign).values()) == {1}
    for job in lost:
        controller.call("scancel", job)


def test_doctor_shows_what_psij_and_its_batch_system_report(
    controller: Administrator, tare: Tare, tmp_path: Path
) -> None:
    told = tare("doctor", "--site", tmp_path / "queue.yaml", "--platform", "job").stdout
    assert "PSI/J" in told
    assert "it answers PSI/J's executor slurm" in told
