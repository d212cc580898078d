"""Read rsl.error.0000 or rsl.out.0000 of WRF: the times of steps, input and output of each run.

The lines that have times::

    Timing for Writing wrfout_d01_2020-03-18_00:00:00 for domain        1:    0.50000 elapsed seconds
    Timing for processing lateral boundary for domain        1:    0.13263 elapsed seconds
    Timing for main: time 2020-03-18_00:03:00 on domain   1:    1.50000 elapsed seconds
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from tare.core.counting import count
from tare.core.workload import ALL_BUT_STORAGE, Fom, Parsed, QuestionKind
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.application import ApplicationLog
from tare.plugins.workloads.common.benchmark import Banner, run_number
from tare.plugins.workloads.common.text import Sieve, figure

FOMS = (
    declare.lower(
        "step_time",
        "s",
        "time of a step, mean without the first step and without steps that read or write",
        is_primary=True,
        answers=ALL_BUT_STORAGE,
    ),
    declare.higher(
        "steps_per_s", "steps/s", "steps in a second: the reciprocal of the mean", is_primary=True
    ),
    declare.lower(
        "integration_time",
        "s",
        "time of all steps, input and output between them included",
        answers=(QuestionKind.STORAGE,),
    ),
    declare.lower("output_time", "s", "time of all output"),
)

_MAIN = re.compile(r"(?:d\d\d \S+ +)?Timing for main\b")

_STEP = re.compile(r" *(\d+): +(?:([0-9]+\.[0-9]+)|(\S+)) elapsed seconds\.?")
"""The text after the last `` on domain `` in the line of a step, or `` for domain `` in that of output."""

_OUTPUT = re.compile(r"(?:d\d\d \S+ +)?Timing for Writing\b")

_WRITTEN = re.compile(r"Writing (\S*?)([0-9]{4}-[0-9]{2}-[0-9]{2}_\S+)")

_MOMENT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}_[0-9]{2}[:_][0-9]{2}[:_][0-9]{2}"
"""A simulated time in the name of a file, which has underscores where colons cannot be in names."""

_STEP_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}_[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.+][0-9./]{1,20})?|")
"""The simulated time in the line of a step, with its fraction of a second; old versions print none."""

_FILE = re.compile(
    r"(?:RESTART run: opening \S*_d(?P<from>[0-9]{2})_|Writing \S*?|^d(?P<at>[0-9]{2}) )"
    rf"(?P<moment>{_MOMENT})"
    r"(?: for domain +(?P<of>[0-9]{1,9}):.*| for reading.*| +Input data is acceptable.*)"
)
"""A file that shows which simulated time its domain has reached, or starts at."""

_BEGUN = re.compile(
    r"processing (restart file|lateral boundary|wrfinput file \(stream 0\)) for domain +([0-9]{1,9}):"
)

_SIEVE = Sieve(
    r"(?:d\d\d \S+ +)? *(?:Timing for|RESTART run|Input data)|taskid: 0| *Ntasks| *Quilting with",
    "FATAL CALLED",
    "SUCCESS",
    "cfl",
)

_RANKS = re.compile(r" *Ntasks in X +(\d+) *, *ntasks in Y +(\d+)")

_IO_RANKS = re.compile(r" *Quilting with +(\d+) groups of +(\d+) I/O tasks\.?")

_FATAL = re.compile(r"FATAL CALLED FROM FILE: +(\S+) +LINE: +(\d+)")

_MOSTLY = 0.8
"""If at least this share of steps has one length, steps of a multiple of it are gaps, not adapted steps."""

_ENDED = re.compile(r"d01 (\d{4}-\d\d-\d\d_\d\d:\d\d:\d\d) wrf: SUCCESS COMPLETE WRF")

_CFL = re.compile(r"points exceeded (?:v_)?cfl *=", re.IGNORECASE)


@dataclasses.dataclass
class _Moments:
    """The sequence of simulated times of steps or of output files."""

    last: str = ""
    is_in_order: bool = True
    widths: Counter[float] = dataclasses.field(default_factory=Counter)
    """How often each length of a step occurs in the output, in simulated seconds."""

    @property
    def is_gapless(self) -> bool:
        """Whether no line is missing; this can be decided only if most steps have the same length."""
        width, count = max(self.widths.items(), key=lambda item: item[1], default=(0.0, 0))
        others = [one for one in self.widths if one != width]
        if not others or count < _MOSTLY * self.widths.total():
            return True
        return not all(one > width and one % width == 0 for one in others)

    def note(self, moment: str) -> None:
        """Record a simulated time; all have the same format, so comparing their text shows which is later."""
        self.is_in_order &= self.last < moment
        if self.last and (width := _width(self.last, moment)):
            self.widths[width] += 1
        self.last = moment


@dataclasses.dataclass
class _Domain(_Moments):
    """The steps of one domain: the total time of all, and the time and number of those in the mean."""

    total: float = 0.0
    counted: float = 0.0
    count: int = 0
    has_started: bool = False
    had_io: bool = False
    lacks_steps: bool = False
    """Whether a file has a simulated time that the steps before it do not reach."""

    def reach(self, moment: str) -> None:
        """Record that the domain is at `moment`, which the step before it has reached."""
        self.lacks_steps |= bool(self.last) and self.last[: len(moment)] < moment

    def take(self, seconds: float | None, moment: str) -> None:
        """Record a step that ends at the simulated time `moment`, and its time if it could be read."""
        if moment:
            self.note(moment)
        if seconds is None:
            return
        self.total += seconds
        if self.has_started and not self.had_io:
            self.counted += seconds
            self.count += 1
        self.has_started, self.had_io = True, False


def _width(start: str, end: str) -> float | None:
    """Return the seconds between two simulated times in WRF's format, such as ``2001-10-25_00:01:12``."""
    if start[:17] == end[:17] and len(start) == len(end):  # within one minute, like most steps
        return (figure(end[17:]) or 0.0) - (figure(start[17:]) or 0.0)
    try:
        first, last = (datetime.fromisoformat(one.replace("_", "T")) for one in (start, end))
    except ValueError:
        return None
    return (last - first).total_seconds()


