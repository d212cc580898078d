"""Read elbencho's results in text, in CSV, and in the logs of its services; for JSON see elbencho_json.

Each phase (MKDIRS, WRITE, READ …) has two columns: the state when the first thread finished, and when the
last thread finished (Statistics.cpp: printPhaseResults…). In text, a phase is a block of labelled rows that
ends with ``---``; in CSV (--csvfile) it is a row; in JSON (--jsonfile) it is a line. Since 3.0, each time in
text has a unit.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator, Mapping

from tare.core.counting import count
from tare.core.values import Scalar
from tare.plugins.workloads.common.benchmark import Findings
from tare.plugins.workloads.common.text import figure
from tare.plugins.workloads.elbencho_facts import command_facts, csv_facts, is_damaged_phase

MEBIBYTE = 1 << 20
_COARSE = 100
"""Below this rate, the decimals that elbencho cuts off are more than 1 % of it."""
_MOVING = frozenset({"WRITE", "READ", "MKDIRS"})
"""Phases whose result always contains a rate."""
_SILENT = frozenset({"SYNC", "DROPCACHE"})
"""Phases between the others that move no data of their own and occur several times."""


@dataclasses.dataclass
class Phase:
    """One phase, with its figures by figure of merit and by whether they are of the readers in a mixed phase.

    `total` is the amount of work, in MiB or entries. The master's total is the sum of those of the services.
    """

    name: str
    figures: dict[tuple[str, bool], float] = dataclasses.field(default_factory=dict)
    total: float | None = None
    totals: dict[str, tuple[float, float]] = dataclasses.field(default_factory=dict)
    """The totals in the text by the name of their rate: of the first thread, and of the last."""
    facts: dict[str, Scalar] = dataclasses.field(default_factory=dict)
    """The settings of its run, by the name of the parameter."""

    @property
    def lacks(self) -> set[str]:
        """The rates without a total and the totals without a rate; a whole phase has both of each."""
        rates = {name for name, is_read in self.figures if name in _TOTAL_OF.values() and not is_read}
        iops = {"iops"} if self.moves_data and not self.has_iops and self._needs_iops else set()
        return rates ^ set(self.totals) or iops or ({"rate"} if not rates and self.name in _MOVING else set())

    @property
    def moves_data(self) -> bool:
        """Whether it has a rate of data."""
        return ("bandwidth", False) in self.figures

    @property
    def has_iops(self) -> bool:
        """Whether it has a rate of operations."""
        return ("iops", False) in self.figures

    @property
    def _needs_iops(self) -> bool:
        """Whether IOPS are printed: unless each file is one block, so that they are the files per second."""
        size, block = self.facts.get("size"), self.facts.get("block")
        is_several = isinstance(size, int) and isinstance(block, int) and size > block
        return is_several or ("entries", False) not in self.figures

    def refine_rates(self) -> None:
        """Replace each small rate by total / time, where that agrees with what was printed.

        elbencho cuts decimals off: 5.9 MiB/s is printed as 5, and 0.9 files a second as 0. It cuts totals,
        too; a quotient outside of [rate, rate + 1) is not taken.
        """
        if any(is_read for _, is_read in self.figures):
            return  # the times of a mixed phase are of both its readers and its writers
        for name, (first, last) in self.totals.items():
            for total, suffix in ((first, "_first"), (last, "")):
                rate = self.figures.get((f"{name}{suffix}", False), math.nan)
                time_ms = self.figures.get((f"time{suffix}", False), math.nan)
                if 0 <= rate < _COARSE and time_ms > 0 and rate <= 1000 * total / time_ms < rate + 1:
                    self.figures[f"{name}{suffix}", False] = 1000 * total / time_ms


@dataclasses.dataclass
class Table:
    """The phases of one run, in order."""

    phases: list[Phase] = dataclasses.field(default_factory=list)

    def add(self, phase: Phase) -> None:
        """Append `phase`, unless it is a kind of phase that measures nothing."""
        if phase.name not in _SILENT:
            self.phases.append(phase)

    @property
    def facts(self) -> dict[str, Scalar]:
        """Return the settings of the run, from all its phases."""
        return {name: value for phase in self.phases for name, value in phase.facts.items()}

    @property
    def names(self) -> list[str]:
        """Return the names of its phases."""
        return [phase.name for phase in self.phases]


# Text

_BLOCK = re.compile(
    r"([A-Z][A-Z0-9_+-]*)\s+Elapsed (?:ms\s+:\s+([0-9]+)\s+([0-9]+)|time\s+:\s+(\S+)\s+(\S+))"
)
_BLOCK_HEAD = re.compile(r"[A-Z][A-Z0-9_+-]*\s+Elapsed (?:ms|time)\s+:")
_ELAPSED = re.compile(r"(?:([0-9]{1,9})h)?(?:([0-9]{1,2})m)?([0-9]{1,2}(?:\.[0-9]{3})?)s|([0-9]{1,3})ms")
"""UnitTk::elapsedMSToHumanStr: ``26ms``, ``1.001s``, ``2m3.456s``, ``3h25m45s``."""
_VALUES = re.compile(r"\s+([0-9]+)\s+([0-9]+)")
_LATENCY = re.compile(r"(\w+)( rd| wr)? lat(?: us|ency)")
_LATENCIES = re.compile(
    r"\s+\[ min=[0-9.]+(?:[mu]?s)? avg=([0-9]+(?:\.[0-9]+)?)([mu]?s)? max=([0-9]+(?:\.[0-9]+)?)([mu]?s)? \]"
)
_MICROSECONDS = {None: 1.0, "us": 1.0, "ms": 1e3, "s": 1e6}
_LABELS: Mapping[str, tuple[str, bool, float]] = {
    "IOPS": ("iops", False, 1),
    "IOPS write": ("iops", False, 1),
    "IOPS read": ("iops", True, 1),
    "Throughput MiB/s": ("bandwidth", False, 1),
    "MiB/s write": ("bandwidth", False, 1),
    "MiB/s read": ("bandwidth", True, 1),
    "Throughput MB/s": ("bandwidth", False, 1e6 / MEBIBYTE),
    "MB/s write": ("bandwidth", False, 1e6 / MEBIBYTE),
    "MB/s read": ("bandwidth", True, 1e6 / MEBIBYTE),
    **{
        f"{entries}/s{mix}": ("entries", mix == " read", 1)
        for entries in ("Files", "Dirs", "Objects", "Buckets")
        for mix in ("", " write", " read")
    },
}
"""For each label: figure of merit, whether it is of a mixed phase's readers, and the factor to its unit."""
_TOTAL_OF = {"MiB": "bandwidth", **dict.fromkeys(("iles", "irs", "bjects", "uckets"), "entries")}
"""For the label of each total: the rate that counts the same."""
_OF_DATA = ("IOPS", "Throughput", "MiB/s", "MB/s")
"""Beginnings of the rows that a phase of directories does not have."""
_TOTALS = re.compile(
    r"Total (?:MiB|files|dirs|objects|buckets)|(?:Files|Dirs|Objects|Buckets) total|MiB write"
)


