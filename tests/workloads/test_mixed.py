"""Logs of several runs whose lines are mixed, doubled or shuffled are refused, with the reason.

So they come from a program that ran once for each rank, alone, into one file; from two jobs that wrote into
the same file; and from tools that sort lines.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.outputs import parse
from tare.plugins import registry

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"


def interleaved(one: str, other: str, most: int = 1) -> str:
    """Return the lines of both in turn, up to `most` of each at a time."""
    draw = random.Random(most)
    first, second = one.splitlines(keepends=True), other.splitlines(keepends=True)
    lines: list[str] = []
    while first or second:
        for rest in (first, second):
            count = draw.randint(1, most)
            lines += rest[:count]
            del rest[:count]
    return "".join(lines)


def openfoam(slower: float = 1.0, ranks: int = 1) -> str:
    steps = "".join(
        f"Time = {step}\n\nExecutionTime = {slower * step:.2f} s  ClockTime = {slower * step:.0f} s\n\n"
        for step in range(1, 6)
    )
    return f"Exec   : icoFoam\nnProcs : {ranks}\n{steps}End\n"


def lammps(slower: float = 1.0) -> str:
    seconds = 2.0 * slower
    return (
        "LAMMPS (2 Aug 2023)\n"
        f"Loop time of {seconds:.6g} on 2 procs for 100 steps with 32000 atoms\n\n"
        f"Performance: 21600.000 tau/day, {100 / seconds:.3f} timesteps/s\n"
        "99.2% CPU use with 2 MPI tasks x 1 OpenMP threads\nTotal wall time: 0:00:03\n"
    )


def namd(slower: float = 1.0) -> str:
    return (
        "Info: NAMD 2.14 for Linux-x86_64-MPI\nInfo: Running on 2 processors, 2 nodes, 1 physical nodes.\n"
        "Info: 92224 ATOMS\nTIMING: 100  CPU: 1, 0.01/step\n"
        f"Info: Benchmark time: 2 CPUs {0.01 * slower:.6f} s/step {0.1 * slower:.6f} days/ns 10 MB memory\n"
        f"TIMING: 200  CPU: 2, 0.01/step\nWallClock: {10 * slower:.6f}  CPUTime: 9.0  Memory: 10.0 MB\n"
    )


def wrf(slower: float = 1.0, minute: int = 0) -> str:
    steps = "".join(
        f"Timing for main: time 2001-10-25_00:{minute + step:02d}:12 on domain   1:    "
        f"{slower:.5f} elapsed seconds\n"
        for step in range(1, 8)
    )
    return (
        f"taskid: 0 hostname: n1\n Ntasks in X  2 , ntasks in Y  1\n{steps}d01 x wrf: SUCCESS COMPLETE WRF\n"
    )


LOGS = {
    "openfoam.motorbike": openfoam,
    "lammps.lj": lammps,
    "namd.stmv": namd,
    "wrf.conus-12km": wrf,
}


@pytest.mark.parametrize("workload", LOGS)
@pytest.mark.parametrize("most", [1, 2, 3])
def test_two_runs_that_wrote_into_one_file_are_refused_with_the_reason(workload: str, most: int) -> None:
    log = LOGS[workload]
    assert parse(workload, log()).problems == ()
    assert parse(workload, log()).is_complete
    for other in (log(), log(1.7)):
        problems = parse(workload, interleaved(log(), other, most)).problems
        assert any("mixed, doubled or out of order" in problem for problem in problems)


@pytest.mark.parametrize("workload", LOGS)
def test_doubled_lines_are_refused_with_the_reason(workload: str) -> None:
    text = "".join(2 * line for line in LOGS[workload]().splitlines(keepends=True))
    assert any("mixed, doubled or out of order" in problem for problem in parse(workload, text).problems)


def test_openfoam_without_parallel_prints_one_rank_each_time() -> None:
    parsed = parse("openfoam.motorbike", interleaved(openfoam(), openfoam(), 2))
    assert parsed.printed["ranks"] == (1,)
    assert parsed.problems


def test_one_run_after_the_other_is_no_mixture() -> None:
    for workload, log in LOGS.items():
        parsed = parse(workload, log() + log(1.5))
        assert (parsed.is_complete, parsed.problems) == (True, ()), workload


def test_a_step_of_wrf_that_is_missing_is_seen() -> None:
    lines = wrf().splitlines(keepends=True)
    del lines[5]
    assert parse("wrf.conus-12km", "".join(lines)).problems == (
        "lines of steps are missing: the simulated time jumps",
    )


_TOOLS = (
    *("elbencho", "fio", "gromacs", "hpcc", "hpcg", "hpl", "imb", "ior"),
    *("lammps", "mdtest", "namd", "openfoam", "qperf", "sockperf", "stream", "wrf"),
)


def _mutants(text: str, other: str, draw: random.Random) -> Iterator[tuple[str, str]]:
    for most in (1, 4, 20):
        yield f"interleaved by {most}", interleaved(text, other, most)
    lines = (text + other).splitlines(keepends=True)
    draw.shuffle(lines)
    yield "shuffled", "".join(lines)
    yield "doubled", "".join(2 * line for line in text.splitlines(keepends=True))


@pytest.mark.parametrize(
    "tool",
    _TOOLS,
)
def test_no_mixture_of_real_logs_is_complete_with_a_number_of_neither(tool: str) -> None:
    if not CORPUS.is_dir():
        pytest.skip(f"no collection of real benchmark output at {CORPUS}")
    draw = random.Random(tool)
    texts = [path.read_text(errors="replace") for path in sorted((CORPUS / tool).iterdir())]
    texts = [text for text in texts if len(text) < 60_000]
    workload = next(name for name in registry.workloads() if name.partition(".")[0] == tool)
    whole = [
        (text, parsed)
        for text in texts
        if (parsed := parse(workload, text)).is_complete and not parsed.problems and parsed.measurements
    ]
    for text, parsed in whole:
        other, beside = draw.choice(whole)
        known = defaultdict(set)
        for one in (*parsed.measurements, *beside.measurements):
            known[one.fom].add(one.value)
        for how, mutant in _mutants(text, other, draw):
            found = parse(workload, mutant)
            assert found.is_complete or found.problems, f"{tool}, {how}: refused without a reason"
            if found.is_complete and not found.problems:
                wrong = [one for one in found.measurements if one.value not in known[one.fom]]
                assert not wrong, f"{tool}, {how}"
