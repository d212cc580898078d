"""Read the published tables in data/; data/index.toml maps their columns to Tare's terms."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path

import msgspec

from tare.core.decoding import convert
from tare.core.errors import InfrastructureError, UsageError, name_cure
from tare.core.values import Scalar
from tare.core.workload import Better

DATA = Path(__file__).with_name("data")

_SOURCE = re.compile(r'Source: ([^"]*"[^"]*"(?: \([0-9]{4}\))?)')


class FigureKind(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A published kind of figure in Tare's terms; `factors` convert published units to `unit`."""

    workload: str
    fom: str
    unit: str
    better: Better
    at: dict[str, Scalar] = {}
    factors: dict[str, Decimal] = {}
    has_counterpart: bool = True


class Mapped(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The mapping of one table: the keys of index.toml, which explains them."""

    what: str
    sha256: str
    columns: dict[str, str] = {}
    wide: str | None = None
    levels: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    value: str | None = None
    unit: str | None = None
    settings: dict[str, Scalar] = {}
    series: tuple[str, ...]
    reference: dict[str, Scalar]
    figures: dict[str, FigureKind]


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One published number in the unit of its kind, with the number of its line in the table."""

    kind: FigureKind
    value: float
    settings: dict[str, Scalar]
    series: str
    started: str | None
    line: int


class Publication(msgspec.Struct, frozen=True, kw_only=True):
    """A table with its figures in the order of its lines; `comment` describes the table and its source."""

    name: str
    what: str
    comment: str
    reference: dict[str, Scalar]
    figures: tuple[Figure, ...]

    @property
    def file(self) -> Path:
        """Return the path of the table's file."""
        return DATA / f"{self.name}.csv"

    @property
    def source(self) -> str:
        """Return the publication that the figures come from."""
        found = _SOURCE.search(self.comment)
        return found[1] if found else ""

    @property
    def series(self) -> tuple[str, ...]:
        """Return the names of the table's series, the SERIES of ``published:NAME/SERIES``."""
        return tuple(dict.fromkeys(figure.series for figure in self.figures))

    def only(self, series: str) -> Publication:
        """Return the publication with the figures of one series only. Raises UsageError if there is none."""
        if series not in self.series:
            raise UsageError(f"{self.name} has no series {series!r}; choose from {', '.join(self.series)}")
        chosen = tuple(figure for figure in self.figures if figure.series == series)
        return msgspec.structs.replace(self, figures=chosen)


def names() -> tuple[str, ...]:
    """Return the names of the tables."""
    return tuple(_index())


def read_publication(name: str) -> Publication:
    """Return the table ``NAME``, or one series of it, ``NAME/SERIES``.

    Raises UsageError with a suggestion if there is no such table or series.
    """
    table, slash, series = name.removeprefix("published:").partition("/")
    index = _index()
    if table not in index:
        raise UsageError(f"no published results are called {table!r}; {name_cure(table, index)}")
    mapped = index[table]
    lines = _verified(DATA / f"{table}.csv", mapped.sha256).splitlines()
    comment = " ".join(line.removeprefix("#").strip() for line in lines if line.startswith("#"))
    publication = Publication(
        name=table,
        what=mapped.what,
        comment=comment,
        reference=mapped.reference,
        figures=tuple(_figures(mapped, lines)),
    )
    return publication.only(series) if slash else publication


def _verified(path: Path, sha256: str) -> str:
    """Return the text of a table. Raises InfrastructureError if its SHA-256 is not `sha256`."""
    raw = path.read_bytes()
    found = hashlib.sha256(raw).hexdigest()
    if found != sha256:
        raise InfrastructureError(
            f"{path}: not the published table: its SHA-256 is {found}, not {sha256}; install Tare anew"
        )
    return raw.decode("utf-8")


def _index() -> dict[str, Mapped]:
    text = (DATA / "index.toml").read_text(encoding="utf-8")
    return convert(tomllib.loads(text, parse_float=Decimal), dict[str, Mapped])


def _figures(mapped: Mapped, lines: list[str]) -> Iterator[Figure]:
    n_comments = sum(line.startswith("#") for line in lines)
    rows = csv.DictReader(io.StringIO("\n".join(lines[n_comments:])), strict=True)
    for row in rows:
        line = n_comments + rows.line_num
        kind = mapped.figures[" ".join(row[tag] for tag in mapped.tags)]
        values = {name: row[column] for column, name in mapped.columns.items() if row[column]}
        started = values.pop("started", None)
        settings = {**mapped.settings, **{name: _number_or_text(text) for name, text in values.items()}}
        unit = row[mapped.unit] if mapped.unit else kind.unit
        factor = Decimal(1) if unit == kind.unit else kind.factors[unit]
        cells = {level: row[level] for level in mapped.levels} or {"": row[mapped.value or ""]}
        for level, cell in cells.items():
            placed = settings | ({mapped.wide: level} if mapped.wide else {})
            yield Figure(
                kind=kind,
                value=float(Decimal(cell) * factor),  # exact: 938 Mbit/s are 0.938 Gbit/s
                settings=placed,
                series=_series(mapped, placed),
                started=started,
                line=line,
            )


def _series(mapped: Mapped, settings: Mapping[str, Scalar]) -> str:
    return "+".join(str(settings[name]) for name in mapped.series if name in settings)


def _number_or_text(text: str) -> Scalar:
    return int(text) if text.isdecimal() else text