class TextReader:
    """Reads text: one block of rows per phase, which `finish` turns into `tables`.

    `is_mixed` says that the lines of several outputs are interleaved.
    """

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self.tables: list[Table] = []
        self.services = 0
        self.is_mixed = False
        self._lacks_head = False
        self._lacking: set[str] = set()
        self._broken: dict[str, None] = {}
        self._open: Phase | None = None
        self._blocks: list[list[Phase]] = []
        self._facts: dict[str, Scalar] = {}
        self._announced: dict[str, Scalar] = {}
        """The settings on the command line above the next table; `_facts` are those of the current table."""

    def read(self, line: str) -> None:
        """Read a line that is not a row of a block."""
        if line == "---":
            self._close()
        elif "Elapsed " in line:
            if match := _BLOCK.fullmatch(line):
                self.is_mixed |= self._open is not None
                first, last = _milliseconds(match[2] or match[4]), _milliseconds(match[3] or match[5])
                figures = {("time_first", False): first, ("time", False): last}
                self._open = Phase(match[1], figures, facts=self._facts)
                if is_damaged_phase(match[1]):
                    self._break(line)
            elif _BLOCK_HEAD.match(line):
                self._break(line)
        elif line.startswith("COMMAND LINE: "):
            self._announced = command_facts(line)
        elif line.startswith("OPERATION "):
            self.is_mixed |= self._open is not None or (bool(self._blocks) and not self._blocks[-1])
            self._blocks.append([])
            self._findings.begin()
            self._facts, self._announced = self._announced, {}
        elif line.startswith("Service now listening"):
            self.services += 1

    def read_row(self, line: str) -> None:
        """Read a line that begins with a blank: a row of the open block."""
        if self.is_mixed:
            return
        label, _, text = line.partition(":")
        label = label.strip()
        if label in _LABELS:
            if values := _VALUES.fullmatch(text):
                name, is_read, factor = _LABELS[label]
                first, last = float(values[1]) * factor, float(values[2]) * factor
                self._record(label, {(f"{name}_first", is_read): first, (name, is_read): last})
            else:
                self._break(line)
        elif match := _LATENCY.fullmatch(label):
            if values := _LATENCIES.fullmatch(text):
                name = "latency" if match[1] == "IO" else "entry_latency"
                is_read = match[2] == " rd"
                mean, longest = (float(values[at]) * _MICROSECONDS[values[at + 1]] for at in (1, 3))
                self._record(label, {(name, is_read): mean, (f"{name}_max", is_read): longest})
            else:
                self._break(line)
        elif _TOTALS.fullmatch(label) and (values := _VALUES.fullmatch(text)):
            if self._open is None:
                self._break(line)
                return
            self.is_mixed |= self._open.name in _SILENT
            if self._open.total is None:
                self._open.total = float(values[2])
            for name in (fom for word, fom in _TOTAL_OF.items() if word in label):
                self._open.totals.setdefault(name, (float(values[1]), float(values[2])))

    def _break(self, line: str) -> None:
        """Record a line of a block whose numbers cannot be read."""
        if self._open is None or self._open.name not in _SILENT:
            self._broken.setdefault(" ".join(line.split())[:120])
            self._findings.keep()

    def _record(self, label: str, figures: Mapping[tuple[str, bool], float]) -> None:
        # With --dirstats, the rows of directories follow those of the files in them.
        phase = self._open.name if self._open else ""
        is_of_data = label.startswith(_OF_DATA)
        if self._open is None or phase in _SILENT or (is_of_data and "DIR" in phase):
            self.is_mixed = True
        elif not label.startswith("Dirs/s") or figures.keys().isdisjoint(self._open.figures):
            self.is_mixed |= not figures.keys().isdisjoint(self._open.figures)
            self._open.figures.update(figures)

    def _close(self) -> None:
        if self._open is None:
            return
        self._lacking |= {f"{row} of phase {self._open.name}" for row in self._open.lacks}
        self._open.refine_rates()
        if not self._blocks:
            self._lacks_head = True
            self._blocks.append([])
        self._blocks[-1].append(self._open)
        self._findings.begin()
        self._findings.keep(len(self._open.figures))
        self._open = None

    def finish(self) -> Iterator[str]:
        """Turn the blocks into tables; yield the reasons why they are not complete."""
        if self._open is not None:
            yield f"the results of phase {self._open.name} are cut short"
        if self._lacks_head:
            yield "the head of elbencho's table is missing, and perhaps phases below it"
        yield from (f"a row of elbencho is broken: {line}" for line in self._broken)
        for blocks in self._blocks:
            if any(block.has_iops and ("entries", False) in block.figures for block in blocks):
                self._lacking |= {
                    f"iops of phase {one.name}" for one in blocks if one.moves_data and not one.has_iops
                }
        if self._lacking:
            yield f"lines are missing: rate or total of {', '.join(sorted(self._lacking))}"
        for blocks in self._blocks:
            if self.services:
                self.tables.append(Table())
                yield from self._add_masters(blocks)
            else:
                self.tables.extend(split(blocks) or [Table()])

    def _add_masters(self, blocks: Iterable[Phase]) -> Iterator[str]:
        """Keep only the master's block of each phase: its total is the sum of the services' totals."""
        groups: list[list[Phase]] = []
        for block in blocks:
            if not groups or groups[-1][0].name != block.name:
                groups.append([])
            groups[-1].append(block)
        for group in groups:
            name, whole = group[0].name, sum(block.total or 0 for block in group)
            masters = [block for block in group if 2 * (block.total or 0) == whole]
            if name in _SILENT:
                continue
            if len(group) == self.services + 1 and masters:
                self.tables[-1].add(masters[-1])
            else:
                yield (
                    f"phase {name} has {count(len(group), 'result')} of {self.services} services and their "
                    "master"
                )


