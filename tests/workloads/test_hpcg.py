"""HPCG's parser on real reports (corpus/INDEX.tsv names the origin of each) and on damaged ones."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.outputs import only, reader
from tare.plugins.workloads.hpcg import WORKLOADS
from workloads.cases import case_of
from workloads.damage import DISGUISES, NOISE, cuts, damaged, made_up

(HPCG,) = WORKLOADS

REPORT = """\
HPCG-Benchmark
version=3.1
Machine Summary=
Machine Summary::Distributed Processes=4
Spectral Convergence Tests=
Spectral Convergence Tests::Result=PASSED
Benchmark Time Summary=
Benchmark Time Summary::Optimization phase=1.5
Benchmark Time Summary::DDOT=0.25
Benchmark Time Summary::MG=1.25
Benchmark Time Summary::Total=60.5
Floating Point Operations Summary=
Floating Point Operations Summary::Raw DDOT=5.6361e+06
GB/s Summary=
GB/s Summary::Raw Total B/W=2.14201
GFLOP/s Summary=
GFLOP/s Summary::Raw DDOT=0.334003
GFLOP/s Summary::Raw MG=0.191534
GFLOP/s Summary::Raw Total=0.224719
DDOT Timing Variations=
DDOT Timing Variations::Avg DDOT MPI_Allreduce time=0.125
Final Summary=
Final Summary::HPCG result is VALID with a GFLOP/s rating of=0.183324
Final Summary::HPCG 2.4 rating for historical reasons is=0.184089
Final Summary::Results are valid but execution time (sec) is=60.5
Final Summary::Official results execution time (sec) must be at least=1800
"""

NVIDIA = """\
Total Time: 7.1e+01 sec
SpMV  =  178.3 GF (1123.1 GB/s Effective)   22.3 GF_per ( 140.4 GB/s Effective)
total =   89.5 GF ( 676.7 GB/s Effective)   11.2 GF_per (  84.6 GB/s Effective)
final =   62.5 GF ( 472.6 GB/s Effective)    7.8 GF_per (  59.1 GB/s Effective)
"""

YAML = """\
HPCG-Benchmark version: 3.0
Release date: November 11, 2015
Machine Summary: 
  Distributed Processes: 4
########## V&V Testing Summary  ##########: 
Spectral Convergence Tests: 
  Result: PASSED
  Unpreconditioned: 
    Maximum iteration count: 11
########## Performance Summary (times in sec) ##########: 
Benchmark Time Summary: 
  Optimization phase: 1.5
  DDOT: 0.25
  MG: 1.25
  Total: 60.5
Floating Point Operations Summary: 
  Raw DDOT: 5.6361e+06
GB/s Summary: 
  Raw Total B/W: 2.14201
GFLOP/s Summary: 
  Raw DDOT: 0.334003
  Raw MG: 0.191534
  Raw Total: 0.224719
DDOT Timing Variations: 
  Avg DDOT MPI_Allreduce time: 0.125
__________ Final Summary __________: 
  HPCG result is VALID with a GFLOP/s rating of: 0.183324
      HPCG 2.4 Rating (for historical value) is: 0.184089
  Results are valid but execution time (sec) is: 60.5
       Official results execution time (sec) must be at least: 1800
