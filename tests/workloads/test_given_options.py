"""Options in `args` that a parameter of the workload sets are refused before anything runs."""

from __future__ import annotations

import pytest

from tare.core.case import Layout
from tare.plugins import registry
from workloads.cases import case_of

REFUSED: list[tuple[str, str, str, str]] = [
    ("osu.latency", "-i 200", "-i", "set iterations"),
    ("osu.latency", "-i200", "-i", "set iterations"),
    ("osu.latency", "--iterations=200", "--iterations", "set iterations"),
    ("osu.latency", "--iter 200", "--iterations", "set iterations"),
    ("osu.latency", "-x 10 -m 8:64", "-m", "set min_bytes and max_bytes"),
    ("osu.allreduce", "-f", "-f", "set full: true"),
    ("osu.bw", "-d cuda", "-d", "set device"),
    ("imb.alltoall", "-msgsize 8,16", "-msgsize", "set min_bytes and max_bytes"),
    ("ior", "-t 4k", "-t", "set transfer"),
    ("ior", "-i 3", "-i", "set repetitions"),
    ("ior", "-F", "-F", "set file_per_process"),
    ("mdtest", "-n 10", "-n", "set items"),
    ("elbencho.write", "--block=4k", "--block", "set block"),
    ("elbencho.write", "-b4k", "-b", "set block"),
    ("fio.read", "--bs=4k", "--bs", "set block"),
    ("fio.read", "--runtime 5", "--runtime", "set time_s"),
    ("fio.read", "--rw=write", "--rw", "choose another workload"),
    ("hpcg", "--nx=32", "--nx", "set nx"),
    ("hpcg", "--rt=60", "--rt", "set time_s"),
    ("babelstream", "-n 10", "-n", "set repetitions"),
    ("gromacs.water", "-nsteps 10", "-nsteps", "set steps"),
]


@pytest.mark.parametrize(("name", "args", "option", "cure"), REFUSED)
def test_an_option_that_a_parameter_sets_is_refused_with_the_cure(
    name: str, args: str, option: str, cure: str
) -> None:
    workload = registry.workloads()[name]
    *_, fault = workload.faults(case_of(workload, args=args))
    assert fault.startswith(f"args has {option}, which {name} sets itself; leave it out, and {cure}")


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("osu.latency", "-x 50 -W create"),
        ("osu.barrier", "-m 8"),
        ("osu.latency", "none"),
        ("ior", "-C -k"),
        ("elbencho.write", "--timelimit 10"),
        ("fio.read", "--fsync=1 --thread --norandommap"),
        ("hpcg", "--pz=2"),
        ("gromacs.water", "-nb gpu -pme gpu -gpu_id 0 -nstlist 100 -maxh 1"),
    ],
)
def test_other_options_are_passed_on(name: str, args: str) -> None:
    workload = registry.workloads()[name]
    assert [*workload.faults(case_of(workload, args=args))] == []


def test_an_option_is_refused_once_however_often_it_is_given() -> None:
    workload = registry.workloads()["osu.latency"]
    faults = [*workload.faults(case_of(workload, Layout(nodes=2, ranks=2), args="-i 5 -i 6"))]
    assert len(faults) == 1
