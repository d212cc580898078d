"""`tare init` where MPIs are packages of Spack: a double of Spack, a real MPI."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import Tare
from cli.init.test_modules import needs_mpich
from support.spack import spack_double
from tare.config import load_site
from tare.core.attempt import State
from tare.lab.mpi import mpi_folder
from tare.storage.campaign import read_campaign

MPICH, MISSING, OSU = "mpich@4.2.1/abcdefg", "openmpi@5.0.3/missing", "osu-micro-benchmarks@7.4/hijklmn"


@pytest.mark.slow
@needs_mpich
def test_the_mpi_of_spack_is_tried_and_its_study_runs(tare: Tare, tmp_path: Path) -> None:
    root = spack_double(tmp_path / "spack", {MPICH: mpi_folder() / "mpich", MISSING: None, OSU: None})
    env = {"SPACK_ROOT": str(root), "TARE_MPI": str(tmp_path / "none")}
    done = tare("init", "here", "--yes", env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "here/site.yaml").read_text()
    site = load_site(str(tmp_path / "here/site.yaml"))
    assert site.platforms["spack-mpich-4.2.1-abcdefg"].software.spack == (MPICH,)
    assert f"`spack find --json` of {root} has {MPICH} %gcc@12.2.0" in text
    flat = " ".join(text.replace("\n  #", " ").replace("\n#", " ").split())
    tried = flat.partition("These started two ranks of one program")[2].partition(" platforms:")[0]
    assert "spack-mpich-4.2.1-abcdefg" in tried
    assert "spack-openmpi-5.0.3-missing does not work: " in flat
    assert "matches no installed packages" in flat
    assert f"that Tare can measure: {OSU} %gcc@12.2.0" in flat
    study = (tmp_path / "here/first.yaml").read_text()
    only = study.replace("factors: ", "# factors: ").replace("reference: ", "# reference: ")
    (tmp_path / "here/own.yaml").write_text(f"{only}platform: spack-mpich-4.2.1-abcdefg\n")
    ran = tare("run", "here/own.yaml", "--out", "c", "--no-boost", env={"TARE_MPI": str(tmp_path / "none")})
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert {one.state for one in read_campaign(tmp_path / "c").attempts} == {State.DONE}
