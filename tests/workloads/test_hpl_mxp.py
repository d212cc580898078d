"""HPL-MxP's parser on what NVIDIA's and AMD's builds print, whole and damaged."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings

from support.outputs import figures, only, reader
from tare.core.case import Layout
from tare.plugins.workloads import hpl
from tare.plugins.workloads.hpl_mxp import WORKLOADS
from workloads.cases import case_of
from workloads.damage import DISGUISES, NOISE, cuts, damaged, made_up

(HPL_MXP,) = WORKLOADS
(HPL,) = hpl.WORKLOADS
parse = reader(HPL_MXP)

BLOCK = """\
 ****** test loop 1 of 1 starts ****** 

 Prog=   5.13% N_left=   347136 Time=     0.40 Time_left=       7.42 iTF=    3760.93
LU seconds: AVG = 4.82, MAX = 4.82 (3->n12), MIN = 4.82 (12->n15)

 ****** HPL MxP Result    ****** 

    Threshold     . . . . . . . . . . . . . . . . .          =    1.600000E+01
  ||Ax-b||_oo     . . . . . . . . . . . . . . . . .          =    3.663736E-15
  ||Ax-b||_oo / (EPS * (||A||_oo * ||x||_oo + ||b||_oo) * N) =    1.717556E-05 ...... PASSED

    N = 353280, NB = 3072, NPROW = 4, NPCOL = 4, SLOPPY-TYPE = FP16
       GFLOPS = 4.5777e+06, per GPU =  286105.60 ------ The HPL-MxP performance to report
    LU GFLOPS = 6.0980e+06, per GPU =  381127.94 ------ The performance excluding the iterative solver part

 ****** HPL MxP Result    ****** 

 ****** test loop 1 of 1 done   ****** 
"""  # noqa: W291  # NVIDIA's lines end with a blank
NVIDIA = f"""\
================================================================================
HPL-MxP-NVIDIA 26.2.0  -- NVIDIA accelerated HPL-MxP benchmark benchmark -- NVIDIA
================================================================================

 ****** test 1 of 1 starts ****** 
{BLOCK}
 ****** test 1 of 1 done   ****** 
"""  # noqa: W291
AMD = """\
HPLinpack 2.2  --  High-Performance Linpack benchmark  --   February 24, 2016
================================================================================
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
WR0           125440  2560     2     4               6.70              1.964e+05
HPLMXP_pdgesv() start time Mon Nov 23 10:00:00 2026

HPLMXP_pdgesv() end time   Mon Nov 23 10:00:07 2026

--------------------------------------------------------------------------------
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0000170 ...... PASSED
================================================================================

Finished      1 tests with the following results:
              1 tests completed and passed residual checks,
              0 tests completed and failed residual checks,
              0 tests skipped because of illegal input values.
--------------------------------------------------------------------------------

End of Tests.
"""


def test_the_rates_of_nvidia_s_build_are_read() -> None:
    parsed = parse(NVIDIA)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert (only(parsed, "gflops"), only(parsed, "lu_gflops")) == (4.5777e6, 6.098e6)
    assert parsed.printed == {
        "program_version": ("26.2.0",), "n": (353280,), "nb": (3072,), "ranks": (16,)
    }  # fmt: skip


def test_the_rates_of_amd_s_build_are_read() -> None:
    parsed = parse(AMD)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert (only(parsed, "gflops"), only(parsed, "time")) == (196400.0, 6.7)


def test_a_rate_in_mixed_precision_is_not_read_as_that_of_hpl() -> None:
    """AMD's build prints the banner and the table of HPL."""
    for text in (AMD, NVIDIA):
        parsed = reader(HPL)(text)
        assert parsed.measurements == ()
        assert "the output is HPL-MxP's, in mixed precision; read it as hpl_mxp" in parsed.problems
    parsed = parse("".join(line for line in AMD.splitlines(keepends=True) if "HPLMXP" not in line))
    assert parsed.measurements == ()
    assert parsed.problems == ("the output is HPL's, in double precision; read it as hpl",)


def test_loops_and_tests_are_distinguished() -> None:
    first = BLOCK.replace("1 of 1", "1 of 2")
    second = BLOCK.replace("1 of 1", "2 of 2").replace("286105.60", "286160.00").replace("4.5777", "4.5786")
    text = NVIDIA.replace(BLOCK, first + second)
    parsed = parse(text)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed, "gflops") == [4.5777e6, 4.5786e6]
    lost = parse(NVIDIA.replace(BLOCK, first))
    assert not lost.is_complete
    assert lost.problems == ("HPL-MxP announces 2 results, and the output holds 1",)


def test_a_failed_residual_is_a_problem() -> None:
    parsed = parse(NVIDIA.replace("1.717556E-05 ...... PASSED", "1.717556E+05 ...... FAILED"))
    assert parsed.problems == ("the residual of the test with N 353280 is 1.717556E+05: FAILED",)


def test_a_garbled_rate_is_a_problem() -> None:
    assert parse(NVIDIA.replace("4.5777e+06", "4.5777e+05")).problems
    assert parse(AMD.replace("1.964e+05", "1.964e+06")).problems


def test_an_output_cut_anywhere_is_not_complete() -> None:
    for text in (NVIDIA.rstrip(), AMD.rstrip()):
        for cut in cuts(text, 200):
            assert not parse(cut).is_complete


@pytest.mark.parametrize("noise", NOISE)
def test_noise_between_lines_changes_nothing(noise: str) -> None:
    for text in (NVIDIA, AMD):
        assert parse(noise + "".join(line + noise for line in text.splitlines(keepends=True))) == parse(text)


@pytest.mark.parametrize("disguise", DISGUISES)
def test_encodings_change_nothing(disguise: Callable[[str], str]) -> None:
    for text in (NVIDIA, AMD):
        assert parse(disguise(text)) == parse(text)


@given(damaged(NVIDIA))
@settings(max_examples=150)
def test_damage_never_crashes_and_never_makes_up_a_number(text: str) -> None:
    assert made_up(parse(text), text) == []


def test_the_command_has_the_most_square_grid() -> None:
    (stage,) = HPL_MXP.stages(case_of(HPL_MXP, Layout(nodes=2, ranks=8, ranks_per_node=4), n=2048))
    command = "hpl-mxp.sh --n 2048 --nb 1024 --nprow 2 --npcol 4 --nporder row"
    assert " ".join(stage.argv) == command
    (fault,) = HPL_MXP.faults(case_of(HPL_MXP, n=100))
    assert "set n: 1024" in fault
