"""What a program printed of itself, held against what was asked of it: a contradiction is no measurement."""

from __future__ import annotations

import pytest

from tare.core.case import Case, Layout
from tare.core.site import Platform
from tare.core.values import Scalar
from tare.core.workload import Measurement, Parsed
from tare.execution.printed_settings import anchored, contradictions, requested_settings, with_contradictions
from tare.plugins import registry
from workloads.cases import case_of


def said(workload: str, **printed: tuple[Scalar, ...]) -> Parsed:
    return Parsed(is_complete=True, printed=printed)


def sentences(name: str, case: Case, **printed: tuple[Scalar, ...]) -> list[str]:
    workload = registry.workloads()[name]
    requested = requested_settings(workload, case, Platform())
    return [*contradictions(workload, said(name, **printed), requested, "asked for")]


def test_both_numbers_are_in_the_sentence() -> None:
    hpcg = registry.workloads()["hpcg"]
    case = case_of(hpcg, Layout(nodes=8, ranks=512, ranks_per_node=64))
    assert sentences("hpcg", case, ranks=(4,)) == ["hpcg printed 4 ranks, and 512 were asked for"]
    assert sentences("hpcg", case, ranks=(512,)) == []


@pytest.mark.parametrize("name", ["hpcg", "hpl", "hpcc", "imb.alltoall", "lammps.lj", "openfoam.motorbike"])
def test_copies_that_each_ran_alone_are_found_by_what_they_print(name: str) -> None:
    workload = registry.workloads()[name]
    case = case_of(
        workload, Layout(nodes=2, ranks=4, ranks_per_node=2), **({"n": 960} if "hp" in name else {})
    )
    (sentence,) = sentences(name, case, ranks=(1,))
    assert sentence == f"{name} printed 1 rank, and 4 were asked for; build it with the launcher's MPI"


def test_a_pair_of_a_larger_case_is_asked_for_two_ranks() -> None:
    case = case_of(registry.workloads()["imb.pingpong"], Layout(nodes=2, ranks=128, ranks_per_node=64))
    assert sentences("imb.pingpong", case, ranks=(2,)) == []
    assert sentences("imb.pingpong", case, ranks=(128,)) == [
        "imb.pingpong printed 128 ranks, and 2 were asked for"
    ]


def test_parameters_and_threads_are_held_too_but_not_what_was_left_to_the_program() -> None:
    ior = registry.workloads()["ior"]
    case = case_of(ior, Layout(threads=2), transfer=4096, api="POSIX")
    assert sentences("ior", case, transfer=(1 << 20,), api=("posix",), threads=(1,)) == [
        "ior printed transfer 1MiB, and 4KiB was asked for",
        "ior printed 1 thread per rank, and 2 were asked for",
    ]
    hpcg = registry.workloads()["hpcg"]
    assert sentences("hpcg", case_of(hpcg), ny=(104,), version=("3.1",)) == []


def test_a_flag_that_is_off_is_asked_for_all_the_same() -> None:
    perftest = registry.workloads()["perftest.write_bw"]
    assert sentences("perftest.write_bw", case_of(perftest), bidirectional=(True,)) == [
        "perftest.write_bw printed bidirectional true, and false was asked for"
    ]


def test_an_output_with_two_results_is_not_the_one_that_was_asked_for() -> None:
    case = case_of(registry.workloads()["hpcg"], Layout(ranks=4, ranks_per_node=4))
    assert sentences("hpcg", case, ranks=(4, 2)) == ["hpcg printed 4 and 2 ranks, and 4 were asked for"]


def test_a_contradiction_becomes_a_problem() -> None:
    hpcg = registry.workloads()["hpcg"]
    parsed = with_contradictions(hpcg, said("hpcg", ranks=(4,)), {"ranks": 512}, "stated")
    assert parsed.problems == ("hpcg printed 4 ranks, and 512 were stated",)


def test_the_third_of_five_is_never_paired_with_the_third_of_three() -> None:
    def run(count: int) -> list[Measurement]:
        return [
            Measurement(fom="time", value=1.0, unit="s", at={"run": number}) for number in range(1, count + 1)
        ]

    places = {tuple(sorted(one.at.items())) for one in anchored(run(3))}
    assert places & {tuple(sorted(one.at.items())) for one in anchored(run(5))} == set()
    plain = [Measurement(fom="time", value=1.0, unit="s", at={"bytes": 8})]
    assert anchored(plain) == plain


def test_the_name_of_a_test_is_no_number_of_it() -> None:
    named = [
        Measurement(fom="latency", value=1.0, unit="us", at={"test": name}) for name in ("tcp_lat", "udp_lat")
    ]
    assert anchored(named) == named
