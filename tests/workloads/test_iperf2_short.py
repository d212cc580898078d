"""Short tests of iperf 2, such as those of an amount of data (-n): their only row, and their sum."""

from __future__ import annotations

import pytest

from support.outputs import figures, reader
from tare.core.case import Layout
from tare.plugins.workloads.iperf2 import WORKLOADS
from workloads.cases import case_of

(IPERF2,) = WORKLOADS
parse = reader(IPERF2)

HEAD = """\
------------------------------------------------------------
Client connecting to 127.0.0.1, TCP port 5999
TCP window size: 16.0 KByte (default)
------------------------------------------------------------
[  1] local 127.0.0.1 port 44452 connected with 127.0.0.1 port 5999 (icwnd/mss/irtt=319/32741/36)
"""
ROW = "[  1] 0.0000-0.0190 sec  10.0 MBytes  4.41 Gbits/sec\n"
AMOUNT = f"{HEAD}[ ID] Interval       Transfer     Bandwidth\n{ROW}"
"""What iperf 2.1.8 printed with -n 10M."""


def lasting(end: str) -> str:
    """Return AMOUNT with another end, and with what its rate moves until then."""
    moved = 4.41e9 / 8 * float(end) / 2**20
    return AMOUNT.replace("0.0190", end).replace("10.0 MBytes", f"{moved:.1f} MBytes")


TWO = """\
[  2] local 127.0.0.1 port 44498 connected with 127.0.0.1 port 5999 (icwnd/mss/irtt=319/32741/29)
[ ID] Interval       Transfer     Bandwidth
[  2] 0.0000-0.0191 sec  10.0 MBytes  4.40 Gbits/sec
[  1] 0.0000-0.0190 sec  10.0 MBytes  4.40 Gbits/sec
[SUM] 0.0000-0.0041 sec  20.0 MBytes  41.0 Gbits/sec
"""
"""What it printed with -n 10M -P 2: its sum is of a fifth of the time of its streams."""


@pytest.mark.parametrize("end", ["0.0190", "0.5039", "1.0008"])
def test_the_only_row_of_a_test_that_ends_at_no_interval_is_that_of_the_whole_test(end: str) -> None:
    parsed = parse(lasting(end))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed, "throughput") == [4.41]


@pytest.mark.parametrize("end", ["0.1000", "0.5000", "1.0000", "1.0", "0.02"])
def test_an_only_row_that_may_be_an_interval_is_refused_with_the_cure(end: str) -> None:
    parsed = parse(lasting(end))
    assert (parsed.is_complete, parsed.measurements) == (False, ())
    (problem,) = parsed.problems
    assert problem.startswith(f"the only row ends at {float(end):g} s and may be that of an interval")
    assert "-t 2" in problem


def test_a_sum_of_less_time_than_its_streams_is_refused() -> None:
    parsed = parse(HEAD + TWO)
    assert not parsed.is_complete
    (problem,) = parsed.problems
    assert problem.startswith(
        "iperf's sum is of 0.0041 s, and its streams took 0.0191 s, so its rate is wrong"
    )


@pytest.mark.parametrize("args", ["-n 10M", "-n10M", "--num 10M", "-t 1", "-i 1 --time 1"])
def test_a_case_whose_arguments_end_the_test_otherwise_has_no_time_to_hold_it_against(args: str) -> None:
    case = case_of(IPERF2, Layout(nodes=2, ranks=2), time_s=10.0, args=args)
    assert IPERF2.expecting(case).time_s is None


def test_a_case_has_its_time_whatever_else_its_arguments_say() -> None:
    case = case_of(IPERF2, Layout(nodes=2, ranks=2), time_s=10.0, args="-N -i 1")
    assert IPERF2.expecting(case).time_s == 10.0


def test_a_test_in_both_directions_whose_listener_failed_is_refused() -> None:
    parsed = parse(f"listener bind failed: Address already in use\n{lasting('2.0004')}")
    assert parsed.problems == ("iperf printed: listener bind failed: Address already in use",)


CSV = "20171119160019,10.0.0.2,43729,10.0.0.1,5001,4,0.0-10.1,49283072000,39065747923"


@pytest.mark.parametrize("rate", ["390", "3906574792", "390657479234"])
def test_a_row_of_csv_whose_rate_was_cut_is_no_smaller_rate(rate: str) -> None:
    """As where another process printed into the row; its bytes and its time show the rate, too."""
    assert parse(f"{CSV}\n").problems == ()
    (problem,) = parse(CSV.replace("39065747923", rate) + " \n").problems
    assert f"{rate} bits a second are not the rate of its bytes and its time" in problem
