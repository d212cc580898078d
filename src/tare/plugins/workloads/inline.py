"""Workloads that a study defines in YAML: a command, and how its figures of merit are read.

They are read by regex, by JSON path, or from a column of a CSV table, in the output or in other files.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Self

import msgspec

from tare.core.case import Case
from tare.core.errors import UsageError
from tare.core.inputs import filled, input_faults
from tare.core.program import EPILOGUE, PROLOGUE, command_faults, placeholder_values
from tare.core.templates import LATER, TOKEN, fill, template_faults
from tare.core.values import Scalar, Settings
from tare.core.workload import Fom, InlineDefinition, InlineFom, Parsed, Stage
from tare.plugins.workloads.common.benchmark import Findings
from tare.plugins.workloads.common.csv_column import CsvColumn
from tare.plugins.workloads.common.declared_figure import DeclaredFigure, shown
from tare.plugins.workloads.common.text import figure

_SPREAD = frozenset({"nodes", "ranks", "ranks_per_node", "hosts"})
"""Placeholders of a command that starts its own processes: how many to start, and where."""

_WHOLE = re.compile(r"[+-]?[0-9]{1,15}")


class InlineWorkload:
    """A workload that a study defines. Raises UsageError for a regex that cannot be used."""

    has_stages_by_layout = True
    has_faults_by_layout = True

    def __init__(self, definition: InlineDefinition) -> None:
        self.name = definition.name
        self.summary = definition.summary
        self.description = f"Declared in a study. Runs: {' '.join(definition.command)}"
        self.parameters = definition.parameters
        self.foms = tuple(one.fom for one in definition.foms)
        self.output = definition.output
        self.needs_transport = definition.needs_transport
        self.prologue = definition.prologue
        self.epilogue = definition.epilogue
        self._definition = definition
        own = [one for one in definition.foms if one.file in {None, self.output}]
        self._sought = {one.fom.name: _sought(one) for one in own}
        self._own = tuple(one.fom for one in own)
        self._regexes = [_FomRegex(self.name, one, one.regex) for one in own if one.regex]
        self._columns = [_FomColumn(one.fom, one.csv) for one in own if one.csv]
        self._paths = [(one.fom, one.json) for one in own if one.json]
        self._must = [_compile(self.name, one.matches) for one in definition.checks if one.matches]
        self._must_not = [_compile(self.name, one.lacks) for one in definition.checks if one.lacks]

    @property
    def others(self) -> tuple[InlineWorkload, ...]:
        """Return a workload for each file beside the output (see core.workload.HasOtherOutputs)."""
        definition = self._definition
        files = dict.fromkeys(one.file for one in definition.foms if one.file not in {None, self.output})
        return tuple(
            InlineWorkload(
                msgspec.structs.replace(
                    definition,
                    output=file,
                    checks=(),
                    foms=tuple(one for one in definition.foms if one.file == file),
                )
            )
            for file in files
            if file is not None
        )

    @cached_property
    def digest(self) -> str:
        """Return a hash of the definition; it is the same on every machine and in every version of Tare."""
        text = msgspec.json.encode(_lasting(self._definition))
        return hashlib.blake2b(text, digest_size=8).hexdigest()

    def derive(self, settings: Settings) -> Mapping[str, Scalar]:
        """Return no derived settings."""
        return {}

    @cached_property
    def _spreads(self) -> bool:
        """Whether a placeholder for nodes or ranks is used: then the command can start processes itself."""
        one = self._definition
        texts = (*one.command, *one.env.values(), *one.files.values())
        return any(token.strip("{}") in _SPREAD for text in texts for token in TOKEN.findall(text))

    def faults(self, case: Case) -> Iterator[str]:
        """Yield a fault for each placeholder of command, environment or files that cannot be filled in.

        Also yield a fault if the case has several nodes or ranks but the command would use only one: it is
        not started by MPI on each rank, and has no placeholder for nodes or ranks.
        """
        definition = self._definition
        if not definition.is_mpi and not self._spreads and max(case.layout.nodes, case.layout.ranks) > 1:
            asked = f"nodes: {case.layout.nodes} and ranks: {case.layout.ranks}"
            yield (
                f"the case has {asked}, and without 'mpi: true' the command runs once, on one node; set mpi: "
                "true where the launcher is to start it on every rank; name {hosts}, {nodes} or {ranks} in "
                "the command where it starts its processes itself; or leave out nodes and ranks"
            )
        yield from self._template_faults(case.settings)

    def _template_faults(self, names: Collection[str]) -> Iterator[str]:
        definition = self._definition
        for word in definition.command:
            yield from template_faults("command", word, names, LATER)
        for name, text in definition.env.items():
            yield from template_faults(f"env.{name}", text, names, LATER)
        for name, text in definition.files.items():
            yield from template_faults(f"files.{name}", text, names, ())
        yield from input_faults(definition.inputs, names)
        yield from command_faults(PROLOGUE, definition.prologue, names)
        yield from command_faults(EPILOGUE, definition.epilogue, names)

    def expecting(self, case: Case) -> Self:
        """Return the workload unchanged."""
        return self

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the command with its placeholders filled in."""
        definition = self._definition
        values = placeholder_values(case, definition.parameters)
        is_spread = not definition.is_mpi and self._spreads
        stage = Stage(
            layout=case.layout if is_spread else None,
            argv=tuple([fill(word, values) for word in definition.command]),
            env={name: fill(text, values) for name, text in definition.env.items()},
            files={name: fill(text, values) for name, text in definition.files.items()},
            is_mpi=definition.is_mpi,
            copies=filled(definition.inputs, values),
        )
        return (stage,)

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read the figures and make the checks (see core.workload.Workload.parse)."""
        findings = Findings(self._own, is_any_number_possible=True)
        figures = {fom.name: DeclaredFigure(fom, findings, self._sought[fom.name]) for fom in self._own}
        unmet = list(self._must)
        document = _Document()
        torn: list[str] = []
        kept = document.keep(lines) if self._paths else lines
        for line in findings.lines(kept, torn.append, keeps_blanks=True):
            for regex in self._regexes:
                regex.read(line, figures[regex.fom.name])
            for column in self._columns:
                column.read(line, figures[column.fom.name], findings)
            if unmet:
                unmet = [pattern for pattern in unmet if not pattern.search(line)]
            for pattern in self._must_not:
                if pattern.search(line):
                    findings.problem(f"the output has a line that matches {pattern.pattern!r}: {shown(line)}")
        if self._paths:
            _read_json(document.lines, self._paths, figures, findings)
            if document.is_cut:
                findings.problem(
                    f"the output is longer than {_MOST_CHARACTERS >> 20} MiB, and JSON was sought in the "
                    "first of it only; write the JSON into a file of its own, and name it as 'output'"
                )
        for pattern in unmet:
            findings.problem(f"no line of the output matches {pattern.pattern!r}")
        for one in figures.values():
            one.report(is_torn=bool(torn))
        is_complete = not unmet and all(one.values for one in figures.values())
        return findings.parsed(is_complete=is_complete and not document.is_cut)


_NEWER = frozenset({"limit", "answers", "is_late", "software"})
"""Fields that later versions added. They do not change what a run does, or belong to the case (software)."""


_ADDED = frozenset({"csv", "file", "inputs", "prologue", "epilogue", "sha256"})
"""Fields that later versions added, and that count only where a study uses them."""


def _lasting(value: object) -> object:
    """Return `value` as plain data, with the fields and the order that the first version of Tare hashed."""
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.fields(value)
        kept = {one.name: getattr(value, one.name) for one in fields if one.name not in _NEWER}
        return {name: _lasting(one) for name, one in kept.items() if name not in _ADDED or one}
    if isinstance(value, dict):
        return {name: _lasting(value[name]) for name in sorted(value)}
    return [_lasting(one) for one in value] if isinstance(value, tuple) else value


# Figures


def _sought(one: InlineFom) -> str:
    """Return what an output without the figure lacks."""
    if one.regex:
        return f"no line matches '{shown(one.regex)}'"
    if one.json:
        return f"no JSON in it has {one.json!r}"
    columns = " and ".join(map(repr, (one.csv, *one.fom.by)))
    return f"no line of it names the column {columns} between commas, semicolons or tabs"


class _FomRegex:
    """A regex for a figure of merit; its first group that is not a coordinate matches the value."""

    def __init__(self, workload: str, definition: InlineFom, regex: str) -> None:
        self.fom = definition.fom
        self._pattern = _compile(workload, regex)
        named = self._pattern.groupindex
        missing = [name for name in self.fom.by if name not in named]
        if missing:
            raise UsageError(
                f"{workload}: {self.fom.name}: the regex has no group {missing[0]!r}; name one with "
                f"(?P<{missing[0]}>…)"
            )
        coordinates = {named[name] for name in self.fom.by}
        groups = [group for group in range(1, self._pattern.groups + 1) if group not in coordinates]
        if not groups:
            raise UsageError(
                f"{workload}: {self.fom.name}: the regex has no group for the value; put brackets round it"
            )
        self._value = groups[0]

    def read(self, line: str, into: DeclaredFigure) -> None:
        for match in self._pattern.finditer(line):
            at = tuple(_coordinate(match[name] or "") for name in self.fom.by)
            value = match[self._value] or ""
            into.add(value, at, match=(match, self._value))


class _FomColumn:
    """A column of a CSV table that holds a figure of merit."""

    def __init__(self, fom: Fom, column: str) -> None:
        self.fom = fom
        self._column = CsvColumn(column, fom.by)

    def read(self, line: str, into: DeclaredFigure, findings: Findings) -> None:
        problem = self._column.read(line, lambda text, at: into.add(text, tuple(map(_coordinate, at))))
        if problem:
            findings.problem(f"{self.fom.name}: {problem}: {shown(line)}")


def _compile(workload: str, regex: str) -> re.Pattern[str]:
    try:
        return re.compile(regex)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(f"{workload}: {regex!r} is not a regex: {error}; see Python's re") from error


def _coordinate(text: str) -> Scalar:
    if _WHOLE.fullmatch(text):
        return int(text)
    number = figure(text)
    return number if number is not None and math.isfinite(number) else text


# JSON

_MOST_CHARACTERS = 64 << 20
"""The limit for an output in which JSON is searched, because JSON is decoded as a whole."""


class _Document:
    """Keeps the first lines of an output while they are read; `is_cut` is true if some were not kept."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.is_cut = False

    def keep(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield `lines`, and keep them up to the limit."""
        n_left = _MOST_CHARACTERS
        for line in lines:
            n_left -= len(line)
            if n_left >= 0:
                self.lines.append(line.rstrip("\r\n"))
            else:
                self.is_cut = True
            yield line


def _read_json(
    lines: list[str],
    paths: Iterable[tuple[Fom, str]],
    figures: Mapping[str, DeclaredFigure],
    findings: Findings,
) -> None:
    """Add the values at `paths` in all JSON documents in `lines`."""
    documents = list(_documents("\n".join(lines), findings))
    for fom, path in paths:
        for document in documents:
            for value in _at(document, re.sub(r"\[([0-9]+)\]", r".\1", path).split(".")):
                figures[fom.name].add(value if isinstance(value, str) else json.dumps(value))


def _documents(text: str, findings: Findings) -> Iterator[object]:
    """Yield the JSON documents in `text`, each beginning at the start of a line; one may span many lines."""
    decoder = json.JSONDecoder()
    start = re.compile(r"^\ufeff?[ \t]*(?=[{\[])", re.MULTILINE)
    position = 0
    while match := start.search(text, position):
        try:
            document, position = decoder.raw_decode(text, match.end())
        except (ValueError, RecursionError) as error:
            if text[match.end()] == "{":
                findings.problem(f"the JSON in the output is broken or cut short: {error}")
                return
            position = match.end() + 1  # "[n1:42] warning", as MPI libraries write
        else:
            yield document


def _at(document: object, steps: list[str]) -> Iterator[object]:
    """Yield the value at `steps`, if there is one; a key may contain dots, as fio's percentiles do."""
    if not steps:
        yield document
    elif isinstance(document, list):
        if _WHOLE.fullmatch(steps[0]) and -len(document) <= int(steps[0]) < len(document):
            yield from _at(document[int(steps[0])], steps[1:])
    elif isinstance(document, dict):
        for end in range(len(steps), 0, -1):
            key = ".".join(steps[:end])
            if key in document:
                yield from _at(document[key], steps[end:])
                return
