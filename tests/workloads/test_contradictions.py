"""Figures of one row that contradict each other: it lost digits, is of two rows, or has another unit."""

from __future__ import annotations

import re

import pytest

from support.outputs import parse
from tare.plugins.workloads.common.rounded import Rounded, rounded
from workloads.collection import text_of

MEGABYTES, GIGABITS = (
    "perftest/02-superbench-all-sizes.log",
    "perftest/05-ib_read_bw-gbits-all-sizes.extract.txt",
)


def problems(workload: str, text: str) -> str:
    return "; ".join(parse(workload, text).problems)


@pytest.mark.parametrize(
    ("printed", "least", "most"),
    [("12.30", 12.295, 12.305), ("7", 6.5, 7.5), ("0.00", 0, 0.005), ("1.5e+03", 1450, 1550)],
)
def test_a_printed_figure_stands_for_what_is_rounded_to_it(printed: str, least: float, most: float) -> None:
    assert rounded(printed) == pytest.approx(Rounded(least, most))


@pytest.mark.parametrize("printed", ["", "nan", "-1", "1,5", "***"])
def test_what_is_no_amount_is_not_rounded(printed: str) -> None:
    assert rounded(printed) is None


@pytest.mark.parametrize(
    ("workload", "name", "whole", "left"),
    [
        ("perftest.write_bw", MEGABYTES, "1311.59", "131.59"),
        ("perftest.write_bw", MEGABYTES, "2.686135", "2.486135"),
        ("perftest.read_bw", GIGABITS, "0.090863", "0.090963"),
        ("perftest.read_lat", "perftest/04-ib_read_lat-worker.extract.txt", " 5.35 ", " 5.95 "),
    ],
)
def test_a_row_of_perftest_that_contradicts_itself_is_told(
    workload: str, name: str, whole: str, left: str
) -> None:
    text = text_of(name)
    assert whole in text
    assert "contradicts itself" not in problems(workload, text)
    assert "the table has a row that contradicts itself" in problems(workload, text.replace(whole, left, 1))


@pytest.mark.parametrize("unit", ["MB/sec", "MiB/sec"])
def test_the_unit_of_perftest_is_that_of_its_rows(unit: str) -> None:
    text = text_of(GIGABITS).replace("Gb/sec", unit)
    assert "contradicts itself" in problems("perftest.read_bw", text)


def test_a_bandwidth_of_both_directions_may_be_twice_that_of_the_message_rate() -> None:
    text = (
        " RDMA_Write Bidirectional BW Test\n"
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        " 65536      5000             186.25             {}                 0.177574\n"
        "---------------------------------------------------------------------------------------\n"
    )
    for total in ("186.20", "93.10"):
        assert problems("perftest.write_bw", text.format(total)) == ""
    assert "contradicts" in problems("perftest.write_bw", text.format("46.55"))
    one_way = text.replace("Bidirectional ", "")
    assert "contradicts" in problems("perftest.write_bw", one_way.format("186.20"))


STREAM = "stream/06-virtualclient-ok.txt"
CUDA = "stream/04-cuda-GiBs-8-tables.out"


@pytest.mark.parametrize("unit", ["GB/s", "MiB/s"])
def test_the_unit_of_stream_is_that_of_its_rows(unit: str) -> None:
    """The arrays and the times are printed, so a head with another unit than the rates is refused."""
    text = text_of(STREAM).replace("Best Rate MB/s", f"Best Rate {unit}")
    assert "rate and least time are not of its arrays" in problems("stream", text)


def test_a_rate_of_stream_in_gigabytes_below_megabytes_is_refused() -> None:
    text = text_of(STREAM)
    for rate in ("18514.5", "18333.8", "23043.7", "23314.0"):
        text = text.replace(rate, f"{float(rate) / 1000:.4f}")
    assert "rate and least time are not of its arrays" in problems("stream", text)
    assert problems("stream", text.replace("Best Rate MB/s", "Best Rate GB/s")) == ""


@pytest.mark.parametrize("head", ["Best Rate KB/s ", "Rate (MFLOP/s)", "Best Rate      "])
def test_an_unknown_unit_of_stream_is_told(head: str) -> None:
    text = text_of(STREAM).replace("Best Rate MB/s", head)
    parsed = parse("stream", text)
    assert parsed.measurements == ()
    assert "STREAM's table has an unknown unit: Function" in "; ".join(parsed.problems)


