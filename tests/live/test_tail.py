"""Following a journal: each byte once, and nothing that is not whole."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import msgspec
import pytest

from tare.core.safe_folder import MOST_OF_LINE
from tare.live import tail as module
from tare.live.tail import JournalTail, News
from tare.storage.journal import MOST_BYTES, AttemptBegan, BlockBegan, Event, SessionBegan, write_line

EVENTS: list[Event] = [
    SessionBegan(1.0, "0.1.0"),
    BlockBegan(1, ["a", "b"]),
    AttemptBegan("a", 1, 1, 2.0),
    AttemptBegan("b", 1, 1, 3.0),
]
LINES = [write_line(event) for event in EVENTS]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def add(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_a_journal_that_is_not_there_yet_is_empty_until_it_comes(path: Path) -> None:
    tail = JournalTail(path)
    assert tail.read().events == ()
    add(path, LINES[0])
    assert tail.read().events == (EVENTS[0],)


def test_each_event_is_reported_once(path: Path) -> None:
    tail = JournalTail(path)
    for line, event in zip(LINES, EVENTS, strict=True):
        add(path, line)
        assert tail.read().events == (event,)
        assert tail.read().events == ()


def test_wherever_a_line_is_cut_it_is_reported_whole_or_not_at_all(path: Path) -> None:
    data = b"".join(LINES)
    for cut in range(len(data) + 1):
        path.write_bytes(data[:cut])
        tail = JournalTail(path)
        first = tail.read()
        add(path, data[cut:])
        second = tail.read()
        assert [*first.events, *second.events] == EVENTS
        assert (first.fault, second.fault, second.is_fresh) == ("", "", False)


def test_a_torn_line_that_the_next_session_cuts_off_leaves_no_trace(path: Path) -> None:
    path.write_bytes(LINES[0] + LINES[1][:9])
    tail = JournalTail(path)
    assert tail.read().events == (EVENTS[0],)
    path.write_bytes(LINES[0])
    add(path, LINES[2])
    news = tail.read()
    assert news.events == (EVENTS[2],)
    assert not news.is_fresh


def test_a_last_line_of_rubbish_is_left_until_it_is_cut_off(path: Path) -> None:
    path.write_bytes(LINES[0] + b"\0\0\0\0\n")
    tail = JournalTail(path)
    assert tail.read() == msgspec.structs.replace(tail.read(), events=(EVENTS[0],))
    path.write_bytes(LINES[0] + LINES[1])
    assert tail.read().events == (EVENTS[1],)


def test_a_damaged_line_in_the_midst_is_reported_with_its_number(path: Path) -> None:
    path.write_bytes(LINES[0] + b"rubbish\n" + LINES[1])
    tail = JournalTail(path)
    news = tail.read()
    assert news.events == (EVENTS[0],)
    assert "line 2" in news.fault
    assert tail.read().fault == news.fault
    path.write_bytes(LINES[0] + LINES[1])
    assert tail.read().fault == ""


@pytest.mark.parametrize("is_same_file", [True, False])
def test_another_journal_in_its_place_is_read_from_its_beginning(path: Path, is_same_file: bool) -> None:
    path.write_bytes(LINES[0] + LINES[1])
    tail = JournalTail(path)
    tail.read()
    if not is_same_file:
        path.rename(path.with_suffix(".old"))
    path.write_bytes(LINES[1] + LINES[0] + LINES[2])
    news = tail.read()
    assert news.is_fresh
    assert list(news.events) == [EVENTS[1], EVENTS[0], EVENTS[2]]


def test_a_journal_that_is_removed_voids_its_events(path: Path) -> None:
    path.write_bytes(LINES[0])
    tail = JournalTail(path)
    tail.read()
    path.unlink()
    assert tail.read().is_fresh
    assert not tail.read().is_fresh


def test_a_journal_of_a_later_tare_is_refused_by_its_version(path: Path) -> None:
    path.write_bytes(write_line(SessionBegan(1.0, "9.9", version=99)))
    assert "written by tare 9.9" in JournalTail(path).read().fault


def test_only_new_bytes_are_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    path.write_bytes(b"".join(LINES) * 1000)
    tail = JournalTail(path)
    tail.read()
    n_read = 0
    real = os.pread

    def counting(descriptor: int, n: int, offset: int) -> bytes:
        nonlocal n_read
        data = real(descriptor, n, offset)
        n_read += len(data)
        return data

    monkeypatch.setattr(os, "pread", counting)
    tail.read()
    assert n_read == 0
    add(path, LINES[0])
    assert tail.read().events == (EVENTS[0],)
    assert n_read <= len(LINES[0]) + 64


def test_a_journal_of_one_endless_line_is_not_held_in_memory(path: Path) -> None:
    path.write_bytes(LINES[0])
    os.truncate(path, MOST_BYTES)
    tail = JournalTail(path)
    tracemalloc.start()
    try:
        news = tail.read()
        assert tracemalloc.get_traced_memory()[1] < 4 * MOST_OF_LINE
    finally:
        tracemalloc.stop()
    assert news == News((EVENTS[0],), fault="line 2 of the journal is too long to be one")
    assert tail.read() == News(fault="line 2 of the journal is too long to be one")


def test_events_of_many_pieces_are_reported_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_OF_LINE", max(map(len, LINES)))
    add(path, b"".join(LINES) + LINES[0][:-9])
    assert JournalTail(path).read() == News(tuple(EVENTS))
