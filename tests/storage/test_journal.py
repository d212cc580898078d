"""The journal keeps what ended, whatever happens to the process or the disk."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from tare.core.attempt import Attempt, Series, State
from tare.core.errors import CampaignError, CampaignLocked, UsageError
from tare.core.safe_folder import MOST_OF_LINE
from tare.storage import journal as journal_module
from tare.storage.journal import (
    MOST_BYTES,
    AttemptBegan,
    AttemptEnded,
    BlockBegan,
    Journal,
    SessionBegan,
    is_held,
    read_events,
)
from tare.storage.journal_state import JournalState
from tare.storage.verifying import verify


def ended(number: int) -> AttemptEnded:
    series = [Series(fom="value", unit="s", values=[1.5])]
    return AttemptEnded(
        Attempt(case="c", block=number, attempt=1, state=State.DONE, started_at=1.0, series=series)
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def test_events_come_back_as_they_were(path: Path) -> None:
    events = (SessionBegan(1.0, "0.1"), BlockBegan(1, ["c"]), AttemptBegan("c", 1, 1, 2.0), ended(1))
    with Journal(path) as journal:
        for event in events:
            journal.append(event)
    assert tuple(read_events(path)) == events


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_torn_last_line_is_dropped_and_written_over(path: Path, cut: int) -> None:
    with Journal(path) as journal:
        journal.append(ended(1))
        journal.append(ended(2))
    path.write_bytes(path.read_bytes()[:-cut])
    assert list(read_events(path)) == [ended(1)]
    with Journal(path) as journal:
        assert journal.events == (ended(1),)
        journal.append(ended(3))
    assert list(read_events(path)) == [ended(1), ended(3)]


def test_a_last_line_of_garbage_is_dropped(path: Path) -> None:
    with Journal(path) as journal:
        journal.append(ended(1))
    with path.open("ab") as file:
        file.write(b"\0" * 40 + b"\n")
    with Journal(path) as journal:
        journal.append(ended(2))
    assert list(read_events(path)) == [ended(1), ended(2)]


def test_damage_in_the_middle_is_an_error_that_names_its_line(path: Path) -> None:
    with Journal(path) as journal:
        for number in (1, 2, 3):
            journal.append(ended(number))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:20] + b"\n" + lines[2])
    with pytest.raises(CampaignError, match=r"journal\.jsonl:2: this line is damaged"):
        list(read_events(path))


def test_one_process_at_a_time_holds_a_journal(path: Path) -> None:
    with Journal(path):
        assert is_held(path)
        with pytest.raises(CampaignLocked, match="another tare"):
            Journal(path)
    assert not is_held(path)


def test_a_killed_process_holds_nothing(path: Path) -> None:
    script = f"from tare.storage.journal import Journal; from pathlib import Path; import time\n\
journal = Journal(Path({str(path)!r})); print('held', flush=True); time.sleep(60)"
    holder = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    assert is_held(path)
    holder.kill()
    holder.communicate()
    assert not is_held(path)


@pytest.mark.parametrize("how", ["moved", "moved, and a folder made in its place", "removed"])
def test_a_journal_that_is_gone_is_reported_and_written_no_more(tmp_path: Path, how: str) -> None:
    folder, moved = tmp_path / "campaign", tmp_path / "moved"
    folder.mkdir()
    with Journal(folder / "journal.jsonl") as journal:
        journal.append(ended(1))
        folder.rename(moved)
        if how == "removed":
            (moved / "journal.jsonl").unlink()
        elif how != "moved":
            folder.mkdir()
        with pytest.raises(CampaignError, match="campaign: the campaign is gone: was it removed, or moved"):
            journal.append(ended(2))
    if how != "removed":
        assert read_events(moved / "journal.jsonl") == (ended(1),)


def test_a_newer_format_is_refused(path: Path) -> None:
    with Journal(path) as journal:
        journal.append(SessionBegan(1.0, "9.9", version=99))
    with pytest.raises(CampaignError, match=r"written by tare 9\.9"):
        list(read_events(path))


def test_an_attempt_without_an_end_is_lost_and_running_while_its_runner_lives() -> None:
    events = (AttemptBegan("c", 1, 1, 1.0), ended(1), AttemptBegan("c", 2, 1, 2.0))
    state = JournalState(events)
    assert [one.state for one in state.current_attempts(is_running=False)] == [State.DONE, State.LOST]
    assert [one.state for one in state.current_attempts(is_running=True)] == [State.DONE, State.RUNNING]


def test_a_line_that_can_neither_be_written_nor_taken_back_is_an_error_and_the_last_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, pieces = os.write, iter([50, 0])

    def torn(descriptor: int, data: bytes) -> int:
        if not (size := next(pieces)):
            raise OSError(errno.EIO, "Input/output error")
        return write(descriptor, data[:size])

    def refused(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with Journal(path) as journal:
        journal.append(ended(1))
        with monkeypatch.context() as failing:
            failing.setattr(os, "write", torn)
            failing.setattr(os, "ftruncate", refused)
            with pytest.raises(CampaignError, match="cannot write: Input/output error"):
                journal.append(ended(2))
        with pytest.raises(CampaignError, match="its last line could not be written"):
            journal.append(ended(2))
    with Journal(path) as journal:
        journal.append(ended(2))
    assert read_events(path) == (ended(1), ended(2))


@pytest.mark.parametrize("coordinates", ["1", "1,2,3"])
def test_values_that_do_not_each_have_their_coordinates_are_damage(path: Path, coordinates: str) -> None:
    with Journal(path) as journal:
        journal.append(ended(1))
    line = path.read_text().partition(',"crc32"')[0] + "}"
    damaged = line.replace('"values":[1.5]', f'"at":{{"bytes":[{coordinates}]}},"values":[1.5,2.5]')
    path.write_text(f"{damaged}\n{line}\n")
    with pytest.raises(CampaignError, match=r"2 values of value, and [13] of bytes"):
        read_events(path)


@pytest.mark.parametrize("text", [b"dear diary\n", b'{"level": 1}\n', b"no newline", b"-- Boot --\n\0"])
def test_what_is_no_journal_is_left_as_it_is(path: Path, text: bytes) -> None:
    path.write_bytes(text)
    with pytest.raises(UsageError, match="not a journal of tare"):
        Journal(path)
    assert path.read_bytes() == text


@pytest.mark.parametrize("text", [b"", b"{", b'{"event":"sess', b"\0" * 4096, b'{"ev\0\0\0\0\0\0'])
def test_a_first_line_that_is_torn_is_written_over(path: Path, text: bytes) -> None:
    path.write_bytes(text)
    with Journal(path) as journal:
        assert journal.events == ()
    assert path.read_bytes() == b""


def test_a_journal_that_is_one_endless_line_is_refused_and_not_held_in_memory(path: Path) -> None:
    """A sparse file, which an archive holds in a few bytes, took twice its size in memory."""
    path.touch()
    os.truncate(path, MOST_BYTES)
    tracemalloc.start()
    try:
        for read in (read_events, Journal):
            with pytest.raises(CampaignError, match="a line of more than 64 MiB"):
                read(path)
        assert [one.what for one in verify(path.parent).faults if "64 MiB" in one.what]
        assert tracemalloc.get_traced_memory()[1] < 4 * MOST_OF_LINE
    finally:
        tracemalloc.stop()
    assert path.stat().st_size == MOST_BYTES


def test_an_event_that_is_longer_than_a_line_that_is_read_is_not_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "MOST_OF_LINE", 200)
    with Journal(path) as journal:
        journal.append(BlockBegan(1, ["c"]))
        with pytest.raises(CampaignError, match="it takes more than 200 B"):
            journal.append(BlockBegan(2, ["c" * 200]))
    assert read_events(path) == (BlockBegan(1, ["c"]),)
