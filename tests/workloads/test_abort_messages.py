from __future__ import annotations

import io

import pytest

from tare.core.workload import Parsed
from tare.plugins.workloads.common.benchmark import Findings

NOISE = [f"step {number} of the default run, with no exceptions\n" for number in range(600)]


def parsed(lines: list[str], *, is_complete: bool = False) -> Parsed:
    findings = Findings(())
    read = findings.lines(io.StringIO("".join(lines)), finds_aborts=True)
    assert len(list(read)) == len(lines)
    return findings.parsed(is_complete=is_complete)


@pytest.mark.parametrize(
    "line",
    [
        "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD",
        "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
        "mpirun noticed that process rank 0 with PID 17 on node n1 exited on signal 9 (Killed).",
        "forrtl: severe (174): SIGSEGV, segmentation fault occurred",
        "Program received signal SIGFPE: Floating-point exception - erroneous arithmetic operation.",
    ],
)
def test_an_abort_is_a_problem_of_any_output(line: str) -> None:
    problem = f"the run was aborted: {line}"
    for position in (0, 300, 600):
        lines = [*NOISE[:position], f"\x1b[31m{line}\x1b[0m\n", *NOISE[position:]]
        assert parsed(lines, is_complete=True).problems == (problem,)


@pytest.mark.parametrize(
    "line",
    [
        "slurmstepd: error: *** STEP 12.0 ON n1 CANCELLED AT 2026-01-01 ***",
        "slurmstepd: error: *** JOB 12 ON n1 CANCELLED DUE TO TIME LIMIT ***",
        "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0",
        'job.exception type=cancel severity=0 "scancel"',
        "n1: Segmentation fault",
        "Bus error (core dumped)",
        "run.sh: line 3: 4711 Killed",
    ],
)
def test_a_kill_explains_why_an_output_is_not_complete(line: str) -> None:
    assert parsed([*NOISE, f"{line}\n", *NOISE]).problems == (f"the run was ended from outside: {line}",)
    assert parsed([*NOISE, f"{line}\n", *NOISE], is_complete=True).problems == ()


def test_the_first_kill_message_is_kept() -> None:
    lines = ["Segmentation fault\n", "Bus error\n"]
    assert parsed(lines).problems == ("the run was ended from outside: Segmentation fault",)


def test_usual_lines_are_no_abort_messages() -> None:
    assert parsed([*NOISE, "SIGNAL and fault tolerance are on; kill -9 to stop\n"]).problems == ()
