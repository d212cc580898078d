"""What podman leaves when it is killed while it starts a container: conmon, and what waits below it."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tare.plugins.backends.ownership import process_labels

LABEL = f"keepers:{os.getpid()}:0:"


@pytest.fixture(autouse=True)
def a_short_time_to_clean_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_labels, "_CLEAN_UP_S", 0.5)


@pytest.fixture
def keeper() -> Iterator[subprocess.Popen[bytes]]:
    """A double of conmon: it carries the mark that podman hands on, and its child carries none."""
    script = "env -u LC_TARE_JOB sleep 60 & wait"
    with subprocess.Popen(["sh", "-c", script], env=os.environ | {"LC_TARE_JOB": LABEL}) as process:
        while not children(process.pid):
            time.sleep(0.01)
        yield process
        process.kill()


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_conmon_that_stays_is_ended_with_the_container_that_waits_below_it(
    keeper: subprocess.Popen[bytes],
) -> None:
    (child,) = children(keeper.pid)
    assert process_labels.end_labelled(LABEL) == 1
    assert keeper.wait(5) == -9
    deadline = time.monotonic() + 10
    while is_alive(child):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_conmon_that_cleans_up_is_not_ended(keeper: subprocess.Popen[bytes]) -> None:
    (child,) = children(keeper.pid)
    os.kill(child, 15)
    assert process_labels.end_labelled(LABEL) == 0
    assert keeper.wait(5) == 0


def test_a_conmon_is_found_by_its_label(keeper: subprocess.Popen[bytes]) -> None:
    assert (keeper.pid, LABEL) in [(one.pid, one.label) for one in process_labels.labelled_processes()]