@dataclasses.dataclass
class _Forecast:
    domains: dict[int, _Domain] = dataclasses.field(default_factory=lambda: defaultdict(_Domain))
    outputs: dict[str, _Moments] = dataclasses.field(default_factory=lambda: defaultdict(_Moments))
    """The simulated times of each kind of output, by the beginning of its file names."""
    starts: dict[int, str] = dataclasses.field(default_factory=dict)
    """The simulated time at which the steps of a domain begin, where a file before them shows it."""
    begun_late: set[int] = dataclasses.field(default_factory=set)
    """The domains before whose first step there are files of two simulated times."""
    has_head: bool = False
    has_input: bool = False
    """Whether input was read before the first step, as in every run."""
    has_boundary: bool = False
    output: float | None = None
    is_finished: bool = False
    ended_at: str = ""
    """The simulated time in its last line; empty if that line has none."""

    @property
    def has_last_step(self) -> bool:
        """Whether the steps of its first domain reach the time at which the forecast ended."""
        if any(domain.lacks_steps for domain in self.domains.values()):
            return False
        last = self.domains[min(self.domains)].last if self.domains else ""
        return not (last and self.ended_at) or last >= self.ended_at

    @property
    def is_finite(self) -> bool:
        times = [self.output or 0.0, *(domain.total for domain in self.domains.values())]
        return all(math.isfinite(time) for time in times)


