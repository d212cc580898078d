"""A run that does not end in MPI_Finalize has no profile, and never half of one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from communication.conftest import Run
from tare.core.profile import read


@pytest.mark.parametrize("what", ["killed", "no-finalize", "no-init"])
def test_no_finalize_no_profile(truth: Run, what: str) -> None:
    ended = truth(what)
    assert read(ended.folder) == "no profile, because the run left no profile.json"
    assert not list(ended.folder.glob("profile*"))


def test_a_path_may_have_any_name(truth: Run) -> None:
    name = 'it\'s $(touch x) "q" \\n.json'
    ended = truth("allreduces", 10, out=name)
    assert (ended.folder / name).read_bytes().startswith(b'{"version": 1')
    assert not (ended.folder / "x").exists()


def test_a_folder_that_is_not_there_leaves_the_program_alone(truth: Run) -> None:
    ended = truth("allreduces", 10, out="not/there.json")
    assert ended.code == 0
    assert "cannot write the profile" in ended.stderr


def test_programs_without_mpi_are_left_alone(start: Run) -> None:
    ended = start(1, "/bin/sh", "-c", "echo one >file; cat file; exit 3")
    assert ended.stdout.strip() == "one"
    assert ended.code == 3


def test_it_is_not_linked_to_an_mpi(library: Path) -> None:
    shown = subprocess.run(["ldd", str(library)], capture_output=True, text=True, check=True).stdout
    assert "libmpi" not in shown
