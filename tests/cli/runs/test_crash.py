"""kill -9 at any moment, a full disk, an interrupt: nothing that ended is lost or run again."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from cli.conftest import TARE, Tare
from cli.killed_campaigns import ended_runs, left_over
from support.waiting import until
from tare.core.attempt import State
from tare.storage.campaign import JOURNAL, read_campaign
from tare.storage.journal import is_held

Study = Callable[..., Path]


def has_more_than(known: Counter[tuple[int, str]], campaign: Path) -> bool:
    """Return whether a run has ended that is not `known` yet, or none is left to end."""
    if not (campaign / JOURNAL).exists():
        return False
    return len(ended_runs(campaign)) > len(known) or len(known) == 200


@pytest.mark.slow
def test_twenty_kills_lose_nothing_and_repeat_nothing(tare: Tare, study: Study, tmp_path: Path) -> None:
    """Each killed tare is followed by a resume; what had ended before stays, once."""
    campaign = tmp_path / "campaign"
    script = (
        "echo $$ >> {work}/../../../pids; sleep 0.01; (setsid sleep 30 &) >/dev/null 2>&1; echo value: 1.0"
    )
    path = study(script, repeats=100)
    randomness = random.Random(7)
    known: Counter[tuple[int, str]] = Counter()
    for kill in range(20):
        runner = subprocess.Popen(
            [TARE, "run", str(path), "--out", str(campaign)], cwd=tmp_path, stdout=subprocess.DEVNULL
        )
        if kill % 4:  # every fourth kill comes while it starts
            until(partial(has_more_than, known, campaign))
        time.sleep(randomness.uniform(0, 0.2))
        runner.kill()
        runner.wait()
        if (campaign / JOURNAL).exists():
            now = ended_runs(campaign)
            assert known <= now, "a run that had ended is gone"
            known = now
    assert len(known) > 0, "no kill came after a first run"
    assert tare("run", path, "--out", campaign).returncode == 0
    assert set(ended_runs(campaign).values()) == {1}, "a run was repeated"
    assert len(ended_runs(campaign)) == 200
    accounted = json.loads(tare("status", campaign, "--json").stdout)["counts"]
    assert accounted["done"] == 200
    assert sum(accounted.values()) == 200
    assert left_over(campaign) == []


def test_an_unfinished_attempt_is_on_record_as_lost_and_its_run_is_done_again(
    tare: Tare, study: Study, tmp_path: Path
) -> None:
    campaign = tmp_path / "campaign"
    path = study("sleep 0.5; echo value: 1.0", repeats=1)
    runner = subprocess.Popen([TARE, "run", str(path), "--out", str(campaign)], cwd=tmp_path)
    until(lambda: any(campaign.glob("attempts/*/1.1/command.json")))
    runner.kill()
    runner.wait()
    until(lambda: not is_held(campaign / JOURNAL))  # until what it was starting has closed its copy
    states = [one.state for one in read_campaign(campaign).attempts]
    assert states == [State.LOST]
    assert tare("run", campaign).returncode == 0
    attempts = read_campaign(campaign).attempts
    assert Counter(one.state for one in attempts) == {State.LOST: 1, State.DONE: 2}
    assert (campaign / attempts[0].folder / "command.json").exists(), "the evidence of a lost attempt is kept"


def test_a_run_of_which_the_journal_lost_all_lines_is_lost_and_done_again(
    tare: Tare, study: Study, tmp_path: Path
) -> None:
    """What is not synced yet when the power goes, may go with it, and not what is in another folder."""
    campaign = tmp_path / "campaign"
    path = study("echo value: 1.0", repeats=2)
    assert tare("run", path, "--out", campaign).returncode == 0
    lines = (campaign / JOURNAL).read_text().splitlines(keepends=True)
    (campaign / JOURNAL).write_text("".join(lines[:-2]))  # the last run, from its start to its end
    again = tare("run", path, "--out", campaign)
    assert again.returncode == 0, again.stdout + again.stderr
    attempts = read_campaign(campaign).attempts
    assert Counter(one.state for one in attempts) == {State.DONE: 4, State.LOST: 1}
    assert [(one.attempt, one.reason) for one in attempts if one.state is State.LOST] == [
        (1, "its folder exists, and no line of the journal names it")
    ]
    assert set(ended_runs(campaign).values()) == {1}


def test_an_interrupt_cleans_up_and_prints_how_to_resume(study: Study, tmp_path: Path) -> None:
    campaign = tmp_path / "campaign"
    path = study("setsid sleep 60 & sleep 60")
    runner = subprocess.Popen(
        [TARE, "run", str(path), "--out", str(campaign)], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    until(lambda: any(campaign.glob("attempts/*/1.1/stdout")))
    runner.send_signal(signal.SIGINT)
    _, said = runner.communicate(timeout=30)
    assert runner.returncode == 130
    assert f"tare run {campaign}" in said
    assert left_over(campaign) == []
    assert [one.reason for one in read_campaign(campaign).attempts] == ["interrupted"]


def test_two_tares_do_not_run_one_campaign(tare: Tare, study: Study, tmp_path: Path) -> None:
    campaign = tmp_path / "campaign"
    path = study("sleep 30; echo value: 1")
    first = subprocess.Popen([TARE, "run", str(path), "--out", str(campaign)], cwd=tmp_path)
    until(lambda: any(campaign.glob("attempts/*/1.1")))
    try:
        second = tare("run", path, "--out", campaign)
        assert second.returncode == 3
        assert "another tare is running this campaign" in second.stderr
        running = json.loads(tare("status", campaign, "--json").stdout)
        assert (running["is_running"], running["counts"]["running"]) == (True, 1)
    finally:
        first.terminate()
        first.wait()


def test_a_full_disk_is_a_clear_error_and_the_campaign_goes_on_when_there_is_space(
    study: Study, tmp_path: Path
) -> None:
    """A small tmpfs, mounted in a user namespace of its own, is the disk."""
    if shutil.which("unshare") is None:
        pytest.skip("unshare(1) of util-linux is not installed")
    path = study("head -c 20000 /dev/zero | tr '\\0' x; echo; echo value: 1.0", repeats=20)
    disk = tmp_path / "disk"
    disk.mkdir()
    script = f"""
