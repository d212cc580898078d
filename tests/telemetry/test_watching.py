"""Samplers that are really started, and what becomes of a run when one is not there."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tare.backends import marks
from tare.backends.watching import Samplers
from tare.collectors.sampler import program, raw_name, read

LABEL = "telemetry-test:1:1:sampler;"


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    """Stands for ssh: starts the command here, but on the host ``away``; greets as a login script may."""
    path = tmp_path / "agent"
    path.write_text(
        '#!/bin/sh\n[ "$1" = away ] && { echo "no route to away" >&2; exit 255; }\n'
        'shift; echo "Welcome!"; exec sh -c "$*"\n'
    )
    path.chmod(0o755)
    return path


@pytest.fixture
def samplers(agent: Path) -> Iterator[Samplers]:
    with closing(Samplers(program=program(), label=LABEL, agent=[str(agent)], raw_name=raw_name)) as made:
        yield made


def _pids() -> list[int]:
    return marks.marked(LABEL)


def test_hosts_are_recorded_and_their_clocks_compared(samplers: Samplers, tmp_path: Path) -> None:
    with samplers.watch(["n1", "n2"], tmp_path, 60.0) as watch:
        watch.mark("solve")
    for host in watch.hosts().values():
        assert host.fault == ""
        assert host.offset_s is not None
        assert host.offset_error_s is not None
        assert abs(host.offset_s) <= host.offset_error_s, "all clocks are this machine's"
    recording = read(tmp_path)
    assert recording is not None
    assert [one.host for one in recording.hosts] == ["n1", "n2"]
    assert all(len(one.samples) == 3 for one in recording.hosts)


def test_one_sampler_a_host_serves_many_runs(samplers: Samplers, tmp_path: Path) -> None:
    pids = []
    for run in ("1", "2"):
        folder = tmp_path / run
        folder.mkdir()
        with samplers.watch(["n1"], folder, 60.0):
            pids.append(_pids())
        assert read(folder) is not None
    assert len(pids[0]) == 1
    assert pids[0] == pids[1]


def test_a_host_that_is_away_is_a_fault_and_the_others_are_watched(
    samplers: Samplers, tmp_path: Path
) -> None:
    with samplers.watch(["n1", "away"], tmp_path, 60.0) as watch:
        pass
    assert watch.hosts()["n1"].fault == ""
    assert "no route to away" in watch.hosts()["away"].fault


def test_a_sampler_that_is_killed_is_told_and_there_again_for_the_next_run(
    samplers: Samplers, tmp_path: Path
) -> None:
    with samplers.watch(["n1"], tmp_path, 60.0) as watch:
        for pid in _pids():
            os.kill(pid, signal.SIGKILL)
    assert "gone" in watch.hosts()["n1"].fault
    recording = read(tmp_path)
    assert recording is not None
    assert len(recording.hosts[0].samples) == 1, "what was written before is there"
    again = tmp_path / "again"
    again.mkdir()
    with samplers.watch(["n1"], again, 60.0) as watch:
        pass
    assert watch.hosts()["n1"].fault == ""


def test_a_node_without_python_is_told_once(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.write_text('#!/bin/sh\nshift; PATH=/nowhere; exec /bin/sh -c "$*"\n')
    agent.chmod(0o755)
    with closing(Samplers(program=program(), label=LABEL, agent=[str(agent)], raw_name=raw_name)) as made:
        with made.watch(["n1"], tmp_path, 60.0) as watch:
            pass
        assert "not found" in watch.hosts()["n1"].fault


def test_no_sampler_outlives_its_backend(agent: Path, tmp_path: Path) -> None:
    made = Samplers(program=program(), label=LABEL, agent=[str(agent)], raw_name=raw_name)
    with closing(made), made.watch(["n1"], tmp_path, 60.0):
        assert len(_pids()) == 1
    assert _pids() == []
