"""What was measured here for an article, as its folder keeps it: results.json."""

from __future__ import annotations

import enum
from pathlib import Path

import msgspec

from bench.articles.article import FOLDER, Part, TableMatch

FILE = "results.json"


class Verdict(enum.StrEnum):
    """What the measurements of this machine say about a part of a claim."""

    HOLDS = "holds here"
    DOES_NOT = "does not hold here"
    UNDECIDED = "undecided"
    CANNOT = "cannot be tried here"
    NOT_MEASURED = "not measured yet"

    @property
    def sign(self) -> str:
        """Return a symbol with its own shape for each verdict."""
        return _SIGNS[self]


_SIGNS = {
    Verdict.HOLDS: "✓",
    Verdict.DOES_NOT: "✗",
    Verdict.UNDECIDED: "▨",
    Verdict.CANNOT: "–",
    Verdict.NOT_MEASURED: "…",
}


class Evidence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One measured number. `measured` is its text with unit and 95 % interval, `n` how many runs or blocks.

    `against` is the reference of a comparison. `verdict` and `why` are of this number alone; a number that
    only leads to another one has none.
    """

    what: str
    measured: str
    n: int
    verdict: Verdict | None = None
    against: str = ""
    why: str = ""


class PartResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The verdict on one part. `test` is what decided it, as `Part.test` was then."""

    part: str
    test: str
    verdict: Verdict
    evidence: tuple[Evidence, ...] = ()
    why: str = ""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The campaign of one study: when and where it ran, and how many of its planned runs count."""

    study: str
    date: str
    machine: str
    tare: str
    n_done: int
    n_planned: int


class FigureHere(msgspec.Struct, frozen=True, kw_only=True):
    """What stands beside the published number `fom` of `series`: mean, ratio to the reference, and blocks."""

    series: str
    fom: str
    measured: str
    ratio: str
    n: int


class TableHere(msgspec.Struct, frozen=True, kw_only=True):
    """What stands beside a published table. `test` is `TableMatch.test` as it was then."""

    table: str
    test: str
    figures: tuple[FigureHere, ...]


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """All that was measured here for one article."""

    campaigns: tuple[Measured, ...] = ()
    parts: tuple[PartResult, ...] = ()
    tables: tuple[TableHere, ...] = ()

    def of(self, part: Part) -> PartResult:
        """Return the result of `part`: as recorded, unless the test of the part is another one now."""
        if part.cannot:
            return PartResult(part=part.id, test="", verdict=Verdict.CANNOT, why=part.cannot)
        for one in self.parts:
            if (one.part, one.test) == (part.id, part.test):
                return one
        return PartResult(part=part.id, test=part.test, verdict=Verdict.NOT_MEASURED)

    def figures_of(self, match: TableMatch) -> tuple[FigureHere, ...]:
        """Return what was measured beside a table, unless other levels stand beside it now."""
        found = (one for one in self.tables if (one.table, one.test) == (match.table, match.test))
        return next((one.figures for one in found), ())

    def updated(self, new: Results) -> Results:
        """Return the results with those of `new` in the place of older ones of the same study or part."""
        campaigns = {one.study: one for one in (*self.campaigns, *new.campaigns)}
        parts = {one.part: one for one in (*self.parts, *new.parts)}
        tables = {one.table: one for one in (*self.tables, *new.tables)}
        return Results(
            campaigns=tuple(campaigns.values()), parts=tuple(parts.values()), tables=tuple(tables.values())
        )


def read_results(key: str, folder: Path = FOLDER) -> Results:
    """Return the recorded results of the article `key`; empty results if there are none."""
    path = folder / key / FILE
    return msgspec.json.decode(path.read_bytes(), type=Results) if path.exists() else Results()


def write_results(key: str, results: Results, folder: Path = FOLDER) -> None:
    """Write `results` into the folder of the article `key`."""
    text = msgspec.json.format(msgspec.json.encode(results), indent=1)
    (folder / key / FILE).write_bytes(text + b"\n")
