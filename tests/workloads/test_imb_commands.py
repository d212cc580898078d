"""Commands of the Intel MPI Benchmarks, and faults that are found before a run."""

from __future__ import annotations

import re

import pytest

from tare.core.case import Binding, Layout
from tare.plugins.workloads.imb import WORKLOADS
from tare.plugins.workloads.imb_benchmark import ImbBenchmark
from workloads.cases import case_of
from workloads.imb_examples import IMB


def test_the_command_names_exactly_one_group_of_ranks_and_all_sizes() -> None:
    workload = IMB["Alltoall"]
    (stage,) = workload.stages(case_of(workload, Layout(nodes=2, ranks=8, ranks_per_node=4)))
    command = "IMB-MPI1 -npmin 8 -msglog 0:22 -zero_size off -iter 1000 -time 10 Alltoall"
    assert " ".join(stage.argv) == command
    assert stage.layout == Layout(nodes=2, ranks=8, ranks_per_node=4)


def test_a_collective_starts_with_its_smallest_message_that_moves_data() -> None:
    workload = IMB["Allreduce"]
    (stage,) = workload.stages(case_of(workload, max_bytes=65536))
    assert "-msglog 2:16 -zero_size off" in " ".join(stage.argv)


def test_a_smallest_size_leaves_the_empty_message_out() -> None:
    workload = IMB["PingPong"]
    (stage,) = workload.stages(case_of(workload, min_bytes=8, max_bytes=65536, iterations=50, time_s=0.5))
    command = "IMB-MPI1 -npmin 2 -msglog 3:16 -zero_size off -iter 50 -time 0.5 PingPong"
    assert " ".join(stage.argv) == command


def test_pairs_at_once_are_asked_for_by_an_option() -> None:
    workload = IMB["Multi-PingPing"]
    (stage,) = workload.stages(case_of(workload, Layout(nodes=2, ranks=8, ranks_per_node=4)))
    assert stage.argv[-3:] == ("-multi", "0", "PingPing")
    assert stage.layout == Layout(nodes=2, ranks=8, ranks_per_node=4)


def test_a_barrier_is_given_no_sizes() -> None:
    workload = IMB["Barrier"]
    (stage,) = workload.stages(case_of(workload))
    assert " ".join(stage.argv) == "IMB-MPI1 -npmin 2 -iter 1000 -time 10 Barrier"


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        (Layout(nodes=4, ranks=16, ranks_per_node=4), Layout(nodes=2, ranks=2, ranks_per_node=1)),
        (Layout(nodes=1, ranks=4, ranks_per_node=4), Layout(nodes=1, ranks=2, ranks_per_node=2)),
        (
            Layout(nodes=2, ranks=2, ranks_per_node=1, threads=4, bind=Binding.CORE),
            Layout(nodes=2, ranks=2, ranks_per_node=1, bind=Binding.CORE),
        ),
    ],
)
def test_two_ranks_meet_over_the_network_where_there_is_one(layout: Layout, expected: Layout) -> None:
    workload = IMB["PingPong"]
    assert workload.stages(case_of(workload, layout))[0].layout == expected


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_defaults_have_no_fault(workload: ImbBenchmark) -> None:
    assert list(workload.faults(case_of(workload))) == []


@pytest.mark.parametrize(
    ("benchmark", "layout", "parameters", "fault"),
    [
        ("PingPong", Layout(), {}, "needs 2 ranks or more, and the case has 1; set ranks: 2"),
        ("Alltoall", Layout(), {}, "needs 2 ranks or more"),
        ("Uniband", Layout(ranks=3, ranks_per_node=3), {}, "3 is odd; set ranks: 4"),
        ("PingPong", None, {"max_bytes": 1000}, "max_bytes is 1000, but .* set max_bytes: 512"),
        ("PingPong", None, {"min_bytes": 3}, "min_bytes is 3, but .* set min_bytes: 2"),
        ("Allreduce", None, {"max_bytes": 2}, "powers of two from 4 on; set max_bytes: 4"),
        ("PingPong", None, {"min_bytes": 16, "max_bytes": 8}, "min_bytes 16 is more than max_bytes 8"),
    ],
)
def test_faults_are_found_before_the_run_and_name_the_cure(
    benchmark: str, layout: Layout | None, parameters: dict[str, int], fault: str
) -> None:
    workload = IMB[benchmark]
    (found,) = workload.faults(case_of(workload, layout, **parameters))
    assert re.search(fault, found)


@pytest.mark.parametrize(
    ("args", "cure"),
    [
        (
            "-iter 50",
            "args has -iter, which imb.exchange gives IMB itself, and IMB takes the first of two; set ",
        ),
        ("-msglog 0:4", "args has -msglog, "),
        (
            "-msglen sizes",
            "args has -msglen, which imb.exchange sets itself; leave it out, and set ",
        ),
        ("-msgsize 8,9", "args has -msgsize, "),
        ("-zero_size off", "args has -zero_size, "),
        ("-npmin 1", "args has -npmin, "),
        ("-imb_barrier on -root_shift on", ""),
        ("-multi 1", ""),
        ("none", ""),
    ],
)
def test_arguments_that_imb_would_ignore_are_refused(args: str, cure: str) -> None:
    """IMB-MPI1 -iter 1000 Exchange -iter 50 makes 1000 repetitions (2021.11)."""
    workload = IMB["Exchange"]
    faults = [*workload.faults(case_of(workload, args=args))]
    assert len(faults) == bool(cure)
    assert all(fault.startswith(cure) for fault in faults)


def test_figures_of_merit_know_their_units_and_directions() -> None:
    described = {
        workload.name: [(fom.name, fom.unit, str(fom.better), fom.is_primary) for fom in workload.foms]
        for workload in WORKLOADS
    }
    assert described["imb.pingpong"] == [
        ("latency", "us", "lower", True),
        ("bandwidth", "MB/s", "higher", True),
    ]
    assert ("time_avg", "us", "lower", True) in described["imb.alltoall"]
    assert ("time_max", "us", "lower", False) in described["imb.alltoall"]
    assert [fom.by for fom in IMB["Barrier"].foms] == [(), (), ()]