def _milliseconds(text: str) -> float:
    """Return an elapsed time in ms, or NaN if `text` is not a time; a number without a unit is in ms."""
    if text.isdecimal():
        return float(text)
    match = _ELAPSED.fullmatch(text)
    if match is None:
        return math.nan
    if match[4]:
        return float(match[4])
    seconds = 3600 * int(match[1] or 0) + 60 * int(match[2] or 0) + float(match[3])
    return round(1000 * seconds, 6)


def split(phases: Iterable[Phase]) -> list[Table]:
    """Return the tables of `phases`: a phase that occurs again, or other settings, begin a new run."""
    tables: list[Table] = []
    for phase in phases:
        if not tables or phase.name in tables[-1].names or _is_other(tables[-1].facts, phase.facts):
            tables.append(Table())
        tables[-1].add(phase)
    return tables


def _is_other(facts: Mapping[str, Scalar], more: Mapping[str, Scalar]) -> bool:
    """Return whether the settings of two phases contradict each other, so that they are of different runs."""
    return any(facts.get(name, value) != value for name, value in more.items())


# CSV

_CSV_FIGURES = {"time ms": "time", "entries/s": "entries", "IOPS": "iops", "MiB/s": "bandwidth"}
_CSV_LATENCIES = {"Ent": "entry_latency", "IO": "latency"}


