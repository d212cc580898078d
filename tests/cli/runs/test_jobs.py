"""`tare run --jobs`: runs at the same time have nodes of their own, and an interrupt ends them all."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from cli.conftest import TARE, Tare
from support.waiting import until
from tare.app.executors import campaign_hash
from tare.core.attempt import Attempt, State
from tare.plugins.backends.ownership import process_labels
from tare.storage.campaign import read_campaign

AGENT = '#!/bin/sh\nexport TARE_TEST_HOST=$1\nshift\nexec sh -c "$*"\n'
"""Stands for ssh: every host is this machine."""

SITE = "site: many\nnodes: ['n[1-4]']\nagent: {agent}\nplatforms: {{bare: {{}}}}\n"
STUDY = """\
study: many
site: site.yaml
workloads:
  echo:
    command: [sh, -c, '{script}']
    parameters: {{size: 1}}
    foms: [{{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}}]
workload: echo
factors: {{size: [1, 2, 3]}}
repeats: {repeats}
"""


def write(folder: Path, script: str, repeats: int = 2) -> Path:
    agent = folder / "agent"
    agent.write_text(AGENT)
    agent.chmod(0o700)
    (folder / "site.yaml").write_text(SITE.format(agent=agent))
    study = folder / "study.yaml"
    study.write_text(STUDY.format(script=script, repeats=repeats))
    return study


def overlap(one: Attempt, other: Attempt) -> bool:
    begins, ends = one.started_at or 0.0, (one.started_at or 0.0) + one.elapsed_s
    return begins < (other.started_at or 0.0) < ends


def test_runs_at_the_same_time_have_nodes_of_their_own(tare: Tare, tmp_path: Path) -> None:
    study = write(tmp_path, "echo on $TARE_TEST_HOST; setsid sleep 99 & sleep 0.7; echo value: 1", repeats=4)
    done = tare("run", study, "--out", "c", "--jobs", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    attempts = read_campaign(tmp_path / "c").attempts
    assert {one.state for one in attempts} == {State.DONE}
    assert len(attempts) == 12
    pairs = [(one, other) for one in attempts for other in attempts if overlap(one, other)]
    assert pairs, "nothing ran at the same time"
    assert all(set(one.hosts).isdisjoint(other.hosts) for one, other in pairs)
    for one in attempts:
        (host,) = one.hosts
        assert (tmp_path / "c" / one.folder / "stdout").read_text() == f"on {host}\nvalue: 1\n"
    assert process_labels.labelled_pids(f"{campaign_hash(tmp_path / 'c')}:") == []


def test_without_it_one_run_follows_the_other(tare: Tare, tmp_path: Path) -> None:
    done = tare("run", write(tmp_path, "sleep 0.1; echo value: 1"), "--out", "c")
    assert done.returncode == 0, done.stdout + done.stderr
    attempts = read_campaign(tmp_path / "c").attempts
    assert not any(overlap(one, other) for one in attempts for other in attempts)
    assert {*attempts[0].hosts} == {"n1"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupt_ends_all_of_them(tmp_path: Path, number: signal.Signals) -> None:
    study = write(tmp_path, "touch up; setsid sleep 98 & sleep 99; echo value: 1")
    campaign = tmp_path / "c"
    runner = subprocess.Popen([TARE, "run", str(study), "--out", str(campaign), "--jobs", "2"])
    try:
        until(lambda: len(list(campaign.glob("attempts/*/*/up"))) == 2)
        runner.send_signal(number)
        assert runner.wait(60) == (-9 if number is signal.SIGKILL else 130)
    finally:
        runner.kill()
        runner.wait()
    until(lambda: process_labels.labelled_pids(f"{campaign_hash(campaign)}:") == [])
    if number is not signal.SIGKILL:
        assert [one.state for one in read_campaign(campaign).attempts] == [State.LOST] * 2


def test_the_nodes_of_a_lab_share_cores_so_runs_there_go_one_by_one(tare: Tare, tmp_path: Path) -> None:
    write(tmp_path, "echo value: 1")
    (tmp_path / "site.yaml").write_text(
        "site: box\nlab: {nodes: 2, networks: {host: {kind: bridge}}}\nplatforms: {bare: {}}\n"
    )
    done = tare("run", "study.yaml", "--out", "c", "--jobs", "2")
    assert done.returncode == 2
    assert "share the cores of this machine" in done.stderr
    assert not (tmp_path / "c").exists(), "it is refused before there is a campaign"
