"""Read IOR's JSON (-O summaryFormat=JSON) of versions 3.1 to 4.0 (ior-output.c: PrintHeader and so on).

A document contains tests and a summary of all tests. Each test has parameters and results: a list of
repetitions, or a list of lists of repetitions. Warnings may stand between the lines, because IOR prints both
to the same stream.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from tare.core.counting import count
from tare.core.errors import NOT_JSON
from tare.core.values import Scalar

TASK_OFFSETS = {"no": "none", "constant": "constant", "random": "random"}
"""Whose data a task reads: its own, those of a task at a constant distance (-C), or of a random one (-Z)."""

_MOST_LINES = 1_000_000
"""The limit for one document; a longer one is not from IOR."""
_LINE = re.compile(r'\s*(?:["{}\[\]]|,$)')
"""The form of IOR's lines within a document; other lines are messages of IOR or of other programs."""
_NO_NUMBER = re.compile(r"(:\s*)-?(?:nan|inf)\b")


_RESULT_NAMES = {
    "row_bandwidth": "bwMiB",
    "row_iops": "iops",
    "open_time": "openTime",
    "access_time": "wrRdTime",
    "close_time": "closeTime",
    "total_time": "totalTime",
}
_SUMMARY_NAMES = {
    "test": "TestID",
    "bandwidth_max": "bwMaxMIB",
    "bandwidth_min": "bwMinMIB",
    "bandwidth": "bwMeanMIB",
    "iops": "OPsMean",
}
"""IOR's names of the figures of merit and fields."""

TIMES = frozenset({"latency", "open_time", "access_time", "close_time", "total_time"})
"""The figures that are times; one printed as 0 is too short for its decimals, of which JSON has four."""


class _Result(msgspec.Struct, rename=_RESULT_NAMES):
    access: str
    row_bandwidth: float | None = None
    row_iops: float | None = None
    latency: float | None = None
    open_time: float | None = None
    access_time: float | None = None
    close_time: float | None = None
    total_time: float | None = None


class _Summary(msgspec.Struct, rename=_SUMMARY_NAMES):
    operation: str
    test: int = 0
    bandwidth_max: float | None = None
    bandwidth_min: float | None = None
    bandwidth: float | None = None
    iops: float | None = None

    def figures(self) -> dict[str, float]:
        return _known(self, ("bandwidth_max", "bandwidth_min", "bandwidth", "iops"))


def _known(values: msgspec.Struct, names: Iterable[str]) -> dict[str, float]:
    """Return the known figures with these names; IOR prints -1 for an unknown value."""
    found = {name: getattr(values, name) for name in names}
    return {name: value for name, value in found.items() if value is not None and value >= 0}


class _Parameters(msgspec.Struct, rename="camel"):
    repetitions: int | None = None
    file_per_proc: int | None = None
    random_offset: int | None = None
    collective: int | None = None
    reorder_tasks: int | None = None
    reorder_tasks_random: int | None = None
    segment_count: int | None = None
    transfer_size: int | None = None
    block_size: int | None = None

    @property
    def facts(self) -> dict[str, Scalar]:
        """Return the parameters of the test, by the name of the workload's parameter."""
        flags = {
            "file_per_process": self.file_per_proc,
            "random": self.random_offset,
            "collective": self.collective,
        }
        counts = {"segments": self.segment_count, "transfer": self.transfer_size, "block": self.block_size}
        known: dict[str, Scalar] = {name: bool(value) for name, value in flags.items() if value is not None}
        if self.reorder_tasks is not None:
            order = "random" if self.reorder_tasks_random else "constant" if self.reorder_tasks else "no"
            known["task_offset"] = TASK_OFFSETS[order]
        return known | {name: value for name, value in counts.items() if value is not None}


class _Options(msgspec.Struct):
    api: str = ""
    nodes: int | None = None
    tasks: int | None = None
    per_node: int | None = msgspec.field(default=None, name="clients per node")
    repetitions: int | None = None
    results: list[_Result | list[_Result]] = msgspec.field(default=[], name="Results")


class _Test(msgspec.Struct, rename="pascal"):
    number: int = msgspec.field(default=0, name="TestID")
    parameters: _Parameters = msgspec.field(default_factory=_Parameters)
    options: _Options = msgspec.field(default_factory=_Options)
    results: list[_Result | list[_Result]] = []

    @property
    def repetitions(self) -> int | None:
        """Return the expected number of repetitions, or None if it is unknown."""
        asked = self.parameters.repetitions
        return self.options.repetitions if asked is None else asked

    @property
    def facts(self) -> dict[str, Scalar]:
        """Return the settings of the test, by the name of the workload's parameter."""
        options = self.options
        counts = {"nodes": options.nodes, "ranks": options.tasks, "ranks_per_node": options.per_node}
        known: dict[str, Scalar] = {name: value for name, value in counts.items() if value is not None}
        return known | ({"api": options.api.upper()} if options.api else {}) | self.parameters.facts

    def rows(self) -> Iterator[tuple[str, dict[str, float]]]:
        for one in self.results or self.options.results:
            for result in one if isinstance(one, list) else [one]:
                yield result.access, _known(result, (*_RESULT_NAMES, "latency"))


class Document(msgspec.Struct):
    """The output of one IOR run."""

    tests: list[_Test]
    version: str = msgspec.field(default="", name="Version")
    command: str = msgspec.field(default="", name="Command line")
    summary: list[_Summary] = []


_decode = msgspec.json.Decoder(Document).decode


class JsonReader:
    """Reads the documents in a log, one after the other; `fault` says why a document could not be read.

    `is_open` says that a document has begun and has not ended.
    """

    def __init__(self) -> None:
        self.is_open = False
        self.fault = ""
        self._lines: list[str] = []

    def read(self, line: str) -> Document | None:
        """Read a line that begins a document, or a later line; return the document if the line ends one."""
        if line == "{":
            self.finish()
            self.is_open, self._lines = True, [line]
        elif _LINE.match(line):
            self._lines.append(line)
            if line == "}":
                return self._document()
            if len(self._lines) > _MOST_LINES:
                self.finish()
        return None

    def finish(self) -> None:
        """Discard the open document, if there is one, and record the fault if it is from IOR."""
        if self.is_open and _is_iors(self._close()):
            self.fault = "IOR's JSON is cut short"

    def _document(self) -> Document | None:
        text = self._close()
        if not _is_iors(text):
            return None
        if "nan" in text or "inf" in text:
            text, n_lost = _NO_NUMBER.subn(r"\1null", text)
            if n_lost:
                lost = count(n_lost, "value that is no number", "values that are no numbers")
                self.fault = f"IOR printed {lost}"
        try:
            return _decode(text)
        except (UnicodeEncodeError, *NOT_JSON) as error:
            self.fault = f"IOR's JSON is broken: {error}"
            return None

    def _close(self) -> str:
        """End the document and return its text."""
        text = "\n".join(self._lines)
        self.is_open, self._lines = False, []
        return text


def _is_iors(text: str) -> bool:
    """Return whether a document, or the beginning of one, is from IOR and not from another program."""
    return '"Command line":' in text or '"tests":' in text
