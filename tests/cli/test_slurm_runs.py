"""Studies under the lab's real Slurm: its queue, its failures, its restarts, and a killed tare."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.conftest import ELSEWHERE, TARE, Tare, standing_lab
from cli.test_crash import ended_runs, wait_for
from lab.calls import call
from tare.core.attempt import Attempt, State
from tare.core.packets import read as read_packets
from tare.lab import AGENT, Lab, accounting, slurm
from tare.plugins.backends.slurm.commands import Slurm
from tare.storage.campaign import JOURNAL, read_campaign
from tare.storage.journal import is_held
from tare.storage.log import read_log

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="Slurm's daemons need root"),
    pytest.mark.skipif(bool(slurm.missing()), reason=f"no Slurm here; {slurm.CURE}"),
]

SITE = """\
site: queue
lab:
  nodes: 2
  networks: {host: {kind: bridge}}
platforms:
  job: {backend: slurm, launcher: srun, slurm: {login: n1, in_flight: 4, lines: [--overcommit]}}
  packed: {backend: slurm, launcher: srun, slurm: {login: n1, mode: packed}}
"""
STUDY = """\
study: queue
site: queue.yaml
workloads:
  echo:
    command: [sh, -c, {script!r}]
    parameters: {{size: 1}}
    foms: [{{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}}]
    mpi: true
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

ONCE = 'if [ "$SLURM_PROCID" = 0 ]; then echo value: 1; fi'
"""What only the first of several ranks says."""

ON_BOTH = {("n1", "fab0", ""), ("n2", "fab0", "")}
"""Where packets are counted, and what is wrong with that."""


@contextmanager
def lab_with_slurm(folder: Path) -> Iterator[Lab]:
    (folder / "queue.yaml").write_text(SITE)
    with standing_lab("--spec", folder / "queue.yaml", "--with", "slurm") as lab:
        yield lab


@pytest.fixture(scope="module")
def shared_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with lab_with_slurm(tmp_path_factory.mktemp("slurm")) as lab:
        yield lab


@pytest.fixture
def controller(shared_lab: Lab, tmp_path: Path) -> Iterator[Controller]:
    """Slurm in a lab of our own that outlives the tare which uses it, idle before a test and after it."""
    (tmp_path / "queue.yaml").write_text(SITE)
    controller = Controller(shared_lab)
    yield controller
    controller.calm_down()


