"""A host that does not come to its end is given up before the time of a whole answer, with what it was at."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

import pytest

from tare.core.errors import BackendError
from tare.plugins.backends.batch.commands import Reach
from tare.plugins.backends.hosts import answers, commands, output
from tare.plugins.backends.hosts.commands import HostCommands
from tare.probes.records import BEGIN_RECORD

LONG_S = 40.0


def agent(folder: Path, login: str = ":") -> HostCommands:
    """Return hosts that are reached by a shell of this machine, after the commands of a login script."""
    path = folder / "agent"
    path.write_text(f'#!/bin/sh\nshift\n{login}\nexec "$@"\n')
    path.chmod(0o755)
    return HostCommands((str(path),), os.environ)


def why(hosts: HostCommands, script: str) -> str:
    began = time.monotonic()
    with pytest.raises(BackendError) as caught:
        hosts.run({"n1": f"{BEGIN_RECORD}{script}"}, timeout_s=LONG_S, silence_s=0.5)
    assert time.monotonic() - began < LONG_S / 2
    return str(caught.value)


def test_a_script_that_hangs_is_given_up_with_the_record_that_it_began(tmp_path: Path) -> None:
    said = why(agent(tmp_path), f"record cpus; echo 4; record names; sleep {LONG_S:g}")
    assert said == "host n1 printed nothing for 0.5 s, and was given up at 'names'"


def test_a_login_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "_QUERY_S", 0.5)
    said = why(agent(tmp_path, f"echo Welcome; sleep {LONG_S:g}"), "record cpus; echo 4")
    assert said == "host n1 began no script within 0.5 s: its login or login scripts do not end"


def test_a_slow_host_that_goes_on_printing_is_waited_for(tmp_path: Path) -> None:
    script = f"{BEGIN_RECORD}for one in 1 2 3 4 5 6; do record $one; sleep 0.2; done; record end; echo"
    answer = agent(tmp_path, "echo Welcome").run({"n1": script}, timeout_s=LONG_S, silence_s=1.0)["n1"]
    assert answer.count("\x1e") == 14
    assert "Welcome" not in answer


def test_what_a_host_that_is_not_reached_says_is_told(tmp_path: Path) -> None:
    said = why(agent(tmp_path, "echo 'ssh: connect to host n1: No route to host' >&2; exit 255"), "echo")
    assert "host n1 could not be reached" in said
    assert "No route to host" in said


@pytest.mark.parametrize("silence_s", [None, LONG_S])
def test_a_host_that_prints_without_end_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silence_s: float | None
) -> None:
    """A login script that does so took all memory of this machine."""
    for module in (answers, output):
        monkeypatch.setattr(module, "MOST_BYTES", 1 << 20)
    with pytest.raises(BackendError, match="host n1 prints more than 1 MiB, and was given up"):
        agent(tmp_path, "yes").run({"n1": "true"}, timeout_s=LONG_S, silence_s=silence_s)


def test_a_queue_whose_command_prints_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "MOST_BYTES", 1 << 20)
    with pytest.raises(output.TooMuchOutput, match="it prints more than 1 MiB"):
        Reach().run(["yes"], logging.getLogger("test"))
