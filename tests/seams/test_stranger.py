"""A package beside Tare adds a launcher, a runtime, a workload, a transport report, a source of telemetry.

It is found as installed packages are, by importlib.metadata, in processes of their own: a study that uses all
of them is planned, run, judged, compared, reported and exported.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import TARE
from seams.conftest import STRANGER
from tare.core.rank_variables import with_rank
from tare.core.transport_reports import asking, libraries
from tare.execution.transport_reports.verdict import describe
from tare.storage.campaign import read_campaign

ROOT = Path(__file__).parents[2]
SITE = """\
site: beside
nodes: [localhost]
slots_per_node: 4
platforms:
  strange: {launcher: together, runtime: niced}
"""
STUDY = """\
study: strangers
site: site.yaml
reference: {hundredths: 1}
factors:
  workload: [stranger.hello]
  platform: [strange]
  hundredths: [1, 9]
ranks_per_node: 2
bind: none
repeats: 4
"""


def call(*arguments: object, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TARE, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(STRANGER)},
    )


def tare(*arguments: object, cwd: Path = ROOT) -> str:
    ended = call(*arguments, cwd=cwd)
    assert ended.returncode == 0, (arguments, ended.stdout, ended.stderr)
    return ended.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a study, its site, and the campaign that was run of them."""
    place = tmp_path_factory.mktemp("strangers")
    (place / "study.yaml").write_text(STUDY)
    (place / "site.yaml").write_text(SITE)
    tare("run", "study.yaml", "--out", "c", cwd=place)
    return place


def test_the_plan_shows_the_launcher_and_the_runtime(place: Path) -> None:
    shown = tare("plan", "study.yaml", "--show", cwd=place)
    assert "together 2" in shown
    assert "nice -n 1" in shown


def test_help_and_the_reference_have_the_workload_and_the_figure(place: Path) -> None:
    assert "Each rank says hello." in tare("workloads", "stranger.hello")
    generated = subprocess.run(
        [sys.executable, "-c", "import runpy; print(runpy.run_path('docs/generate.py')['reference']())"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(STRANGER)},
    ).stdout
    assert "| `stranger.hello` | Each rank says hello. |" in generated
    assert "| `telemetry.forks` | 1/s | lower |" in generated
    for name in ("together", "niced", "forks", "different", "stranger"):
        assert f"`{name}`" in generated.partition("## Plug-ins")[2]


def test_every_rank_was_started_by_its_launcher(place: Path) -> None:
    for attempt in read_campaign(place / "c").measured():
        said = (place / "c" / attempt.folder / "stdout").read_text().splitlines()
        assert {line.partition(" took")[0] for line in said} == {"rank 0", "rank 1"}


def test_scripts_of_ranks_know_them_by_the_launchers_variable(stranger: Path) -> None:
    script = with_rank('find_rank; echo "$rank"')
    env = {"STRANGER_RANK": "3", "PMI_RANK": "0"}
    assert subprocess.check_output(["/bin/sh", "-c", script], text=True, env=env) == "3\n"
    env = {"OMPI_COMM_WORLD_RANK": "2"}
    assert subprocess.check_output(["/bin/sh", "-c", script], text=True, env=env) == "2\n"


def test_what_its_transport_says_is_understood_and_can_be_taken_back(stranger: Path) -> None:
    assert "STRANGER_VERBOSE" in asking()
    (report,) = libraries()["stranger"].parse("stranger: way=tcp\n")
    assert describe([report]) == "stranger: tcp"


def test_its_telemetry_is_collected_read_compared_and_exported(place: Path) -> None:
    campaign = read_campaign(place / "c")
    assert all(one.telemetry["forks"] > 0 for one in campaign.measured())
    raw = next((place / "c").rglob("telemetry.jsonl.gz"))
    assert '"forks":["processes ' in gzip.decompress(raw.read_bytes()).decode()
    found = json.loads(tare("compare", place / "c", "--json", "--fom", "telemetry.forks"))["comparisons"]
    assert [(one["fom"], one["unit"]) for one in found] == [("telemetry.forks", "1/s")]
    rows = list(csv.DictReader(io.StringIO(tare("export", place / "c", "--format", "csv"))))
    assert "telemetry.forks" in {row["fom"] for row in rows}
    tare("check", place / "c", "--pass-if", "value(telemetry.forks) > 0 1/s")


def test_its_facts_are_asked_of_every_node_recorded_and_told(place: Path) -> None:
    recorded = [path.read_text() for path in (place / "c/environments").glob("*.json")]
    assert recorded
    assert all('"stranger.domain"' in text for text in recorded)


def test_the_report_shows_what_it_measured_and_draws_its_course(place: Path) -> None:
    tare("report", place / "c")
    page = (place / "c/report/index.html").read_text()
    assert "stranger.hello" in page
    assert "processes started, nodes stacked" in page


def test_doctor_starts_its_own_program_with_the_launcher_and_finds_that_it_speaks_no_mpi(place: Path) -> None:
    ended = call("doctor", "--site", "site.yaml", cwd=place)
    assert ended.returncode == 3
    assert "the program's MPI is not the launcher's" in ended.stdout
    assert "strange" in ended.stdout


def test_without_the_package_the_campaign_is_still_read(place: Path) -> None:
    ended = subprocess.run([TARE, "compare", str(place / "c")], capture_output=True, text=True, check=False)
    assert (ended.returncode, "stranger.hello" in ended.stdout) == (0, True), ended.stderr
