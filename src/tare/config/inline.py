"""Turn the workloads that a study declares in YAML into definitions of `tare.core.workload`."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from tare.config.around import read_commands, read_inputs
from tare.config.document import MapNode, Node, ScalarNode, child, find
from tare.config.faults import Faults, Path, nearest, shown
from tare.config.settings import convert
from tare.config.software import read_software
from tare.config.study_types import FomFile, ParameterFile, WorkloadFile
from tare.core.inputs import name_fault, own_name_fault
from tare.core.program import SHELL_WORDS, unexpanded
from tare.core.study import DESIGN_SETTINGS
from tare.core.telemetry import PREFIX
from tare.core.templates import LATER, TOKEN
from tare.core.values import Scalar
from tare.core.workload import Fom, InlineCheck, InlineDefinition, InlineFom, Parameter, ParameterKind

_MOST_FAULTS = 20
"""The most faults of the placeholders of one text: a file that is no template may have thousands."""
_PLACES = (*LATER, *DESIGN_SETTINGS)
_KINDS: Mapping[type, ParameterKind] = {
    bool: ParameterKind.FLAG,
    int: ParameterKind.WHOLE,
    float: ParameterKind.NUMBER,
    str: ParameterKind.TEXT,
}


def define_workloads(
    files: Mapping[str, WorkloadFile], node: Node | None, faults: Faults
) -> tuple[InlineDefinition, ...]:
    """Return the definitions in `files`, which were decoded from the mapping `node`."""
    if not isinstance(node, MapNode):
        return ()
    return tuple(
        _Definition(name, file, node.entries[name].value, faults).define() for name, file in files.items()
    )


class _Definition:
    """Reads one definition."""

    def __init__(self, name: str, file: WorkloadFile, node: Node, faults: Faults) -> None:
        self.name = name
        self.file = file
        self.node = node
        self.faults = faults

    def define(self) -> InlineDefinition:
        """Return the definition, with every fault in it recorded."""
        file = self.file
        parameters = tuple(self._parameter(name, one) for name, one in file.parameters.items())
        command = self._command()
        declared = child(self.node, "parameters")
        named = declared.entries if isinstance(declared, MapNode) else ()  # faulty ones are known, too
        known = (*named, *_PLACES)
        self._check_placeholders(command, ("command",), known)
        for key in ("env", "files"):
            for name, text in getattr(file, key).items():
                self._check_placeholders((text,), (key, name), known)
        self._check_files()
        for number, check in enumerate(file.checks):
            self._check_regexes(number, check)
        has_primary = any(one.primary for one in file.foms)
        foms = [
            self._fom(number, one, is_primary=one.primary or (not has_primary and number == 0))
            for number, one in enumerate(file.foms)
        ]
        if not foms:
            self._fault(("foms",), "a workload measures something; add a figure of merit")
        return InlineDefinition(
            name=self.name,
            command=command,
            summary=file.summary,
            env=file.env,
            files=file.files,
            parameters=parameters,
            foms=tuple(foms),
            checks=file.checks,
            output=file.output,
            is_mpi=file.mpi,
            needs_transport=file.mpi if file.needs_transport is None else file.needs_transport,
            software=read_software(file, self._fault),
            inputs=read_inputs(file.inputs, self._fault, file.files),
            prologue=read_commands("prologue", child(self.node, "prologue"), self._fault),
            epilogue=read_commands("epilogue", child(self.node, "epilogue"), self._fault),
        )

    def _fault(self, path: Path, message: str) -> None:
        self.faults.add(find(self.node, path), ("workloads", self.name, *path), message)

    def _command(self) -> tuple[str, ...]:
        command = self.file.command
        if isinstance(command, str):
            try:
                words = shlex.split(command)
            except ValueError as error:
                self._fault(("command",), f"{error}; close the quotes, or write the command as a list")
                return ()
            for word in words:
                if word in SHELL_WORDS:
                    cure = "call a script, or write the command as a list if it is an argument"
                    self._fault(("command",), f"{shown(word)} needs a shell, and no shell runs this; {cure}")
        else:
            words = command
        if not words:
            self._fault(("command",), "the command is empty; write a program and its arguments")
        elif fault := unexpanded(words[0]):
            self._fault(("command",), fault)
        return tuple(words)

    def _check_placeholders(self, words: Iterable[str], path: Path, known: tuple[str, ...]) -> None:
        for word in words:
            faults = (_placeholder_fault(token, known) for token in dict.fromkeys(TOKEN.findall(word)))
            for message in itertools.islice(filter(None, faults), _MOST_FAULTS):
                self._fault(path, message)

    def _check_files(self) -> None:
        names: list[tuple[str, Path]] = [(name, ("files", name)) for name in self.file.files]
        names.append((self.file.output, ("output",)))
        names += [(one.file, ("foms", n, "file")) for n, one in enumerate(self.file.foms) if one.file]
        for name, where in names:
            if fault := name_fault(name) or (own_name_fault(name) if name in self.file.files else None):
                self._fault(where, fault)

    def _parameter(self, name: str, file: Scalar | ParameterFile) -> Parameter:
        where: Path = ("parameters", name)
        reserved = tuple(dict.fromkeys((*DESIGN_SETTINGS, *LATER)))
        if name in reserved or not name.isidentifier():
            cure = "letters, digits and _, and none of " + ", ".join(reserved)
            self._fault(where, f"{shown(name)} cannot be the name of a parameter; use {cure}")
        if not isinstance(file, ParameterFile):
            return Parameter(name=name, kind=_KINDS[type(file)], default=file, summary="")
        kind = file.kind or _KINDS[type(file.default if file.default is not None else "")]
        bare = Parameter(name=name, kind=kind, default=None, summary=file.summary, minimum=file.minimum)
        choices = (self._convert(bare, (*where, "choices", n)) for n in range(len(file.choices)))
        full = replace(bare, choices=tuple(choice for choice in choices if choice is not None))
        if file.default is None:
            return full
        return replace(full, default=self._convert(full, (*where, "default")))

    def _convert(self, parameter: Parameter, path: Path) -> Scalar | None:
        node = find(self.node, path)
        try:
            return convert(parameter, node) if isinstance(node, ScalarNode) else None
        except ValueError as error:
            self._fault(path, str(error))
            return None

    def _fom(self, number: int, file: FomFile, *, is_primary: bool) -> InlineFom:
        where: Path = ("foms", number)
        if any(file.name == other.name for other in self.file.foms[:number]):
            self._fault((*where, "name"), f"figure of merit {shown(file.name)} is there twice; rename one")
        if file.name.startswith(PREFIX):
            self._fault((*where, "name"), f"names in {PREFIX} are those of telemetry; rename it")
        if [file.regex, file.json, file.csv].count(None) != 2:
            self._fault(where, "a figure of merit is read by 'regex', 'json' or 'csv'; give one of them")
        elif file.regex is not None:
            for message in _regex_faults(file.regex, file.by):
                self._fault((*where, "regex"), message)
        elif file.by and file.csv is None:
            message = "coordinates are named groups of a regex, or columns of a table; use 'regex' or 'csv'"
            self._fault((*where, "by"), f"{message}, or drop 'by'")
        fom = Fom(
            name=file.name,
            unit=file.unit,
            better=file.better,
            by=file.by,
            summary=file.summary,
            is_primary=is_primary,
            answers=file.answers,
        )
        return InlineFom(fom=fom, regex=file.regex, json=file.json, csv=file.csv, file=file.file)

    def _check_regexes(self, number: int, check: InlineCheck) -> None:
        where: Path = ("checks", number)
        if (check.matches is None) == (check.lacks is None):
            self._fault(where, "a check 'matches' or 'lacks' a regex; give one of them")
        for key, regex in (("matches", check.matches), ("lacks", check.lacks)):
            problem = _compile_problem(regex or "")
            if problem:
                self._fault((*where, key), problem)


def _placeholder_fault(token: str, known: tuple[str, ...]) -> str | None:
    """Return why `token` of a template stands for nothing, or None."""
    if token in {"{", "}"}:
        return f"a single {token!r} stands for nothing; write {token * 2!r} for the character"
    name = token.strip("{}")  # empty for a doubled brace, which is a literal brace
    if not name or name in known:
        return None
    return f"{shown(token)} is neither a parameter nor a setting; {nearest(name, known)}"


def _compile_problem(regex: str) -> str | None:
    try:
        re.compile(regex)
    except (re.error, OverflowError, RecursionError) as error:
        return f"{shown(regex)} is not a regex: {error}; see Python's re"
    return None


def _regex_faults(regex: str, by: tuple[str, ...]) -> Iterator[str]:
    problem = _compile_problem(regex)
    if problem:
        yield problem
        return
    compiled = re.compile(regex)
    if compiled.groups < 1:
        yield "the regex has no group; put the number in brackets, as in 'Triad: *([0-9.]+)'"
    for name in by:
        if name not in compiled.groupindex:
            yield f"the regex has no group {shown(name)}; name one with (?P<{name}>…)"
