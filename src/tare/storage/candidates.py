"""Find the settings of each file to import: from its path, from a table, or given for all files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from tare.core.errors import Fault, FileFaults, UsageError
from tare.core.units import parse_bytes
from tare.core.values import Scalar, Settings
from tare.storage.factors import FactorTable
from tare.storage.import_summary import Origin
from tare.storage.pattern import Pattern
from tare.storage.trees import PACKED, Refused, is_packed_name, printable

ORDERING = ("repeat", "block", "started", "date")
"""Names that order the repeats. They are not settings, unless the workload has a parameter of that name."""
_LEAST_SIZE = 512
"""A bare number below this is unlikely to be the size of a block in bytes."""

_REPEAT = re.compile(r"[1-9][0-9]{0,8}")
_BRACES = re.compile(r"[{}]")
_DATE = re.compile(r"[0-9][0-9T:._+Z -]*")
"""Matches dates, times and seconds since 1970, whole or in part, but no words."""

ReadSetting = Callable[[str, str], Scalar]
"""Takes a setting's name and text, and returns its value. Raises ValueError with the cure."""


class Candidate(msgspec.Struct, frozen=True):
    """A file to import: its typed settings, where each came from, and what orders it among its repeats.

    `block` is the number of the repeat, where it is given.
    """

    path: Path
    settings: Settings
    block: str | None = None
    started: str | None = None
    origins: Mapping[str, Origin] = {}


class Naming(msgspec.Struct, frozen=True, kw_only=True):
    """The sources of settings: `common` ones for every file, a `pattern` for paths, and a `table`.

    A name may come from one source only. `common` holds texts as the user wrote them.
    """

    common: Mapping[str, str] = {}
    pattern: Pattern | None = None
    table: FactorTable | None = None
    read: ReadSetting
    parameters: frozenset[str] = frozenset()
    """The workload's parameters: each is a setting, even where its name otherwise orders repeats."""

    @property
    def _ordering(self) -> frozenset[str]:
        return frozenset(ORDERING) - self.parameters

    def require_clear(self) -> None:
        """Raise UsageError where a name comes from two sources or cannot be a setting."""
        names_by_source = {
            "--set": tuple(self.common),
            "--pattern": self.pattern.names if self.pattern else (),
            "--table": self.table.names if self.table else (),
        }
        sources: dict[str, str] = {}
        for source, names in names_by_source.items():
            for name in names:
                if name == "workload":
                    raise UsageError(f"{source} names 'workload': that is the first word of the command")
                if name in sources:
                    raise UsageError(f"{sources[name]} and {source} both give {name!r}; leave it out of one")
                sources[name] = source
        for one, other in (("repeat", "block"), ("started", "date")):
            if {one, other} <= sources.keys() and other in self._ordering:
                raise UsageError(f"{{{one}}} and {{{other}}} mean the same here; leave one out")

    def candidates(self, files: Iterable[Path]) -> tuple[list[Candidate], list[Refused]]:
        """Return the files whose settings are given, and those that are refused.

        Raises UsageError where a common setting cannot be read, and FileFaults with every cell of the table
        that cannot be read.
        """
        common = self._common()
        found: list[Candidate] = []
        refused: list[Refused] = []
        faults: list[Fault] = []
        for path in files:
            name = printable(path)
            texts = self.pattern.match(str(path)) if self.pattern else {}
            if (
                texts is None
                and self.pattern
                and is_packed_name(path)
                and self.pattern.match(str(path.with_suffix("")))
            ):
                refused.append(Refused(name, PACKED))
                continue
            if texts is None:
                why = f"does not match {self.pattern.text}" if self.pattern else ""
                refused.append(Refused(name, why, is_fault=False))
                continue
            row = self.table.rows.get(path) if self.table else None
            if self.table and row is None:
                refused.append(Refused(name, f"has no row in {self.table.file}"))
                continue
            settings, reasons = self._typed(texts)
            origins = dict.fromkeys(common, Origin.SET) | dict.fromkeys(settings, Origin.PATTERN)
            if reasons:
                refused.append(Refused(name, "; ".join(reasons.values())))
                continue
            if self.table and row:
                from_table, reasons = self._typed(row.texts)
                faults += [Fault(self.table.file, row.line, 1, key, why) for key, why in reasons.items()]
                settings |= from_table
                origins |= dict.fromkeys(from_table, Origin.TABLE)
                texts |= row.texts
            every = {**self.common, **texts}
            order = {name: text for name, text in every.items() if name in self._ordering}
            block = order.get("repeat", order.get("block"))
            started = order.get("started", order.get("date"))
            found.append(Candidate(path, {**common, **settings}, block, started, origins))
        if faults:
            raise FileFaults(faults)
        return found, refused

    def _common(self) -> dict[str, Scalar]:
        """Return the settings that are given for all files; raises UsageError with the cure."""
        settings, reasons = self._typed(self.common)
        for name in sorted({"repeat", "block"} & self._ordering & self.common.keys()):
            if not _REPEAT.fullmatch(self.common[name]):
                reasons[name] = f"{name} {self.common[name]}: it numbers the repeat; write {name}=1 or more"
        if reasons:
            raise UsageError("; ".join(f"--set {_BRACES.sub('', why)}" for why in reasons.values()))
        return settings

    def _typed(self, texts: Mapping[str, str]) -> tuple[dict[str, Scalar], dict[str, str]]:
        """Return the settings in `texts`, and why each of the others cannot be read, by name."""
        settings: dict[str, Scalar] = {}
        reasons: dict[str, str] = {}
        for name, text in texts.items():
            if name in self._ordering:
                why = _size_fault(text) if name == "block" else _date_fault(name, text)
                if why:
                    reasons[name] = why
                continue
            if not text.isprintable():
                reasons[name] = (
                    f"{name} is {printable(text)}, which is not plain text; use letters and digits"
                )
                continue
            if name == "block" and _is_small(text):
                reasons[name] = (
                    f"block {text}: here {{block}} is the size of a block, and {text} looks like the "
                    f"number of a repeat; write {{repeat}} for that, or the size with its unit, {text}B"
                )
                continue
            try:
                settings[name] = self.read(name, text)
            except ValueError as error:
                reasons[name] = f"{name}: {error}"
        return settings, reasons


def _is_small(text: str) -> bool:
    return text.isdecimal() and len(text) < 10 and int(text) < _LEAST_SIZE


def _date_fault(name: str, text: str) -> str:
    """Return why a text is not the time of a start; empty if it is one.

    Words in such a text may be another setting, which distinguishes cases.
    """
    if name not in {"started", "date"} or not text or _DATE.fullmatch(text):
        return ""
    return (
        f"{name} {printable(text)} is no date; if it holds another setting, name that by its own name, "
        f"as {{mode}}_{{{name}}}"
    )


def _size_fault(text: str) -> str:
    """Return why a text is not the number of a repeat, where it is a size instead; else empty."""
    if text.isdecimal() or text[:1].isalpha():
        return ""
    try:
        parse_bytes(text)
    except ValueError:
        return ""
    return (
        f"block {text}: {{block}} numbers repeats, and {text} is a size; name it by its own name, as {{size}}"
    )
