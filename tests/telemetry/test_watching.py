"""Samplers that are really started, and what becomes of a run when one is not there."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tare.core.safe_folder import SafeFolder
from tare.core.telemetry import Group, Span
from tare.plugins.backends.hosts.samplers import Samplers
from tare.plugins.backends.ownership import process_labels
from tare.plugins.collectors.sampler import program, raw_name, read
from tare.plugins.collectors.sampler.recording import store

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
    return process_labels.labelled_pids(LABEL)


def test_hosts_are_recorded_and_their_clocks_compared(samplers: Samplers, tmp_path: Path) -> None:
    with samplers.watch(["n1", "n2"], tmp_path, 60.0) as watch:
        watch.stage_began("solve", None)
    for host in watch.hosts().values():
        assert host.fault == ""
        assert host.offset_s is not None
        assert host.offset_error_s is not None
        assert abs(host.offset_s) <= host.offset_error_s, "all clocks are this machine's"
    recording = read(SafeFolder(tmp_path))
    assert recording is not None
    assert [one.host for one in recording.hosts] == ["n1", "n2"]
    assert all(len(one.samples) == 3 for one in recording.hosts)


def test_a_short_run_on_this_machine_makes_no_file(samplers: Samplers, tmp_path: Path) -> None:
    with samplers.watch([None, "n1"], tmp_path, 60.0) as watch:
        watch.stage_ended("run", is_last=True)
    assert [one.fault for one in watch.hosts().values()] == ["", ""]
    assert [path.name for path in tmp_path.glob("telemetry*")] == [raw_name("n1")]
    span = Span(hosts=watch.hosts(), epochs=())
    stored = store(tmp_path, span, watch.held())
    assert [one.host for one in stored.hosts] == ["localhost", "n1"]
    assert [one.samples[-1].mark for one in stored.hosts] == ["run ended", "run ended"]
    assert read(SafeFolder(tmp_path)) == stored


def test_a_group_is_read_on_its_host_alone_and_nothing_after_the_last_stage(
    samplers: Samplers, tmp_path: Path
) -> None:
    group = tmp_path / "group"
    group.mkdir()
    (group / "cpu.stat").write_text("usage_usec 1\n")
    with samplers.watch(["n1", "n2"], tmp_path, 60.0, Group("n2", group)) as watch:
        (group / "cpu.stat").write_text("usage_usec 9\n")
        watch.stage_ended("run", is_last=True)
        watch.await_samples()
        (group / "cpu.stat").write_text("usage_usec 99\n")
    assert [one.fault for one in watch.hosts().values()] == ["", ""]
    recording = read(SafeFolder(tmp_path))
    assert recording is not None
    n1, n2 = recording.hosts
    assert [one.mark for one in n1.samples] == [one.mark for one in n2.samples] == ["", "run ended"]
    assert not any("run" in one.lines for one in n1.samples)
    assert n2.samples[-1].lines["run"] == ["cpu.stat usage_usec 9"]


def test_one_sampler_a_host_serves_many_runs(samplers: Samplers, tmp_path: Path) -> None:
    pids = []
    for run in ("1", "2"):
        folder = tmp_path / run
        folder.mkdir()
        with samplers.watch(["n1"], folder, 60.0):
            pids.append(_pids())
        assert read(SafeFolder(folder)) is not None
    assert len(pids[0]) == 1
    assert pids[0] == pids[1]


def test_a_host_that_is_away_is_a_fault_and_the_others_are_watched(
    samplers: Samplers, tmp_path: Path
) -> None:
    with samplers.watch(["n1", "away"], tmp_path, 60.0) as watch:
        pass
    assert watch.hosts()["n1"].fault == ""
    assert "no route to away" in watch.hosts()["away"].fault


def test_a_sampler_that_is_killed_is_reported_and_there_again_for_the_next_run(
    samplers: Samplers, tmp_path: Path
) -> None:
    with samplers.watch(["n1"], tmp_path, 60.0) as watch:
        watch.await_samples()
        for pid in _pids():
            os.kill(pid, signal.SIGKILL)
    assert "gone" in watch.hosts()["n1"].fault
    recording = read(SafeFolder(tmp_path))
    assert recording is not None
    assert len(recording.hosts[0].samples) == 1, "what was written before is there"
    again = tmp_path / "again"
    again.mkdir()
    with samplers.watch(["n1"], again, 60.0) as watch:
        pass
    assert watch.hosts()["n1"].fault == ""


def test_a_node_without_python_is_reported_once(tmp_path: Path) -> None:
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


def test_a_sampler_that_works_again_is_forgiven_for_those_that_did_not(
    samplers: Samplers, tmp_path: Path
) -> None:
    for run in range(9):
        with samplers.watch(["n1"], tmp_path, 60.0) as watch:
            if run % 2:
                for pid in _pids():
                    os.kill(pid, signal.SIGKILL)
        assert bool(watch.hosts()["n1"].fault) == bool(run % 2)


def test_samplers_are_read_however_many_files_are_open(samplers: Samplers, tmp_path: Path) -> None:
    """As on a head with some hundred nodes, each of which takes three: select(2) ends at 1024."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
    try:
        with contextlib.ExitStack() as stack:
            for _ in range(1100):
                stack.enter_context(Path(os.devnull).open())
            with samplers.watch(["n1"], tmp_path, 60.0) as watch:
                pass
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert watch.hosts()["n1"].fault == ""


def test_nobody_waits_for_what_an_agent_left_behind_on_a_host_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tare.plugins.backends.hosts.samplers._START_S", 0.2)
    agent, left = tmp_path / "agent", tmp_path / "left"
    agent.write_text(f"#!/bin/sh\nsleep 600 &\necho $! >{left}\nwait\n")
    agent.chmod(0o755)
    try:
        with closing(Samplers(program=program(), label=LABEL, agent=[str(agent)], raw_name=raw_name)) as made:
            with made.watch(["n1"], tmp_path, 60.0) as watch:
                pass
            assert "no sampler came up" in watch.hosts()["n1"].fault
        assert Path(f"/proc/{left.read_text().strip()}").exists(), "it was not waited for"
    finally:
        os.kill(int(left.read_text()), signal.SIGKILL)


def test_a_hosts_monotonic_clock_is_compared_too(samplers: Samplers, tmp_path: Path) -> None:
    with samplers.watch(["n1"], tmp_path, 60.0) as watch:
        pass
    host = watch.hosts()["n1"]
    assert host.zero_at is not None
    assert host.offset_error_s is not None
    assert (
        abs(time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) - host.zero_at)
        <= host.offset_error_s + 1e-3
    )