class Controller:
    """What an administrator does to Slurm, from the lab's first node."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def call(self, *words: str) -> str:
        done = call(self._lab, "n1", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def jobs(self) -> list[str]:
        """Return the ids of what is queued or runs."""
        return self.call("squeue", "--noheader", "--format=%i").split()

    def restart(self) -> None:
        """Kill the controller, and start it again from its saved state after a while."""
        conf = self.call("sh", "-c", "echo $SLURM_CONF").strip()
        pid_file = Path(conf).with_name("slurmctld.pid")
        self.call("sh", "-c", f"kill -9 $(cat {pid_file}); sleep 2; PATH=$PATH:/usr/sbin slurmctld -f {conf}")

    def calm_down(self) -> None:
        """Cancel what a test that failed left in the queue, and wait until all nodes are idle."""
        for job in self.jobs():
            self.call("scancel", job)
        wait_for(lambda: self.call("sinfo", "--noheader", "--partition=lab", "--format=%D %t") == "2 idle\n")


def write_study(
    folder: Path,
    script: str = "echo value: 1",
    *,
    platforms: str = "job",
    nodes: int = 1,
    repeats: int = 1,
    timeout: str = "30 s",
) -> Path:
    path = folder / "study.yaml"
    path.write_text(
        STUDY.format(script=script, platforms=platforms, nodes=nodes, repeats=repeats, timeout=timeout)
    )
    return path


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


def test_a_job_a_run_and_a_block_in_one_allocation_both_measure(
    controller: Controller, tare: Tare, tmp_path: Path
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
    assert {attempt.environment for attempt in campaign.attempts} <= set(campaign.environments)
    assert controller.jobs() == []


def test_the_log_has_what_is_submitted_and_with_vv_what_is_asked(
    controller: Controller, tare: Tare, tmp_path: Path
) -> None:
    done = tare("run", write_study(tmp_path), "--out", tmp_path / "c", "-vv")
    assert done.returncode == 0, done.stdout + done.stderr
    calls = [one for one in read_log(tmp_path / "c").entries if one.source == "slurm"]
    levels = {(str(one.fields["argv"]).split("'")[1], one.level) for one in calls}
    assert {("sbatch", "info"), ("squeue", "debug")} <= levels
    assert all(one.fields["exit_code"] == 0 for one in calls)
    assert "slurm: command  login=n1 argv=[sbatch --parsable " in done.stderr


def test_a_run_that_hangs_is_ended_at_its_timeout_and_its_job_with_it(
    controller: Controller, tare: Tare, tmp_path: Path
) -> None:
    study = write_study(tmp_path, "sleep 60", timeout="1 s")
    assert tare("run", study, "--out", tmp_path / "c").returncode == 1
    assert {attempt.check for attempt in read_campaign(tmp_path / "c").attempts} == {"timeout"}
    wait_for(lambda: controller.jobs() == [])


def test_a_killed_tare_leaves_its_jobs_and_the_next_one_adopts_them(
    controller: Controller, tare: Tare, tmp_path: Path
) -> None:
    campaign = tmp_path / "c"
    study = write_study(tmp_path, "echo started >> {work}/../../../starts; sleep 2; echo value: 1", repeats=2)
    runner = start(study, campaign)
    wait_for(lambda: (campaign / "starts").exists())
    runner.kill()
    runner.wait()
    assert tare("run", campaign).returncode == 0
    assert states(campaign) == {State.DONE: 4}
    assert set(ended_runs(campaign).values()) == {1}
    assert n_starts(campaign) == 4, "a run was run twice"
    assert controller.jobs() == []
    assert tare("clean").stdout == "nothing is left behind\n"


def test_clean_cancels_the_jobs_of_a_dead_campaign_and_then_finds_nothing(
    controller: Controller, tare: Tare, tmp_path: Path
) -> None:
    campaign = tmp_path / "c"
    runner = start(write_study(tmp_path, "sleep 60; echo value: 1"), campaign)
    wait_for(lambda: len(controller.jobs()) == 2)
    assert "Slurm job" not in tare("clean", "--dry-run").stdout, "the campaign is alive"
    runner.kill()
    runner.wait()
    wait_for(lambda: not is_held(campaign / JOURNAL))
    assert tare("clean").stdout.count("cancelled Slurm job") == 2
    wait_for(lambda: controller.jobs() == [])
    assert "Slurm job" not in tare("clean").stdout


def test_clean_cancels_no_job_that_may_be_somebody_s(
    controller: Controller, tare: Tare, tmp_path: Path
) -> None:
    """Not by its name alone, not without its journal, and not from another head node."""
    submit = ["sbatch", "--parsable", "--overcommit", "--output=/dev/null", "--wrap=sleep 600"]
    backup = controller.call(*submit, "--job-name=tare-home-backup").strip()
    named = controller.call(*submit, "--job-name=tare-0123456789ab-c-1.1").strip()
    path = controller.call(*submit, "--job-name=tare-0123456789ab-c-1.2", f"--comment={tmp_path}").strip()
    campaign = tmp_path / "c"
    runner = start(write_study(tmp_path, "sleep 600; echo value: 1", timeout="1200 s"), campaign)
    wait_for(lambda: len(controller.jobs()) == 5)
    runner.kill()
    runner.wait()
    wait_for(lambda: not is_held(campaign / JOURNAL))
    own = {*controller.jobs()} - {backup, named, path}

    elsewhere = subprocess.run(
        [*ELSEWHERE, TARE, "clean"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    ).stdout
    for job in own:
        assert f"Slurm job {job} of {campaign}: it is of host" in elsewhere
    journal = (campaign / JOURNAL).rename(tmp_path / "journal")
    unread = tare("clean").stdout
    for job in own:
        assert f"Slurm job {job} of {campaign}: whether its campaign goes on cannot be read" in unread
    for job in (named, path):
        assert (
            f"Slurm job {job} of tare-0123456789ab-c-1.{1 if job == named else 2}: its mark is not" in unread
        )
    assert f"job {backup} " not in unread
    assert {*controller.jobs()} == {*own, backup, named, path}

    journal.rename(campaign / JOURNAL)
    assert tare("clean").stdout.count("cancelled Slurm job") == 2
    wait_for(lambda: {*controller.jobs()} == {backup, named, path})


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_tare_cancels_its_jobs(
    controller: Controller, tmp_path: Path, number: signal.Signals
) -> None:
    campaign = tmp_path / "c"
    runner = start(write_study(tmp_path, "sleep 60; echo value: 1"), campaign)
    wait_for(lambda: bool(controller.jobs()))
    runner.send_signal(number)
    assert end(runner) == 130
    wait_for(lambda: controller.jobs() == [], within_s=60)  # KillWait of slurm.conf(5) is 30 s
    assert states(campaign).keys() == {State.LOST}


def test_what_somebody_cancels_is_on_record_as_that_and_not_tried_again(
    controller: Controller, tmp_path: Path
) -> None:
    campaign = tmp_path / "c"
    runner = start(write_study(tmp_path, "sleep 4; echo value: 1"), campaign)
    wait_for(lambda: len(controller.jobs()) == 2)
    controller.call("scancel", controller.jobs()[0])
    assert end(runner) == 1
    (cancelled,) = attempts_by(campaign, lambda one: one.state is not State.DONE)
    assert "cancelled by scancel" in cancelled.reason
    assert states(campaign) == {State.DONE: 1, State.FAILED: 1}


def test_a_drained_node_delays_its_runs_until_it_is_back(controller: Controller, tmp_path: Path) -> None:
    campaign = tmp_path / "c"
    controller.call("scontrol", "update", "nodename=n2", "state=drain", "reason=test")
    runner = start(write_study(tmp_path, ONCE, nodes=2), campaign)
    wait_for(lambda: len(controller.jobs()) == 2)
    assert states(campaign).keys() == {State.RUNNING}
    controller.call("scontrol", "update", "nodename=n2", "state=resume")
    assert end(runner) == 0


def test_a_node_that_fails_fails_its_run_which_is_tried_again(controller: Controller, tmp_path: Path) -> None:
    campaign = tmp_path / "c"
    study = write_study(tmp_path, "test -e {work}/../1.2 || sleep 60; echo value: 1", platforms="packed")
    runner = start(study, campaign)
    wait_for(lambda: bool(list(campaign.glob("attempts/*/1.1/stdout"))))
    for node in ("n1", "n2"):
        controller.call("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
    # ReturnToService=2: a node that answers is back without being told.
    assert end(runner) == 0
    first = attempts_by(campaign, lambda one: one.attempt == 1)
    assert all(one.state is State.FAILED and one.is_infrastructure for one in first)
    assert any("node failed" in one.reason for one in first)
    assert [one.state for one in attempts_by(campaign, lambda one: one.attempt == 2)] == [State.DONE] * 2


def test_a_preempted_run_is_tried_again(controller: Controller, tmp_path: Path) -> None:
    campaign = tmp_path / "c"
    study = write_study(tmp_path, "test -e {work}/../1.2 || sleep 60; echo value: 1", platforms="packed")
    runner = start(study, campaign)
    wait_for(lambda: bool(list(campaign.glob("attempts/*/1.1/stdout"))))
    controller.call("srun", "--partition=urgent", "--nodes=2", "--exclusive", "true")
    assert end(runner) == 0
    first = attempts_by(campaign, lambda one: one.attempt == 1)
    assert all(one.state is State.FAILED and one.is_infrastructure for one in first)
    assert any("preempted by another job" in one.reason for one in first)
    assert [one.state for one in attempts_by(campaign, lambda one: one.attempt == 2)] == [State.DONE] * 2


@pytest.mark.skipif(bool(accounting.missing()), reason=f"no accounting here; {accounting.CURE}")
def test_accounting_in_the_lab_knows_what_became_of_each_job(
    controller: Controller, shared_lab: Lab, tare: Tare, tmp_path: Path
) -> None:
    campaign = tmp_path / "c"
    assert tare("run", write_study(tmp_path), "--out", campaign).returncode == 0
    jobs = {path.read_text().strip() for path in campaign.glob("attempts/*/1.1/job")}
    assert len(jobs) == 2
    slurm = Slurm([str(AGENT)], "n1", {**os.environ, **shared_lab.env})
    wait_for(
        lambda: {(job.id, job.state) for job in slurm.account(jobs)} == {(one, "COMPLETED") for one in jobs}
    )


def test_a_refused_job_has_the_message_of_slurm(controller: Controller, tare: Tare, tmp_path: Path) -> None:
    (tmp_path / "queue.yaml").write_text(SITE.replace("--overcommit", "--partition=nowhere"))
    done = tare("run", write_study(tmp_path), "--out", tmp_path / "c")
    assert done.returncode == 3 or done.returncode == 1
    assert "invalid partition specified: nowhere" in done.stdout + done.stderr


def test_slurm_ends_with_its_lab(tmp_path: Path) -> None:
    with lab_with_slurm(tmp_path) as lab:
        assert len(daemons_of(lab)) >= 4
    wait_for(lambda: not daemons_of(lab))


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
