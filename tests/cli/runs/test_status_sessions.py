"""`tare status` of a campaign of several sessions: which session made what, as a table and in JSON."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from cli.conftest import call_tare_here
from tare.core.attempt import State
from tare.report.sections.runs import run_listing
from tare.report.variants import lay_out
from tare.storage.campaign import read_campaign
from tare.storage.journal import AttemptEnded, Journal, SessionBegan
from truth.campaigns import Truth, write

LATER = Truth(factors={"network": ("a", "b", "c")}, blocks=3, late=("network", "c"))
ALONE = Truth(blocks=3)


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """Return a campaign of which session 2 added c, and in session 3, a retry, b of block 2 failed again."""
    folder = write(LATER, tmp_path / "campaign")
    campaign = read_campaign(folder)
    b = campaign.plan.cases[1].id
    one = next(one for one in campaign.attempts if (one.case, one.block) == (b, 2))
    failed = msgspec.structs.replace(
        one, state=State.FAILED, reason="exit code 3", series=[], attempt=2, session=3
    )
    with Journal(folder / "journal.jsonl") as journal:
        journal.append(SessionBegan(1e9 + 400_000, "", continues=False, blocks=3, is_retrying=True))
        journal.append(AttemptEnded(failed))
    return folder


def test_status_names_the_session_of_each_run_where_there_are_several(later: Path) -> None:
    said = call_tare_here("status", later, "--all").stdout
    assert [line for line in said.splitlines() if line.startswith("session ")] == [
        "session 1, begun 2001-09-09 01:46 UTC: 6 runs done",
        "session 2, begun 2001-09-10 01:46 UTC: 6 runs done",
        "session 3, begun 2001-09-13 16:53 UTC: 0 runs done",
    ]
    header, *rows = [line.split() for line in said.splitlines()[said.splitlines().index("") + 1 :]]
    assert header == ["block", "session", "case", "state", "why"]
    assert len(rows) == 9
    session_of = {(row[0], row[3]): (row[1], row[4]) for row in rows}
    assert session_of["1", "network=a"] == ("2", "done"), "the reference ran once more"
    assert session_of["1", "network=b"] == ("1", "done")
    assert session_of["1", "network=c"] == ("2", "done")
    assert session_of["2", "network=b"] == ("3", "failed")


def test_status_of_one_session_has_no_column_of_it(tmp_path: Path) -> None:
    said = call_tare_here("status", write(ALONE, tmp_path / "campaign"), "--all").stdout
    assert "session" not in said


def test_status_in_json_has_sessions_that_agree_with_its_runs(later: Path) -> None:
    said = json.loads(call_tare_here("status", later, "--json").stdout)
    assert said["schema"] == "tare.status/1"
    assert [(one["number"], one["n_done"], one["is_retrying"]) for one in said["sessions"]] == [
        (1, 6, False),
        (2, 6, False),
        (3, 0, True),
    ]
    assert [one["blocks"] for one in said["sessions"]] == [None, None, 3], "of the first two nothing tells"
    assert len(said["runs"]) == sum(said["counts"].values()) == 9
    assert {(one["network"], one["session"]) for one in said["runs"]} == {
        ("a", 2), ("b", 1), ("b", 3), ("c", 2)
    }  # fmt: skip
    (failed,) = [one for one in said["runs"] if one["state"] == "failed"]
    assert (failed["block"], failed["session"], failed["attempts"]) == (2, 3, 2)


def test_the_table_of_runs_has_every_attempt_with_its_session(later: Path) -> None:
    campaign = read_campaign(later)
    table = run_listing(campaign, lay_out(campaign, ()))
    titles = [column.title for column in table.columns]
    rows = [dict(zip(titles, (cell.text for cell in row.cells), strict=True)) for row in table.shown]
    assert sorted((row["Block"][0], row["Session"]) for row in rows if row["Side"] == "a") == [
        (block, session) for block in "123" for session in "12"
    ]
    assert [row["Session"] for row in rows if row["State"] == "failed"] == ["3"]
