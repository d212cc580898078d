"""From `tare run` to compare, export and the report: telemetry is there if asked for, and decides nothing."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path

import pytest

from cli.conftest import TARE
from tare.analysis.causes.correlates import explanations
from tare.analysis.verdicts.compare import aggregates, comparisons
from tare.core.campaign import Campaign
from tare.storage.campaign import read_campaign

STUDY = """\
study: watched
reference: {size: 1}
workloads:
  work:
    command: [sh, -c, "i=0; while [ $i -lt {size}0000 ]; do i=$((i + 1)); done; echo value: {size}.5"]
    parameters: {size: 1}
    foms: [{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}]
factors: {workload: [work], size: [1, 9]}
repeats: 4
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("campaigns")
    (folder / "study.yaml").write_text(STUDY)
    _tare("run", folder / "study.yaml", "--out", folder / "c")
    return folder / "c"


def _tare(*arguments: object) -> str:
    command = [TARE, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


@pytest.fixture
def campaign(folder: Path) -> Campaign:
    return read_campaign(folder)


def test_every_run_has_figures_by_default(campaign: Campaign) -> None:
    assert all("cpu_system" in one.telemetry for one in campaign.measured())


def test_verdicts_are_drawn_without_telemetry(campaign: Campaign) -> None:
    assert {one.fom for one in (*comparisons(campaign), *aggregates(campaign))} == {"value"}
    assert {one.family for one in comparisons(campaign)} == {1}


def test_compare_answers_for_a_figure_that_is_named(folder: Path) -> None:
    found = json.loads(_tare("compare", folder, "--json", "--fom", "telemetry.run_queue"))["comparisons"]
    assert [(one["fom"], one["unit"], one["better"], one["n_blocks"]) for one in found] == [
        ("telemetry.run_queue", "threads", None, 4)
    ]


def test_export_has_telemetry_as_rows(folder: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(_tare("export", folder, "--format", "csv"))))
    sizes = {row["size"] for row in rows if row["fom"] == "telemetry.cpu_user"}
    assert sizes == {"1", "9"}


def test_the_clearest_difference_is_shown_first(campaign: Campaign) -> None:
    effects = [one.effect for one in explanations(campaign)]
    assert effects == sorted(effects, reverse=True)
    for one in explanations(campaign):
        low, high = one.comparison.low, one.comparison.high
        if low is None or high is None:  # one side has some of it, the other nothing
            assert min(one.reference, one.contender) == 0
        else:
            assert not low <= 1 <= high


def test_the_report_shows_runs_against_time(folder: Path) -> None:
    _tare("report", folder)
    page = (folder / "report/index.html").read_text()
    assert "What the nodes did meanwhile" in page
    assert (folder / "report/charts/telemetry.svg").exists()


def test_off_is_off(folder: Path) -> None:
    quiet = folder.parent / "quiet"
    _tare("run", folder.parent / "study.yaml", "--out", quiet, "--telemetry", "off")
    assert all(one.telemetry == {} for one in read_campaign(quiet).measured())
    assert not list(quiet.glob("attempts/*/*/telemetry*"))
    assert explanations(read_campaign(quiet)) == []
