"""Logs that lost a head, a group, a total or their last rows are refused: the rest is not taken for all."""

from __future__ import annotations

import re

import pytest

from support.outputs import figures, parse, reader
from tare.plugins.workloads.perftest import WORKLOADS as PERFTEST
from workloads.cases import case_of
from workloads.collection import text_of

ALL_SIZES = "perftest/05-ib_read_bw-gbits-all-sizes.extract.txt"
READ_BW = next(one for one in PERFTEST if one.name == "perftest.read_bw")


def without(text: str, pattern: str) -> str:
    """Return `text` without the first lines that match `pattern`."""
    left, n_times = re.subn(rf"(?m){pattern}", "", text, count=1)
    assert n_times == 1
    return left


def problems(workload: str, text: str) -> str:
    return "; ".join(parse(workload, text).problems)


def test_the_last_size_of_perftest_is_unknown_without_its_type_of_connection() -> None:
    whole = text_of(ALL_SIZES)
    short = without(whole, r"^ 8388608 .*\n")
    assert "Connection type" not in whole
    assert (parse("perftest.read_bw", whole).is_complete, parse("perftest.read_bw", whole).is_end_known) == (
        True,
        True,
    )
    assert not parse("perftest.read_bw", short).is_end_known


@pytest.mark.parametrize(("connection", "last"), [("RC", 8388608), ("UD", 4096)])
def test_the_type_of_connection_says_which_size_of_perftest_is_the_last(connection: str, last: int) -> None:
    facts = f" Connection type : {connection}\t\tUsing SRQ      : OFF\n Mtu             : 4096[B]\n"
    text = text_of(ALL_SIZES).replace(" #bytes", f"{facts} #bytes")
    rows = [row for row in re.findall(r"(?m)^ [0-9]+ .*\n", text) if int(row.split()[0]) > last]
    for row in rows:
        text = text.replace(row, "")
    assert parse("perftest.read_bw", text).is_end_known
    assert problems("perftest.read_bw", text) == ""
    assert f"not at {last} as those of -a do" in problems(
        "perftest.read_bw", without(text, rf"^ {last} .*\n")
    )


def test_a_case_of_perftest_that_asks_for_all_sizes_has_the_last_one() -> None:
    whole, case = text_of(ALL_SIZES), case_of(READ_BW, all_sizes=True)
    read = reader(READ_BW.expecting(case))
    assert read(whole).problems == ()
    short = without(whole, r"^ 8388608 .*\n")
    assert "not at 8388608" in "".join(read(short).problems)


@pytest.mark.parametrize("cell", ["2.7404", "2.74", "2"])
def test_a_rate_of_perftest_with_fewer_decimals_than_it_prints_was_cut_short(cell: str) -> None:
    text = text_of(ALL_SIZES)
    assert "2.740483" in text
    assert "the table has a broken row: 512" in problems("perftest.read_bw", text.replace("2.740483", cell))


FIO_GROUPS = "fio/13-text-ceph-fourjobs-write-1M.out"
FIO = "fio/11-text-ceph-randread-1M.out"


def test_figures_of_a_job_of_fio_are_not_those_of_the_job_above_it() -> None:
    text = text_of(FIO_GROUPS)
    for group in range(1, 6):
        left = without(text, rf"^.*\(groupid={group}, .*\n")
        assert "two rows of writes of one job" in problems("fio.write", left)


def test_a_group_that_fio_announces_has_jobs() -> None:
    left = without(text_of(FIO_GROUPS), r"^.*\(groupid=2, .*\n(?:  .*\n)+")
    left = without(left, r"^Run status group 2 .*\n.*\n")
    assert problems("fio.write", left) == "fio's text lacks the jobs of group 2, which it announces"


def test_percentiles_of_fio_have_their_head() -> None:
    left = without(text_of(FIO), r"^.*clat percentiles .*\n")
    assert problems("fio.randread", left) == "fio's text lacks lines of percentiles"


@pytest.mark.parametrize("line", ["GFLOP/s Summary::Raw Total", "GB/s Summary::Raw Total B/W"])
def test_a_report_of_hpcg_has_its_totals(line: str) -> None:
    left = without(text_of("hpcg/12-virtualclient-v3.1.txt"), rf"^{line}=.*\n")
    assert f"lacks lines of {line}" in problems("hpcg", left)


def test_a_table_of_osu_below_another_one_has_a_title_of_its_own() -> None:
    text = text_of("osu/16-alltoall-ompi4-roce.out")
    latency = without(text_of("osu/14-bw-ompi4-ucx-v5.6.out"), r"^# OSU MPI Bandwidth.*\n").replace(
        "Bandwidth (MB/s)", "Avg Latency(us)"
    )
    parsed = parse("osu.alltoall", text + latency)
    assert "a second table stands below one title" in "; ".join(parsed.problems)