set -u
mount -t tmpfs -o size=400k tmpfs {disk} || exit 77
{TARE} run {path} --out {disk}/campaign; echo "first: $?"
{TARE} status {disk}/campaign | head -1
mount -o remount,size=40m {disk}
{TARE} run {path} --out {disk}/campaign; echo "second: $?"
cat {disk}/campaign/journal.jsonl > {tmp_path}/journal.jsonl
"""
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip(f"this kernel lets no user mount a tmpfs: {done.stderr.strip()}")
    assert "first: 3" in done.stdout, done.stdout + done.stderr
    assert "no space left on this file system" in done.stderr
    assert "second: 0" in done.stdout, done.stdout + done.stderr
    runs = ended_runs(tmp_path)
    assert len(runs) == 40
    assert set(runs.values()) == {1}


@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare(1) of util-linux is not installed")
def test_a_run_that_no_inodes_were_left_for_is_not_done(study: Study, tmp_path: Path) -> None:
    """A program that could not create its output may print figures all the same."""
    path = study("for n in $(seq 900); do echo x > o$n || break; done 2> /dev/null; echo value: 1", repeats=2)
    disk = tmp_path / "disk"
    disk.mkdir()
    script = f"""
mount -t tmpfs -o size=40m,nr_inodes=400 tmpfs {disk} || exit 77
{TARE} run {path} --out {disk}/campaign; echo "first: $?"
cat {disk}/campaign/journal.jsonl > {tmp_path}/journal.jsonl
"""
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip(f"this kernel lets no user mount a tmpfs: {done.stderr.strip()}")
    assert "first: 3" in done.stdout, done.stdout + done.stderr
    assert "(df -h, df -i). Everything recorded so far is safe" in done.stderr
    assert not ended_runs(tmp_path)
