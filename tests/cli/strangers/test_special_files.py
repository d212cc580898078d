"""What is no file, or has no end, is told in a sentence wherever a file is named: nothing waits for ever."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

import pytest

from cli.conftest import TARE

STUDY = """\
study: s
site: {site}
factors: {{workload: [say]}}
workloads: {{say: {{command: [echo, '1'], foms: []}}}}
"""
SITE = "site: s\nnodes: [localhost]\nplatforms: {bare: {}}\n"
MOST_S = 120
MOST_BYTES = 8 << 30


def _limited() -> None:
    """Let what reads without end fail rather than take all memory of the machine."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


def told(*words: str | Path, cwd: Path) -> str:
    """Return what a command says of what it cannot read; it ends by itself, with a sentence."""
    ended = subprocess.run(
        [TARE, *map(str, words)],
        cwd=cwd,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=MOST_S,
        check=False,
        preexec_fn=_limited,
    )
    assert ended.returncode in {1, 2, 3}, ended.stdout + ended.stderr
    assert "defect" not in ended.stderr
    assert "MemoryError" not in ended.stderr
    return ended.stdout + ended.stderr


@pytest.fixture
def place(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "sparse.yaml").touch()
    os.truncate(tmp_path / "sparse.yaml", 1 << 30)
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "site.yaml").write_text(SITE)
    return tmp_path


NO_FILES = {
    "pipe": "a pipe, a device or the like, and no file",
    "zero": "a pipe, a device or the like, and no file",
    "/dev/zero": "a pipe, a device or the like, and no file",
    "sparse.yaml": "larger than",
    "loop": "Too many levels of symbolic links",
}


@pytest.mark.parametrize("name", [one for one in NO_FILES if one != "loop"])
def test_a_study_that_is_no_file_is_reported(place: Path, name: str) -> None:
    for command in ("plan", "run"):
        text = told(command, name, cwd=place)
        assert NO_FILES[name] in text
        assert "Traceback" not in text


@pytest.mark.parametrize("name", NO_FILES)
def test_a_site_that_is_no_file_is_reported_in_its_place(place: Path, name: str) -> None:
    (place / "study.yaml").write_text(STUDY.format(site=name))
    text = told("plan", "study.yaml", cwd=place)
    assert "study.yaml:2:7: site: " in text
    assert NO_FILES[name] in text


def test_a_study_that_names_itself_as_its_site_is_reported(place: Path) -> None:
    (place / "study.yaml").write_text(STUDY.format(site="study.yaml"))
    text = told("plan", "study.yaml", cwd=place)
    assert "study.yaml:1:" in text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    "words",
    [
        ("parse", "osu.latency", "pipe"),
        ("parse", "osu.latency", "/dev/zero"),
        ("import", "osu.latency", "pipe", "--out", "imported"),
        ("import", "osu.latency", "/dev/zero", "--out", "imported"),
        ("import", "osu.latency", "folder", "--out", "imported"),
        ("import", "osu.latency", "folder", "--factors", "pipe", "--out", "imported"),
        ("check", "folder", "--rules", "pipe", "--fail-if", "overhead() > 5 %"),
        ("check", "folder", "--rules", "sparse.yaml"),
        ("serve", ".", "--port", "0", "--token-file", "pipe"),
        ("lab", "up", "pipe"),
        ("lab", "up", "/dev/zero"),
        ("doctor", "--site", "pipe"),
        ("doctor", "--site", "/dev/zero"),
    ],
    ids=" ".join,
)
def test_every_other_file_that_is_named_is_reported(place: Path, words: tuple[str, ...]) -> None:
    (place / "folder").mkdir()
    os.mkfifo(place / "folder/osu.out")
    (place / "folder/zero.out").symlink_to("/dev/zero")
    if words[0] == "serve":
        (place / "pipe").chmod(0o600)
    assert "Traceback" not in told(*words, cwd=place)
