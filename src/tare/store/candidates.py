"""What each file to import says of its settings: in its path, in a table, or for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from tare.errors import Fault, FileFaults, UsageError
from tare.model.values import Scalar, Settings
from tare.store.factors import FactorTable
from tare.store.pattern import Pattern
from tare.store.trees import Refused, printable

ORDERING = ("block", "started")
"""Names in a pattern or a table that order the repeats, and are no settings."""

ReadSetting = Callable[[str, str], Scalar]
"""Returns the value of a setting, by name, from its text. Raises ValueError with the cure."""


class Candidate(msgspec.Struct, frozen=True):
    """A file to import, its typed settings, and its `block` and `started` where they are told."""

    path: Path
    settings: Settings
    block: str | None = None
    started: str | None = None


class Naming(msgspec.Struct, frozen=True, kw_only=True):
    """Where settings are told: `common` ones hold for every file. Each name may come from one place only."""

    common: Mapping[str, Scalar] = {}
    pattern: Pattern | None = None
    table: FactorTable | None = None
    read: ReadSetting

    def require_clear(self) -> None:
        """Raise UsageError where a name comes from two places, or is none of a setting."""
        places = {
            "--set": tuple(self.common),
            "--pattern": self.pattern.names if self.pattern else (),
            "--table": self.table.names if self.table else (),
        }
        told: dict[str, str] = {}
        for place, names in places.items():
            for name in names:
                if name == "workload":
                    raise UsageError(f"{place} names 'workload': that is the first word of the command")
                if name in ORDERING and place == "--set":
                    raise UsageError(
                        f"--set {name}: all files cannot share it; name it in --pattern or --table"
                    )
                if name in told:
                    raise UsageError(f"{told[name]} and {place} both tell {name!r}; leave it out of one")
                told[name] = place

    def candidates(self, files: Iterable[Path]) -> tuple[list[Candidate], list[Refused]]:
        """Return the files whose settings are told, and those that do not match.

        Raises FileFaults with every cell of the table that cannot be read.
        """
        found: list[Candidate] = []
        refused: list[Refused] = []
        faults: list[Fault] = []
        for path in files:
            name = printable(path)
            texts = self.pattern.match(str(path)) if self.pattern else {}
            if texts is None:
                why = f"does not match {self.pattern.text}" if self.pattern else ""
                refused.append(Refused(name, why, is_fault=False))
                continue
            row = self.table.rows.get(path) if self.table else None
            if self.table and row is None:
                refused.append(Refused(name, f"has no row in {self.table.file}"))
                continue
            settings, reasons = self._typed(texts)
            if reasons:
                refused.append(Refused(name, "; ".join(reasons.values())))
                continue
            if self.table and row:
                told, reasons = self._typed(row.texts)
                faults += [Fault(self.table.file, row.line, 1, key, why) for key, why in reasons.items()]
                settings |= told
                texts |= row.texts
            found.append(
                Candidate(path, {**self.common, **settings}, texts.get("block"), texts.get("started"))
            )
        if faults:
            raise FileFaults(faults)
        return found, refused

    def _typed(self, texts: Mapping[str, str]) -> tuple[dict[str, Scalar], dict[str, str]]:
        """Return the settings that `texts` tell, and why others cannot be read, by name."""
        settings: dict[str, Scalar] = {}
        reasons: dict[str, str] = {}
        for name, text in texts.items():
            if name in ORDERING:
                continue
            if not text.isprintable():
                reasons[name] = f"{name} is {printable(text)}, which is not plain text; rename the file"
                continue
            try:
                settings[name] = self.read(name, text)
            except ValueError as error:
                reasons[name] = f"{name}: {error}"
        return settings, reasons
