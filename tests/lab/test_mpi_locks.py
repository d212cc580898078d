"""An MPI that the lab installs is the very one that is locked, whatever the package index gives."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from stat import S_IFREG

import pytest

from tare.core.errors import InfrastructureError
from tare.lab.mpi import DISTRIBUTIONS, install, installed_version, is_installed, pinned_version


def index_of(folder: Path, version: str) -> None:
    """Make a package index of one wheel, which calls itself mpich and starts nothing."""
    folder.mkdir(exist_ok=True)
    info = f"mpich-{version}.dist-info"
    files = {
        "mpich/__init__.py": "",
        f"mpich-{version}.data/scripts/mpiexec.hydra": "#!python\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: mpich\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(folder / f"mpich-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            member = zipfile.ZipInfo(path)
            member.external_attr = (S_IFREG | 0o755) << 16
            wheel.writestr(member, text)
        wheel.writestr(f"{info}/RECORD", "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"]))


@pytest.fixture
def only_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let pip see no index but this folder; environments borrow the pip of this one, which is quick."""
    pip = pytest.importorskip("pip")
    create = venv.create

    def with_borrowed_pip(prefix: Path, **_: bool) -> None:
        create(prefix, symlinks=True, clear=True)
        [packages] = prefix.glob("lib/python3*/site-packages")
        (packages / "pip").symlink_to(Path(pip.__file__).parent)

    monkeypatch.setattr("venv.create", with_borrowed_pip)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    (tmp_path / "index").mkdir()
    return tmp_path / "index"


def test_another_file_under_the_same_version_is_refused_with_the_cure_and_the_cure_works(
    tmp_path: Path, only_index: Path
) -> None:
    index_of(only_index, pinned_version("mpich"))

    with pytest.raises(InfrastructureError, match="another file than the one") as refused:
        install(["mpich"], tmp_path)

    assert "tare lab setup --upgrade-mpi --mpi mpich" in str(refused.value)
    assert not is_installed("mpich", tmp_path)
    index_of(only_index, "99.1")
    install(["mpich"], tmp_path, is_newest=True)
    assert is_installed("mpich", tmp_path)
    assert installed_version("mpich", tmp_path) == "99.1"


def test_an_upgrade_that_fails_leaves_what_was_there(tmp_path: Path, only_index: Path) -> None:
    program = tmp_path / "mpich/bin/mpiexec.hydra"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)

    with pytest.raises(InfrastructureError, match="pip cannot install mpich into"):
        install(["mpich"], tmp_path, is_newest=True)

    assert is_installed("mpich", tmp_path)
    assert [path.name for path in tmp_path.glob("mpich*")] == ["mpich"]


def test_setup_reports_versions_and_that_one_is_not_the_one_that_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TARE_MPI", str(tmp_path))
    for name, package, version in (
        ("mpich", "mpich", "4.1"),
        ("intelmpi", "impi_rt", pinned_version("intelmpi")),
    ):
        program = tmp_path / name / "bin" / DISTRIBUTIONS[name].program
        program.parent.mkdir(parents=True)
        program.touch(mode=0o755)
        (tmp_path / name / f"lib/python3.11/site-packages/{package}-{version}.dist-info").mkdir(parents=True)

    said = tare("lab", "setup", "--mpi", "mpich,intelmpi")
    found = {one["name"]: one["found"] for one in json.loads(tare("doctor", "--json"))["requirements"]}

    mpich, intel = said.splitlines()
    assert f"(4.1; this Tare was tried with {pinned_version('mpich')}; to get that: rm -r " in mpich
    assert intel == f"intelmpi: {tmp_path}/intelmpi ({pinned_version('intelmpi')})"
    assert found["mpich"].endswith(f": 4.1, and not {pinned_version('mpich')}, which is locked")
    assert found["intelmpi"] == f"{tmp_path}/intelmpi: {pinned_version('intelmpi')}"


@pytest.mark.parametrize("name", list(DISTRIBUTIONS))
def test_each_mpi_is_locked_at_one_version_with_hashes(name: str) -> None:
    assert re.fullmatch(r"\d+(\.\d+)+", pinned_version(name))


def tare(*arguments: str) -> str:
    command = [sys.executable, "-P", "-c", "from tare.cli.main import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