class CsvReader:
    """Reads a --csvfile by the names of its columns; newer versions have more columns."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self.phases: list[Phase] = []
        self.broken_rows = 0
        self._columns: list[str] | None = None
        self._seen: set[int] = set()

    def read_head(self, line: str) -> None:
        """Read the line with the names of the columns."""
        self._columns = line.split(",")

    def read(self, line: str) -> None:
        """Read a row. No value contains a comma: elbencho replaces commas (Statistics.cpp)."""
        if self._columns is None:
            self.broken_rows += line.endswith('"')  # the names of its columns come later, or are missing
            return
        values = line.split(",")
        if len(values) != len(self._columns) or (self._columns[-1] == "command" and not line.endswith('"')):
            self.broken_rows += 1
            return
        row = dict(zip(self._columns, values, strict=True))
        self.broken_rows += any(cell and figure(cell) is None for cell in _figure_cells(row))
        self.broken_rows += is_damaged_phase(row.get("operation", ""))
        phase = Phase(row.get("operation", ""), dict(_csv_figures(row)), facts=dict(csv_facts(row)))
        if phase.name not in _SILENT and hash(line) in self._seen:  # each row has a time stamp
            self._findings.mixed("a row of CSV stands there twice")
        self._seen.add(hash(line))
        self.phases.append(phase)
        self._findings.keep(len(phase.figures))


def _figure_cells(row: Mapping[str, str]) -> Iterator[str]:
    """Yield the cells of a row that hold the figures of a whole phase."""
    heads = (*_CSV_FIGURES, *(f"rwmix read {head}" for head in _CSV_FIGURES))
    return (row.get(f"{head} [{end}]", "") for head in heads for end in ("first", "last"))


def _csv_figures(row: Mapping[str, str]) -> Iterator[tuple[tuple[str, bool], float]]:
    for prefix, is_read in (("", False), ("rwmix read ", True)):
        columns = {f"{prefix}{column} [last]": name for column, name in _CSV_FIGURES.items()}
        columns |= {f"{prefix}{column} [first]": f"{name}_first" for column, name in _CSV_FIGURES.items()}
        for column, name in _CSV_LATENCIES.items():
            columns |= {
                f"{prefix}{column} lat us [avg]": name,
                f"{prefix}{column} lat us [max]": f"{name}_max",
            }
        for column, name in columns.items():
            value = figure(row.get(column, ""))
            if value is not None:
                yield (name, is_read), value
