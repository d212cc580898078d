"""A backend of another package, really installed: Tare plans, checks, runs, resumes and cleans with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import yaml

from cli.conftest import TARE, call_tare
from support.waiting import until
from tare.core.attempt import State
from tare.storage.campaign import read_campaign

PACKAGE = Path(__file__).parents[1] / "strangers" / "spool"
SITE = """\
site: here
nodes: [localhost]
platforms:
  queue: {backend: spool, spool: {folder: SPOOL, in_flight: 2}}
"""
STUDY = """\
study: strange
site: site.yaml
workloads:
  echo:
    command: [sh, -c, SCRIPT]
    parameters: {size: 1}
    foms: [{name: value, unit: s, better: lower, regex: 'value: (.+)'}]
workload: echo
factors: {size: [1, 2]}
repeats: 2
timeout: 60 s
"""

Tare = Callable[..., "CompletedProcess[str]"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the package into a folder of its own, as its users would, and return the folder."""
    target = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    command += ["--no-build-isolation", "--target", str(target), str(PACKAGE)]
    subprocess.run(command, check=True, timeout=300)
    return target


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a site whose one platform is a spool."""
    (tmp_path / "spool").mkdir()
    (tmp_path / "site.yaml").write_text(SITE.replace("SPOOL", str(tmp_path / "spool")))
    return tmp_path


@pytest.fixture
def tare(folder: Path, installed: Path) -> Tare:
    return partial(call_tare, cwd=folder, env={"PYTHONPATH": str(installed)})


def write_study(folder: Path, script: str = "echo value: 1") -> Path:
    path = folder / "study.yaml"
    path.write_text(STUDY.replace("SCRIPT", json.dumps(script)))
    return path


def jobs(folder: Path) -> list[str]:
    return sorted(one.name for one in (folder / "spool").iterdir())


def kill_while_a_job_runs(folder: Path, installed: Path) -> tuple[Path, int]:
    """Kill tare, once the first program of a study has begun; return the campaign and the program's pid."""
    wait = f"until [ -e {folder}/go ]; do sleep 0.1; done"
    study = write_study(folder, f"echo $$ >>{folder}/began; {wait}; echo value: 1")
    process = subprocess.Popen(
        [TARE, "run", str(study), "--out", "c"], cwd=folder, env={**os.environ, "PYTHONPATH": str(installed)}
    )
    began = folder / "began"
    until(lambda: began.exists() and len(began.read_text().split()) >= 2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return folder / "c", int(began.read_text().split()[0])


def is_alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def test_the_schema_and_the_faults_of_a_site_know_its_options(folder: Path, tare: Tare) -> None:
    schema = json.loads(tare("schema", "site").stdout)
    platform = schema["$defs"]["PlatformFile"]["properties"]
    assert platform["spool"]["description"] == "Where the spool lies."
    assert "spool: jobs in a folder of this machine" in platform["backend"]["description"]
    (folder / "site.yaml").write_text(SITE.replace("SPOOL, in_flight: 2", "up, in_flite: 3"))
    told = tare("plan", write_study(folder))
    assert told.returncode != 0
    assert "site.yaml:4:43: platforms.queue.spool.folder: 'up' is a relative path" in told.stderr
    unknown = "unknown key 'in_flite'; did you mean 'in_flight'?"
    assert f"site.yaml:4:47: platforms.queue.spool.in_flite: {unknown}" in told.stderr


def test_without_the_package_its_name_is_unknown(folder: Path) -> None:
    told = call_tare("plan", write_study(folder), cwd=folder)
    assert told.returncode != 0
    assert "site.yaml:4:20: platforms.queue.backend: no backend is called 'spool'" in told.stderr
    assert "site.yaml:4:27: platforms.queue.spool: unknown key 'spool'" in told.stderr


def test_the_doctor_asks_it_and_starts_nothing_where_it_finds_a_fault(folder: Path, tare: Tare) -> None:
    assert "ok       queue: spool: " in tare("doctor", "--site", "site.yaml").stdout
    (folder / "spool").rmdir()
    told = tare("doctor", "--site", "site.yaml")
    assert told.returncode == 3
    assert f"make it: mkdir -p {folder}/spool" in told.stdout


def test_the_plan_shows_what_it_would_submit(folder: Path, tare: Tare) -> None:
    shown = tare("plan", write_study(folder), "--show").stdout
    assert "#SPOOL name tare-" in shown
    assert "step run stdout stderr" in shown
    assert jobs(folder) == []


def test_a_study_runs_through_it_with_facts_and_telemetry_of_its_node(folder: Path, tare: Tare) -> None:
    done = tare("run", write_study(folder), "--out", "c")
    assert done.returncode == 0, done.stderr
    campaign = read_campaign(folder / "c")
    assert [one.state for one in campaign.attempts] == [State.DONE] * 4
    assert {tuple(one.hosts) for one in campaign.attempts} == {("localhost",)}
    assert all(one.environment for one in campaign.attempts)
    assert jobs(folder) == ["1", "2", "3", "4"]
    assert tare("report", "c").returncode == 0


def test_a_killed_tare_leaves_its_jobs_and_the_next_one_adopts_them(
    folder: Path, installed: Path, tare: Tare
) -> None:
    kill_while_a_job_runs(folder, installed)
    begun = jobs(folder)
    (folder / "go").touch()
    done = tare("run", "c")
    assert done.returncode == 0, done.stderr
    campaign = read_campaign(folder / "c")
    assert [one.state for one in campaign.attempts] == [State.DONE] * 4
    assert {one.attempt for one in campaign.attempts} == {1}, "nothing is run twice"
    assert (begun, jobs(folder)) == (["1", "2"], ["1", "2", "3", "4"])


@pytest.mark.slow
def test_clean_ends_the_jobs_of_a_dead_campaign_and_then_finds_nothing(
    folder: Path, installed: Path, tare: Tare
) -> None:
    campaign, pid = kill_while_a_job_runs(folder, installed)
    assert is_alive(pid)
    told = tare("clean", "--site", "site.yaml", "--dry-run").stdout
    assert f"would cancel the spool job 1 of {campaign}" in told
    assert is_alive(pid)
    assert f"cancelled the spool job 1 of {campaign}" in tare("clean", "--site", "site.yaml").stdout
    until(lambda: not is_alive(pid))
    assert "the spool job" not in tare("clean", "--site", "site.yaml").stdout


def test_its_options_are_read_again_from_the_campaign_s_own_site(folder: Path, tare: Tare) -> None:
    assert tare("run", write_study(folder), "--out", "c").returncode == 0
    kept = yaml.safe_load((folder / "c" / "site.yaml").read_text())
    assert kept["platforms"]["queue"]["spool"] == {"folder": str(folder / "spool"), "in_flight": 2}
    assert "nothing is left" in tare("plan", "c").stdout
