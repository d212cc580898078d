"""A sampler that dies in mid-run costs that run's telemetry, and the log and the table say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import Tare
from cli.small_study import small_study

KILL_SAMPLER = (
    "[ {text} = a ] || kill -9 $(pgrep -f tare-sampler -P $(echo $TARE_JOB | cut -d: -f2)); "
    "echo value: 3; sleep 0.1"
)
"""The label of its job names the process of Tare, whose child the sampler is."""


@pytest.mark.slow
def test_a_run_whose_sampler_died_is_told(tare: Tare, tmp_path: Path) -> None:
    study, campaign = tmp_path / "study.yaml", tmp_path / "c"
    study.write_text(small_study(KILL_SAMPLER, repeats=1))
    assert tare("run", study, "--out", campaign).returncode == 0
    log = tare("status", campaign, "--log").stdout
    assert log.count("telemetry is incomplete") == 1
    assert "its sampler was gone, or did not answer, before the run had ended" in log
    shown = tare("telemetry", "show", campaign).stdout
    assert "Left out: 1 of 2 runs" in shown or "No run has figures of its own" in shown
