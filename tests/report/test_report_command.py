"""`tare report`, from a campaign folder to the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from report.html_reader import Page
from report.studies import three_networks
from support.synthetic import write_campaign
from tare.cli.commands.report import command
from tare.core.errors import UsageError


def test_the_path_of_the_page_is_all_that_is_printed(tmp_path: Path) -> None:
    folder = write_campaign(three_networks(blocks=3), tmp_path / "campaign")
    result = CliRunner().invoke(command, [str(folder)], catch_exceptions=False)
    page = folder / "report" / "index.html"
    assert result.stdout == f"{page}\n"
    assert page.read_text().startswith("<!doctype html>")


def test_json_names_the_page_and_its_charts(tmp_path: Path) -> None:
    folder = write_campaign(three_networks(blocks=3), tmp_path / "campaign")
    out = tmp_path / "out"
    result = CliRunner().invoke(
        command, [str(folder), "--output", str(out), "--json"], catch_exceptions=False
    )
    document = json.loads(result.stdout)
    assert document["schema"] == "tare.report/1"
    assert document["page"] == str(out / "index.html")
    assert str(out / "charts" / "time.svg") in document["charts"]


def test_links_lead_to_the_attempts_wherever_the_page_is_written(tmp_path: Path) -> None:
    campaign = three_networks(blocks=3, folder=tmp_path / "campaign")
    folder = write_campaign(campaign, tmp_path / "campaign")
    for one in campaign.attempts:
        (folder / one.folder).mkdir(parents=True, exist_ok=True)
    page = Path(
        CliRunner()
        .invoke(command, [str(folder), "--out", str(tmp_path / "a" / "b c")], catch_exceptions=False)
        .stdout.strip()
    )
    links = [element.attributes["href"] for element in Page(page.read_text()).all("a", "open")]
    assert len(links) == len(campaign.attempts)
    assert all((page.parent / link).is_dir() for link in links)


def test_a_folder_that_cannot_be_written_is_an_error_with_the_cure(tmp_path: Path) -> None:
    folder = write_campaign(three_networks(blocks=3), tmp_path / "campaign")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cannot write.*choose another --output"):
        CliRunner().invoke(
            command, [str(folder), "--output", str(tmp_path / "file" / "x")], catch_exceptions=False
        )


def test_each_format_is_a_file_and_a_page_is_not_drawn_unasked(tmp_path: Path) -> None:
    folder = write_campaign(three_networks(blocks=3), tmp_path / "campaign")
    arguments = [str(folder), "--format", "markdown", "--format", "latex"]
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    report = folder / "report"
    assert result.stdout.splitlines() == [str(report / "summary.md"), str(report / "tables.tex")]
    assert {path.name for path in report.iterdir()} == {"summary.md", "tables.tex"}
    result = CliRunner().invoke(command, [str(folder), "--format", "all", "--json"], catch_exceptions=False)
    assert set(json.loads(result.stdout)["files"]) == {"html", "markdown", "latex", "csv"}
