"""Logs whose time stamps are missing, or go back: each line is read once, and reading comes to an end."""

from __future__ import annotations

from collections.abc import Callable

from backends.kubernetes.conftest import Clock, Happenings, begin, over, record, wait_for, wait_until
from backends.kubernetes.sent_results import packed, piece
from backends.kubernetes.simulated_api import SimulatedApiServer, stamped
from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler

Make = Callable[..., Task]


def unstamped(log: bytes) -> list[tuple[str, bytes]]:
    return [("", line) for line in log.splitlines(keepends=True)]


def set_back(log: bytes) -> list[tuple[str, bytes]]:
    """Return a log's lines in whose middle the clock of the node was set back by an hour."""
    lines = stamped(log)
    half = len(lines) // 2
    return [
        *lines[:half],
        *((stamp.replace("2026-01-01T00", "2025-12-31T23"), one) for stamp, one in lines[half:]),
    ]


def test_a_log_that_is_a_message_of_its_kubelet_is_no_reason_to_read_for_ever(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    """Such as where its file is gone: the message comes in the place of the log, without a stamp."""
    launcher = begin(scheduler, happen, task())
    api.stamp = unstamped
    api.logs[launcher] = b"unable to retrieve container logs for containerd://8f2c\n"
    happen.launcher(**over(0))
    (result,) = wait_for(scheduler)
    assert "its log, read 6 times, ends before its results do" in str(result.exit.fault)


def test_a_log_without_stamps_is_read_from_its_beginning(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    launcher = begin(scheduler, happen, task())
    api.stamp = unstamped
    api.logs[launcher] = packed(record())
    api.log_cuts[launcher] = [200, 400]
    happen.launcher(**over(0))
    assert wait_for(scheduler)[0].exit.code == 0


def test_a_clock_that_is_set_back_in_mid_run_loses_no_line(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    one = task()
    launcher = begin(scheduler, happen, one)
    api.stamp = set_back
    api.logs[launcher] = packed(record())
    happen.launcher(**over(0))
    (result,) = wait_for(scheduler)
    assert (result.exit.code, result.exit.fault) == (0, None)
    assert (one.folder / "stdout").read_text() == "value: 1.0\n"


def test_lines_that_a_kubelet_leaves_out_since_the_clock_was_set_back_are_read_after_all(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    one = task()
    launcher = begin(scheduler, happen, one)
    api.stamp = set_back
    api.logs[launcher] = piece("stdout", 0, b"value: 1.0\n") * 20
    api.log_cuts[launcher] = [400]
    scheduler.wait()
    clock.ahead += 6
    wait_until(scheduler, lambda: (one.folder / "stdout").exists())
    api.logs[launcher] += packed(record())
    happen.launcher(**over(0))
    (result,) = wait_for(scheduler)
    assert (result.exit.code, result.exit.fault) == (0, None)
