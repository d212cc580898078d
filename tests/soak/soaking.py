"""The soak itself: campaign after campaign, each through sessions with a fault, then its books."""

from __future__ import annotations

import csv
import io
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from soak.books import Tally, balance, done_runs, n_sessions
from soak.campaigns import SANE, Session, Soaked
from soak.damage import DAMAGES, verify_at_end
from soak.faults import FAULTS, Fault
from soak.leftovers import check_left, look
from soak.places import Place, wait_until

_MOST_SESSIONS = 12
"""In which a campaign must end once nothing happens to it any more."""

_NEED_DISK = ("disk filled", "disk filled for a while", "inodes used up")


class Soak:
    """What is done, and counted. `disk` is a small file system of its own, if `is_alone`."""

    def __init__(self, home: Path, disk: Path, env: Mapping[str, str], seed: int, *, is_alone: bool) -> None:
        self.home = home
        self.disk = disk
        self.env = dict(env)
        self.chance = random.Random(seed)
        self.is_alone = is_alone
        self.tally = Tally()
        self.faults: Counter[str] = Counter()
        self.campaigns: Counter[str] = Counter()
        self.n_sessions = 0
        self.n_runs = 0
        self.kept: list[Path] = []
        self._seed = seed
        self._decks: dict[str, tuple[random.Random, list[str]]] = {}

    def kinds(self, place: Place) -> list[str]:
        """Return what can happen at `place`."""
        can_fill = self.is_alone
        met = [
            name
            for name, one in FAULTS.items()
            if (not one.places or place.name in one.places) and (can_fill or name not in _NEED_DISK)
        ]
        return [*met, *DAMAGES]

    def campaign(self, place: Place, n_faults: int, say: Callable[[str], None]) -> None:
        """Take one campaign at `place` through so many faults, to its end, and look at its books."""
        number = sum(self.campaigns.values()) + 1
        self.campaigns[place.name] += 1
        before = look(self.env, self.is_alone)
        one = Soaked(f"c{number}", place, self.home, self.disk, self.env, self.chance)
        for _ in range(n_faults):
            kind = self._draw(place)
            self.faults[kind] += 1
            if kind in DAMAGES:
                self._damage(one, kind)
            else:
                self._session(one, FAULTS[kind])
            one.look_back()
        self._finish(one)
        check_left(one, before, is_alone=self.is_alone)
        self._close(one, say)

    def _draw(self, place: Place) -> str:
        """Return what happens next: all kinds in a random order, which the seed alone decides, then again."""
        chance, deck = self._decks.setdefault(place.name, (random.Random(f"{self._seed} {place.name}"), []))
        if not deck:
            deck += self.kinds(place)
            chance.shuffle(deck)
        return deck.pop()

    def _session(self, one: Soaked, fault: Fault) -> None:
        """Run until some runs have ended, let the fault happen, and wait for the end."""
        n_begun = one.book.n_started()
        session = one.start(*self._options())
        n_more = self.chance.choice((0, 1, 1, 2, 3))
        wait_until(lambda: session.is_over or one.book.n_started() >= n_begun + n_more, one.place.limit_s)
        time.sleep(self.chance.uniform(0, 0.3))
        fault.inflict(session)
        session.end(fault.codes, fault.name)

    def _options(self) -> list[str]:
        return ["--retry-failed"] if self.chance.random() < 0.3 else []

    def _damage(self, one: Soaked, kind: str) -> None:
        """Damage what is there; a campaign that has not begun runs a little first."""
        if not one.journal.exists() or not done_runs(one.journal):
            self._session(one, FAULTS["tare killed"])
        if one.journal.exists():
            _wait_for_writers(one)
            DAMAGES[kind](one)
            one.history.append(kind)

    def _finish(self, one: Soaked) -> None:
        """Go on until all runs are done, with nothing that happens any more."""
        code = 1
        for number in range(_MOST_SESSIONS):
            session = one.start(*(["--retry-failed"] if number else []))
            code = session.end(SANE, "undisturbed")
            one.look_back()
            if code == 0:
                break
        one.tally.check("campaigns come to their end", code == 0, f"{one.name}: the last session gave {code}")
        if one.journal.exists():
            balance(one.journal, one.book, one.gone, one.tally)
            n_done = len({run.rpartition(".")[0] for run in done_runs(one.journal)})
            n_planned = 2 * one.place.repeats
            one.tally.check("every planned run is done", n_done == n_planned, f"{n_done} of {n_planned}")
            verify_at_end(one)
            self._read(one)

    def _read(self, one: Soaked) -> None:
        """Check that what readers print of figures is what was written."""
        done = one.tare("export", str(one.folder))
        wrote = {entry.figure for entry in one.book.entries() if entry.what == "ended"}
        for row in csv.DictReader(io.StringIO(done.stdout)):
            if row["fom"] == "value" and row["state"] == "done":
                is_right = float(row["value"]) in wrote
                one.tally.check("figures are those that were written", is_right, f"exported: {row}")
        for words in (("status",), ("compare",)):
            read = one.tare(*words, str(one.folder))
            one.tally.check("readers end well", read.returncode in SANE, f"{words}: {read.stderr}")

    def _close(self, one: Soaked, say: Callable[[str], None]) -> None:
        n_begun = n_sessions(one.journal)
        n_runs = one.book.n_started()
        self.n_sessions += one.n_sessions
        self.n_runs += n_runs
        self.tally.add(one.tally)
        wrong = sum(map(len, one.tally.wrong.values()))
        say(f"{one.name}  {one.place.name}  {n_begun} sessions  {n_runs} runs  {wrong or 'nothing'} wrong")
        if wrong:
            kept = self.home / "kept"
            kept.mkdir(exist_ok=True)
            one.keep(kept)
            self.kept.append(kept / one.name)
            for name, found in one.tally.wrong.items():
                say(f"    {name}: {found[0][:600]}")
        _remove(one)


def table(soak: Soak) -> Iterator[str]:
    """Yield the lines of the table that a soak ends with."""
    yield f"{'fault':<34}{'times':>8}"
    for name, count in sorted(soak.faults.items()):
        yield f"{name:<34}{count:>8}"
    yield ""
    places = ", ".join(f"{count} {name}" for name, count in soak.campaigns.items())
    n_campaigns = sum(soak.campaigns.values())
    yield f"{n_campaigns} campaigns ({places}), {soak.n_sessions} sessions, {soak.n_runs} runs started"
    yield ""
    yield f"{'check':<42}{'looked':>8}{'wrong':>8}"
    for name, count in sorted(soak.tally.looked.items()):
        yield f"{name:<42}{count:>8}{len(soak.tally.wrong[name]) or '-':>8}"


def _wait_for_writers(one: Soaked) -> None:
    """Wait until the guard of a killed session has ended what that left: it holds copies of what was open."""
    from tare.storage.journal import is_held

    wait_until(lambda: not is_held(one.journal), 30)


def _remove(one: Soaked) -> None:
    import shutil

    for folder in (one.folder, one.home):
        shutil.rmtree(folder, ignore_errors=True)
    os.sync()


__all__ = ["Session", "Soak", "table"]
