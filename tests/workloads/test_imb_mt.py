"""IMB-MT, whose threads send at once: its tables, its command, and what is told of broken output."""

from __future__ import annotations

import pytest

from tare.core.case import Layout
from tare.core.workload import Parsed
from tare.plugins.workloads.imb import WORKLOADS
from workloads.cases import case_of

MT = {one.name: one for one in WORKLOADS if one.program == "IMB-MT"}
TWO_THREADS = Layout(nodes=2, ranks=2, ranks_per_node=1, threads=2)

OUTPUT = """\
#------------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.11, MT part
#------------------------------------------------------------------
#

#-----------------------------------------------------------------------------
# Benchmarking PingPongMT
# #processes = 2 (threads: 2)
#-----------------------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
            8           20      4975.98      4999.53      4987.72         0.00
           16           20      5741.73      5815.91      5791.87         0.00
           32           20      4575.81      4800.00      4669.48         0.01

#-----------------------------------------------------------------------------
# Benchmarking BiBandMT
# #processes = 2 (threads: 2)
# window_size = 64
#-----------------------------------------------------------------------------
       #bytes #repetitions  t_avg[usec]   Mbytes/sec      Msg/sec
            8           20         0.17        45.78     11592129
           16           20        95.64         0.17        20911
           32           20         0.26       122.42      7811022

#-----------------------------------------------------------------------------
# Benchmarking BarrierMT
# #processes = 2 (threads: 2)
#-----------------------------------------------------------------------------
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
           20       905.58       905.84       905.73

"""
"""IMB-MT 2021.11 with Open MPI 4.1.4: -thread_level multiple -repeat 20 -warmup 2 -count 1,2,4."""


def parse(name: str, text: str, *, max_bytes: int | None = None) -> Parsed:
    workload = MT[name]
    if max_bytes is not None:
        workload = workload.expecting(case_of(workload, TWO_THREADS, max_bytes=max_bytes))
    return workload.parse(text.splitlines(keepends=True))


def test_the_figures_of_each_table_are_read_with_their_ranks_and_threads() -> None:
    parsed = parse("imb.mt_biband", OUTPUT)
    assert (parsed.is_complete, parsed.problems, parsed.is_end_known) == (True, (), False)
    assert {(one.fom, one.at["bytes"]): one.value for one in parsed.measurements} == {
        ("time_avg", 8): 0.17,
        ("bandwidth", 8): 45.78,
        ("message_rate", 8): 11592129,
        ("time_avg", 16): 95.64,
        ("bandwidth", 16): 0.17,
        ("message_rate", 16): 20911,
        ("time_avg", 32): 0.26,
        ("bandwidth", 32): 122.42,
        ("message_rate", 32): 7811022,
    }
    assert (parsed.printed["ranks"], parsed.printed["threads"]) == ((2,), (2,))
    barrier = parse("imb.mt_barrier", OUTPUT)
    assert [one.value for one in barrier.measurements] == [905.58, 905.84, 905.73]


def test_rates_too_small_for_two_decimals_are_named() -> None:
    (sentence,) = parse("imb.mt_pingpong", OUTPUT).left_out
    assert sentence.startswith("bandwidth is left out at bytes 8 and 1 further place: it is printed as 0.00")


@pytest.mark.parametrize(
    ("row", "fault"), [("8 ", "starts at 16 bytes instead of 8"), ("32 ", "stops at 16 of 32 bytes")]
)
def test_a_row_that_is_lost_is_told_where_the_case_is_known(row: str, fault: str) -> None:
    assert parse("imb.mt_biband", OUTPUT, max_bytes=16).is_complete
    lines = OUTPUT.splitlines(keepends=True)
    damaged = "".join(line for line in lines if not line.lstrip().startswith(row))
    parsed = parse("imb.mt_biband", damaged, max_bytes=16)
    assert parsed.problems == (f"the table of BiBandMT on 2 ranks {fault}",)
    assert not parsed.is_complete


def test_wrong_data_are_a_problem() -> None:
    parsed = parse("imb.mt_biband", OUTPUT + "CHECK FAILURES: rank 1: 20\n")
    assert parsed.problems == ("IMB printed: CHECK FAILURES: rank 1: 20",)


def test_the_command_has_the_counts_of_one_thread_and_the_threads_of_the_case() -> None:
    workload = MT["imb.mt_allreduce"]
    case = case_of(workload, TWO_THREADS, min_bytes=8, max_bytes=64, iterations=5, warmup=1)
    (stage,) = workload.stages(case)
    assert " ".join(stage.argv) == (
        "IMB-MT -thread_level multiple -repeat 5 -warmup 1 -count 2,4,8,16 AllReduceMT"
    )
    assert stage.env == {"OMP_NUM_THREADS": "2"}


@pytest.mark.parametrize(
    ("name", "layout", "parameters", "fault"),
    [
        ("imb.mt_uniband", Layout(nodes=3, ranks=3), {}, "pairs its ranks, and 3 is odd; set ranks: 4"),
        ("imb.mt_bcast", TWO_THREADS, {"max_bytes": 12}, "powers of two from 4 on; set max_bytes: 8"),
        (
            "imb.mt_bcast",
            TWO_THREADS,
            {"args": "-count 9"},
            "args has -count, which imb.mt_bcast sets itself",
        ),
    ],
)
def test_what_it_cannot_run_is_refused_with_the_cure(
    name: str, layout: Layout, parameters: dict[str, str | int], fault: str
) -> None:
    workload = MT[name]
    (found,) = workload.faults(case_of(workload, layout, **parameters))
    assert fault in found
