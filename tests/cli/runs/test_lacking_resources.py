"""Limits of the machine or of the process are told with their cure, and not as a defect of Tare."""

from __future__ import annotations

import errno
import json
import resource
import subprocess
from pathlib import Path

import pytest

from cli.conftest import TARE, Tare
from cli.small_study import small_study
from tare.cli.lacking import lacking


def test_too_few_open_files_are_told(tmp_path: Path) -> None:
    """With more, but few, the runs themselves cannot be started, and say so."""
    (tmp_path / "study.yaml").write_text(small_study("echo value: 3"))
    found = subprocess.run(
        [TARE, "run", str(tmp_path / "study.yaml"), "--out", str(tmp_path / "c")],
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12)),
    )
    assert found.returncode == 3
    assert found.stderr.endswith("tare: this process may open no more files; raise its limit (ulimit -n)\n")
    assert "defect" not in found.stderr


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), "raise the limit (ulimit -u)"),
        (RuntimeError("can't start new thread"), "raise the limit (ulimit -u)"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "there is no memory left for it"),
        (MemoryError(), "there is no memory left for it"),
        (OSError(errno.ENFILE, "Too many open files in system"), "this machine can open no more files"),
    ],
)
def test_what_else_is_lacking_is_told(
    tare_here: Tare, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception, told: str
) -> None:
    """A double of fork(2), threads and memory that give no more: root has no limit of processes."""

    def fail(*_: object, **__: object) -> None:
        raise error

    (tmp_path / "study.yaml").write_text(small_study("echo value: 3"))
    monkeypatch.setattr("subprocess.Popen.__init__", fail)
    found = tare_here("run", tmp_path / "study.yaml", "--out", tmp_path / "c")
    assert found.returncode == 3
    assert told in found.stderr


@pytest.mark.parametrize("words", [("compare", "c"), ("export", "c"), ("report", "c"), ("run", "study.yaml")])
@pytest.mark.parametrize("most_mib", [60, 120, 180, 240])
def test_too_little_memory_is_told_whichever_library_lacks_it(
    tmp_path: Path, words: tuple[str, ...], most_mib: int
) -> None:
    """Without memory OpenBLAS ends the process, polars waits forever, and imports fail in any way."""
    (tmp_path / "study.yaml").write_text(small_study("echo value: 3"))
    found = subprocess.run(
        [TARE, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most_mib * 2**20, most_mib * 2**20)),
    )
    assert found.returncode == 3
    assert found.stderr.startswith("tare: ")
    assert "memory" in found.stderr
    assert "ulimit -v" in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_a_command_without_these_libraries_needs_no_memory_for_them(tmp_path: Path) -> None:
    most = 150 * 2**20
    found = subprocess.run(
        [TARE, "workloads", "stream"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
    )
    assert found.returncode == 0


def test_what_a_library_raises_under_a_low_limit_is_probably_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = (2**28, resource.RLIM_INFINITY)
    monkeypatch.setattr("resource.getrlimit", lambda _: limits)

    def told() -> str:
        try:
            json.loads("}")  # stands for a library
        except ValueError as error:
            return lacking(error)
        return "none"

    assert told() == (
        "a library ended with JSONDecodeError, probably for lack of memory: this process may have 256 MiB "
        "(ulimit -v); raise the limit"
    )
    limits = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    assert told() == ""


def test_a_library_that_found_no_memory_to_load_is_told() -> None:
    error = ImportError("libopenblas.so: failed to map segment from shared object")
    assert lacking(error).startswith("there is no memory left for it")
