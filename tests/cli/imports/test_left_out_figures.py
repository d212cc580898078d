"""`tare parse` and `tare import` name the figures that a program printed without a value."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Tare = Callable[..., "subprocess.CompletedProcess[str]"]

BARRIER = """\
#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part
# Benchmarking Barrier
# #processes = 4
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000         0.00         0.36         0.34

# All processes entering MPI_Finalize
"""
LEFT_OUT = (
    "time_min is left out: it is printed as 0.00, which only says that it is too small for its decimals"
)


def test_parse_names_what_is_left_out_and_ends_well(tare_here: Tare, tmp_path: Path) -> None:
    (tmp_path / "run.out").write_text(BARRIER)
    ended = tare_here("parse", "imb.barrier", "run.out")
    assert ended.returncode == 0
    assert ended.stderr == f"run.out: {LEFT_OUT}\n"
    body = json.loads(tare_here("parse", "imb.barrier", "run.out", "--json").stdout)
    assert body["left_out"] == body["files"][0]["left_out"] == [LEFT_OUT]


def test_a_campaign_keeps_what_its_runs_left_out(tare_here: Tare, tmp_path: Path) -> None:
    (tmp_path / "run.out").write_text(BARRIER)
    ended = tare_here("import", "imb.barrier", "run.out", "--out", "imported")
    assert ended.returncode == 0
    assert f"run.out: {LEFT_OUT}" in ended.stderr
    (run,) = json.loads(tare_here("status", "imported", "--json").stdout)["runs"]
    assert run["left_out"] == [LEFT_OUT]
