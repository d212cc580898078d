"""IMB's parts beside MPI-1: non-blocking, one-sided, MPI-IO; and memory for large collectives.

The samples are shortened output of IMB 2021.11 between two ranks. Where its programs are in PATH, they run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.outputs import figures, only, parse
from tare.core.case import Layout
from tare.plugins.workloads.imb import WORKLOADS
from tare.plugins.workloads.imb_benchmark import ImbBenchmark
from workloads.cases import case_of

IMB = {workload.name: workload for workload in WORKLOADS}
PARTS = [workload for workload in WORKLOADS if workload.program != "IMB-MPI1"]


def run_of(part: str, *tables: str, largest: int = 2, options: str = "") -> str:
    """Return the output of a run with these tables."""
    return f"""\
#----------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.11, MPI-{part} part
#----------------------------------------------------------------
# /usr/bin/IMB-{part} -npmin 2{options}

# Minimum message length in bytes:   0
# Maximum message length in bytes:   {largest}

{"".join(tables)}

# All processes entering MPI_Finalize

"""


def put(mode: str, last: str = "            2           10         1.67         1.20\n") -> str:
    return f"""\
#---------------------------------------------------
# Benchmarking Unidir_put
# #processes = 2
#---------------------------------------------------
#
#    MODE: {mode}
#
       #bytes #repetitions      t[usec]   Mbytes/sec
            0           10         0.04         0.00
            1           10         1.66         0.60
{last}
"""


AGGREGATE = put("AGGREGATE", "            2           10         1.79         1.12\n")
PUTS = run_of("RMA", put("NON-AGGREGATE"), AGGREGATE)


def test_each_mode_has_figures_of_its_own() -> None:
    parsed = parse("imb.rma_unidir_put", PUTS)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert only(parsed, "latency", bytes=2, mode="NON-AGGREGATE") == 1.67
    assert only(parsed, "latency", bytes=2, mode="AGGREGATE") == 1.79
    assert only(parsed, "bandwidth", bytes=1, mode="AGGREGATE") == 0.60
    assert len(parsed.measurements) == 2 * (3 + 2)
    assert all(one.at.keys() == {"bytes", "mode"} for one in parsed.measurements)


@pytest.mark.parametrize(("kept", "lost"), [("AGGREGATE", "NON-AGGREGATE"), ("NON-AGGREGATE", "AGGREGATE")])
def test_a_lost_table_of_one_mode_keeps_the_run_from_being_complete(kept: str, lost: str) -> None:
    parsed = parse("imb.rma_unidir_put", run_of("RMA", put(kept)))
    assert not parsed.is_complete
    assert parsed.problems == (f"the output lacks the table of Unidir_put on 2 ranks, mode {lost}",)


def test_a_mode_that_the_command_left_out_is_not_missing() -> None:
    parsed = parse(
        "imb.rma_unidir_put", run_of("RMA", put("AGGREGATE"), options=" -aggregate_mode aggregate")
    )
    assert (parsed.is_complete, parsed.problems) == (True, ())


def test_two_tables_of_one_mode_are_a_problem() -> None:
    parsed = parse("imb.rma_unidir_put", run_of("RMA", put("NON-AGGREGATE"), put("AGGREGATE"), AGGREGATE))
    assert parsed.problems == ("the table of Unidir_put on 2 ranks, mode AGGREGATE, is there 2 times",)


def test_a_row_lost_in_one_mode_is_named_with_its_mode() -> None:
    parsed = parse("imb.rma_unidir_put", run_of("RMA", put("NON-AGGREGATE"), put("AGGREGATE", "")))
    assert not parsed.is_complete
    assert parsed.problems == ("the table of Unidir_put on 2 ranks, mode AGGREGATE, stops at 1 of 2 bytes",)


def test_an_atomic_operation_has_one_size() -> None:
    tables = (
        PUTS.replace("Unidir_put", "Fetch_and_op")
        .replace("            0           10         0.04         0.00\n", "")
        .replace("            1           10         1.66         0.60\n", "")
        .replace("            2           10", "            4           10")
    )
    parsed = parse("imb.rma_fetch_and_op", tables)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert only(parsed, "latency", bytes=4, mode="AGGREGATE") == 1.79


OVERLAP = """\
#-----------------------------------------------------------------------------
# Benchmarking Iallreduce
# #processes = 2
#-----------------------------------------------------------------------------
       #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]
            0           10         0.30         0.04         0.23         0.00
            4           10         0.86         0.58         0.23         0.00
            8           10         0.85         0.65         0.23         4.71

