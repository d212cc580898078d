"""Run the real command, as its users do."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from importlib import resources
from pathlib import Path
from unittest import mock

import pytest

from cli.imports.imported_logs import elbencho, imb, put
from support.contracts import require_contract
from tare.cli.main import main
from tare.lab import Lab, find
from tare.lab.mpi import is_installed, mpi_folder

TARE = os.environ.get("TARE_PROGRAM") or str(Path(sys.executable).with_name("tare"))
"""The command under test; TARE_PROGRAM names that of another version, to see what these tests say of it."""

needs_intelmpi = pytest.mark.skipif(
    not is_installed("intelmpi", mpi_folder()), reason="no Intel MPI here; run: tare lab setup"
)

Tare = Callable[..., "subprocess.CompletedProcess[str]"]


def call_tare(
    *arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [TARE, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        timeout=300,
        check=False,
    )
    if "TARE_PROGRAM" not in os.environ:  # another version may lack keys
        require_contract(done.stdout)
    return done


ELSEWHERE = ("unshare", "--uts", "sh", "-ec", 'hostname "head2"; exec "$@"', "sh")
"""Before a command, which then runs on a host of another name that shares all folders; only root may."""


def call_tare_here(
    *arguments: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    is_hostile: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run tare within this process, which takes a tenth of the time; outside it where TARE_PROGRAM is set.

    Unless hostile lines come in, none may come out: a sentence of Tare's own may not hold a line break.
    JSON must be what its schema says.
    """
    if "TARE_PROGRAM" in os.environ:
        return call_tare(*arguments, cwd=cwd, env=env)
    words = [*map(str, arguments)]
    out, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with (
        chdir(cwd or Path.cwd()),
        redirect_stdout(out),
        redirect_stderr(errors),
        mock.patch.dict(os.environ, env or {}),
    ):
        try:
            main(words)
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
    for one in (out, errors):
        one.seek(0)
    said = out.read(), errors.read()
    assert is_hostile or "␊" not in "".join(said), said
    require_contract(said[0])
    return subprocess.CompletedProcess(words, code, *said)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep records of folders and jobs apart from those of this machine's user; return where they are."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state/tare"


@pytest.fixture
def tare_here(tmp_path: Path) -> Tare:
    """Run tare in an empty folder, as `call_tare_here` does, and return how it ended."""
    return partial(call_tare_here, cwd=tmp_path)


@pytest.fixture
def tare(tmp_path: Path) -> Tare:
    """Run tare in an empty folder and return how it ended."""
    return partial(call_tare, cwd=tmp_path)


@contextmanager
def standing_lab(*options: str | Path) -> Iterator[Lab]:
    """Have a lab of our own up that outlives campaigns; skip where `tare lab up` cannot build it."""
    # Sockets of podman and docker need a short path (unix(7)).
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)
        up = call_tare("lab", "up", *options)
        if up.returncode != 0:
            pytest.skip(f"this machine builds no lab {' '.join(map(str, options))}: {up.stderr}")
        try:
            lab = find()
            assert lab is not None
            yield lab
        finally:
            call_tare("lab", "down")


@pytest.fixture(scope="module")
def shared_lab() -> Iterator[Lab]:
    """Have a lab up that the campaigns of a module share: each would build and end its own otherwise."""
    with standing_lab() as up:
        yield up


def lab_site(old: str = "", new: str = "") -> str:
    """Return the site of the lab that comes with Tare, with the first `old` in it replaced."""
    text = resources.files("tare").joinpath("sites/lab.yaml").read_text()
    assert old in text
    return text.replace(old, new, 1)


@pytest.fixture
def study(tmp_path: Path) -> Callable[..., Path]:
    """Write a study of a workload declared in it; its command is a shell script."""

    def study(
        script: str = "echo value: 1.0", *, repeats: int = 5, levels: str = "[1, 2]", rest: str = ""
    ) -> Path:
        path = tmp_path / "study.yaml"
        path.write_text(
            f"""\
study: cli
question: Does it work?
reference: {{size: 1}}
workloads:
  echo:
    command: [sh, -c, {script!r}]
    parameters: {{size: 1}}
    foms: [{{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}}]
    checks: [{{matches: 'value:'}}]
factors:
  workload: [echo]
  size: {levels}
repeats: {repeats}
{rest}
"""
        )
        return path

    return study


@pytest.fixture
def imb_tree(tmp_path: Path) -> Path:
    """Return a tree as that of ARCHER: two machines whose nodes have other numbers of cores."""
    for platform, per_node, factor in (("archer", 24, 1.0), ("cirrus", 36, 1.5), ("peta4", 24, 2.0)):
        for nodes in (2, 4):
            name = f"IMB_Alltoall_{nodes}nodes_MPI_20190531{nodes:02d}00.out"
            put(tmp_path / "r" / platform / name, imb(nodes * per_node, factor))
    return tmp_path / "r"


@pytest.fixture
def elbencho_tree(tmp_path: Path) -> Path:
    for storage, factor in (("lustre", 1), ("nfs", 2)):
        for index, block in enumerate(("4KiB", "64KiB", "1MiB")):
            put(
                tmp_path / "r" / storage / block / "2024-01-01" / "out.txt",
                elbencho((index + 1) * 100 // factor),
            )
    return tmp_path / "r"
