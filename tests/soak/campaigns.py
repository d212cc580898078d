"""A campaign of a soak: its files, its sessions of `tare run`, and what was done to it on purpose."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from soak.books import Book, Tally, done_runs, n_sessions, unended
from soak.places import TARE, Place, call, processes
from tare.core.errors import CampaignError
from tare.storage.campaign import JOURNAL

STUDY = """\
study: soak
question: Do the books balance?
reference: {{size: 1}}
workloads:
  soak:
    command: [{python}, -I, -S, {program}, {book}, "{{work}}", "{seconds}"]
    parameters: {{size: 1}}
    foms: [{{name: value, unit: s, better: lower, regex: 'value: (\\S+) is whole'}}]
    checks: [{{matches: 'is whole'}}]
    mpi: {mpi}
    needs_transport: false
repeats: {repeats}
retries: 1
"""
_FACTORS = "factors: {workload: [soak], size: [1, 2]}\n"
_TIMEOUT = "timeout: 20 s\n"

SANE = frozenset({0, 1})
"""How `tare run` may end where nothing is wrong with the place: all is done, or some runs are not."""


class Soaked:
    """One campaign. `disk` is the file system that its folder is on, `home` where all else lies."""

    def __init__(
        self, name: str, place: Place, home: Path, disk: Path, env: Mapping[str, str], chance: random.Random
    ) -> None:
        self.name = name
        self.place = place
        self.home = home / name
        self.home.mkdir()
        self.disk = disk
        self.folder = disk / name
        self.journal = self.folder / JOURNAL
        self.book = Book(self.home / "book")
        self.env = dict(env)
        self.chance = chance
        self.tally = Tally()
        self.study = self.home / "study.yaml"
        self.gone: set[str] = set()
        self.damaged: set[str] = set()
        self.lost_daemons = False
        self.history: list[str] = []
        self.n_sessions = 0
        self._known: dict[str, float | None] = {}
        self._write_study()

    def _write_study(self) -> None:
        program = Path(__file__).with_name("program.py")
        text = STUDY.format(
            python=sys.executable,
            program=program,
            book=self.book.path,
            seconds=self.place.seconds,
            mpi=str(self.place.mpi).lower(),
            repeats=self.place.repeats,
        )
        for name, more in (("factors", _FACTORS), ("timeout", _TIMEOUT)):
            text += "" if name in self.place.study else more
        self.study.write_text(text + self.place.study)

    def start(self, *options: str) -> Session:
        """Start a session of `tare run`."""
        self.n_sessions += 1
        n_before = n_sessions(self.journal)
        said = self.home / f"said.{self.n_sessions}"
        words = [*TARE, "run", str(self.study), "--out", str(self.folder), *options]
        with said.open("wb") as file:
            runner = subprocess.Popen(
                words, env=self.env, cwd=self.home, stdin=subprocess.DEVNULL, stdout=file, stderr=file
            )
        return Session(self, runner, said, n_before)

    def tare(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Call `tare`, and look at what it says."""
        done = call(self.env, *words)
        self.look_at(done.stdout + done.stderr, " ".join(words))
        return done

    def look_at(self, said: str, what: str) -> None:
        """Check that nothing which was said is a traceback."""
        is_starting = said.endswith("KeyboardInterrupt\n") and ", in main\n" not in said  # Python itself
        is_told = is_starting or "Traceback (most recent call last)" not in said
        self.tally.check("no tracebacks", is_told, f"{what}: {said[-1500:]}")

    def look_back(self) -> None:
        """Check that all which was done is still on record, but for what was destroyed on purpose."""
        try:
            now = done_runs(self.journal)
        except CampaignError:  # as a damage that has not been mended
            return
        for run, figure in self._known.items():
            is_there = run in self.gone or now.get(run) == figure
            self.tally.check("what was done stays on record", is_there, f"{run} of {figure} is gone")
        self._known = {run: figure for run, figure in now.items() if run not in self.gone}

    def forget(self, runs: set[str]) -> None:
        """Note that the lines of these runs were destroyed on purpose."""
        self.gone |= runs
        self._known = {run: figure for run, figure in self._known.items() if run not in runs}

    def keep(self, kept: Path) -> None:
        """Copy everything that tells of this campaign to `kept`."""
        target = kept / self.name
        shutil.copytree(self.home, target, dirs_exist_ok=True)
        if self.folder.exists():
            shutil.copytree(self.folder, target / "campaign", dirs_exist_ok=True)
        (target / "history").write_text("\n".join(self.history) + "\n")
        wrong = [f"{name}: {one}" for name, found in self.tally.wrong.items() for one in found]
        (target / "wrong").write_text("\n".join(wrong) + "\n")


class Session:
    """One `tare run` that is under way."""

    def __init__(self, campaign: Soaked, runner: subprocess.Popen[bytes], said: Path, n_before: int) -> None:
        self.campaign = campaign
        self.runner = runner
        self.said = said
        self._n_before = n_before

    @property
    def is_over(self) -> bool:
        """Return whether it has ended."""
        return self.runner.poll() is not None

    def guards(self) -> list[int]:
        """Return the pids of its guard."""
        return [pid for pid in _children(self.runner.pid) if "marks.py" in " ".join(processes().get(pid, ()))]

    def ranks(self) -> list[int]:
        """Return the pids of what its campaign's program runs as."""
        book = str(self.campaign.book.path)
        return [
            pid
            for pid, words in processes().items()
            if book in words and words[0].rpartition("/")[2][:6] == "python"
        ]

    def end(self, codes: frozenset[int], what: str) -> int:
        """Wait for its end, and check how it ended: with one of `codes`, in time, and in sentences."""
        tally, limit_s = self.campaign.tally, self.campaign.place.limit_s
        try:
            code = self.runner.wait(timeout=limit_s)
            tally.check("sessions end", True, "")
        except subprocess.TimeoutExpired:
            tally.check("sessions end", False, f"{self.said.name} ({what}) still runs after {limit_s:.0f} s")
            self.runner.kill()
            return self.runner.wait()
        said = self.said.read_text(errors="replace")
        self.campaign.look_at(said, f"{self.said.name} ({what})")
        told = f"{self.said.name} ({what}) ended with {code}: {said[-600:]}"
        tally.check("exit codes are those that are meant", code in codes, told)
        if code == 3:
            tally.check("errors are told in a sentence", "\ntare: " in f"\n{said}", told)
        if code == 130:
            tally.check("an interrupt tells how to go on", "tare: interrupted" in said, told)
        if code < 0 and -code != signal.SIGKILL:  # before it began to run anything, or when it had ended
            left = unended(self.campaign.journal, self._n_before)
            tally.check("a signal leaves no run without its end", not left, f"{told}; {left}")
        self.campaign.history.append(f"{self.said.name}: {what}: {code}")
        return code


def _children(pid: int) -> list[int]:
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
