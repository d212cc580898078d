"""Studies through PSI/J on the lab's real Slurm: killed, resumed, and cleaned up after."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.conftest import TARE, Tare, standing_lab
from cli.test_crash import ended_runs, wait_for
from cli.test_slurm_runs import (
    ON_BOTH,
    ONCE,
    Controller,
    attempts_by,
    end,
    n_starts,
    start,
    states,
    write_study,
)
from tare.core.attempt import State
from tare.core.packets import read as read_packets
from tare.lab import Lab, slurm
from tare.storage.campaign import JOURNAL, read_campaign
from tare.storage.journal import is_held

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="Slurm's daemons need root"),
    pytest.mark.skipif(bool(slurm.missing()), reason=f"no Slurm here; {slurm.CURE}"),
]

SITE = """\
site: queue
lab:
  nodes: 2
  networks: {host: {kind: bridge}}
platforms:
  job:
    backend: psij
    launcher: srun
    psij: {executor: slurm, login: n1, in_flight: 4, queue: lab, poll_s: 0.5, attributes: {slurm.nice: "1"}}
  packed: {backend: psij, launcher: srun, psij: {executor: slurm, login: n1, mode: packed, poll_s: 0.5}}
"""
STARTS = "echo started >> {work}/../../../starts; sleep 3; echo value: 1"


@pytest.fixture(scope="module")
def shared_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("psij")
    (folder / "queue.yaml").write_text(SITE)
    with standing_lab("--spec", folder / "queue.yaml", "--with", "slurm") as lab:
        yield lab


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep what is on record of campaigns' jobs from that of this machine's user."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "queue.yaml").write_text(SITE)
    return tmp_path / "state"


@pytest.fixture
def controller(shared_lab: Lab) -> Iterator[Controller]:
    controller = Controller(shared_lab)
    yield controller
    controller.calm_down()


def test_a_job_a_run_and_a_block_in_one_allocation_both_measure(
    controller: Controller, tare: Tare, tmp_path: Path, own_state: Path
) -> None:
    study = write_study(tmp_path, ONCE, platforms="job, packed", nodes=2)
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


def test_a_killed_tare_leaves_its_jobs_and_the_next_one_adopts_them(
    controller: Controller, tare: Tare, tmp_path: Path
) -> None:
    campaign = tmp_path / "c"
    runner = start(write_study(tmp_path, STARTS, platforms="job", repeats=2), campaign)
    wait_for(lambda: (campaign / "starts").exists())
    runner.kill()
    runner.wait()
    assert tare("run", campaign).returncode == 0
    assert states(campaign) == {State.DONE: 4}
    assert set(ended_runs(campaign).values()) == {1}
    assert n_starts(campaign) == 4, "a run was run twice"
    assert controller.jobs() == []
    assert "Slurm job" not in tare("clean").stdout


def test_a_job_whose_number_was_lost_runs_nothing(
    controller: Controller, tare: Tare, tmp_path: Path, own_state: Path
) -> None:
    """As one that was submitted in the moment in which Tare was killed: no list of PSI/J's has its name."""
    campaign = tmp_path / "c"
    controller.call("scontrol", "update", "nodename=n[1-2]", "state=drain", "reason=test")
    study = write_study(tmp_path, STARTS, platforms="job")
    runner = start(study, campaign)
    wait_for(lambda: len(controller.jobs()) == 2)
    runner.kill()
    runner.wait()
    for record in campaign.glob("attempts/*/*/job"):
        record.unlink()
    for entry in (campaign / "psij" / "jobs" / "slurm").iterdir():
        entry.unlink()
    lost = controller.jobs()
    resumed = subprocess.Popen([TARE, "run", str(campaign)], cwd=tmp_path)
    wait_for(lambda: len(controller.jobs()) == 4)
    for job in lost:
        controller.call("scontrol", "update", f"jobid={job}", "nice=0", "timelimit=2")
    controller.call("scontrol", "update", "nodename=n[1-2]", "state=resume")
    assert end(resumed) == 0
    assert n_starts(campaign) == 2, "a run was run twice"
    assert set(ended_runs(campaign).values()) == {1}
    for job in lost:
        controller.call("scancel", job)


def test_clean_cancels_the_jobs_of_a_dead_campaign_and_then_finds_nothing(
    controller: Controller, tare: Tare, tmp_path: Path
) -> None:
    campaign = tmp_path / "c"
    runner = start(write_study(tmp_path, "sleep 60; echo value: 1", platforms="job"), campaign)
    wait_for(lambda: len(controller.jobs()) == 2)
    assert "Slurm job" not in tare("clean", "--dry-run").stdout, "the campaign is alive"
    runner.kill()
    runner.wait()
    wait_for(lambda: not is_held(campaign / JOURNAL))
    told = tare("clean")
    assert told.stdout.count("cancelled Slurm job") == 2, told
    wait_for(lambda: controller.jobs() == [])
    assert "Slurm job" not in tare("clean").stdout


def test_what_somebody_cancels_is_on_record_as_that_and_not_tried_again(
    controller: Controller, tmp_path: Path
) -> None:
    campaign = tmp_path / "c"
    runner = start(write_study(tmp_path, "sleep 6; echo value: 1", platforms="job"), campaign)
    wait_for(lambda: len(controller.jobs()) == 2)
    controller.call("scancel", controller.jobs()[0])
    assert end(runner) == 1
    (cancelled,) = attempts_by(campaign, lambda one: one.state is not State.DONE)
    assert "cancelled by scancel" in cancelled.reason
    assert states(campaign) == {State.DONE: 1, State.FAILED: 1}


def test_a_controller_that_is_killed_and_restarted_in_the_middle_loses_and_repeats_nothing(
    controller: Controller, tmp_path: Path
) -> None:
    campaign = tmp_path / "c"
    script = STARTS.replace("sleep 3", "sleep 20")
    runner = start(write_study(tmp_path, script, platforms="job"), campaign)
    wait_for(lambda: (campaign / "starts").exists() and n_starts(campaign) == 2)
    time.sleep(6)  # Slurm saves its state every 5 s
    controller.restart()
    assert end(runner) == 0
    assert states(campaign) == {State.DONE: 2}
    assert n_starts(campaign) == 2


def test_doctor_shows_what_psij_and_its_batch_system_report(
    controller: Controller, tare: Tare, tmp_path: Path
) -> None:
    told = tare("doctor", "--site", tmp_path / "queue.yaml", "--platform", "job").stdout
    assert "PSI/J" in told
    assert "it answers PSI/J's executor slurm" in told
