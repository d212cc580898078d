"""Rates of fio's text that its own other figures show to be wrong."""

from __future__ import annotations

import pytest

from support.outputs import only, parse
from tare.core.workload import Parsed


def output(rates: str, issued: str, version: str = "3.1") -> str:
    return f"""\
one: (g=0): rw=write, bs=4096B-4096B,4096B-4096B,4096B-4096B, ioengine=libaio, iodepth=4
fio-{version}
Starting 1 process

one: (groupid=0, jobs=1): err= 0: pid=21461: Fri Oct  6 05:21:27 2017
  write: {rates}
    clat (usec): min=359, max=45445, avg=1294.12, stdev=1983.67
     issued {issued}

Run status group 0 (all jobs):
  WRITE: bw=12.0MiB/s (12.6MB/s), 12.0MiB/s-12.0MiB/s, io=600MiB (629MB), run=50000-50000msec
"""


def rates(text: str) -> tuple[float, float]:
    parsed: Parsed = parse("fio.write", text)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    return only(parsed, "iops"), only(parsed, "bandwidth")


@pytest.mark.parametrize(
    ("printed", "bandwidth"),
    [
        ("11.0MiB/s (12.6MB/s)", 12.6e6 / 1024),
        ("1.0GiB/s (2.1GB/s)", 2.1e9 / 1024),
        ("12.0MiB/s (12.6MB/s)", 12 * 1024),
        ("12.1MiB/s (12.6MB/s)", 12.1 * 1024),
        ("96.0MiB/s (101MB/s)", 96 * 1024),
        ("11.0MiB/s (11.0MB/s)", 11 * 1024),
    ],
)
def test_a_bandwidth_without_its_carry_is_taken_from_the_other_unit(printed: str, bandwidth: float) -> None:
    text = output(f"IOPS=3068, BW={printed}(600MiB/50000msec)", "rwts: total=0,153400,0,0 short=0,0,0,0")
    assert rates(text)[0] == 153400 / 50
    assert rates(text)[1] == pytest.approx(bandwidth)


@pytest.mark.parametrize(
    ("printed", "total", "iops"),
    [
        ("11.0k", 599000, 11980),
        ("12.0k", 599000, 11980),
        ("11.9k", 599000, 11980),
        ("5", 295, 5.9),
        ("150", 7545, 150.9),
        ("5", 1000, 5),
        ("12.5k", 599000, 12500),
    ],
)
def test_operations_per_second_are_those_that_were_issued(printed: str, total: int, iops: float) -> None:
    """Fio prints some digits of operations / time, cut off or rounded; a rate that is another one stays."""
    text = output(
        f"IOPS={printed}, BW=12.0MiB/s (12.6MB/s)(600MiB/50000msec)", f"rwt: total=0,{total},0, short=0,0,0,"
    )
    assert rates(text)[0] == pytest.approx(iops)


def test_a_rate_that_another_line_broke_is_no_smaller_rate() -> None:
    """Up to version 2, a line of rates ends with the run time."""
    text = output(
        "io=600MB, bw=12288KB/s, iops=3072, runt= 50000msec", ": total=r=0/w=153600/d=0, short=", "2.2.10"
    )
    assert rates(
        text.replace(
            "WRITE: bw=12.0MiB/s (12.6MB/s), 12.0MiB/s-12.0MiB/s, io=600MiB (629MB), run=",
            "WRITE: io=600MB, aggrb=12288KB/s, minb=12288KB/s, maxb=12288KB/s, mint=50000msec, maxt=",
        )
    ) == (3072, 12288)
    parsed = parse("fio.write", text.replace("iops=3072", "iops=30 WARNING: late\n72"))
    assert not parsed.is_complete or parsed.problems
    assert [one for one in parsed.measurements if one.fom == "iops"] == []