class WrfLog(ApplicationLog):
    """Collects the runs of one log, and WRF's error messages."""

    banner = Banner("WRF V", r"\bWRF V(\S+) MODEL")
    sieve = _SIEVE

    def __init__(self, foms: Iterable[Fom], ranks: int | None) -> None:
        super().__init__(foms, ranks)
        self._io_ranks = 0
        self._forecasts: list[_Forecast] = []
        self._domains: dict[str, _Domain] = {}
        """The domains of the open run, by their numbers as printed."""
        self._width = 0
        """How many characters follow `` on domain `` in the lines of steps of the open run."""
        self._fatal: str | None = None
        self._n_cfl = 0

    def read(self, line: str) -> None:
        """Read one line."""
        if "Timing for " in line:
            self._read_timing(line)
        elif self._fatal is not None:
            self._findings.problem(f"WRF ended with a fatal error {self._fatal}: {line.strip()[:200]}")
            self._fatal = None
        elif line.startswith("taskid: 0 "):
            self._begin_with_head()
        elif "SUCCESS COMPLETE WRF" in line:
            if self._forecasts and self._forecasts[-1].is_finished:
                return  # no run has begun since
            run = self._open
            run.is_finished, run.ended_at = True, match[1] if (match := _ENDED.match(line)) else ""
            self._domains = {}
        elif "FATAL CALLED FROM" in line:
            if match := _FATAL.search(line):
                self._fatal = f"in {match[1]} line {match[2]}"
        elif "asks" in line:
            if match := _IO_RANKS.fullmatch(line):
                self._io_ranks = int(match[1]) * int(match[2])
            elif match := _RANKS.fullmatch(line):
                ranks = int(match[1]) * int(match[2]) + self._io_ranks
                self._ranks.add(ranks)
                self._findings.record_facts(ranks=ranks)
        else:
            self._n_cfl += "cfl" in line and _CFL.search(line) is not None
            if "RESTART run: " in line or "Input data is acceptable" in line:
                self._read_moment(self._open, line)

    def _begin_with_head(self) -> None:
        """Begin a run whose first line was read; steps of a run before its first line are mixed lines."""
        last = self._forecasts[-1] if self._forecasts else None
        if last is not None and last.domains and not (last.has_head or last.is_finished):
            self._findings.mixed("steps come before the head of their run")
        self._begin()
        self._forecasts[-1].has_head = True

    def _begin(self) -> None:
        """Begin a run, unless the last run is unfinished and has no times yet."""
        last = self._forecasts[-1] if self._forecasts else None
        if last is None or last.is_finished or last.domains:
            self._forecasts.append(_Forecast())
            self._domains, self._width = {}, 0
            self._findings.keep(len(FOMS))

    def _new_domain(self, number: str) -> _Domain:
        """Return the domain of the open run with this number, and record the printed form of the number."""
        domains = self._open.domains
        if int(number) not in domains:
            self._findings.keep(len(FOMS))
            domains[int(number)].last = self._open.starts.get(int(number), "")
        domain = self._domains[number] = domains[int(number)]
        return domain

    @property
    def _open(self) -> _Forecast:
        if not self._forecasts or self._forecasts[-1].is_finished:
            self._begin()
        return self._forecasts[-1]

    def _read_timing(self, line: str) -> None:
        if line.count("Timing for") > 1:  # two lines became one
            self._break(line)
            return
        head, is_step, rest = line.rpartition(" on domain ")
        if is_step and (head.startswith("Timing for main:") or _MAIN.match(head)):
            moment = head.rpartition(" time ")[2] if " time " in head else ""
            if (match := _STEP.fullmatch(rest)) and _STEP_MOMENT.fullmatch(moment):
                self._check_width(rest, line)
                seconds = self._seconds(match, line)
                domain = self._domains.get(match[1]) or self._new_domain(match[1])
                domain.take(seconds, moment)
            else:
                self._break(line)
            return
        head, is_output, rest = line.rpartition(" for domain ")
        match = _STEP.fullmatch(rest) if is_output and _OUTPUT.match(head) else None
        if match or "Timing for processing" in line:
            run = self._open
            for domain in run.domains.values():
                domain.had_io = True
            self._read_io(run, line)
            seconds = self._seconds(match, line) if match else None
            if seconds is not None:
                run.output = (run.output or 0.0) + seconds
        elif _MAIN.match(line) or _OUTPUT.match(line):
            self._break(line)

    def _check_width(self, rest: str, line: str) -> None:
        """Check that the times of steps are all as wide as the first: WRF prints them as F10.5."""
        self._width = self._width or len(rest)
        if len(rest) != self._width:
            self._break(line)

    def _break(self, line: str) -> None:
        self._findings.problem(f"a line with a time is broken: {line.strip()[:120]}")

    def _seconds(self, match: re.Match[str], line: str) -> float | None:
        """Return the time in a line; None if it is no number, or one that ran backwards, as clocks may."""
        seconds = float(match[2]) if match[2] else figure(match[3])
        if seconds is None:
            self._break(line)
        if seconds is not None and seconds < 0:
            self._findings.problem(f"a time is negative: {line.strip()[:120]}")
            return None
        return seconds

    def _read_io(self, run: _Forecast, line: str) -> None:
        """Read which file was written or read; the input of a domain must come before its steps."""
        run.has_input |= not run.domains
        if (file := _WRITTEN.search(line)) is not None:
            run.outputs[file[1]].note(file[2])
            self._read_moment(run, line)
        elif (begun := _BEGUN.search(line)) is None:
            return
        elif run.domains.get(int(begun[2])) and not (begun[1] == "lateral boundary" and run.has_boundary):
            self._findings.mixed("input that stands before the steps comes after them")
        else:
            run.has_boundary |= begun[1] == "lateral boundary"

    @staticmethod
    def _read_moment(run: _Forecast, line: str) -> None:
        """Read the simulated time in the name of a file: where its domain starts, or has come to."""
        if (file := _FILE.search(line)) is None:
            return
        moment = file["moment"][:10] + file["moment"][10:].replace("_", ":").replace(":", "_", 1)
        number = int(file["from"] or file["at"] or file["of"])
        if number in run.domains:
            run.domains[number].reach(moment)
        else:
            if run.starts.setdefault(number, moment) < moment:
                run.begun_late.add(number)

    def parsed(self) -> Parsed:
        """Return the means of each finished run, and those of the last run even if it did not finish."""
        runs = [run for run in self._forecasts if run.is_finished or run is self._forecasts[-1]]
        runs = [run for run in runs if run.domains or run.output is not None]
        self._find_lost_lines(runs)
        for number, run in enumerate(runs, 1):
            self._measure(run, run_number(number, len(runs)))
        is_complete = bool(runs) and self._forecasts[-1] is runs[-1] and runs[-1].is_finished
        is_complete = is_complete and all(run.is_finite and run.domains for run in runs)
        if not any(run.domains for run in runs):
            self._findings.problem("the output holds no step of WRF; rsl.error.0000 does")
        elif not runs[-1].is_finished:
            self._findings.problem(
                "the output lacks SUCCESS COMPLETE WRF; the forecast did not come to its end"
            )
            if self._n_cfl:
                self._findings.problem(
                    f"the CFL condition was broken {count(self._n_cfl, 'time')}; the time step is too long"
                )
        if self._fatal is not None:
            self._findings.problem(f"WRF ended with a fatal error {self._fatal}")
        return self._finish(is_complete=is_complete)

    def _find_lost_lines(self, runs: Sequence[_Forecast]) -> None:
        """Report lines that are missing, doubled or out of order, as the simulated times show them."""
        if any(run.domains and not (run.has_head or run.has_input) for run in runs):
            self._findings.problem("the beginning of the log is missing: nothing stands before the steps")
        if not all(domain.is_in_order for run in runs for domain in run.domains.values()):
            self._findings.mixed("the simulated time does not grow from step to step")
        if not all(domain.is_gapless for run in runs for domain in run.domains.values()):
            self._findings.problem("lines of steps are missing: the simulated time jumps")
        if any(run.domains and 1 not in run.domains for run in runs):
            self._findings.problem("the steps of domain 1, which every forecast has, are missing")
        if any(run.begun_late & run.domains.keys() for run in runs):
            self._findings.problem(
                "lines of steps are missing: files of two times stand before the first one"
            )
        if not all(run.has_last_step for run in runs):
            self._findings.problem("lines of steps are missing: the last one is before the forecast's end")
        if not all(kind.is_in_order for run in runs for kind in run.outputs.values()):
            self._findings.mixed("a file is written twice, or files of later times come first")
        if not all(kind.is_gapless for run in runs for kind in run.outputs.values()):
            self._findings.problem("lines of output are missing: the times of its files jump")

    def _measure(self, run: _Forecast, at: dict[str, str | int | float | bool]) -> None:
        for number, domain in sorted(run.domains.items()):
            point = {**at, "domain": number} if len(run.domains) > 1 else at
            if domain.count and domain.counted > 0:
                self._findings.measure("step_time", domain.counted / domain.count, **point)
                self._findings.measure("steps_per_s", domain.count / domain.counted, **point)
            elif math.isfinite(domain.total):
                self._findings.problem("WRF made no step but the first and those with input or output")
            self._findings.measure("integration_time", domain.total, **point)
        if run.output is not None:
            self._findings.measure("output_time", run.output, **at)
