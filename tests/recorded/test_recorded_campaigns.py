"""Campaigns that version 0.1.0 recorded are read, reported, resumed and extended by this one.

`campaigns-0.1.0.tar.xz` holds four: `networks` (Intel MPI in the lab, with a warm-up block), `local` (a level
was added with `--extend`), `interrupted` (killed in its second block), and `retried` (two platforms on a node
that ssh could not reach twice; one run failed, and Ctrl-C ended it in its fifth block). Beside each lies
what `tare compare --json` of 0.1.0 said of it, and in `bin` the ssh that `retried` was recorded with.
"""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Tare, call_tare, call_tare_here
from live.conftest import running
from tare.storage.campaign import read_campaign

ARCHIVE = Path(__file__).parent / "campaigns-0.1.0.tar.xz"
DONE = {"networks": 16, "local": 18, "interrupted": 4, "retried": 16}
CAMPAIGNS = sorted(DONE)

SAME = (
    "fom",
    "unit",
    "better",
    "at",
    "reference",
    "contender",
    "n_blocks",
    "ratio",
    "low",
    "high",
    "confidence",
)
"""What must not change of a comparison: which it is, and its figures. Adjustments for a family may."""

SINCE = {
    ("local", "30.0"): "levels of different sessions are no longer compared",
    ("networks", "spin"): "an interval is never narrower than the figures were printed",
}
"""What this version says otherwise on purpose: campaign, and a word of the contender or figure of merit."""


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


@pytest.fixture
def tare(recorded: Path) -> Tare:
    env = {"PATH": f"{recorded / 'bin'}:{os.environ['PATH']}"}
    return lambda *arguments: call_tare(*arguments, cwd=recorded, env=env)


@pytest.fixture
def read(recorded: Path) -> Tare:
    """Call tare where it only reads, which takes no process of its own."""
    return lambda *arguments: call_tare_here(*arguments, cwd=recorded)


def _counts(tare: Tare, campaign: str) -> dict[str, int]:
    done = tare("status", campaign, "--json")
    counts: dict[str, int] = json.loads(done.stdout)["counts"]
    return counts


def _key(row: dict[str, Any]) -> str:
    return json.dumps([row[name] for name in ("fom", "at", "reference", "contender")], sort_keys=True)


@pytest.mark.parametrize("campaign", CAMPAIGNS)
def test_a_recorded_campaign_keeps_all_of_its_runs(read: Tare, campaign: str) -> None:
    assert _counts(read, campaign)["done"] == DONE[campaign]


@pytest.mark.parametrize("campaign", CAMPAIGNS)
def test_a_recorded_campaign_is_as_it_was_written(read: Tare, campaign: str) -> None:
    done = read("verify", campaign, "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["faults"]) == (0, []), done.stderr
    assert found["n_lines"] == found["n_unsummed"] > 0, "0.1.0 wrote no checksums"


@pytest.mark.parametrize("campaign", CAMPAIGNS)
def test_the_figures_are_those_that_the_recording_version_printed(
    read: Tare, campaign: str, recorded: Path
) -> None:
    then = json.loads((recorded / f"{campaign}.compare.json").read_text())["comparisons"]
    now = {_key(row): row for row in json.loads(read("compare", campaign, "--json").stdout)["comparisons"]}
    n_same = 0
    for row in then:
        if any(campaign == name and word in _key(row) for name, word in SINCE):
            continue
        today = now[_key(row)]
        for name in SAME:
            want = pytest.approx(row[name], rel=1e-9) if isinstance(row[name], float) else row[name]
            assert today[name] == want, (name, row)
        n_same += 1
    assert n_same >= 1
    assert len(now) == len(then)


def test_a_retried_run_keeps_what_happened_before_it(recorded: Path) -> None:
    attempts = read_campaign(recorded / "retried").attempts
    tries = [one for one in attempts if one.is_infrastructure]
    assert len(tries) == 2
    assert all("Connection refused" in one.reason for one in tries)
    settled = [one for one in attempts if (one.case, one.block) == (tries[0].case, tries[0].block)]
    assert [(one.attempt, str(one.state)) for one in settled] == [(1, "failed"), (2, "failed"), (3, "done")]


@pytest.mark.parametrize("campaign", CAMPAIGNS)
def test_a_recorded_campaign_is_exported(read: Tare, campaign: str) -> None:
    exported = read("export", campaign, "--format", "csv")
    assert exported.returncode == 0, exported.stderr
    assert exported.stdout.count("\n") - 1 >= DONE[campaign]


@pytest.mark.parametrize("campaign", ["networks", "local", "retried"])
def test_a_recorded_campaign_is_reported(read: Tare, campaign: str, recorded: Path) -> None:
    reported = read("report", campaign)
    assert reported.returncode == 0, reported.stderr
    assert "<svg" in (recorded / campaign / "report" / "index.html").read_text()


@pytest.mark.parametrize("campaign", CAMPAIGNS)
def test_a_recorded_campaign_is_served(campaign: str, recorded: Path) -> None:
    import httpx

    with running(recorded / campaign) as (_, url), httpx.Client(base_url=url, timeout=60) as client:
        shown = client.get("/api/campaigns").json()
        assert shown["campaigns"][0]["counts"]["done"] == DONE[campaign]


def test_a_killed_campaign_goes_on_where_it_ended(tare: Tare) -> None:
    done = tare("run", "interrupted")
    assert "24 of 24 runs done" in done.stdout, done.stdout + done.stderr
    assert _counts(tare, "interrupted")["done"] == 24


def test_a_stopped_campaign_goes_on_and_tries_what_failed_again(tare: Tare) -> None:
    done = tare("run", "retried")
    assert "23 of 24 runs done, 1 failed" in done.stdout, done.stdout + done.stderr
    done = tare("run", "retried", "--retry-failed")
    assert "24 of 24 runs done" in done.stdout, done.stdout + done.stderr
    assert tare("verify", "retried").returncode == 0


def test_a_recorded_campaign_takes_more_blocks(tare: Tare) -> None:
    done = tare("run", "local", "--extend", "--blocks", "7")
    assert "21 of 21 runs done" in done.stdout, done.stdout + done.stderr
