"""Collect every fault of a file, each with its position and its cure, before raising an error."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from tare.core.errors import Fault, FileFaults, KeyPath
from tare.core.errors import nearest as nearest  # faults say what is shown, and what is nearest
from tare.core.errors import shown as shown
from tare.core.study import Origin

Path = KeyPath

_PLAIN_KEY = re.compile(r"[\w.+-]+")


class Position(msgspec.Struct, frozen=True):
    """A position in a file; `line` and `column`, in characters, count from 1."""

    line: int
    column: int


START = Position(1, 1)


class Faults:
    """The faults of one file. A value that is aliased many times is reported once.

    Those of a mapping of Python, which `has_lines` False means, have no position but the path of keys.
    """

    def __init__(self, file: str, *, has_lines: bool = True) -> None:
        self.file, self._has_lines = file, has_lines
        self.found: dict[tuple[int, int, str], Fault] = {}

    def add(self, position: Position, path: Path, message: str) -> None:
        """Record the fault `message` for the text at `position`."""
        key = (position.line, position.column, message)
        self.found.setdefault(key, self.origin(position, path).fault(message))

    def origin(self, position: Position, path: Path) -> Origin:
        """Return `position` in the form that a Study stores, for faults that are found later."""
        line, column = (position.line, position.column) if self._has_lines else (0, 0)
        return Origin(self.file, line, column, format_path(path))

    def raise_any(self, others: Iterable[Fault] = ()) -> None:
        """Raise FileFaults with all faults of this file and `others`, if there is one."""
        faults = [*self.found.values(), *others]
        if faults:
            raise FileFaults(faults)


def format_path(path: Path) -> str:
    """Return a path in terms of the file, such as ``factors.nodes[2]``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            key = step if _PLAIN_KEY.fullmatch(step) else shown(step)
            text += f".{key}" if text else key
    return text
