"""Values that no program measures, such as negative times, are problems in every parser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.outputs import parse
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.benchmark import Findings

FOMS = (
    declare.lower("time", "s", "a time"),
    declare.lower("imbalance", "%", "a share, which may be negative"),
)


@pytest.mark.parametrize("value", [-0.5, -1e-9, 1e308, 1e30, float("inf"), float("nan")])
def test_an_impossible_value_is_a_problem_and_no_measurement(value: float) -> None:
    findings = Findings(FOMS)
    findings.measure("time", value, run=2)
    parsed = findings.parsed(is_complete=True)
    assert parsed.measurements == ()
    assert parsed.problems == (f"time at run 2 is {value}, which is no measurement",)


def test_a_share_of_zero_and_a_negative_one_are_measurements_and_a_time_of_zero_is_none() -> None:
    findings = Findings(FOMS)
    findings.measure("time", 0.0, run=2)
    findings.measure("imbalance", 0.0)
    findings.measure("imbalance", -3.5)
    parsed = findings.parsed(is_complete=True)
    assert ([one.value for one in parsed.measurements], parsed.problems) == ([0.0, -3.5], ())
    why = "it is printed as zero: it is too small for its decimals, or nothing was measured"
    assert parsed.left_out == (f"time is left out at run 2: {why}",)


def test_the_figures_of_a_study_of_ones_own_may_be_any_number() -> None:
    findings = Findings(FOMS, is_any_number_possible=True)
    findings.measure("time", -4e40)
    assert findings.parsed(is_complete=True).problems == ()
    findings.measure("time", 1e300)  # which no journal takes
    assert findings.parsed(is_complete=True).problems == ("time is 1e+300, which is no measurement",)


def test_an_output_without_a_figure_is_not_complete() -> None:
    parsed = Findings(FOMS).parsed(is_complete=True)
    assert not parsed.is_complete
    assert parsed.problems == ("the output holds no figure that can be read",)


REAL = (
    ("ior", "ior/16-cgpu-direct-32threads.out"),
    ("lammps.lj", "lammps/13-jkkdy-argon-stdout.log"),
    ("namd.stmv", "namd/07-v2.11-ubq_ws_eq.log"),
    ("mdtest", "mdtest/11-archer.out"),
    ("iperf3", "iperf3/01-json-3.0.11-tcp.json"),
    ("specfem3d_globe", "specfem3d_globe/09-berkeley-stn.depth-output_solver.txt"),
)
NUMBER = re.compile(r"(?<=[ \t])(\d+\.\d+)")


@pytest.mark.parametrize(("workload", "file"), REAL)
def test_real_output_with_negative_numbers_does_not_count(workload: str, file: str, corpus: Path) -> None:
    text = (corpus / file).read_text()
    assert parse(workload, text).problems == ()
    parsed = parse(workload, NUMBER.sub(r"-\1", text))
    assert parsed.problems or not parsed.is_complete


def test_namd_with_decimal_commas_is_refused(corpus: Path) -> None:
    text = (corpus / "namd/07-v2.11-ubq_ws_eq.log").read_text()
    parsed = parse("namd.stmv", re.sub(r"(\d)\.(\d)", r"\1,\2", text))
    assert not parsed.is_complete
    assert parsed.problems
