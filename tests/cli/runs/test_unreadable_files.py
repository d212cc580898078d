"""A disk that does not give a file that a run has just written: no fact of that run is known for certain."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from cli.conftest import Tare
from cli.small_study import small_study
from tare.core.safe_folder import SafeFolder
from tare.report.evidence import read_evidence


@contextmanager
def failing_disk(name: str) -> Iterator[None]:
    """A double of the disk: a file of this name can be written, but not be opened to read."""
    opened = os.open

    def open_file(path: str | Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == name and not flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return opened(path, flags, mode, dir_fd=dir_fd)

    with mock.patch("os.open", open_file):
        yield


@pytest.mark.parametrize("name", ["stdout", "stderr", "command.json", "telemetry.localhost.jsonl"])
def test_a_file_that_the_disk_does_not_give_ends_the_command_with_its_name(
    tare_here: Tare, tmp_path: Path, name: str
) -> None:
    """Such a run was done without its stderr among the evidence; of telemetry, "cannot write" was said."""
    study = tmp_path / "study.yaml"
    study.write_text(small_study("echo value: 3; sleep 0.05"))
    with failing_disk(name):
        done = tare_here("run", study, "--out", tmp_path / "c")
    assert done.returncode == 3
    assert f"/1.1/{name}: cannot" in done.stderr
    assert "read: Input/output error" in done.stderr
    assert "write" not in done.stderr
    assert tare_here("run", tmp_path / "c").returncode == 0, "the disk is back"
    assert tare_here("verify", tmp_path / "c").returncode == 0


@pytest.mark.parametrize("name", ["stdout", "stderr", "command.json"])
def test_a_report_names_the_evidence_that_the_disk_does_not_give(tmp_path: Path, name: str) -> None:
    for one, text in {"stdout": "a", "stderr": "b", "command.json": '[{"argv": ["true"]}]'}.items():
        (tmp_path / one).write_text(text)
    with failing_disk(name):
        evidence = read_evidence(SafeFolder(tmp_path))
    assert evidence.streams[name] == "[ the file in the campaign folder cannot be read: Input/output error ]"
