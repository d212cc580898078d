"""What a campaign says of its runs, held against the book that its program wrote."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from tare.core.attempt import Attempt, State
from tare.core.errors import CampaignError
from tare.storage.journal import AttemptBegan, AttemptEnded, BlockBegan, Event, SessionBegan, read_events


class Entry(msgspec.Struct, frozen=True):
    """One line of a book: a program started, ended with a figure, failed, or found itself alive twice."""

    run: str
    what: str
    rank: str = "0"
    pid: int = 0
    figure: float = 0.0


class Book:
    """What the programs of one campaign wrote."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def entries(self) -> list[Entry]:
        """Return what it holds by now; a line that is being written is left out."""
        if not self.path.exists():
            return []
        lines = self.path.read_bytes().split(b"\n")[:-1]
        return [msgspec.json.decode(line, type=Entry) for line in lines]

    def n_started(self) -> int:
        """Return how many runs have started."""
        return sum(one.what == "started" for one in self.entries())


class Tally:
    """How often each check looked at something, and what it found wrong."""

    def __init__(self) -> None:
        self.looked: Counter[str] = Counter()
        self.wrong: defaultdict[str, list[str]] = defaultdict(list)

    def check(self, name: str, is_right: bool, what: str) -> bool:
        """Count one look of the check `name`; `what` tells of it where it is not right."""
        self.looked[name] += 1
        if not is_right:
            self.wrong[name].append(what)
        return is_right

    def add(self, other: Tally) -> None:
        """Take in the counts of another."""
        self.looked.update(other.looked)
        for name, found in other.wrong.items():
            self.wrong[name] += found


class Done(NamedTuple):
    """A run that is on record as done: which attempt it was, and its figure."""

    run: str
    figure: float | None


def done_runs(journal: Path) -> dict[str, float | None]:
    """Return the figure of each attempt that the journal calls done; empty where there is no journal yet."""
    if not journal.exists():
        return {}
    ended = (one.attempt for one in read_events(journal) if isinstance(one, AttemptEnded))
    return {_name(one): _figure(one) for one in ended if one.state is State.DONE}


def balance(journal: Path, book: Book, gone: set[str], tally: Tally) -> None:
    """Hold the journal against the book. `gone` are the attempts whose lines were destroyed on purpose."""
    try:
        events = read_events(journal)
    except CampaignError as error:
        tally.check("the journal can be read", False, str(error))
        return
    entries = [one for one in book.entries() if one.rank == "0"]
    known = {f"{one.case}/{one.block}.{one.attempt}" for one in events if isinstance(one, AttemptBegan)}
    done = done_runs(journal)
    figures = {one.run: one.figure for one in entries if one.what == "ended"}
    for one in entries:
        if one.what == "started":
            tally.check("started runs are on record", one.run in known | gone, f"{one.run} is not on record")
    for one in book.entries():
        tally.check("no run lives twice at once", one.what != "twice", f"{one.run} lived twice")
    for run, figure in done.items():
        tally.check("done runs ended well", run in figures, f"{run} is done, and did not end")
        told = f"{run}: {figure!r} is on record, {figures.get(run)!r} was written"
        tally.check("figures are those that were written", figure == figures.get(run), told)
    for run, n_done, is_meant in _repeated(events):
        tally.check("no run is done twice", is_meant, f"{run} was done {n_done} times")


def _repeated(events: tuple[Event, ...]) -> Iterator[tuple[str, int, bool]]:
    """Yield each run with how often it was done, and whether it was meant to be.

    A later session runs once more what new runs are compared with, and says so as its block begins.
    """
    counts: Counter[str] = Counter()
    again: Counter[str] = Counter()
    for event in events:
        if isinstance(event, BlockBegan):
            again.update(f"{case}/{event.block}" for case in event.again)
        if isinstance(event, AttemptEnded) and event.attempt.state is State.DONE:
            counts[f"{event.attempt.case}/{event.attempt.block}"] += 1
    for run, count in counts.items():
        yield run, count, count <= 1 + again[run]


def unended(journal: Path, n_before: int) -> list[str]:
    """Return the attempts that began after so many sessions, and have no end on record."""
    begun: list[str] = []
    number = 0
    for one in read_events(journal) if journal.exists() else ():
        if isinstance(one, SessionBegan):
            number += 1
        elif number <= n_before:
            continue
        elif isinstance(one, AttemptBegan):
            begun.append(f"{one.case}/{one.block}.{one.attempt}")
        elif isinstance(one, AttemptEnded) and _name(one.attempt) in begun:
            begun.remove(_name(one.attempt))
    return begun


def n_sessions(journal: Path) -> int:
    """Return how many sessions the journal tells of."""
    return sum(isinstance(one, SessionBegan) for one in read_events(journal)) if journal.exists() else 0


def exported(text: str) -> dict[str, float]:
    """Return the figure of each run of what `tare export --format json` printed."""
    rows = json.loads(text)
    rows = rows["rows"] if isinstance(rows, dict) else rows
    return {f"{row['case']}/{row['block']}.{row['attempt']}": row["value"] for row in rows}


def _name(attempt: Attempt) -> str:
    return attempt.folder.removeprefix("attempts/")


def _figure(attempt: Attempt) -> float | None:
    values = [value for one in attempt.series if one.fom == "value" for value in one.values]
    return values[0] if len(values) == 1 else None