@pytest.mark.parametrize("head", ["Rate [GB/s] ", "Rate GBytes/sec"])
def test_other_spellings_of_the_unit_are_read(head: str) -> None:
    text = text_of(STREAM)
    for rate in ("18514.5", "18333.8", "23043.7", "23314.0"):
        text = text.replace(rate, f"{float(rate) / 1000:.4f}")
    parsed = parse("stream", text.replace("Best Rate MB/s", head))
    assert parsed.problems == ()
    assert {one.fom: one.value for one in parsed.measurements}["copy"] == pytest.approx(18514.5)


def test_rows_of_stream_without_the_size_of_their_arrays_agree_with_each_other() -> None:
    text = text_of(CUDA)
    assert problems("stream", text) == ""
    assert "not of its arrays" in problems("stream", text.replace("748.8937", "48.8937"))


@pytest.mark.parametrize(("whole", "left"), [("18514.5", "1514.5"), ("0.231979", "0.241979")])
def test_a_row_of_stream_that_lost_digits_is_told(whole: str, left: str) -> None:
    assert "not of its arrays" in problems("stream", text_of(STREAM).replace(whole, left))


def test_the_peak_of_perftest_is_not_far_below_the_mean() -> None:
    text = text_of(GIGABITS)
    assert "169.95" in text
    assert "contradicts itself" in problems("perftest.read_bw", text.replace("169.95", "9.95"))


FIO = "fio/12-text-ceph-rw-4k.out"


def test_percentiles_of_fio_grow() -> None:
    text = text_of(FIO)
    assert (problems("fio.write", text), "[  371]" in text) == ("", True)
    assert "percentiles that do not grow" in problems("fio.write", text.replace("[  371]", "[  31]"))


def test_a_job_of_fio_has_its_issued_operations() -> None:
    """Their number gives more digits of the rate than its own line does."""
    for name in (FIO, "fio/13-text-ceph-fourjobs-write-1M.out"):
        left, n_times = re.subn(r"(?m)^ +issued .*\n", "", text_of(name), count=1)
        assert n_times == 1
        assert "lacks a line of the issued operations" in problems("fio.write", left)


def test_a_report_of_hpcg_3_has_its_times_of_reductions() -> None:
    text = text_of("hpcg/05-v3.1-valid-0.18.txt")
    left = re.sub(r"(?m)^DDOT Timing Variations::.*\n", "", text)
    assert problems("hpcg", text) == ""
    assert "lacks lines of DDOT Timing Variations" in problems("hpcg", left)


WRF = "wrf/02-rsl.error.0000-2.5km-3136rank.txt"


def test_a_time_of_wrf_that_lost_digits_is_told_by_its_width() -> None:
    text = text_of(WRF)
    line = "time 2005-06-04_07:14:30 on domain   1:    0.07895 elapsed"
    assert (problems("wrf.conus-2.5km", text), line in text) == ("", True)
    left = text.replace(line, line.replace("0.07895", "0.095"))
    assert "a line with a time is broken: Timing for main: time 2005-06-04_07:14:30" in problems(
        "wrf.conus-2.5km", left
    )


def test_a_simulated_time_that_is_left_of_two_is_told() -> None:
    text = text_of(WRF)
    first, later = text.index("07:14:30 on domain"), text.index("2005-06-04_07:18:15 on domain")
    left = text[: first + len("07:14:")] + text[later:]
    assert "a line with a time is broken" in problems("wrf.conus-2.5km", left)


def test_a_time_of_lammps_that_lost_digits_contradicts_its_rate() -> None:
    text = text_of("lammps/14-jkkdy-argon-log.lammps")
    assert "Loop time of 29.2834" in text
    left = text.replace("Loop time of 29.2834", "Loop time of 29.34")
    assert "a rate that is not that of its loop's time" in problems("lammps.lj", left)


@pytest.mark.parametrize(
    ("workload", "name", "whole", "left"),
    [
        ("iperf3", "iperf3/06-text-retr-cwnd.txt", "54.1 Gbits/sec    ", "54.1 bits/sec    "),
        ("iperf3", "iperf3/06-text-retr-cwnd.txt", "63.2 GBytes  54.1", "6.2 GBytes  54.1"),
        ("iperf2", "iperf2/01-p3-sum-with-perfstat-and-error.txt", "35.6 Gbits/sec", "3.6 Gbits/sec"),
    ],
)
def test_a_rate_of_iperf_is_its_amount_in_its_time(workload: str, name: str, whole: str, left: str) -> None:
    text = text_of(name)
    assert whole in text
    assert "its rate is not its amount in its time" not in problems(workload, text)
    assert "its rate is not its amount in its time" in problems(workload, text.replace(whole, left))
