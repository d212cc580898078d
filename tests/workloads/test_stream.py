"""STREAM's parser on real output (corpus/INDEX.tsv names the origin of each file) and on damaged output."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings

from support.outputs import reader
from tare.core.case import Layout
from tare.core.workload import Parsed
from tare.plugins.workloads.stream import WORKLOADS
from workloads.cases import case_of
from workloads.damage import MESSES, cuts, damaged, made_up

(STREAM,) = WORKLOADS
GIBIBYTE = 1073.741824  # MB

OUTPUT = """\
-------------------------------------------------------------
STREAM version $Revision: 5.10 $
-------------------------------------------------------------
Array size = 10000000 (elements), Offset = 0 (elements)
WARNING -- The above is only a rough guideline.
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:            4060.2     0.039839     0.039407     0.040885
Scale:           2144.2     0.076166     0.074621     0.079537
Add:             2151.6     0.114030     0.111544     0.118016
Triad:           2273.7     0.107650     0.105557     0.110415
-------------------------------------------------------------
Solution Validates: avg error less than 1.000000e-13 on all three arrays
-------------------------------------------------------------
"""


parse = reader(STREAM)


def rates(parsed: Parsed, **at: int) -> dict[str, float]:
    return {one.fom: one.value for one in parsed.measurements if at.items() <= one.at.items()}


# Real output


@pytest.mark.parametrize(
    ("name", "copy", "triad"),
    [
        ("03-cyclecloud-start-end-lines.out", 48647.2, 44444.9),
        ("06-virtualclient-ok.txt", 18514.5, 23314.0),
        ("08-virtualclient-msft.txt", 277, 415),
        ("09-superbench-neo.log", 108180.5, 105256.0),
        ("10-superbench-zen.log", 342008.3, 363208.7),
        ("11-nvidia-gpu-fp64.out", 3071120.9703, 3127058.6779),
    ],
)
def test_a_table_is_read(corpus: Path, name: str, copy: float, triad: float) -> None:
    parsed = parse((corpus / "stream" / name).read_text())
    assert (parsed.is_complete, parsed.problems, len(parsed.measurements)) == (True, (), 4)
    assert (rates(parsed)["copy"], rates(parsed)["triad"]) == (copy, triad)


def test_the_copies_of_96_ranks_are_distinguished_though_their_rows_mix(corpus: Path) -> None:
    parsed = parse((corpus / "stream/01-96-copies-one-file-eks.out").read_text())
    assert (parsed.is_complete, parsed.problems, len(parsed.measurements)) == (True, (), 4 * 96)
    assert (rates(parsed, run=1)["copy"], rates(parsed, run=1)["triad"]) == (4060.2, 2273.7)
    assert rates(parsed, run=96)["triad"] == 2918.9


def test_gibibytes_become_megabytes(corpus: Path) -> None:
    parsed = parse((corpus / "stream/04-cuda-GiBs-8-tables.out").read_text())
    assert (parsed.is_complete, parsed.problems, len(parsed.measurements)) == (True, (), 4 * 8)
    assert rates(parsed, run=1)["copy"] == 744.5951 * GIBIBYTE
    assert rates(parsed, run=1)["triad"] == 748.1812 * GIBIBYTE


def test_rows_of_gpu_stream_are_read_by_gpu_and_block(corpus: Path) -> None:
    parsed = parse((corpus / "stream/12-superbench-gpu_stream.log").read_text())
    assert (parsed.is_complete, parsed.problems, len(parsed.measurements)) == (True, (), 2 * 4 * 4)
    assert rates(parsed, gpu=0, block=128)["triad"] == 7378.19 * 1000
    assert rates(parsed, gpu=1, block=1024)["triad"] == 6732.15 * 1000


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("02-gke-1377B-short.out", "the output holds no table of STREAM"),
        (
            "07-virtualclient-invalid-metric-count.txt",
            "the output holds 0 rows of copy for 1 copies of STREAM",
        ),
    ],
)
def test_output_without_rows_is_reported(corpus: Path, name: str, problem: str) -> None:
    parsed = parse((corpus / "stream" / name).read_text())
    assert (parsed.is_complete, parsed.measurements) == (False, ())
    assert problem in parsed.problems


def test_every_file_has_its_expectation_above(corpus: Path) -> None:
    assert len(list((corpus / "stream").iterdir())) == 11


def test_output_cut_anywhere_is_complete_only_with_four_figures_a_copy(corpus: Path) -> None:
    for path in sorted((corpus / "stream").iterdir()):
        text = path.read_text()
        for cut in cuts(text):
            for lines in (io.StringIO(cut), cut.splitlines()):
                parsed = STREAM.parse(lines)
                n_rows = cut.count("Function ") * 4 or cut.count("_128 ") * 4
                assert not parsed.is_complete or len(parsed.measurements) == n_rows
                assert made_up(parsed, cut, [1, GIBIBYTE, 1000]) == []


# Damaged output


def test_the_example_is_complete() -> None:
    parsed = parse(OUTPUT)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert rates(parsed) == {"copy": 4060.2, "scale": 2144.2, "add": 2151.6, "triad": 2273.7}


def test_old_fortran_and_c_heads_are_read() -> None:
    head = "Function    Best Rate MB/s  Avg time     Min time     Max time"
    old = OUTPUT.replace(head, "Function      Rate (MB/s)   Avg time     Min time     Max time")
    assert rates(parse(old)) == rates(parse(OUTPUT))
    assert rates(parse("".join(f" {line}" for line in old.splitlines(keepends=True)))) == rates(parse(OUTPUT))


def test_a_failed_validation_is_a_problem() -> None:
    failed = "Failed Validation on array a[], AvgRelAbsErr > epsilon (1.000000e-13)"
    parsed = parse(
        OUTPUT.replace("Solution Validates: avg error less than 1.000000e-13 on all three arrays", failed)
    )
    assert parsed.problems == (f"STREAM's validation failed: {failed}", "STREAM validated 0 of 1 solutions")


def test_a_missing_validation_keeps_the_run_from_being_complete() -> None:
    parsed = parse(OUTPUT[: OUTPUT.index("Solution")])
    assert (parsed.is_complete, parsed.problems) == (False, ("STREAM validated 0 of 1 solutions",))


@pytest.mark.parametrize("kernel", ["Copy", "Scale", "Add", "Triad"])
def test_a_lost_row_keeps_the_run_from_being_complete(kernel: str) -> None:
    kept = [line for line in OUTPUT.splitlines(keepends=True) if not line.startswith(kernel)]
    parsed = parse("".join(kept))
    assert parsed.problems == (f"the output holds 0 rows of {kernel.lower()} for 1 copies of STREAM",)
    assert not parsed.is_complete


@pytest.mark.parametrize("broken", ["********", "nan", "inf", "2,273.7", "2273.7.1"])
def test_what_is_not_a_number_is_a_problem(broken: str) -> None:
    parsed = parse(OUTPUT.replace("2273.7", broken))
    assert "triad" not in rates(parsed)
    is_told = [
        one.startswith(("triad is ", "STREAM's table has a broken row: Triad")) for one in parsed.problems
    ]
    assert any(is_told)


def test_a_broken_row_of_gpu_stream_is_a_problem() -> None:
    row = "STREAM_COPY_double_gpu_0_buffer_4294967296_block_128    6711.67 8"
    assert f"gpu_stream's table has a broken row: {' '.join(row.split())}" in parse(f"{row}\n").problems


def test_a_row_cut_short_is_no_row() -> None:
    for has_ends in (True, False):
        text = OUTPUT[: OUTPUT.index("  0.105557")] + "  0.1"
        parsed = STREAM.parse(io.StringIO(text) if has_ends else text.splitlines())
        assert "triad" not in rates(parsed)
        assert not parsed.is_complete


def test_an_abort_is_a_problem() -> None:
    parsed = parse(OUTPUT + "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD\n")
    assert parsed.problems == ("a rank called MPI_Abort",)


def test_as_many_tables_as_ranks_are_expected() -> None:
    workload = STREAM.expecting(case_of(STREAM, Layout(nodes=1, ranks=2, ranks_per_node=2)))
    assert workload.parse(io.StringIO(OUTPUT + OUTPUT)).is_complete
    assert not workload.parse(io.StringIO(OUTPUT)).is_complete


@pytest.mark.parametrize("mess", MESSES)
def test_noise_and_encodings_change_nothing(mess: Callable[[str], str]) -> None:
    assert parse(mess(OUTPUT)) == parse(OUTPUT)


@given(damaged(OUTPUT))
@settings(max_examples=150)
def test_damage_never_crashes_and_never_makes_up_a_number(text: str) -> None:
    assert made_up(parse(text), text, [1, GIBIBYTE, 1000, 1.048576]) == []


# Commands


def test_threads_are_set_and_bound() -> None:
    (stage,) = STREAM.stages(case_of(STREAM, Layout(threads=4)))
    assert (stage.argv, stage.is_mpi) == (("stream",), False)
    assert stage.env == {"OMP_NUM_THREADS": "4", "OMP_PROC_BIND": "true"}


def test_several_ranks_run_a_copy_each() -> None:
    (stage,) = STREAM.stages(case_of(STREAM, program="stream_c.exe"))
    assert (stage.argv, stage.is_mpi) == (("stream_c.exe",), True)


def test_rows_before_the_head_of_their_table_are_told() -> None:
    """The beginning of the first of two copies is lost."""
    (problem,) = {one for one in parse(OUTPUT[OUTPUT.index("Scale:") :] + OUTPUT).problems if "mixed" in one}
    assert problem.endswith("a row of STREAM stands before the head of its table")
