"""IMB's megabytes: 2²⁰ bytes up to version 4.1, 10⁶ bytes from 2018 on."""

from __future__ import annotations

import pytest

from support.outputs import only, parse
from tare.core.workload import Parsed

OLD = ("Intel (R) MPI Benchmark Suite V3.2.4", "Intel (R) MPI Benchmarks 4.1 Update 1")
NEW = ("Intel (R) MPI Benchmarks 2018", "Intel(R) MPI Benchmarks 2021.11")
HEADS = {
    "PingPong": "       #bytes #repetitions      t[usec]   Mbytes/sec",
    "Sendrecv": "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec",
}


def output(banner: str, *rows: str, benchmark: str = "PingPong") -> str:
    """Return the output of a run on two ranks, with these rows."""
    lines = (
        f"#    {banner}, MPI-1 part",
        f"# Benchmarking {benchmark}",
        "# #processes = 2",
        HEADS[benchmark],
        *("".join(word.rjust(13) for word in row.split()) for row in rows),
        "",
        "# All processes entering MPI_Finalize",
    )
    return "\n".join(lines) + "\n"


def read(banner: str, *rows: str, benchmark: str = "PingPong") -> Parsed:
    parsed = parse(f"imb.{benchmark.lower()}", output(banner, *rows, benchmark=benchmark))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    return parsed


@pytest.mark.parametrize("banner", OLD)
def test_rates_of_old_versions_are_converted(banner: str) -> None:
    parsed = read(banner, "4194304 10 4000.00 1000.00")
    assert only(parsed, "bandwidth") == 1048.576
    assert only(parsed, "latency") == 4000
    assert parsed.printed["program_version"] == (banner.rpartition(" V")[2].rpartition("Benchmarks ")[2],)


@pytest.mark.parametrize("banner", NEW)
def test_rates_of_new_versions_stay(banner: str) -> None:
    parsed = read(banner, "4194304 10 4000.00 1048.58")
    assert only(parsed, "bandwidth") == 1048.58
    assert parsed.printed["program_version"] == (banner.rpartition(" ")[2],)


@pytest.mark.parametrize(("rate", "expected"), [("1000.00", 1048.576), ("1048.58", 1048.58)])
def test_where_the_version_does_not_show_it_a_row_does(rate: str, expected: float) -> None:
    """The last row is too coarse; that before it decides."""
    parsed = read("Intel(R) MPI Benchmarks 2017", f"4194304 10 4000.00 {rate}", "8388608 1 9.00 1.00")
    assert only(parsed, "bandwidth", bytes=4194304) == expected


def test_a_row_that_fits_neither_megabyte_decides_nothing() -> None:
    """Its rate × its time is nearly a whole multiple of its size, as every large number is."""
    parsed = read("an MPI Benchmark", "2097152 10 4000.00 500.00", "4194304 10 4000.00 100000.00")
    assert only(parsed, "bandwidth", bytes=2097152) == 524.288


def test_what_is_sent_and_received_counts_twice() -> None:
    parsed = read("an MPI Benchmark", "4194304 10 3900.00 4000.00 3950.00 2000.00", benchmark="Sendrecv")
    assert only(parsed, "bandwidth") == 2097.152


def test_rows_that_show_nothing_leave_the_megabyte_of_today() -> None:
    assert only(read("an MPI Benchmark", "8 10 1.00 8.00"), "bandwidth") == 8
