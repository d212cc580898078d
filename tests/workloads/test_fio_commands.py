"""Commands of fio, its clients on several nodes, and faults that are found before a run."""

from __future__ import annotations

import io

import pytest

from tare.core.case import Layout
from workloads.cases import case_of
from workloads.fio_examples import FIO


def test_sequential_jobs_move_large_blocks() -> None:
    (stage,) = FIO["read"].stages(case_of(FIO["read"], Layout(threads=16)))
    assert " ".join(stage.argv) == (
        "fio --name=read --rw=read --bs=1048576 --size=1073741824 --numjobs=16 --iodepth=8 --ioengine=libaio "
        "--direct=1 --runtime=30 --directory={storage} --time_based --group_reporting --unlink=1 "
        "--output-format=json"
    )
    assert not stage.is_mpi


def test_random_jobs_move_small_blocks() -> None:
    (stage,) = FIO["randwrite"].stages(case_of(FIO["randwrite"], Layout(), direct=False))
    assert "--rw=randwrite --bs=4096" in " ".join(stage.argv)
    assert "--direct=0" in stage.argv


def test_each_of_several_nodes_has_a_server_and_a_job_file() -> None:
    case = case_of(FIO["write"], Layout(nodes=2, ranks=8, ranks_per_node=4, threads=4), size=1 << 20)
    (stage,) = FIO["write"].stages(case)
    assert " ".join(stage.argv) == (
        "sh {work}/run/services.sh 2 8765 {address0} fio --server=ip:%a,8765 -- fio --output-format=json -- "
        "--client=ip:%a,8765 {work}/run/%r.fio"
    )
    assert (stage.is_mpi, stage.layout) == (True, Layout(nodes=2, ranks=2, threads=4))
    assert stage.env == {"STORAGE": "{storage}"}
    assert stage.files["run/1.fio"] == (
        "[write]\nrw=write\nbs=1048576\nsize=1048576\nnumjobs=4\niodepth=8\nioengine=libaio\ndirect=1\n"
        "runtime=30\ndirectory=${STORAGE}\ntime_based=1\ngroup_reporting=1\nunlink=1\n"
        "filename_format=$jobname.1.$jobnum\n"
    )


def clients(*names: str) -> str:
    jobs = (
        f'{{"jobname": "{name}", "hostname": "10.0.0.{number}", "read": {{"io_bytes": 1, "bw": {number}00}}}}'
        for number, name in enumerate(names, start=1)
    )
    return (
        '<n1> read: (g=0): rw=read\n{"fio version": "fio-3.33", "client_stats": [' + ", ".join(jobs) + "]}\n"
    )


def test_what_counts_on_several_nodes_is_the_sum_of_all_clients() -> None:
    asked = FIO["read"].expecting(case_of(FIO["read"]))
    parsed = asked.parse(io.StringIO(clients("read", "read", "All clients")))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    (sum_,) = parsed.measurements
    assert (sum_.fom, sum_.value, sum_.at) == ("bandwidth", 300.0, {"operation": "read"})
    whole = FIO["read"].parse(io.StringIO(clients("read", "read", "All clients")))
    assert len(whole.measurements) == 3, "without a case, each client is told apart"


@pytest.mark.parametrize("names", [("read", "All clients"), ("read", "read"), ("read",)])
def test_a_client_or_a_sum_that_is_missing_keeps_the_run_from_being_complete(names: tuple[str, ...]) -> None:
    asked = FIO["read"].expecting(case_of(FIO["read"]))
    parsed = asked.parse(io.StringIO(clients(*names)))
    assert not parsed.is_complete
    assert f"{len([one for one in names if one == 'read'])} of 2 nodes" in parsed.problems[0]


@pytest.mark.parametrize("pattern", FIO)
def test_one_node_has_no_fault(pattern: str) -> None:
    assert list(FIO[pattern].faults(case_of(FIO[pattern], Layout(threads=8)))) == []


@pytest.mark.parametrize(
    ("layout", "parameters", "cure"),
    [
        (Layout(), {"block": 8192, "size": 4096}, "set size: 8192"),
        (Layout(), {"block": 1000}, "set block: 4096 or direct: false"),
    ],
)
def test_faults_are_found_before_the_run_and_name_the_cure(
    layout: Layout, parameters: dict[str, int], cure: str
) -> None:
    (fault,) = FIO["read"].faults(case_of(FIO["read"], layout, **parameters))
    assert cure in fault
