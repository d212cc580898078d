"""What a run starts ends with it, whatever it does to be forgotten; if not, the run does not count."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import Tare
from support.sleeping import sleeping
from tare.core.attempt import State
from tare.core.job import Exit, Job
from tare.plugins.backends.process import control_groups
from tare.plugins.backends.process.backend import ProcessBackend
from tare.storage.campaign import read_campaign


@pytest.mark.parametrize("start", ["env -i setsid sleep", "(env -i setsid sleep 1; true) & env -i sleep"])
def test_a_process_without_environment_ends_with_its_run(
    tare: Tare, study: Callable[..., Path], start: str
) -> None:
    seconds = f"300.{time.monotonic_ns() % 10**9}"
    study(f"{start} {seconds} & echo value: 1", repeats=1)
    try:
        done = tare("run", "study.yaml", "--out", "c")
        assert done.returncode == 0, done.stdout + done.stderr
        assert sleeping(seconds) == []
    finally:
        for pid in sleeping(seconds):
            os.kill(pid, signal.SIGKILL)


def test_what_one_level_leaves_does_not_slow_another(tare: Tare, study: Callable[..., Path]) -> None:
    seconds = f"30.{time.monotonic_ns() % 10**9}"
    loops = f'for i in 1 2 3 4 5; do env -i setsid timeout {seconds} sh -c "while :; do :; done" & done'
    study(f'if [ {{size}} = 1 ]; then {loops}; fi; echo value: $(pgrep -fc "^timeout {seconds}")', repeats=2)
    assert tare("run", "study.yaml", "--out", "c").returncode == 0
    campaign = read_campaign(tare.keywords["cwd"] / "c")  # type: ignore[attr-defined]
    levels = {case.id: case.parameters["size"] for case in campaign.plan.cases}
    found = {levels[one.case]: one.series[0].values[0] for one in campaign.attempts}
    assert found[2] == 0


def test_a_run_that_leaves_what_cannot_be_ended_does_not_count(
    tare_here: Tare, study: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_groups, "usable", lambda: None)
    seconds = f"300.{time.monotonic_ns() % 10**9}"
    leaves = f"env -i setsid sleep {seconds} & sleep 0.1"
    study(f"if [ {{size}} = 1 ]; then {leaves}; fi; echo value: 1", repeats=1)
    kill, run = os.kill, ProcessBackend.run

    def spare(pid: int, number: int) -> None:
        if pid not in sleeping(seconds):
            kill(pid, number)

    def run_without_kill(backend: ProcessBackend, job: Job) -> Exit:
        with monkeypatch.context() as patch:
            patch.setattr(os, "kill", spare)
            return run(backend, job)

    monkeypatch.setattr(ProcessBackend, "run", run_without_kill)
    try:
        done = tare_here("run", "study.yaml", "--out", "c")
        (pid,) = sleeping(seconds)
    finally:
        for one in sleeping(seconds):
            kill(one, signal.SIGKILL)
    attempts = read_campaign(tmp_path / "c").attempts
    assert attempts
    told = f"1 process could not be ended and may slow this and other runs: {pid} (sleep {seconds}"
    left = [one for one in attempts if one.reason.startswith(told)]
    assert left, done.stdout
    assert {(one.state, one.check) for one in left} == {(State.INVALID, "survivors")}
