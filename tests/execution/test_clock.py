"""Clocks that did not only pass during a run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from execution.test_execution import Execute, execute
from tare.core.attempt import Attempt, State
from tare.core.clock import Clocks, read_clocks, set_by_s, suspended_s
from tare.execution import attempt_runner
from tare.execution.outcome import judge_clocks

__all__ = ["execute"]

RUN = Attempt(case="c", block=1, attempt=1, state=State.RUNNING, started_at=1e9, elapsed_s=10.0)
START = Clocks(wall=1e9, boot=500.0, awake=400.0)


def passed(wall: float, boot: float, awake: float) -> Clocks:
    return Clocks(START.wall + wall, START.boot + boot, START.awake + awake)


def test_clocks_that_only_advance_show_no_jump() -> None:
    before = read_clocks()
    time.sleep(0.05)
    after = read_clocks()
    assert after.boot - before.boot >= 0.05
    assert (suspended_s(before, after), set_by_s(before, after)) == (0.0, 0.0)


def test_a_suspension_and_a_clock_that_is_set_are_distinguished() -> None:
    after = passed(wall=3610.0, boot=3610.0, awake=10.0)
    assert (suspended_s(START, after), set_by_s(START, after)) == (3600.0, 0.0)
    after = passed(wall=-90.0, boot=10.0, awake=10.0)
    assert (suspended_s(START, after), set_by_s(START, after)) == (0.0, -100.0)
    slewed = passed(wall=10.0, boot=10.001, awake=10.0)
    assert (suspended_s(START, slewed), set_by_s(START, slewed)) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"elapsed_s": -3.0},
            "it ended 3 s before it began by its node's clock, which was set back meanwhile",
        ),
        ({"suspended_s": 28800.0}, "this machine was suspended for 8 h during the run"),
        ({"clock_set_s": 3600.0}, "was set forward by 3.6e+03 s during the run, which took 10 s"),
        ({"clock_set_s": -0.5}, "was set back by 0.5 s during the run, which took 10 s"),
    ],
)
def test_a_run_whose_clocks_jumped_failed_for_its_infrastructure(
    changes: dict[str, float], said: str
) -> None:
    found = judge_clocks(msgspec.structs.replace(RUN, **changes))
    assert found is not None
    assert (found.state, found.check, found.is_infrastructure) == (State.FAILED, "clock", True)
    assert said in found.reason


def test_a_clock_that_was_set_by_what_changes_no_figure_is_no_reason() -> None:
    assert judge_clocks(RUN) is None
    assert judge_clocks(msgspec.structs.replace(RUN, elapsed_s=0.0)) is None
    assert judge_clocks(msgspec.structs.replace(RUN, elapsed_s=86400.0, clock_set_s=1.0)) is None


@pytest.mark.parametrize("script", ["echo value: 1", "exit 3"])
@pytest.mark.parametrize(("jump", "said"), [((0, 600, 0), "suspended"), ((60, 0, 0), "wall clock")])
def test_no_figure_is_taken_from_a_run_in_which_a_clock_jumped(
    execute: Execute,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    script: str,
    jump: tuple[float, float, float],
    said: str,
) -> None:
    wall, boot, awake = jump
    jumped: Iterator[Clocks] = iter((START, passed(wall + boot + 1, boot + 1, awake + 1)))
    monkeypatch.setattr(attempt_runner, "read_clocks", lambda: next(jumped))
    found = execute("sh", "-c", script)
    assert (found.state, found.is_infrastructure, found.series) == (State.FAILED, True, [])
    assert said in found.reason
    assert not found.is_settled, "it is tried again"
    assert (found.suspended_s, found.clock_set_s) == (boot, wall)


def test_moments_of_runs_do_not_jump_where_the_wall_clock_is_set(
    execute: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An executor is made where a session begins; what is set afterwards moves no run of it."""
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    executor = msgspec.structs.fields(attempt_runner.AttemptRunner)
    clock = next(one for one in executor if one.name == "clock").default_factory()
    monkeypatch.setattr(time, "time", lambda: now - 86400)
    assert abs(clock() - now) < 60
