"""HPL's parser on real output (corpus/INDEX.tsv names the origin of each file) and on damaged output."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.outputs import reader
from tare.core.case import Layout
from tare.core.workload import Parsed
from tare.plugins.workloads.hpl import WORKLOADS
from tare.plugins.workloads.hpl_input import grid, hpl_dat, order
from workloads.cases import case_of
from workloads.damage import MESSES, between, cuts, damaged, made_up

(HPL,) = WORKLOADS

OUTPUT = """\
================================================================================
HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018
================================================================================
Gflops : Rate of execution for solving the linear system.
N      :  115584   231168 
- Computational tests pass if scaled residuals are less than                16.0

Column=000021888 Fraction= 5.7% Gflops=8.163e+03
================================================================================
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
WR11C2R4      115584   192     4     8            1235.92             8.3295e+02
HPL_pdgesv() start time Tue Sep 15 09:55:20 2020

--------------------------------------------------------------------------------
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   1.13100920e-03 ...... PASSED
================================================================================
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
WR11C2R4      231168   192     4     8            8827.92             9.3295e+02
--------------------------------------------------------------------------------
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   1.23100920e-03 ...... PASSED
================================================================================

Finished      2 tests with the following results:
              2 tests completed and passed residual checks,
              0 tests completed and failed residual checks,
              0 tests skipped because of illegal input values.
--------------------------------------------------------------------------------

