"""Jobs over ssh: their output, exit codes and time-outs are those of the program, on the host."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from backends.openssh.conftest import Run
from tare.core.errors import BackendError
from tare.core.job import Job
from tare.core.launch import Invocation
from tare.plugins.backends.ownership import process_labels
from tare.plugins.backends.ownership.sessions import new_session
from tare.plugins.backends.process.backend import ProcessBackend


def test_only_the_jobs_own_output_is_kept(run: Run, tmp_path: Path) -> None:
    ended = run("sh", "-c", 'echo "$GREETING"; echo err >&2; exit 7')
    assert (ended.code, ended.signal, ended.fault) == (7, None, None)
    assert (tmp_path / "work/stdout").read_text() == "a 'b'\n$c\n"
    assert (tmp_path / "work/stderr").read_text() == "err\n"


def test_a_jobs_exit_code_of_255_is_its_own(run: Run) -> None:
    ended = run("sh", "-c", "exit 255")
    assert (ended.code, ended.fault) == (255, None)


def test_a_signal_on_the_host_is_reported(run: Run) -> None:
    ended = run("sh", "-c", "kill -SEGV $$")
    assert (ended.code, ended.signal, ended.fault) == (None, signal.SIGSEGV, None)


@pytest.mark.parametrize(
    ("host", "said", "cure"),
    [("away", "refused", "does sshd run there"), ("stranger", "Permission denied", "ssh-copy-id stranger")],
)
def test_a_host_that_lets_nobody_in_is_a_fault_with_ssh_s_words_and_the_cure(
    run: Run, backend: ProcessBackend, host: str, said: str, cure: str
) -> None:
    fault = run("true", host=host).fault or ""
    assert f"host {host} could not be reached" in fault
    assert said in fault
    assert cure in fault
    with pytest.raises(BackendError, match=cure):
        backend.read([host], ["/proc/loadavg"])


def test_a_connection_that_is_lost_is_a_fault_and_not_a_result(run: Run, prefix: str) -> None:
    ended = run("sh", "-c", "sleep 0.5; kill -9 $(ps -o ppid= -p $PPID); sleep 60", timeout_s=30)
    assert "was lost while the job ran" in (ended.fault or "")
    assert process_labels.labelled_pids(prefix) == []


def test_a_folder_that_a_host_lacks_is_a_fault_with_the_cure(tmp_path: Path) -> None:
    """The agent stands for a host that shares nothing: it takes the folder away before the job begins."""
    work = tmp_path / "work"
    work.mkdir()
    agent = tmp_path / "agent"
    agent.write_text('#!/bin/sh\nshift\nexec sh -c "$(printf %s "$*" | sed s:/work:/elsewhere:)"\n')
    agent.chmod(0o700)
    label = str(new_session("lacks"))
    with ProcessBackend(label=label, agent=(str(agent),)) as backend:
        command = Invocation(argv=("true",))
        ended = backend.run(Job(label=label, invocation=command, host="n1", folder=work, timeout_s=20))
    assert "host n1 has no folder" in (ended.fault or "")
    assert "staging:" in (ended.fault or "")


def test_a_time_out_ends_what_runs_on_the_host(run: Run, prefix: str, tmp_path: Path) -> None:
    ended = run("sh", "-c", "trap 'echo asked; exit' TERM; setsid sleep 60 & wait", timeout_s=3)
    assert ended.is_timeout
    assert (tmp_path / "work/stdout").read_text() == "asked\n"
    assert process_labels.labelled_pids(prefix) == []


def test_a_folder_is_staged_and_what_was_made_comes_back(run: Run, tmp_path: Path) -> None:
    names = ["in put", "new\nline", "-n", "quote'\"", "$(touch harm)"]
    for name in names:
        (tmp_path / "work" / name).write_text(name)
    place = tmp_path / "nodes' own" / "folder"
    ended = run("sh", "-c", "pwd; ls | wc -l; echo made >'of it'; mkdir sub; : >sub/x", place=place)
    assert (ended.code, ended.fault) == (0, None)
    said = (tmp_path / "work/stdout").read_text().split("\n")
    assert said[0] == str(place)
    assert (tmp_path / "work/of it").read_text() == "made\n"
    assert (tmp_path / "work/sub/x").exists()
    assert {name: (tmp_path / "work" / name).read_text() for name in names} == {name: name for name in names}
    assert not place.exists()
    assert not (tmp_path / "work/harm").exists()


def test_a_place_that_cannot_be_made_is_a_fault(run: Run) -> None:
    assert "cannot be copied to or from host one" in (run("true", place=Path("/proc/nowhere")).fault or "")