def test_a_time_of_lammps_with_a_decimal_comma_is_a_broken_line() -> None:
    text = text_of("lammps/13-jkkdy-argon-stdout.log")
    assert figures(parse("lammps.lj", text), "loop_time")
    broken = text.replace("Loop time of 2.66016 on", "Loop time of 2,66016 on")
    assert "a line Loop time is broken" in problems("lammps.lj", broken)


def test_a_summary_of_hpcc_does_not_replace_that_of_the_run_before() -> None:
    """The second run has lost its banner, as where two files are joined."""
    text = text_of("hpcc/05-buaa-5node-complete.txt")
    second = text_of("hpcc/11-docker-containers.txt").split("\n", 30)[30]
    assert parse("hpcc", text).problems == ()
    assert "a second summary of one run" in problems("hpcc", text + second)


def test_a_figure_of_hpcc_that_stands_in_one_summary_twice_is_told() -> None:
    text = text_of("hpcc/05-buaa-5node-complete.txt")
    twice = text.replace("HPL_Tflops=0.949952", "HPL_Tflops=0.949952\nHPL_Tflops=1.949952")
    assert twice != text
    assert "HPL_Tflops is in one summary twice" in problems("hpcc", twice)


def test_what_is_left_of_a_second_run_of_fio_is_not_of_the_first() -> None:
    first, second = text_of("fio/12-text-ceph-rw-4k.out"), text_of(FIO).splitlines(keepends=True)
    for word in ("  read : io=", "    clat percentiles", "     | 30.00th"):
        at = next(number for number, line in enumerate(second) if line.startswith(word))
        assert "after the closing status" in problems("fio.read", first + "".join(second[at:]))


def test_the_wall_time_of_lammps_is_not_that_of_a_shorter_run() -> None:
    text = text_of("lammps/07-parallelcluster-32n-reax-ok.out")
    assert problems("lammps.lj", text) == ""
    other = text.replace("Total wall time: 0:02:13", "Total wall time: 0:00:47")
    assert other != text
    assert "the total wall time is less than that of its runs" in problems("lammps.lj", other)


def test_the_summary_of_a_second_run_of_ior_is_not_of_the_first() -> None:
    first = text_of("ior/07-io500-3.1.0-cern-2019.txt")
    second = text_of("ior/08-io500-3.3alpha1-ime.txt").partition("Summary of all tests:")
    assert problems("ior", first) == ""
    joined = problems("ior", f"{first}{second[1]}{second[2]}")
    assert "rows of IOR after the end of their run" in joined
    assert "two summaries of the writes of one test of IOR" in joined


@pytest.mark.parametrize(
    ("rate", "by"), [("8.3295e+02", "8.3295e-01"), ("8.3295e+02", "3.3295e+02"), ("1235.92", "123.592")]
)
def test_a_rate_of_hpl_is_that_of_its_size_and_time(rate: str, by: str) -> None:
    """So a rate in another unit, and one that lost a digit, are found out."""
    text = text_of("hpl/01-stackhpc-ompi4-hpl2.3.out")
    assert problems("hpl", text) == ""
    assert text.count(rate) == 1
    assert "is not that of its size and time: WR11C2R4" in problems("hpl", text.replace(rate, by))


def test_a_size_of_hpl_without_an_end_is_a_broken_row() -> None:
    text = text_of("hpl/01-stackhpc-ompi4-hpl2.3.out")
    (size,) = set(re.findall(r"(?m)^WR11C2R4 +([0-9]+) ", text))
    assert "HPL's table has a broken row" in problems("hpl", text.replace(size, "9" * 120))


def test_a_rate_of_hpcc_is_that_of_its_size_and_time() -> None:
    text = text_of("hpcc/05-buaa-5node-complete.txt")
    other = text.replace("HPL_Tflops=0.949952", "HPL_Tflops=949.952")
    assert other != text
    assert "HPL_Tflops that is not that of its HPL_N and HPL_time" in problems("hpcc", other)


def test_a_table_of_osu_below_that_of_another_benchmark_has_a_title_of_its_own() -> None:
    bandwidth, latency = text_of("osu/14-bw-ompi4-ucx-v5.6.out"), text_of("osu/16-alltoall-ompi4-roce.out")
    assert problems("osu.alltoall", bandwidth + latency) == ""
    left = without(latency, r"^# OSU MPI .*\n")
    assert "below the title of another benchmark" in problems("osu.alltoall", latency + bandwidth + left)