End of Tests.
================================================================================
"""  # noqa: W291  # HPL ends its lists with a blank


parse = reader(HPL)


def rates(parsed: Parsed) -> list[float]:
    return [one.value for one in parsed.measurements if one.fom == "gflops"]


def times(parsed: Parsed) -> list[float]:
    return [one.value for one in parsed.measurements if one.fom == "time"]


def test_a_column_before_the_size_is_left_out() -> None:
    """AMD Zen HPL says there how it swaps rows."""
    text = OUTPUT.replace("T/V     ", "T/V  SWP").replace("WR11C2R4     ", "WRC06R8C30c 211 ")
    parsed = parse(text)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert rates(parsed) == [832.95, 932.95]
    assert [one.at for one in parsed.measurements if one.fom == "time"] == [{"n": 115584}, {"n": 231168}]
    assert "HPL's table has a broken row" in parse(text.replace("8.3295e+02", "8.32")).problems[0]


# Real output

WHOLE = {
    "01-stackhpc-ompi4-hpl2.3.out": (8.3295e02, 1235.92),
    "02-intel-hpl-impi-multi.out": (1.60909e04, 3054.87),
    "03-intel-hpl-csd3.out": (2.51037e03, 689.96),
    "06-virtualclient-intel.txt": (6.68032e02, 551.89),
    "08-nvidia-h100-ansi-gflops-pergpu-columns.out": (8.304e04, 20.28),
    "09-nvidia-a100-ansi-40GB.out": (2.261e04, 29.80),
    "15-superbench-rochpl-progress.log": (8.1261e03, 4645.37),
    "16-asc-report-HPL.out": (1.71587e03, 16.66),
}
NO_END = "the output lacks HPL's closing line; the run did not come to its end"
NO_RESULT = "the output holds no result of HPL"
BROKEN = {
    "04-virtualclient-no-result-row.txt": (
        0,
        {NO_RESULT, "HPL counts 1 completed tests, and the output holds 0"},
    ),
    "05-virtualclient-arm.txt": (2, {"HPL counts 1 completed tests, and the output holds 2"}),
    "10-nvidia-hpl-killed-mid-run.out": (0, {NO_RESULT, NO_END}),
    "11-nvidia-sweep-2-results-truncated.out": (2, {NO_END}),
    "12-nvidia-sweep-no-results-yet.out": (0, {NO_RESULT, NO_END}),
    "13-only-launcher-lines.out": (0, {NO_RESULT}),
    "14-nvidia-sweep-11-results-no-footer.out": (11, {NO_END}),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_passed_test_is_read(corpus: Path, name: str) -> None:
    parsed = parse((corpus / "hpl" / name).read_text())
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert [(one.value, one.at) for one in parsed.measurements] == [(value, {}) for value in WHOLE[name]]


@pytest.mark.parametrize("name", BROKEN)
def test_a_run_that_is_not_whole_has_a_reason(corpus: Path, name: str) -> None:
    n_results, problems = BROKEN[name]
    parsed = parse((corpus / "hpl" / name).read_text())
    assert not parsed.is_complete
    assert len(rates(parsed)) == n_results
    assert set(parsed.problems) == problems


def test_every_file_has_its_expectation_above(corpus: Path) -> None:
    assert {path.name for path in (corpus / "hpl").iterdir()} == WHOLE.keys() | BROKEN.keys()


def test_the_tests_of_a_sweep_are_distinguished_by_what_differs(corpus: Path) -> None:
    two = parse((corpus / "hpl/11-nvidia-sweep-2-results-truncated.out").read_text())
    assert [(one.value, one.at) for one in two.measurements if one.fom == "gflops"] == [
        (3469.0, {"variant": "WR00L2L2"}),
        (3792.0, {"variant": "WR00L2L8"}),
    ]
    eleven = parse((corpus / "hpl/14-nvidia-sweep-11-results-no-footer.out").read_text())
    assert [one.at for one in eleven.measurements if one.fom == "gflops"][:3] == [
        {"n": 110000, "run": 1},
        {"n": 110000, "run": 2},
        {"n": 120000, "run": 1},
    ]


def test_output_cut_anywhere_is_complete_only_once_the_closing_line_is_in(corpus: Path) -> None:
    for path in sorted((corpus / "hpl").iterdir()):
        text = path.read_text()
        whole = set(rates(parse(text)))
        for cut in cuts(text):
            for lines in (io.StringIO(cut), cut.splitlines()):
                parsed = HPL.parse(lines)
                assert not parsed.is_complete or "End of Tests." in cut
                assert set(rates(parsed)) <= whole


# Damaged output


def test_the_example_is_complete() -> None:
    parsed = parse(OUTPUT)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert [(one.fom, one.value, one.at) for one in parsed.measurements] == [
        ("gflops", 832.95, {"n": 115584}),
        ("time", 1235.92, {"n": 115584}),
        ("gflops", 932.95, {"n": 231168}),
        ("time", 8827.92, {"n": 231168}),
    ]


def test_a_time_that_rounds_to_nothing_is_no_time() -> None:
    small = OUTPUT.replace("115584   192", "   100   192").replace(
        "1235.92             8.3295e+02", "   0.00             3.0000e-01"
    )
    parsed = parse(small)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert rates(parsed) == [0.3, 932.95]
    assert times(parsed) == [8827.92]


def test_a_failed_residual_is_a_problem() -> None:
    text = OUTPUT.replace("1.23100920e-03 ...... PASSED", "1.23100920e+09 ...... FAILED")
    text = text.replace("2 tests completed and passed", "1 tests completed and passed")
    text = text.replace("0 tests completed and failed", "1 tests completed and failed")
    parsed = parse(text)
    assert parsed.is_complete
    assert parsed.problems == (
        "the residual of the test WR11C2R4 with N 231168 is 1.23100920e+09: FAILED",
        "HPL counts 1 test whose residual check failed",
    )


def test_a_time_that_is_no_number_is_a_problem() -> None:
    (problem,) = parse(OUTPUT.replace("8827.92", "    nan")).problems
    assert problem.startswith("time at n 231168 is nan, which is no measurement")


@pytest.mark.parametrize("residual", ["nan", "-nan", "inf", "********"])
def test_a_residual_that_is_no_number_is_a_problem_whatever_its_verdict(residual: str) -> None:
    parsed = parse(OUTPUT.replace("1.23100920e-03", residual))
    assert parsed.problems == (f"the residual of the test WR11C2R4 with N 231168 is {residual}: PASSED",)


def test_three_verdicts_of_old_versions_are_one_check() -> None:
    old = "||Ax-b||_oo / ( eps * ||A||_1  * N        ) =        0.0013085 ...... PASSED\n"
    assert rates(parse(OUTPUT.replace("||Ax-b||_oo/", old + old + "||Ax-b||_oo/"))) == [832.95, 932.95]


def test_a_missing_residual_check_keeps_the_run_from_being_complete() -> None:
    line = next(line for line in OUTPUT.splitlines(keepends=True) if "1.2310" in line)
    parsed = parse(OUTPUT.replace(line, ""))
    assert not parsed.is_complete
    assert parsed.problems == ("the test WR11C2R4 with N 231168 has no residual check",)


def test_a_run_without_checks_is_complete() -> None:
    lines = [line for line in OUTPUT.splitlines(keepends=True) if "residual" not in line and "||" not in line]
    text = "".join(lines).replace(
        "Finished      2 tests with the following results:",
        "Finished      2 tests.\n              2 tests completed without checking,",
    )
    assert (parse(text).is_complete, parse(text).problems) == (True, ())


def test_an_error_is_a_problem() -> None:
    error = "HPL ERROR from process # 0, on line 419 of function HPL_pdinfo:"
    assert f"HPL printed: {error}" in parse(error + "\n>>> Need at least 4 processes <<<\n").problems


def test_an_abort_is_a_problem() -> None:
    parsed = parse(OUTPUT + "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD\n")
    assert parsed.problems == ("a rank called MPI_Abort",)


def test_skipped_tests_are_a_problem() -> None:
    parsed = parse(OUTPUT.replace("0 tests skipped", "1 tests skipped"))
    assert parsed.problems == ("HPL skipped 1 test because of illegal input values",)


@pytest.mark.parametrize("broken", ["********", "nan", "9.3", "9.3295e", "inf"])
def test_a_rate_that_is_no_number_is_a_problem(broken: str) -> None:
    parsed = parse(OUTPUT.replace("9.3295e+02", broken))
    assert rates(parsed) == [832.95]
    row = f"WR11C2R4 231168 192 4 8 8827.92 {broken}"
    is_told = [f"broken row: {row}" in one or one.startswith("gflops at n 231168") for one in parsed.problems]
    assert any(is_told)


def test_a_cut_off_start_that_was_repeated_takes_nothing_away() -> None:
    assert parse(OUTPUT[: OUTPUT.index("T/V ")] + OUTPUT) == parse(OUTPUT)


def test_two_runs_in_one_log_are_distinguished() -> None:
    parsed = parse(OUTPUT + OUTPUT)
    assert parsed.is_complete
    assert [one.at for one in parsed.measurements if one.fom == "gflops"] == [
        {"n": 115584, "run": 1},
        {"n": 231168, "run": 1},
        {"n": 115584, "run": 2},
        {"n": 231168, "run": 2},
    ]


@pytest.mark.parametrize("mess", [*MESSES, between("Prog= 1.22% N_left= 1408 Time= 1.2 Gflops= 8.1e+04\n")])
def test_noise_and_encodings_change_nothing(mess: Callable[[str], str]) -> None:
    assert parse(mess(OUTPUT)) == parse(OUTPUT)


@given(damaged(OUTPUT))
@settings(max_examples=150)
def test_damage_never_crashes_and_never_makes_up_a_number(text: str) -> None:
    assert made_up(parse(text), text) == []


# Input


@given(st.integers(1, 10_000))
def test_the_grid_is_the_most_square_one(ranks: int) -> None:
    p, q = grid(ranks)
    assert p * q == ranks
    assert p <= q
    assert not [r for r in range(p + 1, q) if r * r <= ranks and ranks % r == 0]


def test_the_matrix_fills_its_share_of_all_nodes_memory_in_whole_blocks() -> None:
    case = case_of(HPL, Layout(nodes=2, ranks=8, ranks_per_node=4), memory=0.8, node_memory=64 << 30, nb=192)
    assert order(case) == 117120
    assert order(case) % 192 == 0
    assert 8 * order(case) ** 2 <= 0.8 * 2 * (64 << 30) < 8 * (order(case) + 192) ** 2


def test_the_input_file_has_size_blocks_and_grid_on_the_lines_where_hpl_reads_them() -> None:
    case = case_of(HPL, Layout(nodes=2, ranks=12, ranks_per_node=6), n=20000, nb=256)
    lines = hpl_dat(case).splitlines()
    assert [lines[index].split()[0] for index in (3, 5, 7, 10, 11)] == ["6", "20000", "256", "3", "4"]
    assert len(lines) == 31


def test_the_command_needs_only_its_input_file() -> None:
    (stage,) = HPL.stages(case_of(HPL, n=1000))
    assert (stage.argv, list(stage.files)) == (("xhpl",), ["HPL.dat"])


@pytest.mark.parametrize(
    ("parameters", "cure"),
    [
        ({}, "set node_memory: 192GiB"),
        ({"memory": 1.5, "node_memory": 64 << 30}, "set memory: 80 %"),
        ({"n": 100}, "set n: 192"),
    ],
)
def test_faults_are_found_before_the_run_and_name_the_cure(parameters: dict[str, float], cure: str) -> None:
    (fault,) = HPL.faults(case_of(HPL, None, **parameters))
    assert cure in fault


def test_a_size_has_no_fault() -> None:
    assert list(HPL.faults(case_of(HPL, n=20000))) == []
    assert list(HPL.faults(case_of(HPL, node_memory=64 << 30))) == []
