"""`tare calibrate`: a real A/A study on this machine, and one in the lab."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import Tare, needs_intelmpi
from cli.killed_campaigns import ended_runs
from tare.storage.campaign import read_campaign

Study = Callable[..., Path]
NOISY = "echo value: 1.0$(date +%N)"


def test_the_reference_is_held_against_itself(tare_here: Tare, study: Study, tmp_path: Path) -> None:
    path = study(NOISY, repeats=4)
    done = tare_here("calibrate", path, "--out", "c")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"A/A at local: (0 false alarms|1 false alarm) in 1 comparison", done.stdout)
    assert "With labels swapped in 8 ways" in done.stdout
    campaign = read_campaign(tmp_path / "c")
    assert [(case.settings["size"], case.twin) for case in campaign.plan.cases] == [(1, "a"), (1, "b")]
    commands = {
        json.loads((tmp_path / "c" / one.folder / "command.json").read_text())[0]["argv"][-1]
        for one in campaign.attempts
    }
    assert len(commands) == 1


def test_a_report_shows_what_the_calibration_of_its_site_found(
    tare_here: Tare, study: Study, tmp_path: Path
) -> None:
    path = study(NOISY, repeats=4)
    assert tare_here("run", path, "--out", "c").returncode == 0
    assert tare_here("calibrate", path, "--out", "aa").returncode == 0
    done = tare_here("report", "c", "--calibration", "aa")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "c/report/index.html").read_text()
    assert re.search(r"The reference against itself, measured apart: (no|\d+) false alarms? in 1\b", page)
    refused = tare_here("report", "c", "--calibration", "c")
    assert refused.returncode == 2
    assert "is no A/A campaign" in refused.stderr


def test_it_goes_on_where_it_ended_and_other_commands_read_it(
    tare_here: Tare, study: Study, tmp_path: Path
) -> None:
    path = study(repeats=5)
    first = json.loads(tare_here("calibrate", path, "--out", "c", "--blocks", "3", "--json").stdout)
    again = json.loads(tare_here("calibrate", "c", "--json").stdout)
    assert first == again
    assert first["schema"] == "tare.calibrate/1"
    assert (first["n_comparisons"], first["false_alarms"], first["n_relabellings"]) == (1, 0, 4)
    (figure,) = first["figures"]
    assert (figure["fom"], figure["n_blocks"], figure["ratio"]) == ("value", 3, 1)
    assert figure["detectable"] == pytest.approx(math.e - 1)  # a printed 1 is anything from a half on
    assert len(ended_runs(tmp_path / "c")) == 6
    for command in ("run", "status", "compare"):
        assert tare_here(command, "c").returncode == 0
    assert len(ended_runs(tmp_path / "c")) == 6


def test_without_an_interval_there_is_nothing_to_report_and_it_fails(tare_here: Tare, study: Study) -> None:
    done = tare_here("calibrate", study("exit 1", repeats=3), "--out", "c")
    assert done.returncode == 1
    assert "no case has three blocks with both members of its A/A pair" in done.stderr


def test_without_a_study_this_machine_is_calibrated(tare_here: Tare, tmp_path: Path) -> None:
    done = tare_here("calibrate", "--site", "local", "--blocks", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^copy +elapsed +3 +\d of 1 ", done.stdout, re.MULTILINE)
    (campaign,) = (tmp_path / "campaigns").iterdir()
    assert campaign.name.startswith("calibrate-local-aa-")


@pytest.mark.lab
@needs_intelmpi
@pytest.mark.slow
def test_without_a_study_the_lab_is_calibrated(tare_here: Tare) -> None:
    done = tare_here("calibrate", "--site", "lab", "--blocks", "3", "--out", "c", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["site"] == "lab"
    assert {figure["fom"] for figure in found["figures"]} >= {"latency", "bandwidth"}
    assert found["n_comparisons"] >= 20
    assert all(figure["n_blocks"] == 3 for figure in found["figures"])
