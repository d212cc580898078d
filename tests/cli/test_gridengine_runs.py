"""Studies under the lab's real Grid Engine: its queue, its failures, and a killed tare."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.conftest import TARE, Tare, standing_lab
from cli.test_crash import ended_runs, wait_for
from lab.calls import call
from tare.core.attempt import State
from tare.core.packets import read as read_packets
from tare.lab import AGENT, Lab, gridengine
from tare.lab.mpi import is_installed, mpi_folder
from tare.plugins.backends.gridengine.commands import GridEngine
from tare.storage.campaign import JOURNAL, read_campaign
from tare.storage.journal import is_held

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="Grid Engine's daemons need root"),
    pytest.mark.skipif(bool(gridengine.missing()), reason=f"no Grid Engine here; {gridengine.CURE}"),
]

SITE = """\
site: queue
lab:
  nodes: 2
  networks: {host: {kind: bridge}}
management: [mgmt0]
platforms:
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
"""
STUDY = """\
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
COUNTED = "echo started >> {work}/../../../starts; sleep 2; echo value: 1"


class Master:
    """What an administrator does to Grid Engine, from the lab's first node."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def call(self, *words: str) -> str:
        done = call(self._lab, "n1", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def jobs(self) -> list[str]:
        """Return the ids of what is queued or runs."""
        return [line.split()[0] for line in self.call("qstat", "-u", "*").splitlines()[2:]]

    def restart(self) -> None:
        """Kill the master, and start it again from what it has on disk after a while."""
        self.call(
            "sh", "-c", "kill -9 $(cat $SGE_ROOT/qmaster/qmaster.pid); sleep 2; exec /usr/sbin/sge_qmaster"
        )

    def calm_down(self) -> None:
        """Delete what a test that failed left in the queue."""
        for job in self.jobs():
            call(self._lab, "n1", "qdel", job)
        wait_for(lambda: self.jobs() == [])


@pytest.fixture(scope="module")
def shared_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("gridengine")
    (folder / "queue.yaml").write_text(SITE)
    with standing_lab("--spec", folder / "queue.yaml", "--with", "gridengine") as lab:
        yield lab


@pytest.fixture
def master(shared_lab: Lab, tmp_path: Path) -> Iterator[Master]:
    """Grid Engine in a lab of our own that outlives the tare which uses it, idle between tests."""
    (tmp_path / "queue.yaml").write_text(SITE)
    master = Master(shared_lab)
    yield master
    master.calm_down()


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
    mpi = "true" if platforms in ("mpich", "filled") else "false"
    path.write_text(
        STUDY.format(
            script=script, platforms=platforms, nodes=nodes, repeats=repeats, timeout=timeout, mpi=mpi
        )
    )
    return path


def states(campaign: Path) -> Counter[State]:
    return Counter(attempt.state for attempt in read_campaign(campaign).attempts)


def start(study: Path, campaign: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([TARE, "run", str(study), "--out", str(campaign)], cwd=study.parent)


def test_ranks_start_on_the_nodes_of_a_job_which_are_watched(
    master: Master, tare: Tare, tmp_path: Path
) -> None:
    if not is_installed("mpich", mpi_folder()):
        pytest.skip("no such MPI here; run: tare lab setup --mpi mpich")
    script = "hostname; [ $PMI_RANK != 0 ] || echo value: 1"
    study = write_study(tmp_path, script, platforms="mpich", nodes=2)
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


def test_a_block_in_one_job_has_the_same_nodes(master: Master, tare: Tare, tmp_path: Path) -> None:
    study = write_study(tmp_path, "echo value: $JOB_ID", platforms="packed")
    assert tare("run", study, "--out", tmp_path / "c").returncode == 0
    attempts = read_campaign(tmp_path / "c").attempts
    said = {(tmp_path / "c" / attempt.folder / "stdout").read_text() for attempt in attempts}
    assert (len(attempts), len(said)) == (2, 1)


def test_a_run_that_hangs_is_ended_at_its_timeout_and_its_job_with_it(
    master: Master, tare: Tare, tmp_path: Path
) -> None:
    study = write_study(tmp_path, "sleep 60", timeout="1 s")
    assert tare("run", study, "--out", tmp_path / "c").returncode == 1
    assert {attempt.check for attempt in read_campaign(tmp_path / "c").attempts} == {"timeout"}
    wait_for(lambda: master.jobs() == [])


def test_a_killed_tare_leaves_its_jobs_and_the_next_one_adopts_them(
    master: Master, tare: Tare, tmp_path: Path
) -> None:
    campaign = tmp_path / "c"
    runner = start(write_study(tmp_path, COUNTED, repeats=2), campaign)
    wait_for(lambda: (campaign / "starts").exists())
    runner.kill()
    runner.wait()
    assert tare("run", campaign).returncode == 0
    assert states(campaign) == {State.DONE: 4}
    assert set(ended_runs(campaign).values()) == {1}
    assert (campaign / "starts").read_text().count("started") == 4, "a run was run twice"
    assert master.jobs() == []
    assert tare("clean").stdout == "nothing is left behind\n"


def test_clean_cancels_the_jobs_of_a_dead_campaign_and_no_job_that_may_be_somebodys(
    master: Master, tare: Tare, tmp_path: Path
) -> None:
    campaign = tmp_path / "c"
    submit = ["qsub", "-terse", "-o", "/dev/null", "-j", "y", "-b", "y", "-h"]
    backup = master.call(*submit, "-N", "tare-home-backup", "sleep", "600").strip()
    named = master.call(*submit, "-N", "tare-0123456789ab-c-1.1", "sleep", "600").strip()
    runner = start(write_study(tmp_path, "sleep 60; echo value: 1"), campaign)
    wait_for(lambda: len(master.jobs()) == 4)
    assert f"of {campaign}" not in tare("clean", "--dry-run").stdout, "the campaign is alive"
    runner.kill()
    runner.wait()
    wait_for(lambda: not is_held(campaign / JOURNAL))
    said = tare("clean").stdout
    assert said.count("cancelled Grid Engine job") == 2
    assert f"job {backup} " not in said
    assert f"Grid Engine job {named} of tare-0123456789ab-c-1.1: its mark is not" in said
    wait_for(lambda: {*master.jobs()} == {backup, named})


def test_an_interrupted_tare_cancels_its_jobs(master: Master, tmp_path: Path) -> None:
    campaign = tmp_path / "c"
    runner = start(write_study(tmp_path, "sleep 60; echo value: 1"), campaign)
    wait_for(lambda: bool(master.jobs()))
    runner.send_signal(signal.SIGINT)
    assert runner.wait(timeout=120) == 130
    wait_for(lambda: master.jobs() == [], within_s=60)
    assert states(campaign).keys() == {State.LOST}


def test_what_somebody_deletes_is_on_record_as_that_and_not_tried_again(
    master: Master, tmp_path: Path
) -> None:
    campaign = tmp_path / "c"
    runner = start(write_study(tmp_path, "sleep 8; echo value: 1"), campaign)
    wait_for(lambda: len(list(campaign.glob("attempts/*/1.1/progress"))) == 2)
    master.call("qdel", master.jobs()[0])
    assert runner.wait(timeout=120) == 1
    (deleted,) = [one for one in read_campaign(campaign).attempts if one.state is not State.DONE]
    assert "cancelled by qdel" in deleted.reason
    assert states(campaign) == {State.DONE: 1, State.FAILED: 1}


def test_a_master_that_is_killed_and_restarted_in_the_middle_loses_and_repeats_nothing(
    master: Master, tmp_path: Path
) -> None:
    campaign = tmp_path / "c"
    runner = start(write_study(tmp_path, COUNTED.replace("sleep 2", "sleep 10")), campaign)
    wait_for(lambda: (campaign / "starts").exists())
    master.restart()
    assert runner.wait(timeout=120) == 0
    assert states(campaign) == {State.DONE: 2}
    assert (campaign / "starts").read_text().count("started") == 2


def test_a_node_whose_daemon_is_not_heard_of_is_away(master: Master, shared_lab: Lab) -> None:
    queue = GridEngine((str(AGENT),), "n1", {**os.environ, **shared_lab.env})

    def away() -> list[str]:
        return list(queue.away(["n1", "n2"], None, is_drained_away=False))

    assert away() == []
    call(shared_lab, "n2", "sh", "-c", "kill -9 $(cat $SGE_ROOT/spool/n2/execd.pid)")
    try:
        wait_for(lambda: away() == ["by qstat queue lab@n2 is u"], within_s=60)  # max_unheard is 15 s
    finally:
        call(shared_lab, "n2", "/usr/sbin/sge_execd")
    wait_for(lambda: away() == [], within_s=60)


def test_a_job_on_fewer_nodes_than_asked_for_runs_nothing_and_reports_why(
    master: Master, tare: Tare, tmp_path: Path
) -> None:
    study = write_study(tmp_path, platforms="filled", nodes=2)
    study.write_text(
        study.read_text().replace("size: [1, 2]", "size: [1]").replace("retries: 1", "retries: 0")
    )
    assert tare("run", study, "--out", tmp_path / "c").returncode == 1
    (attempt,) = read_campaign(tmp_path / "c").attempts
    assert attempt.is_infrastructure
    assert "on fewer nodes than it asked for" in attempt.reason


def test_doctor_reports_what_a_parallel_environment_gives(master: Master, tare: Tare, tmp_path: Path) -> None:
    def doctor(platform: str) -> str:
        return tare("doctor", "--site", tmp_path / "queue.yaml", "--platform", platform).stdout

    assert "lab gives 8 slots on each node" in doctor("job")
    filled = doctor("filled")
    assert "any has the allocation_rule $fill_up, and jobs want 1 slots on each node" in filled


def test_plan_shows_the_script_of_a_job(master: Master, tare: Tare, tmp_path: Path) -> None:
    shown = tare("plan", write_study(tmp_path, platforms="mpich", nodes=2), "--show").stdout
    assert "#$ -pe lab 16" in shown
    assert "-bootstrap-exec tare-qrsh" in shown
