"""`tare init` where MPIs are modules of a real Lmod."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import Tare
from support.modules import lmod, write_module
from tare.config import load_site
from tare.core.attempt import State
from tare.core.software import Software
from tare.lab.mpi import is_installed, mpi_folder
from tare.storage.campaign import read_campaign

needs_mpich = pytest.mark.skipif(
    not is_installed("mpich", mpi_folder()), reason="no MPICH here; run: tare lab setup"
)


@pytest.mark.slow
@needs_mpich
def test_the_mpi_of_a_module_behind_a_compiler_is_tried_and_its_study_runs(
    tare: Tare, tmp_path: Path
) -> None:
    lmod()
    tree = tmp_path / "modules"
    prefix = mpi_folder() / "mpich"
    write_module(tree / "core", "gcc/13", f"prepend-path MODULEPATH {tree}/gcc13")
    paths = f"prepend-path PATH {prefix}/bin\nprepend-path LD_LIBRARY_PATH {prefix}/lib"
    write_module(tree / "gcc13", "mpich/4", f'puts stderr "a banner"\n{paths}')
    write_module(tree / "core", "openmpi/gone", "prepend-path PATH /no/such/bin")
    env = {"MODULEPATH": str(tree / "core"), "TARE_MPI": str(tmp_path / "none")}
    done = tare("init", "here", "--yes", env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    site = load_site(str(tmp_path / "here/site.yaml"))
    assert site.platforms["gcc-13-mpich-4"].software == Software(modules=("gcc/13", "mpich/4"))
    text = (tmp_path / "here/site.yaml").read_text()
    assert f": `module load gcc/13 mpich/4` sets {prefix}/bin/mpirun\n" in text
    flat = " ".join(text.replace("\n# ", " ").split())
    assert (
        "gcc-13-mpich-4"
        in flat.partition("These started two ranks of one program")[2].partition(" platforms:")[0]
    )
    assert "openmpi/gone gives no platform" in flat
    study = (tmp_path / "here/first.yaml").read_text()
    only = study.replace("factors: ", "# factors: ").replace("reference: ", "# reference: ")
    (tmp_path / "here/own.yaml").write_text(f"{only}platform: gcc-13-mpich-4\n")
    ran = tare("run", "here/own.yaml", "--out", "c", "--no-boost", env=env)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert {one.state for one in read_campaign(tmp_path / "c").attempts} == {State.DONE}
