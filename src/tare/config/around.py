"""Read what a study or a workload in it adds to programs: input files, prologue and epilogue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tare.config.document import ListNode, Node, ScalarNode
from tare.config.faults import Path
from tare.config.study_types import InputFile
from tare.core.inputs import input_name_fault
from tare.core.program import Commands, split_words
from tare.core.workload import Input

Report = Callable[[Path, str], None]
"""Takes the path of a fault below the mapping that is read, and its message."""


def read_inputs(
    files: Mapping[str, str | InputFile], report: Report, others: Iterable[str] = ()
) -> tuple[Input, ...]:
    """Return the inputs in `files`, which is the value of the key ``inputs``.

    `others` are the names of other files that the working folder gets.
    """
    taken = list(others)
    found: list[Input] = []
    for name, given in files.items():
        if fault := input_name_fault(name, taken):
            report(("inputs", name), fault)
            continue
        taken.append(name)
        file = InputFile(path=given) if isinstance(given, str) else given
        found.append(Input(name=name, path=file.path, sha256=file.sha256.lower() if file.sha256 else None))
    return tuple(found)


def read_commands(name: str, node: Node | None, report: Report) -> Commands:
    """Return the commands in `node`, the value of the key `name`, each split into words."""
    commands: list[tuple[str, ...]] = []
    for number, item in enumerate(node.items if isinstance(node, ListNode) else ()):
        try:
            words = _words(item)
        except ValueError as error:
            report((name, number), str(error))
            continue
        if not words and not (
            isinstance(item, ScalarNode) and item.text == ""
        ):  # that is said where it is decoded
            report((name, number), "the command is empty; write a program and its arguments")
        commands.append(words)
    return tuple(commands)


def _words(node: Node) -> tuple[str, ...]:
    """Return a command's words. Raises ValueError as split_words does."""
    if isinstance(node, ListNode):
        return tuple(item.text for item in node.items if isinstance(item, ScalarNode))
    return split_words(node.text) if isinstance(node, ScalarNode) else ()
