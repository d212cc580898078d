"""Where a campaign is: folders that move, that are closed, and that hold the files of somebody else."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

import tare
from support.profiled import BASE, profiled_campaign, with_more
from tare.api.campaign import Campaign
from tare.cli.main import make_group

STUDY: dict[str, object] = {
    "study": "nothing",
    "reference": {"n": 10},
    "workloads": {
        "print": {
            "command": "sh -c 'echo \"took {n} s\"'",
            "parameters": {"n": {"kind": "number", "default": 10}},
            "foms": [{"name": "elapsed", "unit": "s", "better": "lower", "regex": r"took (\S+) s"}],
        }
    },
    "factors": {"workload": ["print"], "n": [10, 20]},
    "repeats": 3,
}

LATER: dict[str, Callable[[Campaign], object]] = {
    "charts": lambda one: one.charts(),
    "why": lambda one: one.why(),
    "predict": lambda one: one.predict(),
    "tolerance": lambda one: one.tolerance(),
    "curves": lambda one: one.predict(curves=one),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return profiled_campaign(tmp_path / "c", BASE, with_more(BASE, ("MPI_Alltoall", 4096), 4.0)).folder


@pytest.mark.parametrize("name", LATER)
def test_what_reads_runs_later_does_not_answer_for_a_campaign_that_moved(folder: Path, name: str) -> None:
    campaign = tare.open_campaign(folder)
    expected = campaign.compare()
    shutil.move(folder, folder.with_name("moved"))
    assert tare.open_campaign(folder.with_name("moved")).compare() == campaign.compare() == expected
    with pytest.raises(tare.CampaignError, match="is gone: was it removed, or moved"):
        LATER[name](campaign)


def test_a_campaign_stays_where_it_is_when_the_working_folder_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    campaign = tare.open_campaign(folder.name)
    monkeypatch.chdir("/")
    assert campaign.folder == folder
    assert campaign.why() == tare.open_campaign(folder).why() != ()


def test_a_session_goes_on_where_it_began_when_the_working_folder_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = tare.run_study(STUDY, "c", boost=False, on_event=lambda _: os.chdir("/"))
    assert found.progress == (6, 6)
    assert tare.open_campaign(tmp_path / "c").progress == (6, 6)


def test_a_campaign_that_is_reached_by_a_link_has_its_charts(folder: Path) -> None:
    link = folder.with_name("link")
    link.symlink_to(folder)
    assert [*tare.open_campaign(link).charts()] == [*tare.open_campaign(folder).charts()]


ASK: dict[str, Callable[[Path], object]] = {
    "open": tare.open_campaign,
    "plan": tare.plan_study,
    "plan for": lambda folder: tare.plan_study(STUDY, campaign=folder),
    "run": lambda folder: tare.run_study(STUDY, folder, boost=False),
    "resume": tare.run_study,
}


@pytest.mark.parametrize("ask", ASK)
@pytest.mark.parametrize("name", [".", "c", "c/d"])
def test_a_folder_that_is_closed_is_an_error_of_tare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, ask: str
) -> None:
    """As for an ordinary user, also where root runs the tests, which may open every folder."""
    tare.run_study(STUDY, tmp_path / "open", boost=False, blocks=1)  # imports all: it may be root's alone
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    ordinary = os.geteuid() or 65534
    for parent in tmp_path.parents[:3]:
        if parent.stat().st_uid == os.geteuid():
            parent.chmod(parent.stat().st_mode | 0o011)
    before = os.geteuid()
    os.seteuid(ordinary)
    try:
        with pytest.raises(tare.TareError, match="Permission denied"):
            ASK[ask](closed / name)
    finally:
        os.seteuid(before)


@pytest.mark.parametrize("name", ["study.yaml", "site.yaml"])
def test_a_campaign_does_not_replace_a_file_of_somebody_else(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine: true\n")
    with pytest.raises(tare.UsageError, match=f"{name}: not of this campaign.*another folder, or move"):
        tare.run_study(STUDY, tmp_path, boost=False)
    assert [one.name for one in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine: true\n"


def test_the_command_does_not_replace_it_either_and_takes_the_study_itself(tmp_path: Path) -> None:
    own, other = tmp_path / "study.yaml", tmp_path / "other.yaml"
    own.write_text("# mine\n" + yaml.safe_dump(STUDY))
    other.write_text(yaml.safe_dump({**STUDY, "study": "other"}))
    refused = CliRunner().invoke(make_group(), ["run", str(other), "--out", str(tmp_path), "--no-boost"])
    assert "study.yaml: not of this campaign" in str(refused.exception)
    assert own.read_text().startswith("# mine")
    done = CliRunner().invoke(make_group(), ["run", str(own), "--out", str(tmp_path), "--no-boost"])
    assert done.exit_code == 0, done.output
    assert own.read_text().startswith("# mine")
