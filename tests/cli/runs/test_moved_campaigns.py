"""A campaign's folder, its study and the folder of temporary files change while it runs, or in between."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import TARE, Tare
from cli.killed_campaigns import ended_runs
from support.waiting import until
from tare.app.executors import campaign_hash
from tare.core.attempt import State
from tare.plugins.backends.ownership import process_labels
from tare.storage.campaign import JOURNAL, read_campaign
from tare.storage.journal import is_held

Study = Callable[..., Path]
SLOW = "sleep 0.3; echo value: 1.0"


def start(study: Path, campaign: Path) -> subprocess.Popen[str]:
    """Start a run, and wait until a second attempt is under way."""
    runner = subprocess.Popen(
        [TARE, "run", str(study), "--out", str(campaign)],
        cwd=study.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    until(lambda: len(list(campaign.glob("attempts/*/*/stdout"))) > 1)
    return runner


def end(runner: subprocess.Popen[str]) -> tuple[int, str]:
    _, said = runner.communicate(timeout=120)
    return runner.returncode, said


def all_are_done_once(campaign: Path, n_runs: int) -> bool:
    return sorted(ended_runs(campaign).values()) == [1] * n_runs


def test_a_campaign_that_is_removed_while_it_runs_ends_in_a_sentence(study: Study, tmp_path: Path) -> None:
    campaign = tmp_path / "campaign"
    runner = start(study(SLOW), campaign)
    mark = campaign_hash(campaign)
    campaign.rename(tmp_path / "gone")  # at once: a removal would race with what is written
    shutil.rmtree(tmp_path / "gone")
    code, said = end(runner)
    assert code == 3, said
    assert f"\ntare: {campaign}" in f"\n{said}"
    assert "Traceback" not in said
    until(lambda: process_labels.labelled_pids(f"{mark}:") == [])


def test_a_campaign_that_is_moved_while_it_runs_goes_on_where_it_is(
    tare_here: Tare, study: Study, tmp_path: Path
) -> None:
    campaign, moved = tmp_path / "campaign", tmp_path / "elsewhere" / "moved"
    moved.parent.mkdir()
    runner = start(study(SLOW, repeats=3), campaign)
    campaign.rename(moved)
    code, said = end(runner)
    assert code == 3, said
    done = tare_here("run", moved)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all_are_done_once(moved, 6)
    assert tare_here("verify", moved).returncode == 0


def test_a_campaign_that_is_moved_between_sessions_is_resumed_and_reported(
    tare_here: Tare, study: Study, tmp_path: Path
) -> None:
    campaign, moved = tmp_path / "campaign", tmp_path / "moved"
    runner = start(study(SLOW, repeats=3), campaign)
    runner.kill()
    end(runner)
    until(lambda: not is_held(campaign / JOURNAL))
    campaign.rename(moved)
    done = tare_here("run", moved)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all_are_done_once(moved, 6)
    assert f"tare report {moved}" in done.stdout
    for words in (("verify",), ("compare",), ("report",)):
        told = tare_here(*words, moved)
        assert told.returncode == 0, told.stdout + told.stderr
    assert (moved / "report" / "index.html").exists()
    assert not campaign.exists()


@pytest.mark.parametrize("how", ["changed", "removed"])
def test_a_study_that_is_changed_or_removed_while_it_runs_changes_nothing_of_that_run(
    tare_here: Tare, study: Study, tmp_path: Path, how: str
) -> None:
    campaign = tmp_path / "campaign"
    path = study(SLOW, repeats=3)
    runner = start(path, campaign)
    if how == "changed":
        path.write_text(path.read_text().replace("value: 1.0", "value: 2.0"))
    else:
        path.unlink()
    assert end(runner)[0] == 0
    attempts = read_campaign(campaign).attempts
    assert {value for one in attempts for series in one.series for value in series.values} == {1.0}
    assert {one.state for one in attempts} == {State.DONE}
    assert tare_here("run", campaign).returncode == 0, "the campaign has its own copy of the study"
    again = tare_here("run", path, "--out", campaign)
    assert again.returncode == 2, "the study of today is another one"
    assert ("that the study no longer has" if how == "changed" else "cannot be read") in again.stderr


@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare(1) of util-linux is not installed")
def test_a_full_folder_of_temporary_files_hinders_neither_runs_nor_reports(
    study: Study, tmp_path: Path
) -> None:
    path = study("echo value: 1.0", repeats=3)
    full = tmp_path / "full"
    full.mkdir()
    script = f"""
mount -t tmpfs -o size=16k,nr_inodes=20 tmpfs {full} || exit 77
cat /dev/zero > {full}/filler 2> /dev/null
export TMPDIR={full}
{TARE} run {path} --out {tmp_path}/campaign && {TARE} report {tmp_path}/campaign
"""
    words = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip(f"this kernel lets no user mount a tmpfs: {done.stderr.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert all_are_done_once(tmp_path / "campaign", 6)
    assert (tmp_path / "campaign" / "report" / "index.html").exists()


@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare(1) of util-linux is not installed")
def test_of_two_hosts_on_one_folder_the_second_is_refused(study: Study, tmp_path: Path) -> None:
    """Another host sees no process of the first one: here it is one with a name and pids of its own."""
    campaign = tmp_path / "campaign"
    path = study("sleep 60; echo value: 1.0")
    runner = subprocess.Popen([TARE, "run", str(path), "--out", str(campaign)], stderr=subprocess.DEVNULL)
    until(lambda: bool(list(campaign.glob("attempts/*/*/stdout"))))
    user = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    hosts = ["unshare", *user, "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
    script = f"hostname other || exit 77; {TARE} run {path} --out {campaign}; exit $?"
    try:
        second = subprocess.run(
            [*hosts, "sh", "-c", script], capture_output=True, text=True, check=False, timeout=60
        )
        if second.returncode == 77 or "unshare" in second.stderr:
            pytest.skip(f"no namespaces here: {second.stderr.strip()}")
        assert second.returncode == 3, second.stdout + second.stderr
        assert "another tare is running this campaign" in second.stderr
        assert runner.poll() is None, "the first one goes on"
        assert len(list(campaign.glob("attempts/*/*/stdout"))) == 1
    finally:
        runner.terminate()
        runner.wait()
