"""Why a run failed, on programs that fail now: applications, and small programs in C, Fortran and Python.

`failures/` has what such programs printed elsewhere. Here each is started, on two ranks, with the MPIs that
this machine has, so that a new release of one of them is noticed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tare.execution.failure_reasons import reason_of
from tare.lab.mpi import mpi_folder

PROGRAM = r"""
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fail(const char *how) {
  int data[4] = {0};
  if (!strcmp(how, "exit")) exit(3);
  if (!strcmp(how, "early")) exit(0);
  if (!strcmp(how, "abort")) {
    printf("12 cells have a negative volume\n");
    fflush(stdout);
    sleep(1); /* a launcher may drop what arrives with MPI_Abort */
    MPI_Abort(MPI_COMM_WORLD, 5);
  }
  if (!strcmp(how, "segv")) raise(SIGSEGV);
  if (!strcmp(how, "truncate")) MPI_Recv(data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (!strcmp(how, "full")) {
    FILE *file = fopen("/dev/full", "w");
    fputs("checkpoint", file);
    if (fclose(file)) { perror("writing checkpoint.dat"); exit(1); }
  }
}

int main(int argc, char **argv) {
  int rank, data[4] = {0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) { printf("reading the mesh\n"); fflush(stdout); }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) fail(argv[1]);
  else if (!strcmp(argv[1], "truncate")) MPI_Send(data, 4, MPI_INT, 1, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""
FORTRAN = """
program fail
  use mpi
  integer :: ierr, rank
  character(len=16) :: how
  call get_command_argument(1, how)
  call mpi_init(ierr)
  call mpi_comm_rank(mpi_comm_world, rank, ierr)
  call mpi_barrier(mpi_comm_world, ierr)
  if (rank == 1 .and. how == 'stop') stop 'namelist &domain lacks nx'
  if (rank == 1 .and. how == 'error stop') error stop 'CFL number above 1 in level 3'
  if (rank == 1 .and. how == 'open') open(10, file='nowhere/wrfinput_d01', status='old')
  call mpi_barrier(mpi_comm_world, ierr)
  call mpi_finalize(ierr)
end program
"""
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMP_NUM_THREADS": "1",
}


class Mpi(NamedTuple):
    """An MPI of this machine: how it starts two ranks, its compiler for C, and the failing program in C."""

    mpiexec: str
    mpicc: str
    program: Path
    options: tuple[str, ...] = ()

    def told(self, work: Path, *words: str, files: Mapping[str, str] | None = None, ranks: int = 2) -> str:
        """Start a program, which must fail, and return the reason that is found."""
        for name, text in (files or {}).items():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_text(text)
        with (work / "stdout").open("wb") as out, (work / "stderr").open("wb") as errors:
            done = subprocess.run(
                [self.mpiexec, *self.options, "-n", str(ranks), *words],
                cwd=work,
                env=os.environ | OPEN_MPI,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                check=False,
                timeout=120,
            )
        said = (work / "stderr").read_text(errors="replace") + (work / "stdout").read_text(errors="replace")
        assert done.returncode != 0 or "exiting improperly" in said, said
        return reason_of(work, ["stderr", "stdout"])


def require_told(mpi: Mpi, told: str, work: Path, *words: str, **how: Any) -> None:
    """Fail unless the reason is as told. mpirun may end before it has passed on all: ask up to 5 times."""
    reasons: list[str] = []
    while len(reasons) < 5 and not any(re.fullmatch(told, reason) for reason in reasons):
        reasons.append(mpi.told(work, *words, **how))
    assert re.fullmatch(told, reasons[-1]), reasons


def found(name: str, path: str | None, folder: Path) -> Mpi:
    mpiexec, mpicc = (shutil.which(one, path=path) for one in ("mpirun", "mpicc"))
    if mpiexec is None or mpicc is None:
        pytest.skip(f"no mpirun and mpicc of {name} here; on Debian: apt install libopenmpi-dev")
    (folder / "fail.c").write_text(PROGRAM)
    built = subprocess.run([mpicc, "-o", "fail", "fail.c"], cwd=folder, capture_output=True, check=False)
    if built.returncode:
        pytest.skip(f"{mpicc} compiles nothing here")
    return Mpi(mpiexec, mpicc, folder / "fail")


@pytest.fixture(scope="module")
def openmpi(tmp_path_factory: pytest.TempPathFactory) -> Mpi:
    mpi = found("Open MPI", None, tmp_path_factory.mktemp("openmpi"))
    if "Open MPI" not in subprocess.run([mpi.mpiexec, "--version"], capture_output=True, text=True).stdout:
        pytest.skip(f"{mpi.mpiexec} is not that of Open MPI")
    return mpi._replace(options=("--oversubscribe",))


@pytest.fixture(scope="module")
def mpich(tmp_path_factory: pytest.TempPathFactory) -> Mpi:
    return found("MPICH", str(mpi_folder() / "mpich/bin"), tmp_path_factory.mktemp("mpich"))


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("exit", r"rank 1 ended with exit code 3; the last that was printed: reading the mesh"),
        ("early", r"rank 1 on \S+ ended without MPI_Finalize, or without MPI_Init; the last .* the mesh"),
        # mpirun may end before it has printed its own message on MPI_Abort
        (
            "abort",
            r"(rank 1 called MPI_Abort with 5; )?the last that was printed: 12 cells have a negative volume",
        ),
        ("segv", r"rank 1 on \S+ ended by signal 11 \(Segmentation fault\)"),
        ("truncate", r"MPI_Recv: MPI_ERR_TRUNCATE: message truncated"),
        ("full", r"writing checkpoint\.dat: No space left on device"),
    ],
)
def test_a_rank_of_open_mpi_that_fails(openmpi: Mpi, how: str, told: str, tmp_path: Path) -> None:
    require_told(openmpi, told, tmp_path, str(openmpi.program), how)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        # as Open MPI, it may end before it has printed its own message on MPI_Abort
        (
            "abort",
            r"(rank 1 called MPI_Abort with 5; )?the last that was printed: 12 cells have a negative volume",
        ),
        ("segv", r"a rank on \S+ ended by signal 11 \(Segmentation fault\)"),
        ("truncate", r"Fatal error in \w+: Message truncated.*"),
        ("full", r"writing checkpoint\.dat: No space left on device"),
    ],
)
def test_a_rank_of_mpich_that_fails(mpich: Mpi, how: str, told: str, tmp_path: Path) -> None:
    require_told(mpich, told, tmp_path, str(mpich.program), how)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("stop", "STOP namelist &domain lacks nx"),
        ("error stop", "ERROR STOP CFL number above 1 in level 3"),
        (
            "open",
            "Fortran runtime error: Cannot open file 'nowhere/wrfinput_d01': No such file or directory",
        ),
    ],
)
def test_a_rank_of_a_fortran_program_that_fails(openmpi: Mpi, how: str, told: str, tmp_path: Path) -> None:
    compiler = shutil.which("mpif90")
    if compiler is None:
        pytest.skip("no mpif90 here; on Debian: apt install libopenmpi-dev gfortran")
    (tmp_path / "fail.f90").write_text(FORTRAN)
    words = [compiler, "-o", "fail", "fail.f90"]
    if subprocess.run(words, cwd=tmp_path, capture_output=True, check=False).returncode:
        pytest.skip("mpif90 compiles nothing here; on Debian: apt install gfortran")
    require_told(openmpi, re.escape(told), tmp_path, str(tmp_path / "fail"), how)


