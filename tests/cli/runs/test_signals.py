"""Signals that end a run, and those that whoever started it had ignored."""

from __future__ import annotations

import os
import pty
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import TARE
from support.waiting import until
from tare.core.attempt import State
from tare.storage.campaign import read_campaign

Study = Callable[..., Path]
SLOW = "sleep 0.4; echo value: 1"


def run_in_terminal(line: str, cwd: Path) -> tuple[int, int]:
    """Start a shell that runs `line` on a terminal of its own; return its pid, and the other end."""
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(cwd)
        os.execv("/bin/bash", ["bash", "--norc", "-ic", line])
    return pid, terminal


def states(campaign: Path) -> list[State]:
    return [one.state for one in read_campaign(campaign).attempts]


def ends(line: str, cwd: Path, campaign: Path) -> None:
    """Close the terminal of `line` once a run has begun, and wait for the end of tare."""
    pid, terminal = run_in_terminal(line, cwd)
    until(lambda: any(campaign.glob("attempts/*/1.1/stdout")))
    os.close(terminal)
    os.waitpid(pid, 0)
    until((cwd / "ended").exists)


@pytest.mark.parametrize(
    "start",
    [
        "nohup sh -c {line}",
        "(trap '' HUP; eval {line})",  # whose output goes on to the terminal that is gone
    ],
)
def test_a_run_that_ignores_the_hangup_goes_on_without_its_terminal(
    study: Study, tmp_path: Path, start: str
) -> None:
    campaign = tmp_path / "campaign"
    command = shlex.join([TARE, "run", str(study(SLOW, repeats=2)), "--out", str(campaign)])
    line = shlex.quote(f"{command}; echo $? > ended")
    ends(f"{start.format(line=line)} & sleep 60", tmp_path, campaign)
    assert states(campaign) == [State.DONE] * 4
    assert (tmp_path / "ended").read_text() == "0\n"


def test_a_run_whose_terminal_closes_ends_what_it_ran(study: Study, tmp_path: Path) -> None:
    campaign = tmp_path / "campaign"
    command = shlex.join([TARE, "run", str(study("sleep 60")), "--out", str(campaign)])
    pid, terminal = run_in_terminal(f"exec {command}", tmp_path)
    until(lambda: any(campaign.glob("attempts/*/1.1/stdout")))
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    assert [one.reason for one in read_campaign(campaign).attempts] == ["interrupted"]


def test_quit_ends_the_run_and_prints_how_to_resume(study: Study, tmp_path: Path) -> None:
    campaign = tmp_path / "campaign"
    runner = subprocess.Popen(
        [TARE, "run", str(study("sleep 60")), "--out", str(campaign)],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_heed_quit,
    )
    until(lambda: any(campaign.glob("attempts/*/1.1/stdout")))
    runner.send_signal(signal.SIGQUIT)
    _, said = runner.communicate(timeout=30)
    assert runner.returncode == 130
    assert f"tare run {campaign}" in said
    assert [one.reason for one in read_campaign(campaign).attempts] == ["interrupted"]


def _heed_quit() -> None:
    """Heed SIGQUIT, also where whoever started the tests has it ignored, as a shell's ``&`` does."""
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


INTERRUPTED_IMPORT = """\
import os, signal, sys

class Interrupter:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)

from tare.cli.main import main
sys.meta_path.insert(0, Interrupter())
sys.argv = ["tare", "run", "study.yaml"]
main()
"""


def test_an_interrupt_while_it_starts_is_reported_in_a_line(tmp_path: Path) -> None:
    """Ctrl-C comes while modules are imported, which takes longest on a slow file system."""
    words = [sys.executable, "-c", INTERRUPTED_IMPORT]
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "tare: interrupted\n")
