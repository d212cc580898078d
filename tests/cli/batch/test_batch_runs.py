"""Studies under the lab's real batch systems: their queues, their failures, and a killed tare."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.batch.batch_systems import (
    COUNTED,
    SYSTEMS,
    Administrator,
    BatchSystem,
    attempts_by,
    end,
    n_starts,
    start,
    states,
)
from cli.conftest import ELSEWHERE, TARE, Tare
from cli.killed_campaigns import ended_runs
from support.waiting import until
from tare.core.attempt import State
from tare.lab import Lab
from tare.storage.campaign import JOURNAL, read_campaign
from tare.storage.journal import is_held

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="daemons of batch systems need root"),
]


@pytest.fixture(scope="module", params=SYSTEMS, ids=[one.name for one in SYSTEMS])
def system(request: pytest.FixtureRequest) -> BatchSystem:
    system: BatchSystem = request.param
    if system.missing():
        pytest.skip(f"no {system.title} here; {system.cure}")
    return system


@pytest.fixture(scope="module")
def shared_lab(system: BatchSystem, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with system.lab(tmp_path_factory.mktemp(system.name)) as lab:
        yield lab


@pytest.fixture
def administrator(system: BatchSystem, shared_lab: Lab, tmp_path: Path) -> Iterator[Administrator]:
    with system.administered(shared_lab, tmp_path) as administrator:
        yield administrator


def test_a_run_that_hangs_is_ended_at_its_timeout_and_its_job_with_it(
    system: BatchSystem, administrator: Administrator, tare: Tare, tmp_path: Path
) -> None:
    study = system.write_study(tmp_path, "sleep 60", timeout="1 s")
    assert tare("run", study, "--out", tmp_path / "c").returncode == 1
    assert {attempt.check for attempt in read_campaign(tmp_path / "c").attempts} == {"timeout"}
    until(lambda: administrator.jobs() == [])


def test_a_killed_tare_leaves_its_jobs_and_the_next_one_adopts_them(
    system: BatchSystem, administrator: Administrator, tare: Tare, tmp_path: Path
) -> None:
    campaign = tmp_path / "c"
    runner = start(system.write_study(tmp_path, COUNTED, repeats=2), campaign)
    until(lambda: (campaign / "starts").exists())
    runner.kill()
    runner.wait()
    assert tare("run", campaign).returncode == 0
    assert states(campaign) == {State.DONE: 4}
    assert set(ended_runs(campaign).values()) == {1}
    assert n_starts(campaign) == 4, "a run was run twice"
    assert administrator.jobs() == []
    assert tare("clean").stdout == "nothing is left behind\n"


def test_clean_cancels_the_jobs_of_a_dead_campaign_and_then_finds_nothing(
    system: BatchSystem, administrator: Administrator, tare: Tare, tmp_path: Path
) -> None:
    campaign = tmp_path / "c"
    runner = start(system.write_study(tmp_path, "sleep 60; echo value: 1"), campaign)
    until(lambda: len(administrator.jobs()) == 2)
    assert f"{system.title} job" not in tare("clean", "--dry-run").stdout, "the campaign is alive"
    runner.kill()
    runner.wait()
    until(lambda: not is_held(campaign / JOURNAL))
    assert tare("clean").stdout.count(f"cancelled {system.title} job") == 2
    until(lambda: administrator.jobs() == [])
    assert f"{system.title} job" not in tare("clean").stdout


@pytest.mark.parametrize(
    "system", [one for one in SYSTEMS if one.lists_jobs_by_name], ids=lambda one: one.name, indirect=True
)
def test_clean_cancels_no_job_that_may_be_somebody_s(
    system: BatchSystem, administrator: Administrator, tare: Tare, tmp_path: Path
) -> None:
    """Not by its name alone, not without its journal, and not from another head node."""
    backup = administrator.submit("tare-home-backup")
    named = administrator.submit("tare-0123456789ab-c-1.1")
    path = administrator.submit("tare-0123456789ab-c-1.2", str(tmp_path))
    campaign = tmp_path / "c"
    runner = start(system.write_study(tmp_path, "sleep 600; echo value: 1", timeout="1200 s"), campaign)
    until(lambda: len(administrator.jobs()) == 5)
    runner.kill()
    runner.wait()
    until(lambda: not is_held(campaign / JOURNAL))
    own = {*administrator.jobs()} - {backup, named, path}

    elsewhere = subprocess.run(
        [*ELSEWHERE, TARE, "clean"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    ).stdout
    for job in own:
        assert f"{system.title} job {job} of {campaign}: it is of host" in elsewhere
    journal = (campaign / JOURNAL).rename(tmp_path / "journal")
    unread = tare("clean").stdout
    for job in own:
        assert (
            f"{system.title} job {job} of {campaign}: whether its campaign still runs cannot be read"
            in unread
        )
    for job, number in ((named, 1), (path, 2)):
        assert f"{system.title} job {job} of tare-0123456789ab-c-1.{number}: its job label was not" in unread
    assert f"job {backup} " not in unread
    assert {*administrator.jobs()} == {*own, backup, named, path}

    journal.rename(campaign / JOURNAL)
    assert tare("clean").stdout.count(f"cancelled {system.title} job") == 2
    until(lambda: {*administrator.jobs()} == {backup, named, path})


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_tare_cancels_its_jobs(
    system: BatchSystem, administrator: Administrator, tmp_path: Path, number: signal.Signals
) -> None:
    campaign = tmp_path / "c"
    runner = start(system.write_study(tmp_path, "sleep 60; echo value: 1"), campaign)
    until(lambda: bool(administrator.jobs()))
    runner.send_signal(number)
    assert end(runner) == 130
    until(lambda: administrator.jobs() == [], within_s=60)  # KillWait of slurm.conf(5) is 30 s
    assert states(campaign).keys() == {State.LOST}


def test_what_somebody_cancels_is_on_record_as_that_and_not_tried_again(
    system: BatchSystem, administrator: Administrator, tmp_path: Path
) -> None:
    campaign = tmp_path / "c"
    runner = start(system.write_study(tmp_path, "sleep 8; echo value: 1"), campaign)
    until(lambda: len(list(campaign.glob("attempts/*/1.1/progress"))) == 2)
    administrator.cancel(administrator.jobs()[0])
    assert end(runner) == 1
    (cancelled,) = attempts_by(campaign, lambda one: one.state is not State.DONE)
    assert f"cancelled by {system.cancel_command}" in cancelled.reason
    assert states(campaign) == {State.DONE: 1, State.FAILED: 1}


@pytest.mark.slow
def test_a_controller_that_is_killed_and_restarted_in_the_middle_loses_and_repeats_nothing(
    system: BatchSystem, administrator: Administrator, tmp_path: Path
) -> None:
    campaign = tmp_path / "c"
    runner = start(system.write_study(tmp_path, COUNTED.replace("sleep 3", "sleep 20")), campaign)
    until(lambda: (campaign / "starts").exists() and n_starts(campaign) == 2)
    time.sleep(6)  # Slurm saves its state every 5 s
    administrator.restart()
    assert end(runner) == 0
    assert states(campaign) == {State.DONE: 2}
    assert n_starts(campaign) == 2
