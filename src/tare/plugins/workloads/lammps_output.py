"""Read the output of LAMMPS for each of its runs (Finish::end), from standard output or log.lammps.

The end of a run, and of the program::

    Loop time of 2 on 2 procs for 100 steps with 32000 atoms

    Performance: 21600.000 tau/day, 50.000 timesteps/s
    99.2% CPU use with 2 MPI tasks x 1 OpenMP threads
    Total wall time: 0:00:03
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from tare.core.values import Scalar
from tare.core.workload import Fom, Parsed
from tare.plugins.workloads.common.application import ApplicationLog
from tare.plugins.workloads.common.benchmark import Banner, coordinates, run_number
from tare.plugins.workloads.common.left_out import UNFINISHED
from tare.plugins.workloads.common.text import Sieve, figure

_MOST_FIGURES = 8
"""How many figures one run has at most."""

_RATES = {
    "ns/day": ("ns_per_day", 1.0),
    "tau/day": ("tau_per_day", 1.0),
    "hours/ns": ("hours_per_ns", 1.0),
    "fs/day": ("ns_per_day", 1e6),
    "hours/fs": ("hours_per_ns", 1e-6),
    "timesteps/s": ("timesteps_per_s", 1.0),
    "atom-step/s": ("atom_steps_per_s", 1e6),
    "katom-step/s": ("atom_steps_per_s", 1e3),
    "Matom-step/s": ("atom_steps_per_s", 1.0),
    "Gatom-step/s": ("atom_steps_per_s", 1e-3),
    "Tatom-step/s": ("atom_steps_per_s", 1e-6),
}
"""For each unit of the ``Performance:`` line: the figure of merit, and the divisor that gives its unit."""


_HEADS = frozenset({"LAMM", "Loop", "Perf", "Tota", "ERRO", "Last", "Dang", "Mini", "WARN", "Memo", "Per "})
"""The first four characters of the lines that the parser reads, except the one with ``% CPU use``."""

_SIEVE = Sieve("|".join(sorted(_HEADS)), "% CPU")

_SET_UP = ("Per MPI rank memory allocation", "Memory usage per processor")
"""Beginnings of the line that LAMMPS prints when it has set up a run (Output::setup)."""

_VERSION = re.compile(r"LAMMPS \((?:[0-9]{1,2} )?\w+ ?([0-9]{4})\b.*\)")
_LOOP = re.compile(r"Loop time of (\S+) on \d+ procs(?: \(.*\))? for (\d+) steps with (\d+) atoms")
_USE = re.compile(r"([0-9]+\.[0-9]+)% CPU use with (\d+) MPI tasks x (no|\d+) OpenMP threads")
_SEPARATOR = re.compile(r", | {2,}")
"""What separates the rates of a run; blanks in the ICMS versions of 2011 to 2014."""
_WALL = re.compile(r"Total wall time: ([0-9]+):([0-9]{2}):([0-9]{2})")
_LAST_WITHOUT_WALL_TIME = 2015
_LAST_ICMS_WITHOUT_WALL_TIME = 2013
"""The years of the last versions that end with ``Dangerous builds``: of all, and of those with rates."""
_DIGITS = 1e-5
"""Relative difference allowed between rate × time and the steps, for a time of six digits."""
_DECIMALS = 0.0006
"""The most that a rate, which has three decimals or more, may differ from the exact one."""


@dataclasses.dataclass
class _Loop:
    """One `run` of a script: its steps, atoms and figures. A run of 0 steps measures nothing."""

    steps: int
    n_atoms: int
    figures: dict[str, float] = dataclasses.field(default_factory=dict)
    head: str = ""
    is_ended_early: bool = False
    """Whether `timer timeout` ended it: its rate counts the steps that were made, its time is of fewer."""
    has_use: bool = False
    has_performance: bool = False
    is_minimisation: bool = False
    """Whether it was an energy minimisation, for which LAMMPS prints no line ``Performance:``."""

    @property
    def facts(self) -> dict[str, Scalar]:
        """Return the settings that distinguish it from other runs."""
        return {"steps": self.steps, "n_atoms": self.n_atoms}

    @property
    def loop_s(self) -> float:
        """Return its time in seconds, if that is known; one that a timer ended has no such time."""
        seconds = self.figures["loop_time"]
        return seconds if math.isfinite(seconds) and not self.is_ended_early else 0.0

    @property
    def is_consistent(self) -> bool:
        """Whether its rate agrees with its time; a rate of at most 1 has too few digits for this check."""
        rate, seconds = self.figures.get("timesteps_per_s"), self.figures["loop_time"]
        if rate is None or not rate > 1:
            return True
        return abs(rate * seconds / self.steps - 1) < _DIGITS + _DECIMALS / rate


@dataclasses.dataclass
class _Session:
    """One start of LAMMPS: its runs, and whether it finished.

    `n_set_up` and `n_ended` count the runs that were set up, and those that ended, also those of 0 steps.
    """

    year: int | None = None
    loops: list[_Loop] = dataclasses.field(default_factory=list)
    has_start: bool = False
    wall_time: float | None = None
    is_finished: bool = False
    n_set_up: int = 0
    n_ended: int = 0

    @property
    def has_performance(self) -> bool:
        """Whether its runs print rates: all of newer versions do, but those with ``post no``."""
        return (self.year or 0) >= _ALWAYS_HAS_USE or any(loop.has_performance for loop in self.loops)

    @property
    def is_ended_early(self) -> bool:
        return any(loop.is_ended_early for loop in self.loops)


class LammpsLog(ApplicationLog):
    """Collects the starts of LAMMPS in one log."""

    banner = Banner("LAMMPS (", r"LAMMPS \(([0-9]+ \w+ [0-9]{4}[^()]*)\)")
    sieve = _SIEVE

    def __init__(self, foms: Iterable[Fom], ranks: int | None) -> None:
        super().__init__(foms, ranks)
        self._sessions: list[_Session] = []
        self._loop: _Loop | None = None
        self._is_broken = self._is_timed_out = False

    def read(self, line: str) -> None:
        """Read one line."""
        head = line[:4]
        if head in _HEADS:
            self._read_head(line, head)
        elif "% CPU use with " in line:
            self._read_use(line)
        elif "Loop time of " in line and " steps with " in line:
            self._break(f"a line Loop time is part of another one: {line[:120]}")

    def _break(self, problem: str) -> None:
        self._is_broken = True
        self._findings.problem(problem)

    def _read_use(self, line: str) -> None:
        if match := _USE.fullmatch(line):
            if self._loop is None or self._loop.has_use:
                self._findings.mixed("the use of processors of no run")
                return
            self._loop.has_use = True
            self._loop.figures["cpu_use"] = float(match[1])
            self._ranks.add(int(match[2]))
            self._findings.record_facts(ranks=int(match[2]), threads=1 if match[3] == "no" else int(match[3]))
        else:
            self._break(f"the line of the use of processors is broken: {line.strip()[:120]}")

    def _read_head(self, line: str, head: str) -> None:
        if self._sessions and line.startswith(_SET_UP):
            self._sessions[-1].n_set_up += 1
        match head:
            case "LAMM":
                if version := _VERSION.match(line):
                    self._begin(_Session(year=int(version[1]), has_start=True))
                    self._loop = None
            case "Loop":
                self._read_loop(line)
            case "Perf":
                self._read_performance(line)
            case "Mini" if self._loop is not None:
                self._loop.is_minimisation |= line.startswith("Minimization stats:")
            case "WARN":
                self._is_timed_out |= line.startswith("WARNING: Wall time limit reached")
            case "Tota":
                self._read_wall(line)
            case "ERRO":
                if line.startswith(("ERROR: ", "ERROR on proc ")):
                    self._findings.problem(f"LAMMPS ended with an error: {line.strip()[:200]}")
            case "Dang" | "Memo" if self._sessions and self._sessions[-1].wall_time is None:
                self._read_end_without_wall_time(self._sessions[-1], is_end=head == "Dang")

    def _read_end_without_wall_time(self, session: _Session, *, is_end: bool) -> None:
        """Read the last line of a run that no wall time follows, or the first line of the next run."""
        has_rates = self._loop is not None and self._loop.has_performance
        last_year = _LAST_ICMS_WITHOUT_WALL_TIME if has_rates else _LAST_WITHOUT_WALL_TIME
        session.is_finished = is_end and bool(session.loops) and (session.year or 0) <= last_year

    def _read_wall(self, line: str) -> None:
        """Read the last line of a start, ``Total wall time:``."""
        if (wall := _WALL.fullmatch(line)) and self._sessions:
            if self._sessions[-1].wall_time is not None:
                self._findings.mixed("a second total wall time of one start")
            hours, minutes, seconds = map(int, wall.groups())
            self._sessions[-1].wall_time = 3600.0 * hours + 60 * minutes + seconds
            self._sessions[-1].is_finished = True

    def _begin(self, session: _Session) -> None:
        self._sessions.append(session)
        self._findings.begin()

    def _read_loop(self, line: str) -> None:
        """Read the end of a run; a run of 0 steps sets up the system and measures nothing."""
        self._loop = None
        if match := _LOOP.fullmatch(line):
            seconds = figure(match[1])
            if seconds is None:
                self._break(f"a line Loop time is broken: {line[:120]}")
                return
            self._loop = _Loop(int(match[2]), int(match[3]), {"loop_time": seconds}, line, self._is_timed_out)
            self._is_timed_out = False
            if self._sessions:
                self._sessions[-1].n_ended += 1
            if self._loop.steps == 0:
                return
            if not self._sessions:
                self._begin(_Session(n_ended=1))
            elif self._sessions[-1].has_start and self._sessions[-1].wall_time is not None:
                self._findings.mixed("a run after the end of its program")
            self._findings.keep(_MOST_FIGURES)
            self._sessions[-1].loops.append(self._loop)
        elif line.startswith("Loop time of "):
            self._break(f"a line Loop time is broken: {line[:120]}")

    def _read_performance(self, line: str) -> None:
        if not line.startswith("Performance: "):
            return
        if self._loop is None or self._loop.has_performance:
            self._findings.mixed("the performance of no run")
            return
        self._loop.has_performance = True
        for part in _SEPARATOR.split(line.removeprefix("Performance: ")):
            value, _, unit = part.partition(" ")
            rate = figure(value)
            if unit in _RATES and rate is not None:
                fom, divisor = _RATES[unit]
                self._loop.figures[fom] = rate / divisor
            else:
                self._break(f"the performance is not all there: {line}")

    def _leave_out_unfinished(self) -> None:
        unfinished = [one for one in self._sessions[:-1] if not one.is_finished]
        for fom in (fom for session in unfinished for loop in session.loops for fom in loop.figures):
            self._findings.leave_out(fom, UNFINISHED, {})

    def _leave_out_lost(self, sessions: Iterable[_Session]) -> None:
        """Name the figures of runs without their line Loop time or Performance."""
        for session in sessions:
            for _ in range(session.n_set_up - session.n_ended):
                self._findings.leave_out("loop_time", _NO_END, {})
            for loop in session.loops:
                if session.has_performance and not (
                    loop.has_performance or loop.has_use or loop.is_minimisation
                ):
                    self._findings.leave_out("timesteps_per_s", _NO_PERFORMANCE, loop.facts)

    def parsed(self) -> Parsed:
        """Return the figures of all runs."""
        sessions = [one for one in self._sessions if one.is_finished or one is self._sessions[-1]]
        loops = [loop for session in sessions for loop in session.loops]
        self._leave_out_unfinished()
        for gap in _gaps(sessions):
            self._break(gap)
        for loop, at in zip(loops, coordinates([loop.facts for loop in loops]), strict=True):
            self._findings.record_facts(**loop.facts)
            if not loop.is_consistent:
                self._findings.mixed("a rate that is not that of its loop's time")
            for fom, value in loop.figures.items():
                if fom == "loop_time" and loop.is_ended_early:
                    self._findings.leave_out(fom, _ENDED_EARLY, at)
                else:
                    self._findings.measure(fom, value, **at)
        self._leave_out_lost(sessions)
        for number, session in enumerate(sessions, 1):
            if session.wall_time is None or not session.loops:
                continue
            at = run_number(number, len(sessions))
            if session.is_ended_early:
                self._findings.leave_out("wall_time", _ENDED_EARLY, at)
            elif session.wall_time:
                self._findings.measure("wall_time", session.wall_time, **at)
            else:
                self._findings.leave_out("wall_time", _WHOLE_SECONDS, at)
        if not loops:
            self._findings.problem("the output holds no run of LAMMPS that came to its end")
        elif not sessions[-1].is_finished:
            self._findings.problem(
                "the output lacks the line Total wall time; LAMMPS did not come to its end"
            )
        is_finite = all(math.isfinite(value) for loop in loops for value in loop.figures.values())
        is_complete = bool(loops) and sessions[-1].is_finished and is_finite and not self._is_broken
        return self._finish(is_complete=is_complete)


_ALWAYS_HAS_USE = 2016
"""From versions of this year on, a run with the line Performance has that of its use of processors."""
_ENDED_EARLY = "the run was ended by its timer (timer timeout), before all of its steps"
_NO_END = "a run was set up, and no line Loop time tells of its end"
_NO_PERFORMANCE = "its run printed no line Performance, as with 'post no'"
_WHOLE_SECONDS = "it is printed as 0:00:00, which only says that it is less than a second"


def _gaps(sessions: Iterable[_Session]) -> Iterator[str]:
    """Yield the lines that a run lacks although others of the same start, or all starts, have them.

    A run with ``post no`` has none of the lines after Loop time.
    """
    for session in sessions:
        loops = session.loops
        if not session.has_start and loops:
            yield "the output lacks its beginning, the line LAMMPS (…) with the version"
        if (session.year or 0) >= _ALWAYS_HAS_USE and any(
            one.has_performance and not one.has_use for one in loops
        ):
            yield "a run lacks the line of its use of processors, which its version prints"
        if any(one.has_performance and not one.has_use for one in loops) and any(
            one.has_use for one in loops
        ):
            yield "a run lacks the line of its use of processors, which others have"
        moving = [one for one in loops if one.has_use and not one.is_minimisation]
        if any(one.has_performance for one in moving) and not all(one.has_performance for one in moving):
            yield "a run lacks the line Performance, which others have"
        if any(
            one.has_use and not one.has_performance for one in loops if not one.is_minimisation
        ) and not any(one.has_performance for one in loops):
            yield "a run lacks the line Performance, and has that of its use of processors"
        if session.wall_time and session.wall_time + 1 < sum(one.loop_s for one in loops):
            yield "the total wall time is less than that of its runs: it is of another start"
        if any(one.head == following.head for one, following in pairwise(loops)):
            yield "the line Loop time stands there twice"
