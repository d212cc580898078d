"""What is needed is tried, and what is missing comes with its cure; no lab is built here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tare.core.errors import InfrastructureError, LabError, UsageError
from tare.lab.mpi import DISTRIBUTIONS, install, is_installed, mpi_folder, require_installed
from tare.lab.requirements import Requirement, check


def by_name() -> dict[str, Requirement]:
    return {one.name: one for one in check()}


def test_a_machine_without_nsenter_gets_the_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    nsenter = by_name()["nsenter"]

    assert nsenter.is_needed
    assert not nsenter.is_met
    assert "util-linux" in nsenter.cure


def test_an_nsenter_that_is_not_of_util_linux_does_not_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nsenter"
    program.write_text("#!/bin/sh\necho 'BusyBox: unrecognized option: version' >&2; exit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    assert not by_name()["nsenter"].is_met


def test_everything_that_is_missing_has_a_cure_and_a_reason() -> None:
    for one in check():
        assert one.why
        assert one.is_met or one.cure


def test_mpis_go_where_the_environment_names(tmp_path: Path) -> None:
    assert mpi_folder({"TARE_MPI": str(tmp_path)}) == tmp_path
    assert mpi_folder({}).parts[-3:] == ("share", "tare", "mpi")


def test_an_mpi_that_is_there_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # an attempt to install it would fail
    for name, distribution in DISTRIBUTIONS.items():
        program = tmp_path / name / "bin" / distribution.program
        program.parent.mkdir(parents=True)
        program.touch(mode=0o755)

    assert install(list(DISTRIBUTIONS), tmp_path) == [tmp_path / name for name in DISTRIBUTIONS]


def test_an_mpi_of_the_lab_that_is_not_installed_is_reported_with_the_cure(
    tmp_path: Path,
) -> None:
    program = tmp_path / "mpich/bin" / DISTRIBUTIONS["mpich"].program
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)

    require_installed({"/usr", str(tmp_path / "mpich")}, tmp_path)
    with pytest.raises(LabError, match=r"tare lab setup --mpi openmpi$"):
        require_installed({"/usr", str(tmp_path / "mpich"), str(tmp_path / "openmpi")}, tmp_path)


def test_an_unknown_mpi_is_refused_before_anything_is_installed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="mvapich"):
        install(["intelmpi", "mvapich"], tmp_path)

    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_pips_own_words_reach_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")

    with pytest.raises(InfrastructureError, match="pip cannot install"):
        install(["mpich"], tmp_path)

    assert not is_installed("mpich", tmp_path)
