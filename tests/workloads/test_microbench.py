"""The parser of Tare's microbenchmark: on what a real run printed, and on damaged output."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.outputs import reader
from tare.core.case import Layout
from tare.core.values import Scalar
from tare.core.workload import Parsed
from tare.plugins.workloads.microbench import WORKLOADS, source
from workloads.cases import case_of
from workloads.damage import DISGUISES, NOISE, cuts, damaged, made_up

P2P, COLLECTIVES = WORKLOADS
OUTPUTS = Path(__file__).parent / "microbench"
PAIR = (OUTPUTS / "p2p-intelmpi.jsonl").read_text()
"""Intel MPI 2021.18 over TCP, on two nodes of the lab."""
GROUP = (OUTPUTS / "collectives-openmpi.jsonl").read_text()
"""Open MPI 5.0.11 over TCP, on two nodes of the lab."""
HEADER, *ROWS, END = PAIR.splitlines(keepends=True)


parse = reader(P2P)


def only(parsed: Parsed, fom: str, **at: Scalar) -> float:
    (value,) = (one.value for one in parsed.measurements if one.fom == fom and one.at == at)
    return value


# Real output


def without_means(parsed: Parsed) -> Parsed:
    """Return `parsed` without the only figures that are computed from several printed ones."""
    printed = tuple(one for one in parsed.measurements if not one.fom.endswith("_small_mean"))
    return msgspec.structs.replace(parsed, measurements=printed)


def test_latency_and_bandwidth_are_read() -> None:
    parsed = parse(PAIR)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert len(parsed.measurements) == 15 * 10 + 1
    means = [only(parsed, "latency_mean", bytes=size) for size in (1, 2, 4, 8, 16, 32, 64)]
    assert only(parsed, "latency_small_mean") == round(sum(means) / 7, 6)
    assert only(parsed, "latency_p50", bytes=8) == 3.495
    assert only(parsed, "latency_p999", bytes=8) == 18.881
    assert only(parsed, "bandwidth_p50", bytes=64) == 23.8377


def test_collective_operations_are_distinguished_and_a_barrier_has_no_size() -> None:
    parsed = COLLECTIVES.parse(io.StringIO(GROUP))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert only(parsed, "time_p50", op="barrier") == 6.469
    assert only(parsed, "time_p99", op="allreduce", bytes=16) == 13.393


def test_a_percentile_that_the_program_left_out_is_no_figure() -> None:
    foms = {one.fom for one in COLLECTIVES.parse(io.StringIO(GROUP)).measurements}
    assert "time_p99" in foms
    assert "time_p999" not in foms


def test_the_payload_is_what_each_node_must_have_moved() -> None:
    pingpong = sum(2 * 1000 * size for size in (0, 1, 2, 4, 8, 16, 32, 64))
    bandwidth = sum(64 * 1000 * size for size in (1, 2, 4, 8, 16, 32, 64))
    assert parse(PAIR).payload_bytes == pingpong + bandwidth
    assert COLLECTIVES.parse(io.StringIO(GROUP)).payload_bytes == 150 * (1 + 31 + 28 + 31 + 31)


def test_every_figure_is_declared_with_its_unit_and_direction() -> None:
    for workload, text in ((P2P, PAIR), (COLLECTIVES, GROUP)):
        declared = {fom.name: fom for fom in workload.foms}
        for one in workload.parse(io.StringIO(text)).measurements:
            assert one.unit == declared[one.fom].unit
            assert set(one.at) <= set(declared[one.fom].by)
    assert [fom.name for fom in P2P.foms if fom.is_primary] == [
        "latency_p50",
        "bandwidth_p50",
        "exchange_p50",
    ]
    assert [fom.name for fom in COLLECTIVES.foms if fom.is_primary] == ["time_p50"]


def test_rows_of_the_other_workload_are_left_alone() -> None:
    parsed = COLLECTIVES.parse(io.StringIO(PAIR))
    assert (parsed.is_complete, parsed.measurements) == (False, ())
    assert parsed.problems == (
        "the output holds no figures of barrier, bcast, allreduce, allgather, alltoall",
    )


# Damaged output


def test_output_cut_anywhere_is_complete_only_when_the_end_is_in() -> None:
    whole = [one.value for one in parse(PAIR).measurements]
    for text in cuts(PAIR, 200):
        for lines in (io.StringIO(text), text.splitlines()):
            parsed = P2P.parse(lines)
            assert not parsed.is_complete
            assert parsed.problems
            assert [one.value for one in parsed.measurements] == whole[: len(parsed.measurements)]


def test_a_lost_last_line_end_changes_nothing() -> None:
    assert parse(PAIR.rstrip("\n")) == parse(PAIR)


@pytest.mark.parametrize("lost", range(len(ROWS)))
def test_a_lost_row_keeps_the_run_from_being_complete(lost: int) -> None:
    parsed = parse(HEADER + "".join(ROWS[:lost] + ROWS[lost + 1 :]) + END)
    assert not parsed.is_complete
    assert parsed.problems == ("the output holds 14 of 15 rows",)


def test_a_row_that_takes_the_place_of_another_is_noticed() -> None:
    parsed = parse(HEADER + "".join([*ROWS[:-1], ROWS[0]]) + END)
    assert not parsed.is_complete
    assert parsed.problems == ("pingpong at 0 bytes is there 2 times",)


def test_a_lost_header_keeps_the_run_from_being_complete() -> None:
    parsed = parse(PAIR.removeprefix(HEADER))
    assert not parsed.is_complete
    assert parsed.problems == ("the output lacks its first line",)


@pytest.mark.parametrize(
    "broken", ["nan", "-nan", "inf", "NaN", "Infinity", "1e999", "****", "null", '"7"', ""]
)
def test_what_is_not_a_number_is_a_problem(broken: str) -> None:
    row = ROWS[4].partition('"mean":')[0] + f'"mean":{broken}}}\n'
    parsed = parse(PAIR.replace(ROWS[4], row))
    assert not parsed.is_complete
    assert any("broken line" in problem for problem in parsed.problems)
    assert not [one for one in parsed.measurements if one.at == {"bytes": 8} and "latency" in one.fom]


@pytest.mark.parametrize(
    ("old", "new"), [('"min":', '"min":9'), ('"max":', '"max":-'), ('"n":1000', '"n":0'), ('"n":', '"n":-')]
)
def test_figures_that_contradict_each_other_are_a_problem(old: str, new: str) -> None:
    parsed = parse(PAIR.replace(ROWS[4], ROWS[4].replace(old, new)))
    assert not parsed.is_complete
    assert "the figures of pingpong at 8 bytes contradict each other" in parsed.problems


def test_a_unit_that_is_not_the_figures_own_is_a_problem() -> None:
    parsed = parse(PAIR.replace(ROWS[4], ROWS[4].replace('"us"', '"ms"')))
    assert not parsed.is_complete
    assert parsed.problems == ("pingpong at 8 bytes is in ms",)


def test_output_of_another_version_of_the_program_is_refused() -> None:
    parsed = parse(PAIR.replace('"version":1,', '"version":2,'))
    assert not parsed.is_complete
    assert parsed.problems == ("the output is of version 2 of the program, not 1",)


def test_fields_and_lines_of_samples_that_a_dump_adds_change_nothing() -> None:
    samples = '{"tare":"samples","op":"pingpong","bytes":8,"values":[1.5,2.5]}\n'
    assert parse(PAIR.replace(ROWS[4], samples + ROWS[4].replace("}", ',"more":[1]}'))) == parse(PAIR)


@pytest.mark.parametrize("noise", NOISE)
def test_noise_between_and_behind_lines_changes_nothing(noise: str) -> None:
    assert parse("".join(noise + line for line in [HEADER, *ROWS, END])) == parse(PAIR)
    assert parse(PAIR.replace("}\n", "}" + noise)) == parse(PAIR)


@pytest.mark.parametrize("disguise", DISGUISES)
def test_encodings_change_nothing(disguise: Callable[[str], str]) -> None:
    assert parse(disguise(PAIR)) == parse(PAIR)


def test_a_tag_of_open_mpi_before_each_line_changes_nothing() -> None:
    tagged = "".join(f"[prterun-n1-77@1,0]<stdout>: {line}" for line in [HEADER, *ROWS, END])
    assert parse(tagged) == parse(PAIR)


def test_a_run_cut_off_and_started_again_counts_once() -> None:
    assert parse(HEADER + "".join(ROWS[:5]) + PAIR) == parse(PAIR)


def test_two_whole_runs_are_distinguished() -> None:
    parsed = parse(PAIR + PAIR)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert only(parsed, "latency_p50", bytes=8, run=2) == only(parse(PAIR), "latency_p50", bytes=8)


def test_an_abort_is_a_problem() -> None:
    text = PAIR + "Abort(1) on node 1 (rank 1 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 1)\n"
    assert any("aborted" in problem for problem in parse(text).problems)


def test_other_ranks_than_the_case_asked_for_are_a_problem() -> None:
    expecting = COLLECTIVES.expecting(case_of(COLLECTIVES, Layout(nodes=2, ranks=4, ranks_per_node=2)))
    (problem,) = expecting.parse(io.StringIO(GROUP)).problems
    assert problem.startswith("the program ran on 2 ranks instead of 4")
    pair = P2P.expecting(case_of(P2P, Layout(nodes=4, ranks=16, ranks_per_node=4)))
    assert pair.parse(io.StringIO(PAIR)).problems == ()


@pytest.mark.parametrize("text", ["", "\n", "{}\n", '{"tare":', '{"tare":"\n', '{"tare":"other"}\n'])
def test_what_is_no_output_of_the_program_is_never_complete(text: str) -> None:
    parsed = parse(text)
    assert not parsed.is_complete
    assert parsed.problems


@given(st.data())
@settings(max_examples=150)
def test_damage_never_crashes_and_never_makes_up_a_number(data: st.DataObject) -> None:
    text = data.draw(damaged(PAIR))
    assert made_up(without_means(parse(text)), text) == []


# Commands and faults


def test_the_source_is_compiled_first_and_then_run_on_two_nodes() -> None:
    layout = Layout(nodes=4, ranks=16, ranks_per_node=4)
    build, run = P2P.stages(case_of(P2P, layout, mpicc="mpicc_abi", max_bytes=1024, time_s=0.5))
    assert build.argv[:3] == ("mpicc_abi", "-std=c11", "-O2")
    assert build.argv[-3:] == ("-o", "microbench", "microbench.c")
    assert (build.is_mpi, build.keeps, build.files) == (False, ("microbench",), {"microbench.c": source()})
    assert " ".join(run.argv) == (
        "{work}/microbench --min-bytes 0 --max-bytes 1024 --iterations 10000 --time-limit 0.5 --window 64 "
        "pingpong bandwidth"
    )
    assert run.layout == Layout(nodes=2, ranks=2, ranks_per_node=1)


def test_one_build_serves_all_layouts() -> None:
    layouts = (Layout(nodes=2, ranks=2), Layout(nodes=4, ranks=8, ranks_per_node=2))
    one, other = (COLLECTIVES.stages(case_of(COLLECTIVES, layout))[0] for layout in layouts)
    assert one == other


def test_collective_operations_run_on_all_ranks() -> None:
    layout = Layout(nodes=2, ranks=4, ranks_per_node=2)
    _, run = COLLECTIVES.stages(case_of(COLLECTIVES, layout, operations="alltoall  barrier"))
    assert run.argv[-4:] == ("--time-limit", "1", "alltoall", "barrier")
    assert run.layout == layout


def test_defaults_have_no_fault() -> None:
    assert [list(workload.faults(case_of(workload))) for workload in WORKLOADS] == [[], []]


@pytest.mark.parametrize(
    ("layout", "parameters", "fault"),
    [
        (Layout(), {}, "needs 2 ranks or more, and the case has 1; set ranks: 2, or nodes: 2"),
        (None, {"max_bytes": 1000}, "max_bytes is 1000, but .* set max_bytes: 512"),
        (None, {"min_bytes": 3}, "min_bytes is 3, but .* set min_bytes: 2"),
        (None, {"max_bytes": 1 << 31}, "up to 1 GiB; set max_bytes: 1073741824"),
        (None, {"min_bytes": 16, "max_bytes": 8}, "min_bytes 16 is more than max_bytes 8; set min_bytes: 8"),
        (
            None,
            {"operations": "pingpong bcast"},
            "no operation 'bcast'; choose from .* pingpong bandwidth exchange",
        ),
        (None, {"operations": " "}, "measures each operation once; choose from"),
        (None, {"operations": "pingpong pingpong"}, "measures each operation once; choose from"),
    ],
)
def test_faults_are_found_before_the_run_and_name_the_cure(
    layout: Layout | None, parameters: dict[str, Scalar], fault: str
) -> None:
    (found,) = P2P.faults(case_of(P2P, layout, **parameters))
    assert re.search(fault, found)
