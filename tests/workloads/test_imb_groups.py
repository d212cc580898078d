"""Tables of IMB with a row for each group of ranks (-multi 1), and those of IMB-P2P."""

from __future__ import annotations

import pytest

from support.outputs import figures
from tare.core.case import Layout
from workloads.cases import case_of
from workloads.imb_examples import FOOTER, IMB, parse

LIMITS = "# Minimum message length in bytes:   0\n# Maximum message length in bytes:   2\n#\n"
GROUPS = """\
#----------------------------------------------------------------
# Benchmarking Multi-PingPong 
# ( 2 groups of 2 processes each running simultaneous ) 
# Group  0:     0    1
# 
# Group  1:     2    3
# 
#----------------------------------------------------------------
        Group       #bytes #repetitions      t[usec]   Mbytes/sec

            0            0           20         4.07         0.00
            1            0           20         4.02         0.00

            0            1           20         4.70         0.21
            1            1           20         4.86         0.21

            0            2           20         4.18         0.48
            1            2           20         4.39         0.46
"""  # noqa: W291  # IMB's own lines
WHOLE = """\
#-----------------------------------------------------------------------------
# Benchmarking Allreduce 
# #processes = 4 
#-----------------------------------------------------------------------------
        Group       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]

            0            0           20         0.13         0.23         0.17

            0            4           20         7.93         8.08         8.01
"""  # noqa: W291  # IMB's own lines
BARRIER = """\
# Benchmarking Barrier 
# #processes = 4 
#----------------------------------------------------------------
        Group #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]

            0           20         6.09         6.13         6.11
"""  # noqa: W291  # IMB's own lines
"""What IMB 2021.11 printed with -multi 1."""


def log(table: str, limits: str = LIMITS) -> str:
    return f"#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part\n{limits}{table}\n\n{FOOTER}\n"


def test_each_group_of_ranks_has_its_figures() -> None:
    parsed = parse("Multi-PingPong", log(GROUPS))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed, "latency", group=0) == [4.07, 4.70, 4.18]
    assert figures(parsed, "latency", group=1) == [4.02, 4.86, 4.39]
    assert figures(parsed, "bandwidth", group=1, bytes=2) == [0.46]
    assert parsed.printed["ranks"] == (4,)


@pytest.mark.parametrize(
    ("lost", "fault"),
    [
        ("            1            2           20", "group 1, stops at 1 of 2 bytes"),
        ("            0            0           20", "group 0, starts at 1 byte instead of 0"),
        ("            1 ", "group 1, has no rows"),
    ],
)
def test_a_row_that_a_group_lacks_is_missed(lost: str, fault: str) -> None:
    lines = [line for line in GROUPS.splitlines(keepends=True) if not line.startswith(lost)]
    parsed = parse("Multi-PingPong", log("".join(lines)))
    assert not parsed.is_complete
    assert any(fault.partition(", ")[2] in one and "group" in one for one in parsed.problems), parsed.problems


def test_a_row_of_a_group_that_was_not_announced_is_a_problem() -> None:
    parsed = parse(
        "Multi-PingPong", log(GROUPS.replace("            1            2 ", "            7            2 "))
    )
    assert any("has a row of group 7" in one for one in parsed.problems)


def test_a_single_group_is_no_coordinate() -> None:
    parsed = parse("Allreduce", log(WHOLE, LIMITS.replace("   2\n", "   4\n")))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed, "time_avg") == [0.17, 8.01]
    assert not any("group" in one.at for one in parsed.measurements)
    barrier = parse("Barrier", log(BARRIER))
    assert (barrier.is_complete, figures(barrier, "time_avg")) == (True, [6.11])


def test_groups_of_ranks_are_not_taken_for_one_pair_or_for_all_ranks() -> None:
    assert parse("PingPong", log(GROUPS)).measurements == ()
    groups = WHOLE.replace("Benchmarking Allreduce", "Benchmarking Multi-Allreduce")
    assert parse("Allreduce", log(groups)).measurements == ()


P2P = """\
#------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.11, IMB-P2P part
#------------------------------------------------------------
# Minimum message length in bytes:   1
# Maximum message length in bytes:   4
#

#----------------------------------------------------------------
# Benchmarking PingPong
# #processes = 2
#----------------------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec      Msg/sec
            1       100000         1.15         0.87       869175
            2       100000         0.88         2.28      1137845
            4       100000         2.35         1.70       425539

# !! Benchmark Stencil2D is invalid for 2 processes !!


# All processes entering MPI_Finalize
"""
"""What IMB-P2P printed."""


def test_a_table_of_imb_p2p_is_read() -> None:
    parsed = parse("p2p_pingpong", P2P)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed, "latency") == [1.15, 0.88, 2.35]
    assert figures(parsed, "message_rate", bytes=2) == [1137845]


def test_a_table_of_imb_p2p_is_not_taken_for_one_of_imb_mpi1() -> None:
    """Its rates are of all ranks, in both directions."""
    parsed = parse("PingPong", P2P)
    assert parsed.measurements == ()
    assert "read it as imb.p2p_pingpong" in parsed.problems[0]


def test_the_command_of_imb_p2p_has_its_few_options() -> None:
    workload = IMB["p2p_stencil2d"]
    case = case_of(workload, Layout(nodes=2, ranks=4, ranks_per_node=2), min_bytes=4, max_bytes=1024)
    assert list(workload.faults(case)) == []
    (stage,) = workload.stages(case)
    assert stage.argv == ("IMB-P2P", "-msglog", "2:10", "-iter", "1000", "Stencil2D")


def test_a_rate_that_two_decimals_cannot_show_is_no_measurement_of_zero() -> None:
    """One byte in a millisecond is 0.001 MB/s, which IMB prints as 0.00."""
    slow = GROUPS.replace("         4.70         0.21", "       999.00         0.00")
    parsed = parse("Multi-PingPong", log(slow))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed, "latency", bytes=1) == [999.0, 4.86]
    assert figures(parsed, "bandwidth", bytes=1) == [0.21]
