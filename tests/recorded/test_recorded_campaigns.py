"""Campaigns that version 0.1.0 recorded are read, reported, resumed and extended by this one.

`campaigns-0.1.0.tar.xz` holds three: `networks` (Intel MPI in the lab, with a warm-up block), `local` (a
level was added with `--extend`), and `interrupted` (killed in its second block).
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from cli.conftest import Tare, call_tare

ARCHIVE = Path(__file__).parent / "campaigns-0.1.0.tar.xz"


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


@pytest.fixture
def tare(recorded: Path) -> Tare:
    return lambda *arguments: call_tare(*arguments, cwd=recorded)


@pytest.mark.parametrize(("campaign", "n_done"), [("networks", 16), ("local", 18), ("interrupted", 4)])
def test_a_recorded_campaign_keeps_all_of_its_runs(tare: Tare, campaign: str, n_done: int) -> None:
    done = tare("status", campaign, "--json")
    assert json.loads(done.stdout)["counts"]["done"] == n_done, done.stderr


@pytest.mark.parametrize("campaign", ["networks", "local"])
def test_a_recorded_campaign_is_compared_exported_and_reported(
    tare: Tare, campaign: str, recorded: Path
) -> None:
    compared = tare("compare", campaign, "--json")
    assert json.loads(compared.stdout)["comparisons"], compared.stderr
    exported = tare("export", campaign, "--format", "csv")
    assert exported.returncode == 0, exported.stderr
    reported = tare("report", campaign)
    assert reported.returncode == 0, reported.stderr
    assert (recorded / campaign / "report" / "index.html").is_file()


def test_a_recorded_campaign_goes_on_where_it_was_killed(tare: Tare) -> None:
    done = tare("run", "interrupted")
    assert "24 of 24 runs done" in done.stdout, done.stdout + done.stderr
    counts = json.loads(tare("status", "interrupted", "--json").stdout)["counts"]
    assert counts["done"] == 24


def test_a_recorded_campaign_takes_more_blocks(tare: Tare) -> None:
    done = tare("run", "local", "--extend", "--blocks", "7")
    assert "21 of 21 runs done" in done.stdout, done.stdout + done.stderr
