"""Read IOR's JSON (-O summaryFormat=JSON) of versions 3.1 to 4.0 (ior-output.c: PrintHeader and so on).

A document holds tests, each with its parameters and results, a list of repetitions or a list of lists of
them, and a summary of all tests. Warnings stand between its lines, as IOR prints both to one place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from tare.core.errors import NOT_JSON
from tare.core.values import Scalar

_MOST_LINES = 1_000_000
"""Of one document; more is no document of IOR."""
_LINE = re.compile(r'\s*(?:["{}\[\]]|,$)')
"""How IOR's lines look within a document; others are words of IOR or of other programs."""
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
"""IOR's name of each figure of merit."""


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
        """Return its figures by figure of merit."""
        return _known(self, ("bandwidth_max", "bandwidth_min", "bandwidth", "iops"))


def _known(values: msgspec.Struct, names: Iterable[str]) -> dict[str, float]:
    """Return the figures of these names; IOR prints -1 for what it does not know."""
    found = {name: getattr(values, name) for name in names}
    return {name: value for name, value in found.items() if value is not None and value >= 0}


class _Parameters(msgspec.Struct, rename="camel"):
    repetitions: int | None = None
    file_per_proc: int | None = None
    random_offset: int | None = None
    segment_count: int | None = None
    transfer_size: int | None = None
    block_size: int | None = None

    @property
    def facts(self) -> dict[str, Scalar]:
        """Return what the test was asked for, by the name of the parameter."""
        flags = {"file_per_process": self.file_per_proc, "random": self.random_offset}
        counts = {"segments": self.segment_count, "transfer": self.transfer_size, "block": self.block_size}
        known: dict[str, Scalar] = {name: bool(value) for name, value in flags.items() if value is not None}
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
        """Return how many there should be."""
        asked = self.parameters.repetitions
        return self.options.repetitions if asked is None else asked

    @property
    def facts(self) -> dict[str, Scalar]:
        """Return what the test says of itself, by the name of the parameter."""
        options = self.options
        counts = {"nodes": options.nodes, "ranks": options.tasks, "ranks_per_node": options.per_node}
        known: dict[str, Scalar] = {name: value for name, value in counts.items() if value is not None}
        return known | ({"api": options.api.upper()} if options.api else {}) | self.parameters.facts

    def rows(self) -> Iterator[tuple[str, dict[str, float]]]:
        """Yield direction and figures of each repetition."""
        for one in self.results or self.options.results:
            for result in one if isinstance(one, list) else [one]:
                yield result.access, _known(result, (*_RESULT_NAMES, "latency"))


class Document(msgspec.Struct):
    """One call of IOR."""

    tests: list[_Test]
    version: str = msgspec.field(default="", name="Version")
    command: str = msgspec.field(default="", name="Command line")
    summary: list[_Summary] = []


_decode = msgspec.json.Decoder(Document).decode


class JsonReader:
    """The documents in a log, one after the other; `fault` says why one of IOR's cannot be read.

    `is_open` says that a document has begun and not ended.
    """

    def __init__(self) -> None:
        self.is_open = False
        self.fault = ""
        self._lines: list[str] = []

    def read(self, line: str) -> Document | None:
        """Take in a line that begins a document, or one after that; return the document that it ends."""
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
        """Give up the document that is open."""
        if self.is_open and _is_iors(self._close()):
            self.fault = "IOR's JSON is cut short"

    def _document(self) -> Document | None:
        text = self._close()
        if not _is_iors(text):
            return None
        if "nan" in text or "inf" in text:
            text, count = _NO_NUMBER.subn(r"\1null", text)
            if count:
                self.fault = f"IOR printed {count} values that are no numbers"
        try:
            return _decode(text)
        except (UnicodeEncodeError, *NOT_JSON) as error:
            self.fault = f"IOR's JSON is broken: {error}"
            return None

    def _close(self) -> str:
        """Return the text of the document, which ends here."""
        text = "\n".join(self._lines)
        self.is_open, self._lines = False, []
        return text


def _is_iors(text: str) -> bool:
    """Return whether a document, or the beginning of one, is of IOR and not of another program."""
    return '"Command line":' in text or '"tests":' in text