class Misused(NamedTuple):
    """A program of a user, files that it reads, and the reason why it fails."""

    words: tuple[str, ...]
    told: str
    files: Mapping[str, str] = {}
    ranks: int = 2


@pytest.mark.parametrize(
    "misused",
    [
        Misused(
            ("gmx_mpi", "mdrun", "-s", "nowhere.tpr"),
            r"Error in user input: .*File 'nowhere\.tpr' does not exist or is not accessible.*",
        ),
        Misused(
            ("lmp", "-in", "nowhere.in"),
            r"ERROR on proc 0: Cannot open input script nowhere\.in: No such file or directory .*",
        ),
        Misused(
            ("lmp", "-in", "in"),
            r"ERROR: Cannot open file nowhere\.data: No such file or directory .*",
            {"in": "read_data nowhere.data\n"},
        ),
        Misused(("simpleFoam", "-parallel"), r"--> FOAM FATAL.*"),
        Misused(
            (sys.executable, "s.py"),
            r"FileNotFoundError: .*'settings\.json'",
            {"s.py": "print('loading')\nopen('settings.json')\n"},
        ),
        Misused(
            (sys.executable, "s.py"),
            r"rank \d ended with exit code 1; the last that was printed: no convergence in 50 sweeps",
            {"s.py": "import sys\nprint('loading', flush=True)\nsys.exit('no convergence in 50 sweeps')\n"},
        ),
        Misused(("xhpl_nowhere",), r"xhpl_nowhere could not be started: No such file or directory"),
        Misused(
            ("fio", "--name=x", "--size=1M", "--filename=/dev/full", "--rw=write", "--ioengine=psync"),
            r"fio: io_u error on file /dev/full: No space left on device.*",
            ranks=1,
        ),
    ],
    ids=lambda one: "-".join(Path(word).name for word in one.words[:3]),
)
def test_a_program_that_is_misused_says_why(openmpi: Mpi, misused: Misused, tmp_path: Path) -> None:
    program = misused.words[0]
    if shutil.which(program) is None and "nowhere" not in program:
        pytest.skip(f"no {program} here; on Debian: make programs")
    files, ranks = misused.files, misused.ranks
    require_told(openmpi, misused.told, tmp_path, *misused.words, files=files, ranks=ranks)


def test_a_shared_library_that_is_missing_is_named(openmpi: Mpi, tmp_path: Path) -> None:
    (tmp_path / "lib.c").write_text("void solve(void) {}\n")
    (tmp_path / "main.c").write_text("void solve(void);\nint main(void) { solve(); return 0; }\n")
    for words in (
        ("-shared", "-fPIC", "-o", "libsolve.so.3", "lib.c"),
        ("-o", "main", "main.c", "./libsolve.so.3"),
    ):
        subprocess.run([openmpi.mpicc, *words], cwd=tmp_path, check=True)
    (tmp_path / "libsolve.so.3").unlink()
    told = openmpi.told(tmp_path, "./main")
    assert told.endswith(
        "main: error while loading shared libraries: ./libsolve.so.3: cannot open shared object file: "
        "No such file or directory"
    )


def test_too_many_ranks_for_the_slots_are_told(openmpi: Mpi, tmp_path: Path) -> None:
    exact = openmpi._replace(options=())
    told = exact.told(tmp_path, "-H", "localhost:2", "true", ranks=64)
    assert told.startswith("There are not enough slots available in the system to satisfy the 64 slots")


def test_hosts_that_refuse_ssh_are_told(openmpi: Mpi, tmp_path: Path) -> None:
    if shutil.which("ssh") is None:
        pytest.skip("no ssh here; on Debian: apt install openssh-client")
    agent = ("--mca", "plm_rsh_agent", "ssh -p 9 -o BatchMode=yes")
    told = openmpi.told(tmp_path, "-H", "127.0.0.9:1,127.0.0.8:1", *agent, "true")
    assert re.fullmatch(r"ssh: connect to host 127\.0\.0\.[89] port 9: Connection refused", told)
