"""HPCC's parser on real output (corpus/INDEX.tsv names the origin of each file) and on damaged output."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings

from support.outputs import reader
from tare.core.case import Layout
from tare.core.workload import Parsed
from tare.plugins.workloads.hpcc import WORKLOADS
from workloads.cases import case_of
from workloads.damage import MESSES, cuts, damaged, made_up

(HPCC,) = WORKLOADS

OUTPUT = """\
########################################################################
This is the DARPA/DOE HPC Challenge Benchmark version 1.5.0 October 2012
########################################################################
Begin of HPL section.
WR11C2R4       10000   192     2     5               0.70              9.500e+02
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0035065 ...... PASSED
              0 tests completed and failed residual checks,
End of HPL section.
Begin of Summary section.
VersionMajor=1
LANG=C
Success=1
CommWorldProcs=10
HPL_Tflops=0.949952
StarDGEMM_Gflops=-1
SingleRandomAccess_LCG_GUPs=2.36541e-310
StarSTREAM_Triad=500.066
RandomlyOrderedRingLatency_usec=1.23199
CPS_USING_FFTW=0
End of Summary section.
########################################################################
End of HPC Challenge tests.
Current time (1497669026) is Sat Jun 17 11:10:26 2017

########################################################################
"""

REST = "".join(f"{fom.name}=-1\n" for fom in HPCC.foms if f"\n{fom.name}=" not in OUTPUT)
OUTPUT = OUTPUT.replace("CPS_USING_FFTW=0\n", f"CPS_USING_FFTW=0\n{REST}")
"""Every summary has a line for every test."""


parse = reader(HPCC)


def figures(parsed: Parsed, **at: int) -> dict[str, float]:
    return {one.fom: one.value for one in parsed.measurements if at.items() <= one.at.items()}


# Real output


def test_a_complete_run_is_read(corpus: Path) -> None:
    parsed = parse((corpus / "hpcc/05-buaa-5node-complete.txt").read_text())
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert len(parsed.measurements) == len(HPCC.foms) == 35
    read = figures(parsed)
    assert read["HPL_Tflops"] == 0.949952
    assert read["StarDGEMM_Gflops"] == 3327.06
    assert read["StarSTREAM_Triad"] == 500.066
    assert read["PTRANS_GBs"] == 2.49336
    assert read["MPIFFT_Gflops"] == 8.73323
    assert read["MPIRandomAccess_GUPs"] == 0.0141669
    assert read["RandomlyOrderedRingLatency_usec"] == 1.23199
    assert read["RandomlyOrderedRingBandwidth_GBytes"] == 2.63948


def test_a_summary_that_lacks_a_line_is_not_complete() -> None:
    parsed = parse(OUTPUT.replace("HPL_Tflops=0.949952\n", ""))
    assert not parsed.is_complete
    assert parsed.problems == ("HPCC lacks lines of its summary: HPL_Tflops",)


@pytest.mark.parametrize(
    ("name", "hpl", "triad", "latency"),
    [
        ("09-snake0-gvm.txt", 0.00812499, 3.66457, 0.295943),
        ("10-vbox-vms.txt", 0.0170316, 10.634, 306.858),
        ("11-docker-containers.txt", 0.0123211, 17.0391, 3.20795),
    ],
)
def test_other_complete_runs_are_read(
    corpus: Path, name: str, hpl: float, triad: float, latency: float
) -> None:
    parsed = parse((corpus / "hpcc" / name).read_text())
    assert (parsed.is_complete, parsed.problems, len(parsed.measurements)) == (True, (), 35)
    read = figures(parsed)
    assert (read["HPL_Tflops"], read["StarSTREAM_Triad"]) == (hpl, triad)
    assert read["RandomlyOrderedRingLatency_usec"] == latency


def test_a_failed_residual_is_a_problem_though_a_rate_was_printed(corpus: Path) -> None:
    parsed = parse((corpus / "hpcc/03-buaa-hpl-FAILED.txt").read_text())
    assert figures(parsed) == {"HPL_Tflops": 0.222163, "HPL_time": 3.00147}
    assert parsed.problems == (
        "HPCC did not succeed: Success=0",
        "HPCC failed a check: ||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= -nan ...... FAILED",
    )


def test_tests_that_were_not_run_have_no_figures(corpus: Path) -> None:
    parsed = parse((corpus / "hpcc/07-buaa-partial-stream.txt").read_text())
    assert figures(parsed) == {"StarFFT_Gflops": 52.793, "SingleFFT_Gflops": 195.52}
    assert parsed.problems == ("HPCC did not succeed: Success=0",)


def test_many_runs_in_one_file_are_distinguished(corpus: Path) -> None:
    parsed = parse((corpus / "hpcc/04-buaa-hpccoutf-many-runs.txt").read_text())
    rates = {tuple(one.at.items()): one.value for one in parsed.measurements if one.fom == "HPL_Tflops"}
    assert len(rates) == 15  # and five summaries of runs without HPL
    assert list(rates.values())[:2] == [0.679118, 0.855764]
    assert not parsed.is_complete
    assert "run 9 of HPCC did not come to its end: the summary is missing or cut short" in parsed.problems
    assert sum("FAILED" in problem for problem in parsed.problems) == 2
    assert sum("Success=0" in problem for problem in parsed.problems) == 2


@pytest.mark.parametrize(
    "name", ["06-buaa-truncated-2188B.txt", "08-buaa-partial-3825B.txt", "12-esame-cloud.txt"]
)
def test_a_run_without_a_summary_is_not_complete(corpus: Path, name: str) -> None:
    parsed = parse((corpus / "hpcc" / name).read_text())
    assert (parsed.is_complete, parsed.measurements) == (False, ())
    assert all("did not come to its end" in problem for problem in parsed.problems)


def test_every_file_has_its_expectation_above(corpus: Path) -> None:
    assert len(list((corpus / "hpcc").iterdir())) == 10


def test_output_cut_anywhere_is_complete_only_once_the_closing_line_is_in(corpus: Path) -> None:
    for path in sorted((corpus / "hpcc").iterdir()):
        text = path.read_text()
        for cut in cuts(text):
            for lines in (io.StringIO(cut), cut.splitlines()):
                parsed = HPCC.parse(lines)
                n_begun = cut.count("This is the DARPA")
                assert not parsed.is_complete or n_begun == cut.count("End of HPC Challenge tests.")
                assert made_up(parsed, cut) == []


# Damaged output


def test_the_example_is_complete() -> None:
    parsed = parse(OUTPUT)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed) == {
        "HPL_Tflops": 0.949952,
        "StarSTREAM_Triad": 500.066,
        "RandomlyOrderedRingLatency_usec": 1.23199,
    }


@pytest.mark.parametrize(
    "line",
    [
        "Found 9999 errors in 67108864 locations (failed).\n",
        "WALL  5000  5000 192 192   2   5     0.08 FAILED    2.493  0.00\n",
    ],
)
def test_a_failed_check_is_a_problem(line: str) -> None:
    parsed = parse(OUTPUT.replace("End of HPL", line + "End of HPL"))
    assert parsed.problems == (f"HPCC failed a check: {' '.join(line.split())}",)


@pytest.mark.parametrize("broken", ["nan", "-nan", "inf", "***", "1.2.3", ""])
def test_a_figure_that_is_no_number_is_a_problem(broken: str) -> None:
    parsed = parse(OUTPUT.replace("=500.066", f"={broken}"))
    assert "StarSTREAM_Triad" not in figures(parsed)
    assert any("StarSTREAM_Triad" in problem for problem in parsed.problems)


def test_a_summary_without_its_line_on_success_is_not_complete() -> None:
    assert not parse(OUTPUT.replace("Success=1\n", "")).is_complete


@pytest.mark.parametrize("mess", MESSES)
def test_noise_and_encodings_change_nothing(mess: Callable[[str], str]) -> None:
    assert parse(mess(OUTPUT)) == parse(OUTPUT)


def test_an_abort_is_a_problem() -> None:
    parsed = parse(OUTPUT + "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD\n")
    assert parsed.problems == ("a rank called MPI_Abort",)


def test_other_output_holds_no_run() -> None:
    assert parse("HPL_Tflops=1\n").problems == ("the output holds no run of HPCC",)


@given(damaged(OUTPUT))
@settings(max_examples=150)
def test_damage_never_crashes_and_never_makes_up_a_number(text: str) -> None:
    assert made_up(parse(text), text) == []


# Commands and faults


def test_the_input_is_hpls_with_hpccs_own_lines_below() -> None:
    (stage,) = HPCC.stages(case_of(HPCC, Layout(nodes=2, ranks=8, ranks_per_node=4), n=4000))
    assert stage.argv == ("hpcc",)
    lines = stage.files["hpccinf.txt"].splitlines()
    assert [lines[index].split()[0] for index in (3, 5, 10, 11)] == ["8", "4000", "2", "4"]
    assert "no. 32" in lines[31]
    assert len(lines) == 36


def test_an_unknown_size_is_a_fault() -> None:
    (fault,) = HPCC.faults(case_of(HPCC))
    assert "set node_memory: 192GiB" in fault
    assert list(HPCC.faults(case_of(HPCC, node_memory=64 << 30))) == []


def test_the_memory_that_a_test_did_not_get_is_told_with_the_missing_success() -> None:
    complaint = "Failed to allocate memory for the main table.\n"
    text = OUTPUT.replace("Begin of Summary", complaint + complaint + "Begin of Summary")
    assert parse(text).problems == ()
    assert parse(text.replace("Success=1", "Success=0")).problems == (
        "HPCC did not succeed: Success=0; Failed to allocate memory for the main table",
    )