"""  # noqa: W291  # HPCG ends the names of its sections with a blank

WORDS = (
    REPORT.replace("::", " ")
    .replace("Summary=", "Summary")
    .replace("Tests=", "Tests")
    .replace("Variations=", "Variations")
    .replace("=", " ")
)


parse = reader(HPCG)


@pytest.mark.parametrize(
    ("report", "banner"), [(YAML, "HPCG-Benchmark version: 3.0"), (REPORT, "HPCG-Benchmark")]
)
def test_reports_of_intel_s_builds_have_names_of_their_own(report: str, banner: str) -> None:
    text = "HPCG result is VALID with a GFLOP/s rating of 0.183324\n" + report
    assert parse(text.replace(banner, banner.replace("HPCG-Benchmark", "n104-8p-1t"), 1)) == parse(report)


def test_a_summary_that_does_not_call_itself_valid_is_not_complete() -> None:
    parsed = parse(NVIDIA)
    assert {one.fom: one.value for one in parsed.measurements} == {"raw": 89.5, "rating": 62.5}
    assert not parsed.is_complete
    assert "does not show whether the result is VALID" in parsed.problems[0]
    assert parse(NVIDIA + REPORT) == parse(REPORT)


# Real output


@pytest.mark.parametrize(
    ("name", "rating", "rating_2_4", "time"),
    [
        ("05-v3.1-valid-0.18.txt", 0.183324, 0.184089, 1.42171),
        ("06-v3.1-valid-23.9-cuda-thesis.txt", 23.9101, 39.0455, 127.845),
        ("09-nvidia-h100-23.x-container.out", 3762.01, 3839.81, 1799.21),
        ("12-virtualclient-v3.1.txt", 1.94783, 1.99533, 0.0686362),
    ],
)
def test_a_valid_report_is_read(
    corpus: Path, name: str, rating: float, rating_2_4: float, time: float
) -> None:
    parsed = parse((corpus / "hpcg" / name).read_text())
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert only(parsed, "rating") == rating
    assert only(parsed, "rating_2_4") == rating_2_4
    assert only(parsed, "time") == time


def test_a_result_that_hpcg_calls_invalid_has_no_rating_and_does_not_count(corpus: Path) -> None:
    parsed = parse((corpus / "hpcg/04-v3.1-INVALID-nan.txt").read_text())
    assert "HPCG calls its result INVALID" in parsed.problems
    assert "HPCG failed its test: Reproducibility Information" in parsed.problems
    assert not [one for one in parsed.measurements if one.fom == "rating"]


def test_the_log_of_residuals_is_not_the_report(corpus: Path) -> None:
    parsed = parse((corpus / "hpcg/07-hpcg_log-nan.txt").read_text())
    assert (parsed.is_complete, parsed.measurements) == (False, ())
    assert "this is HPCG's log of residuals; the rating is in HPCG-Benchmark*.txt" in parsed.problems


def test_three_runs_in_one_log_are_distinguished(corpus: Path) -> None:
    parsed = parse((corpus / "hpcg/08-gke-3-iterations-one-log.out").read_text())
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert [only(parsed, "rating", run=run) for run in (1, 2, 3)] == [690.447, 678.933, 685.787]
    assert only(parsed, "time", run=1) == 85.3271


def test_every_file_has_its_expectation_above(corpus: Path) -> None:
    assert len(list((corpus / "hpcg").iterdir())) == 7


def test_a_report_cut_anywhere_is_complete_only_with_all_its_figures(corpus: Path) -> None:
    for path in sorted((corpus / "hpcg").iterdir()):
        text = path.read_text()
        n_runs = text.count("\nHPCG-Benchmark\n") or 1
        whole = parse(text)
        for cut in cuts(text, 120):
            for lines in (io.StringIO(cut), cut.splitlines()):
                parsed = HPCG.parse(lines)
                n_figures = len(whole.measurements) * (cut.count("HPCG-Benchmark\nversion") or 1) // n_runs
                assert not parsed.is_complete or len(parsed.measurements) == n_figures
                assert made_up(parsed, cut) == []


# Forms and damage


def test_a_report_whose_beginning_is_glued_to_another_is_no_part_of_it() -> None:
    """As cat(1) leaves it where the first file has no end of its last line."""
    other = REPORT.replace("3", "4")
    parsed = parse(REPORT.rstrip("\n") + other)
    assert any("in one report twice" in problem for problem in parsed.problems)


@pytest.mark.parametrize("text", [REPORT, YAML, WORDS], ids=["3.1", "3.0", "words"])
def test_all_three_forms_say_the_same(text: str) -> None:
    parsed = parse(text)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert {(one.fom, one.at.get("kernel")): one.value for one in parsed.measurements} == {
        ("kernel_time", "ddot"): 0.25,
        ("kernel_time", "mg"): 1.25,
        ("time", None): 60.5,
        ("bandwidth", None): 2.14201,
        ("kernel_rate", "ddot"): 0.334003,
        ("kernel_rate", "mg"): 0.191534,
        ("raw", None): 0.224719,
        ("allreduce_avg", None): 0.125,
        ("rating", None): 0.183324,
        ("rating_2_4", None): 0.184089,
    }


@pytest.mark.parametrize("text", [REPORT, YAML, WORDS], ids=["3.1", "3.0", "words"])
@pytest.mark.parametrize("noise", NOISE)
def test_noise_between_the_lines_changes_nothing(text: str, noise: str) -> None:
    assert parse(noise + "".join(line + noise for line in text.splitlines(keepends=True))) == parse(text)


@pytest.mark.parametrize("disguise", DISGUISES)
def test_encodings_change_nothing(disguise: Callable[[str], str]) -> None:
    assert parse(disguise(REPORT)) == parse(REPORT)


def test_a_last_line_without_its_end_is_whole_where_its_words_are() -> None:
    assert parse(REPORT.rstrip("\n")) == parse(REPORT)
    assert not parse(REPORT[: REPORT.index("Final Summary::Results are")].rstrip("\n")).is_complete


def test_a_figure_that_is_not_a_number_is_a_problem() -> None:
    parsed = parse(REPORT.replace("=0.183324", "=nan"))
    assert parsed.problems == ("rating is nan, which is no measurement",)


def test_a_figure_cut_in_pieces_is_a_problem() -> None:
    parsed = parse(REPORT.replace("=0.183324", "=0.18.3324"))
    rating = "HPCG result is VALID with a GFLOP/s rating of"
    assert parsed.problems == (f"HPCG: {rating} is '0.18.3324', which is no number",)


def test_a_report_without_its_end_is_reported() -> None:
    parsed = parse(REPORT[: REPORT.index("Final Summary::Results are")])
    assert parsed.problems == ("HPCG wrote only a part of its report; the run did not come to its end",)


def test_residuals_that_diverge_are_a_problem() -> None:
    parsed = parse("Call [0] Scaled Residual [-nan]\n" + REPORT)
    assert parsed.problems == ("a residual is not a number; HPCG diverged",)


def test_an_abort_is_a_problem() -> None:
    parsed = parse(REPORT + "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD\n")
    assert parsed.problems == ("a rank called MPI_Abort",)


def test_other_output_holds_no_report() -> None:
    assert parse("hello\n").problems == ("the output holds no report of HPCG",)
    assert parse("").problems == ("the output holds no report of HPCG",)


@given(st.data())
@settings(max_examples=150)
def test_damage_never_crashes_and_never_makes_up_a_number(data: st.DataObject) -> None:
    text = data.draw(damaged(data.draw(st.sampled_from([REPORT, YAML, WORDS]))))
    assert made_up(parse(text), text) == []


# Commands and faults


def test_the_command_gives_all_three_sides() -> None:
    (stage,) = HPCG.stages(case_of(HPCG, ny=64))
    assert " ".join(stage.argv) == "xhpcg --nx=104 --ny=64 --nz=104 --rt=60"


def test_defaults_have_no_fault() -> None:
    assert list(HPCG.faults(case_of(HPCG))) == []


@pytest.mark.parametrize(("nx", "cure"), [(100, "set nx: 96"), (8, "set nx: 16")])
def test_a_side_that_cannot_be_coarsened_is_a_fault(nx: int, cure: str) -> None:
    (fault,) = HPCG.faults(case_of(HPCG, nx=nx))
    assert fault.endswith(cure)
