"""How a workload's program is started: another executable, further arguments, a wrapper. Pure.

The three are settings of every workload that has no parameter of the same name, so they may be levels of
factors. No shell reads them: `split_words` splits a text into words, and each word is one argument.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from tare.core.case import Case
from tare.core.errors import shown
from tare.core.protocols import implements
from tare.core.templates import LATER, fill, template_faults
from tare.core.values import Scalar, Settings
from tare.core.workload import HasCommandsAround, Parameter, ParameterKind, Stage, Workload

NONE = "none"
"""The value that changes nothing. It is the default, and may be a level beside others."""

_PRODUCTS = frozenset((ParameterKind.SECONDS, ParameterKind.FRACTION))

SHELL_WORDS = frozenset(("|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>&1"))
"""Words that only a shell understands."""

_SUMMARIES = {
    "executable": "the program to start instead of the workload's own: a name on PATH, or a path",
    "args": "further arguments, after those that the workload gives its program",
    "wrapper": "the command that starts the program, such as 'numactl --localalloc'",
}

PROGRAM_SETTINGS: Mapping[str, Parameter] = {
    name: Parameter(name=name, kind=ParameterKind.TEXT, default=NONE, summary=summary, is_late=True)
    for name, summary in _SUMMARIES.items()
}
"""The settings of every workload's program. A case that sets none keeps the id that it had without them."""


def program_settings(workload: Workload) -> tuple[Parameter, ...]:
    """Return the program settings of `workload`: those whose names it does not use for its own parameters."""
    own = {one.name for one in workload.parameters}
    return tuple(one for name, one in PROGRAM_SETTINGS.items() if name not in own)


def all_parameters(workload: Workload) -> tuple[Parameter, ...]:
    """Return the parameters of `workload`, then its program settings."""
    return (*workload.parameters, *program_settings(workload))


def placeholder_values(case: Case, parameters: Iterable[Parameter]) -> Settings:
    """Return the values that placeholders stand for in commands of `case`.

    Times and shares are products with the factor of their unit: ``70 %`` is 0.7000000000000001. They are
    rounded to the 15 digits to which such a product is exact. All other values are exact.
    """
    values = case.settings
    for one in parameters:
        value = values.get(one.name)
        if one.kind in _PRODUCTS and isinstance(value, float):
            values[one.name] = float(f"{value:.15g}")
    return values


def split_words(text: str) -> tuple[str, ...]:
    """Return the words of a command, split as a POSIX shell splits them; nothing is expanded.

    Raises ValueError, with the cure, for an open quote and for words that need a shell.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"{error}; close the quotes") from error
    for word in words:
        if word in SHELL_WORDS:
            raise ValueError(f"{word!r} needs a shell, and no shell runs this; call a script instead")
    return tuple(words)


def checked_setting(name: str, text: str) -> str:
    """Return the value of a program setting. Raises ValueError, with the cure, if it is no command."""
    words = (text,) if name == "executable" else split_words(text)
    if not any(word.strip() for word in words):
        raise ValueError(f"{name} is empty; write {NONE} for no {name}")
    if name != "args" and (fault := unexpanded(words[0])):
        raise ValueError(fault)
    return text


def unexpanded(program: str) -> str | None:
    """Return the fault of a program's name that only a shell would expand; None for any other name."""
    if program.startswith(("~", "$")):
        return f"no shell expands {shown(program)}; write the whole path, or a name that is on PATH"
    return None


def program_faults(case: Case, workload: Workload) -> Iterator[str]:
    """Yield why the program settings of `case` cannot take effect, each with its cure."""
    settings = _asked(case, workload)
    if not settings:
        return
    for name, text in settings.items():
        yield from template_faults(name, text, case.settings, LATER)
    if settings.keys() - {"wrapper"}:
        script = workload.stages(case)[-1].argv
        if len(script) > 1 and script[0] == "sh" and script[1].startswith("{work}/"):
            names = " and ".join(one for one in settings if one != "wrapper")
            yield (
                f"a script of Tare starts this workload's programs, so {names} would not reach them; use its "
                "parameters, or declare a workload of your own under 'workloads'"
            )


def with_program(stages: tuple[Stage, ...], case: Case, workload: Workload) -> tuple[Stage, ...]:
    """Return `stages`, the last of which, the measured one, starts as the program settings of `case` ask."""
    settings = _asked(case, workload)
    if not settings:
        return stages
    *before, measured = stages
    program, *arguments = measured.argv
    values = placeholder_values(case, workload.parameters)
    words = {name: _words(name, text, values) for name, text in settings.items()}
    program = next(iter(words.get("executable", ())), program)
    wrapper = words.get("wrapper", ())
    called = (program,) if wrapper else ()
    changed = msgspec.structs.replace(
        measured,
        argv=(*wrapper, program, *arguments, *words.get("args", ())),
        programs=(*measured.programs, *called),
    )
    return (*before, changed)


class Around(NamedTuple):
    """A command around the programs of each run: its kind, prologue or epilogue, and its number from 1."""

    kind: str
    number: int


PROLOGUE, EPILOGUE = "prologue", "epilogue"
Commands = tuple[tuple[str, ...], ...]
"""The words of several commands."""


def own_commands(workload: Workload) -> tuple[Commands, Commands]:
    """Return the commands that `workload` itself has before and after its programs."""
    if implements(workload, HasCommandsAround):
        return workload.prologue, workload.epilogue
    return (), ()


def around_of(stage: str) -> Around | None:
    """Return which command of the prologue or epilogue the stage with this name is; None for a program."""
    kind, _, number = stage.partition("-")
    return Around(kind, int(number)) if kind in {PROLOGUE, EPILOGUE} and number.isdecimal() else None


def is_epilogue(stage: Stage) -> bool:
    """Return whether `stage` is a command of the epilogue."""
    found = around_of(stage.name)
    return found is not None and found.kind == EPILOGUE


def commands_as_stages(kind: str, commands: Commands, values: Settings) -> tuple[Stage, ...]:
    """Return the commands of a prologue or epilogue, filled from `values`, as stages of one process each."""
    return tuple(
        Stage(name=f"{kind}-{number}", argv=tuple(fill(word, values) for word in words), is_mpi=False)
        for number, words in enumerate(commands, 1)
    )


def command_faults(kind: str, commands: Commands, names: Collection[str]) -> Iterator[str]:
    """Yield why placeholders of a prologue or epilogue cannot be filled from the settings `names`."""
    for number, words in enumerate(commands):
        for word in words:
            yield from template_faults(f"{kind}[{number}]", word, names, LATER)


def _asked(case: Case, workload: Workload) -> dict[str, str]:
    """Return the program settings that `case` sets to something."""
    if PROGRAM_SETTINGS.keys().isdisjoint(case.parameters):
        return {}
    found: dict[str, Scalar | None] = {
        one.name: case.parameters.get(one.name) for one in program_settings(workload)
    }
    return {name: str(value) for name, value in found.items() if value is not None and value != NONE}


def _words(name: str, text: str, values: Settings) -> tuple[str, ...]:
    words = (text,) if name == "executable" else split_words(text)
    return tuple(fill(word, values) for word in words)
