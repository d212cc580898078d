"""Studies under the lab's real Slurm: what only Slurm has. The rest is in test_batch_runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli.batch.batch_systems import NEEDS_SLURM, SLURM, Administrator, attempts_by, end, start, states
from cli.conftest import Tare
from support.waiting import until
from tare.core.attempt import State
from tare.core.packets import read as read_packets
from tare.lab import AGENT, Lab, accounting
from tare.plugins.backends.slurm.commands import Slurm
from tare.storage.campaign import read_campaign
from tare.storage.log import read_log

pytestmark = list(NEEDS_SLURM)

ONCE = 'if [ "$SLURM_PROCID" = 0 ]; then echo value: 1; fi'
"""What only the first of several ranks says."""

ON_BOTH = {("n1", "fab0", ""), ("n2", "fab0", "")}
"""Where packets are counted, and what is wrong with that."""


def test_a_job_a_run_and_a_block_in_one_allocation_both_measure(
    controller: Administrator, tare: Tare, tmp_path: Path
) -> None:
    study = SLURM.write_study(tmp_path, ONCE, platforms="job, packed", nodes=2)
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
    assert {attempt.environment for attempt in campaign.attempts} <= set(campaign.environments)
    assert controller.jobs() == []


def test_inputs_are_there_in_a_job_a_run_and_in_an_allocation(
    controller: Administrator, tare: Tare, tmp_path: Path
) -> None:
    (tmp_path / "it is.dat").write_text("value: 1\n")
    study = SLURM.write_study(tmp_path, "cat mesh.dat", platforms="job, packed")
    study.write_text(f"{study.read_text()}inputs: {{mesh.dat: it is.dat}}\n")
    done = tare("run", study, "--out", tmp_path / "c")
    assert done.returncode == 0, done.stdout + done.stderr
    attempts = read_campaign(tmp_path / "c").attempts
    assert {attempt.state for attempt in attempts} == {State.DONE}
    assert not any((tmp_path / "c" / attempt.folder / "mesh.dat").exists() for attempt in attempts)
    assert controller.jobs() == []


def test_the_reason_is_the_rank_that_failed_and_not_those_that_srun_then_ended(
    controller: Administrator, tare: Tare, tmp_path: Path
) -> None:
    script = 'if [ "$SLURM_PROCID" = 1 ]; then echo no convergence; exit 3; fi; sleep 60'
    tare("run", SLURM.write_study(tmp_path, script, nodes=2), "--out", tmp_path / "c", "--no-rehearsal")
    reasons = {one.reason for one in read_campaign(tmp_path / "c").attempts}
    assert reasons == {"rank 1 on n2 ended with exit code 3; the last that was printed: no convergence"}
    assert controller.jobs() == []


def test_the_log_has_what_is_submitted_and_with_vv_what_is_asked(
    controller: Administrator, tare: Tare, tmp_path: Path
) -> None:
    done = tare("run", SLURM.write_study(tmp_path), "--out", tmp_path / "c", "-vv")
    assert done.returncode == 0, done.stdout + done.stderr
    calls = [one for one in read_log(tmp_path / "c").entries if one.source == "slurm"]
    levels = {(str(one.fields["argv"]).split("'")[1], one.level) for one in calls}
    assert {("sbatch", "info"), ("squeue", "debug")} <= levels
    assert all(one.fields["exit_code"] == 0 for one in calls)
    assert "slurm: command  login=n1 argv=[sbatch --parsable " in done.stderr


def test_a_drained_node_delays_its_runs_until_it_is_back(controller: Administrator, tmp_path: Path) -> None:
    campaign = tmp_path / "c"
    controller.call("scontrol", "update", "nodename=n2", "state=drain", "reason=test")
    runner = start(SLURM.write_study(tmp_path, ONCE, nodes=2), campaign)
    until(lambda: len(controller.jobs()) == 2)
    assert states(campaign).keys() == {State.RUNNING}
    controller.call("scontrol", "update", "nodename=n2", "state=resume")
    assert end(runner) == 0


def test_a_node_that_fails_fails_its_run_which_is_tried_again(
    controller: Administrator, tmp_path: Path
) -> None:
    campaign = tmp_path / "c"
    study = SLURM.write_study(
        tmp_path, "test -e {work}/../1.2 || sleep 60; echo value: 1", platforms="packed"
    )
    runner = start(study, campaign)
    until(lambda: bool(list(campaign.glob("attempts/*/1.1/stdout"))))
    for node in ("n1", "n2"):
        controller.call("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
    # ReturnToService=2: a node that answers is back without being told.
    assert end(runner) == 0
    first = attempts_by(campaign, lambda one: one.attempt == 1)
    assert all(one.state is State.FAILED and one.is_infrastructure for one in first)
    assert any("node failed" in one.reason for one in first)
    assert [one.state for one in attempts_by(campaign, lambda one: one.attempt == 2)] == [State.DONE] * 2


def test_a_preempted_run_is_tried_again(controller: Administrator, tmp_path: Path) -> None:
    campaign = tmp_path / "c"
    study = SLURM.write_study(
        tmp_path, "test -e {work}/../1.2 || sleep 60; echo value: 1", platforms="packed"
    )
    runner = start(study, campaign)
    until(lambda: bool(list(campaign.glob("attempts/*/1.1/stdout"))))
    controller.call("srun", "--partition=urgent", "--nodes=2", "--exclusive", "true")
    assert end(runner) == 0
    first = attempts_by(campaign, lambda one: one.attempt == 1)
    assert all(one.state is State.FAILED and one.is_infrastructure for one in first)
    assert any("preempted by another job" in one.reason for one in first)
    assert [one.state for one in attempts_by(campaign, lambda one: one.attempt == 2)] == [State.DONE] * 2


@pytest.mark.skipif(bool(accounting.missing()), reason=f"no accounting here; {accounting.CURE}")
def test_accounting_in_the_lab_knows_what_became_of_each_job(
    controller: Administrator, shared_lab: Lab, tare: Tare, tmp_path: Path
) -> None:
    campaign = tmp_path / "c"
    assert tare("run", SLURM.write_study(tmp_path), "--out", campaign).returncode == 0
    jobs = {path.read_text().strip() for path in campaign.glob("attempts/*/1.1/job")}
    assert len(jobs) == 2
    slurm = Slurm([str(AGENT)], "n1", {**os.environ, **shared_lab.env})
    until(
        lambda: {(job.id, job.state) for job in slurm.account(jobs)} == {(one, "COMPLETED") for one in jobs}
    )


def test_a_refused_job_has_the_message_of_slurm(
    controller: Administrator, tare: Tare, tmp_path: Path
) -> None:
    (tmp_path / "queue.yaml").write_text(SLURM.site.replace("--overcommit", "--partition=nowhere"))
    done = tare("run", SLURM.write_study(tmp_path), "--out", tmp_path / "c")
    assert done.returncode == 3 or done.returncode == 1
    assert "invalid partition specified: nowhere" in done.stdout + done.stderr


def test_slurm_ends_with_its_lab(tmp_path: Path) -> None:
    with SLURM.lab(tmp_path) as lab:
        assert len(daemons_of(lab)) >= 4
    until(lambda: not daemons_of(lab))


def daemons_of(lab: Lab) -> list[int]:
    """Return the pids of Slurm's daemons in a lab: their options name files in its folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            program, *options = path.read_text().split("\0")
        except (OSError, UnicodeDecodeError):
            continue
        if Path(program).name in {"munged", "slurmctld", "slurmd"} and str(lab.folder) in " ".join(options):
            found.append(int(path.parent.name))
    return found
