"""Why a run failed, in the program's own words, on the outputs of programs that failed for real.

The files in `failures` hold what small programs, GROMACS, LAMMPS, OpenFOAM and fio printed when they were
made to fail under Open MPI 4.1.4 (Debian), Open MPI 5, MPICH 5, Intel MPI and srun, and what GCC 12 and its
linkers said of programs that they refused; folders and hosts are renamed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tare.execution.failure_reasons import error_of, outputs_of, reason_of

HERE = Path(__file__).parent
CORPUS = HERE.parents[1].parent / "shared" / "corpus"
FRAME = re.compile(
    r"ORTE_ERROR_LOG|MPI_ABORT was|Primary job|BAD TERMINATION|prterun|noticed that|srun: error|slurmstepd"
)


RULE = 74 * "-"
LOST_PEER = f"""{RULE}
An MPI communication peer process has unexpectedly disconnected.
Investigate the peer.

  Local host: n1
  Peer host:  n2
{RULE}
"""


class Failure(NamedTuple):
    name: str
    reason: str
    stderr: str
    stdout: str


def captured() -> Iterator[Failure]:
    for path in sorted((HERE / "failures").glob("*.txt")):
        for part in re.split(r"^##### (?=[a-z0-9-]+\n##### reason)", path.read_text(), flags=re.MULTILINE)[
            1:
        ]:
            name, reason, rest = part.split("\n", 2)
            stderr, _, stdout = rest.removeprefix("##### stderr\n").partition("##### stdout\n")
            yield Failure(f"{path.stem}-{name}", reason.removeprefix("##### reason: "), stderr, stdout)


FAILURES = list(captured())


def reason(folder: Path, stderr: str = "", stdout: str = "") -> str:
    (folder / "stderr").write_text(stderr)
    (folder / "stdout").write_text(stdout)
    return reason_of(folder, ["stderr", "stdout"])


@pytest.mark.parametrize("failure", FAILURES, ids=[one.name for one in FAILURES])
def test_the_reason_is_the_programs_own_line(failure: Failure, tmp_path: Path) -> None:
    told = reason(tmp_path, failure.stderr, failure.stdout)
    assert told == failure.reason
    assert not FRAME.search(told)


@pytest.mark.parametrize(
    ("stderr", "told"),
    [
        (b"\xff\xfeE\0r\0r\0o\0r\0:\0 \0n\0o\0 \0k\0e\0y\0\r\0\n\0", "Error: no key"),
        (b"\0\xff\xfe\1\2Error: bad magic \0\1 in restart.bin\n\xff\xff", "Error: bad magic in restart.bin"),
        (b"\x1b[1;31mfatal:\x1b[0m mesh has \x1b[33m3\x1b[0m open edges\n", "fatal: mesh has 3 open edges"),
        (b"[rank1]: Traceback (most recent call last):\n[rank1]:   File \"a.py\"\n[rank1]: KeyError: 'dt'\n",
         "KeyError: 'dt'"),
        (b"[1,3]<stderr>:ERROR: lost particles\n", "ERROR: lost particles"),
        (b"Exception ignored in: <function f>\nTraceback (most recent call last):\n  File\nOSError: x\n"
         b"ValueError: no such mesh\n", "ValueError: no such mesh"),
        (b"Error: the ids " + b"17," * 9000 + b" are not sorted\n",
         "Error: the ids " + 75 * "17," + " … " + 14 * "17," + "17, are not sorted"),
    ],
)  # fmt: skip
def test_what_hides_a_line_is_taken_off(stderr: bytes, told: str, tmp_path: Path) -> None:
    (tmp_path / "stderr").write_bytes(stderr)
    said = reason_of(tmp_path, ["stderr"])
    assert said == told or (told[:200] == said[:200] and told[-12:] == said[-12:])


def test_there_are_many_real_failures() -> None:
    assert len(FAILURES) >= 180


@pytest.mark.parametrize(
    ("stderr", "stdout", "told"),
    [  # formats that could not be made here, after their sources
        (
            "srun: error: n2: task 1: Exited with exit code 3\nsrun: Terminating StepId=42.0\n",
            "step 17\nERROR: negative density in cell 12\n",
            "ERROR: negative density in cell 12",
        ),
        (  # a shell may see that its program was ended before it is ended itself
            "srun: error: n2: task 1: Exited with exit code 3\n"
            "/bin/sh: line 1: 4711 Terminated              sleep 60\n"
            "srun: error: Timed out waiting for job step to complete\n"
            "srun: error: n1: task 0: Exited with exit code 143\n",
            "no convergence\n",
            "rank 1 on n2 ended with exit code 3; the last that was printed: no convergence",
        ),
        (
            "srun: error: n1: task 0: Exited with exit code 143\n"
            "srun: error: n2: task 1: Exited with exit code 3\n",
            "no convergence\n",
            "rank 1 on n2 ended with exit code 3; the last that was printed: no convergence",
        ),
        (
            "run.sh: line 4: 4711 Killed                  ./solver\n"
            "srun: error: n1: task 0: Exited with exit code 137\n",
            "step 3\n",
            "run.sh: line 4: 4711 Killed ./solver",
        ),
        (
            f"{LOST_PEER}"
            "srun: error: n2: task 1: Exited with exit code 3\n"
            "slurmstepd-n1: error: *** STEP 12.2 ON n1 CANCELLED AT 2026-11-23T22:31:48 ***\n"
            "srun: error: n1: task 0: Terminated\n",
            "reading the mesh\n",
            "rank 1 on n2 ended with exit code 3; the last that was printed: reading the mesh",
        ),
        (
            LOST_PEER,
            "reading the mesh\n",
            "An MPI communication peer process has unexpectedly disconnected. Investigate the peer.",
        ),
        (
            "[proxy:0@n1] HYD_pmcd_pmip_control_cmd_cb (pmip_cb.c:490): assert (!closed) failed\n",
            "step 7\n\n=====\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
            "=   PID 756 RUNNING AT n2\n=   EXIT CODE: 11\n=   CLEANING UP REMAINING PROCESSES\n",
            "a rank on n2 ended with code 11, by Hydra's account; the last that was printed: step 7",
        ),
        (
            "srun: error: n2: task 1: Segmentation fault (core dumped)\nsrun: Terminating StepId=42.0\n",
            "step 17\n",
            "rank 1 on n2 ended by: Segmentation fault (core dumped)",
        ),
        (
            "slurmstepd: error: execve(): osu_latency: No such file or directory\n"
            "srun: error: n1: tasks 0-1: Exited with exit code 2\n",
            "",
            "osu_latency could not be started: No such file or directory",
        ),
        (
            "/work/placement_probe.sh: 9: exec: /opt/osu_latency -m 1:64: not found\n",
            "",
            "/opt/osu_latency -m 1:64 could not be started: not found; if words after a blank are "
            "arguments, give them as args",
        ),
        (
            "timeout: failed to run command ‘osu_latency’: No such file or directory\n",
            "",
            "osu_latency could not be started: No such file or directory",
        ),
        (
            "Error: crun: executable file `osu_latency` not found in $PATH: No such file or directory: OCI "
            "runtime attempted to invoke a command that was not found\n",
            "",
            "osu_latency could not be started: not found",
        ),
        (
            'docker: Error response from daemon: OCI runtime create failed: exec: "osu_latency": executable '
            "file not found in $PATH: unknown\n",
            "",
            "osu_latency could not be started: not found",
        ),
        (
            "slurmstepd: error: Detected 1 oom_kill event in StepId=42.0. Some of the tasks have been OOM "
            "Killed.\nsrun: error: n1: task 0: Out Of Memory\n",
            "reading\n",
            "rank 0 on n1 ended by: Out Of Memory",
        ),
        (
            "At line 41 of file reader.f90 (unit = 10)\n"
            "Fortran runtime error: Cannot open file 'par_file': No such file or directory\n\n"
            "Error termination. Backtrace:\n#0  0x7f1c2a423960 in ???\n",
            "",
            "Fortran runtime error: Cannot open file 'par_file': No such file or directory",
        ),
        (
            "forrtl: severe (29): file not found, unit 10, file /data/wrfinput_d01\n"
            "Image              PC                Routine            Line        Source\n",
            "",
            "forrtl: severe (29): file not found, unit 10, file /data/wrfinput_d01",
        ),
        ("", "test 3 of 9\nerrors: 0\nERROR: 0 errors\nTHE END\n", "the last that was printed: THE END"),
        ("Warning: cannot open ~/.config, using defaults\nstarting up\n", "", "starting up"),
        ("", "", ""),
    ],
)
def test_what_other_launchers_and_compilers_print(
    stderr: str, stdout: str, told: str, tmp_path: Path
) -> None:
    assert reason(tmp_path, stderr, stdout) == told


def test_the_first_error_is_reported_however_long_the_output(tmp_path: Path) -> None:
    said = "ERROR: mesh is inverted\n" + "iteration 1 of 10\n" * 100_000 + "ERROR: cannot go on\n"
    assert reason(tmp_path, stdout=said) == "ERROR: mesh is inverted"


def test_what_another_rank_wrote_into_its_own_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "rsl.error.0000").write_text("wrf: all is well\n")
    (tmp_path / "rsl.error.0003").write_text("forrtl: severe (174): SIGSEGV, segmentation fault occurred\n")
    names = list(outputs_of(tmp_path, "stdout", "stderr", "rsl.error.0000"))
    assert reason_of(tmp_path, names) == "forrtl: severe (174): SIGSEGV, segmentation fault occurred"


def test_a_run_that_hangs_after_an_error_is_reported_with_it(tmp_path: Path) -> None:
    (tmp_path / "stdout").write_text("step 1\nERROR: rank 3 has lost its neighbour\n")
    assert error_of(tmp_path, ["stderr", "stdout"]) == "ERROR: rank 3 has lost its neighbour"
    (tmp_path / "stdout").write_text("step 1\nstep 2\n")
    assert error_of(tmp_path, ["stderr", "stdout"]) == ""


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of published outputs is not here")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("gromacs/02-v2025.3-failed-gmx_output.log", "Feature not implemented: PME tasks were required"),
        ("gromacs/03-v2025.3-fatal-error-md.log", "Fatal error: There is no domain decomposition for 11"),
        ("gromacs/04-v2025.3-inconsistency-user-input.log", "Inconsistency in user input: There were 5 GPU"),
        ("lammps/05-ERROR-dump-movie-log.lammps", "ERROR on proc 0: Support for writing movies not included"),
        ("openfoam/08-log.simpleFoam-v2512-FATAL-at-start", "--> FOAM FATAL ERROR: (openfoam-2512) cannot"),
        ("osu/01-latency-ompi5-eks-busError-crash-at-start.out", "a rank on flux-sample-16 ended by"),
        ("iperf2/01-p3-sum-with-perfstat-and-error.txt", "error: Name or service not known"),
        ("elbencho/05-coribb-slurm-errors.out", "ERROR: File delete failed. Path: /var/opt/cray/dws/mounts/"),
    ],
)  # fmt: skip
def test_published_outputs_of_failed_runs(name: str, told: str) -> None:
    assert reason_of(CORPUS, [name]).startswith(told)


@pytest.mark.parametrize(
    "line",
    [
        "Max Error   0.123", "Max error 3", "L2 error =   1.0E-09", "relative error: 1e-3",
        "error tolerance 1e-6",
        "step 20 residual error 1e-20", "iter 1 Error norm: 1.2e-1", "Errors found: 0", "errors: none",
        "time step continuity errors : sum local = 2.1e-07, global = -3e-09, cumulative = -5e-08",
        "rms error (x) = 0.5 %", "Conservation error: -1.0e-15 kg", "Max error  =  0.000D+00",
        "Found 0 errors in 1048576 locations (passed).", "<string>:1: UserWarning: Error bars ignored",
    ],
)  # fmt: skip
def test_errors_that_were_computed_are_not_why_a_program_failed(line: str, tmp_path: Path) -> None:
    """What HPCC, OpenFOAM and solvers print when all is well, before something else goes wrong."""
    many = f"{line}\n" * 40
    assert reason(tmp_path, "mesh.dat: No such file or directory\n", many) == (
        "mesh.dat: No such file or directory"
    )
    assert reason(tmp_path, "", f"{many}Fatal error in solver\n") == "Fatal error in solver"
    (tmp_path / "stderr").write_text(many)
    assert error_of(tmp_path, ["stderr"]) == ""


@pytest.mark.parametrize(
    "line",
    [
        "ERROR: negative density, rho = -1.2e-3", "Error reading block 17", "Error at t = 0.1",
        "ERROR 17", "ERROR: 17",
        "Error in cell 12", "Error code: 5", "app: error: too many particles, n = 17",
        "Error on proc 1: bad dt = 0.3",
        "solver error: did not converge, residual = 1e5", "error: temperature exceeds 1.0e6", "I/O error 5",
        "System error number 12", "ERROR: Lost atoms: original 4000 current 3990 (../thermo.cpp:438)",
    ],
)  # fmt: skip
def test_errors_with_numbers_are_errors(line: str, tmp_path: Path) -> None:
    assert reason(tmp_path, "", f"step 1\n{line}\nstep 2\n") == line


def test_a_reason_is_one_printable_line(tmp_path: Path) -> None:
    """As terminals get it: colours, a title, a bell; and tar's own ending, which is not why."""
    shown = "\033[1;31mERROR: red \a\x01 text\033[0m\033]0;title\a and more\n"
    assert reason(tmp_path, shown) == "ERROR: red text and more"
    told = (
        "tar: /no.tar: Cannot open: No such file or directory\ntar: Error is not recoverable: exiting now\n"
    )
    assert reason(tmp_path, told) == "tar: /no.tar: Cannot open: No such file or directory"


def test_what_was_printed_last_is_not_reported_as_the_reason_where_it_is_a_figure(tmp_path: Path) -> None:
    assert reason(tmp_path, "", "start\nfinal error 2e-9\n") == "the last that was printed: final error 2e-9"
    assert reason(tmp_path, "input deck has no grid\n", "start\n") == "input deck has no grid"


@pytest.mark.parametrize("failure", FAILURES, ids=[one.name for one in FAILURES])
def test_numbers_without_end_break_no_reason(failure: Failure, tmp_path: Path) -> None:
    for number in sorted(set(re.findall(r"\b[0-9]+\b", failure.stderr)))[:12]:
        reason(tmp_path, failure.stderr.replace(number, "9" * 5000), failure.stdout)