"""
BARRIER = """\
#----------------------------------------------------------------
# Benchmarking Ibarrier
# #processes = 2
#----------------------------------------------------------------
 #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]
           10         0.57         0.31         0.24         0.00

"""


def test_overlap_with_computation_is_read() -> None:
    text = run_of("NBC", OVERLAP, BARRIER, largest=8)
    parsed = parse("imb.iallreduce", text)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    names = ("overall", "communication", "compute", "overlap")
    assert [only(parsed, name, bytes=8) for name in names] == [0.85, 0.65, 0.23, 4.71]
    assert [one.unit for one in parsed.measurements[:4]] == ["us", "us", "us", "%"]
    barrier = parse("imb.ibarrier", text)
    assert barrier.is_complete
    assert [only(barrier, name) for name in names] == [0.57, 0.31, 0.24, 0.00]


def test_a_figure_that_is_not_a_number_is_a_problem() -> None:
    parsed = parse("imb.iallreduce", run_of("NBC", OVERLAP.replace("4.71", "-nan"), largest=8))
    assert not parsed.is_complete
    assert any("has a broken row: 8 10 0.85 0.65 0.23 -nan" in problem for problem in parsed.problems)


def test_ranks_that_wait_while_one_reads_are_counted_and_no_message_is_claimed() -> None:
    table = """\
#---------------------------------------------------
# Benchmarking S_Read_Indv
# #processes = 1
# ( 1 additional process waiting in MPI_Barrier)
#---------------------------------------------------
#
#    MODE: AGGREGATE
#
       #bytes #repetitions      t[usec]   Mbytes/sec
            0            5         2.27         0.00
            1            5         7.76         0.13
            2            5         7.03         0.28

"""
    parsed = parse("imb.io_s_read_indv", run_of("IO", table))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert parsed.printed["ranks"] == (2,)
    assert figures(parsed, "time") == [2.27, 7.76, 7.03]
    assert (parsed.payload_bytes, parsed.n_messages) == (0, 0)


def test_benchmarks_of_two_parts_with_one_name_are_not_confused() -> None:
    assert "no table" in str(parse("imb.ext_unidir_put", PUTS).problems)


@pytest.mark.parametrize(
    ("name", "ranks", "option"),
    [
        ("imb.alltoall", 1024, "-mem 2"),  # IMB cannot send more than 1 MiB to each of 1024 ranks
        ("imb.alltoall", 256, "-mem 2"),  # 2 × 256 × 4 MiB
        ("imb.alltoall", 128, ""),
        ("imb.allgather", 300, "-mem 2"),  # (1 + 300) × 4 MiB
        ("imb.ialltoallv_pure", 1024, "-mem 2"),
        ("imb.iscatter", 300, "-mem 2"),
        ("imb.allreduce", 1024, ""),
        ("imb.exchange", 1024, ""),
    ],
)
def test_memory_is_asked_for_where_a_collective_needs_more_than_imb_grants(
    name: str, ranks: int, option: str
) -> None:
    workload = IMB[name]
    (stage,) = workload.stages(case_of(workload, Layout(nodes=32, ranks=ranks, ranks_per_node=ranks // 32)))
    assert option in " ".join(stage.argv) if option else "-mem" not in stage.argv


@pytest.mark.parametrize("workload", PARTS, ids=lambda workload: workload.name)
def test_its_program_prints_what_is_read(workload: ImbBenchmark, tmp_path: Path) -> None:
    """Run the planned command of the workload on two ranks of the MPI in PATH."""
    program, mpirun = shutil.which(workload.program), shutil.which("mpirun")
    if program is None or mpirun is None:
        pytest.skip(f"{workload.program} and its mpirun are not in PATH")
    if "stencil" in workload.name:
        pytest.skip("a stencil needs more than two ranks")
    has_largest = any(one.name == "max_bytes" for one in workload.parameters)
    case = case_of(workload, iterations=5, time_s=20)
    if has_largest:
        case = case_of(workload, iterations=5, time_s=20, max_bytes=64)
    (stage,) = workload.stages(case)
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    argv = [mpirun, *root, "--oversubscribe", "-n", "2", *stage.argv]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    parsed = workload.parse(done.stdout.splitlines(keepends=True))
    assert (done.returncode, parsed.is_complete, parsed.problems) == (0, True, ()), done.stderr
    assert {one.fom for one in parsed.measurements} == {fom.name for fom in workload.foms}
