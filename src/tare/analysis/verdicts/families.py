"""Families of comparisons that are judged together: their subjects, and the values of both sides.

A campaign has a hundred thousand points, and a report shows some hundreds of them. So the values of a family
are arrays, and the subject of a point is made when somebody asks for it.
"""

from __future__ import annotations

import bisect
import dataclasses
import enum
import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from tare.analysis.pairs import Pair
from tare.analysis.table import Cell
from tare.core.comparison import Correction
from tare.core.values import Scalar, Settings, with_coordinates
from tare.core.workload import Better
from tare.stats.intervals import Floats


class Subject(msgspec.Struct, frozen=True, gc=False):
    """What is compared within a pair: a FOM, at some coordinates or over all of them.

    `labels` are the coordinates that distinguish it from other figures of that name: see `Cell.labels`.
    `cells` are those that it is the mean of. `is_quoted` and `is_answer` say whether people quote the FOM,
    and whether it answers the question of the pair. `is_uncrossed` says that no data crossed the networks
    that are compared.
    """

    pair: Pair
    fom: str
    unit: str
    better: Better | None
    at: dict[str, Scalar]
    note: str = ""
    over: tuple[str, ...] = ()
    labels: Settings = {}
    cells: tuple[Cell, ...] = ()
    is_quoted: bool = False
    is_answer: bool = False
    is_uncrossed: bool = False


class FamilyKind(enum.Enum):
    """The kinds of families: which comparisons are judged together."""

    QUOTED = "the figures that people quote"
    """The primary figures of merit and those that answer, over all coordinates; else all figures."""
    OTHERS = "the other figures"
    """The other figures of merit, each over all of its coordinates."""
    TELEMETRY = "telemetry"
    """The telemetry figures that were asked for."""
    SPLITS = "the sizes that sentences tell of"
    """Parts of the sizes of a figure, such as the latency of small messages."""
    POINTS = "the points of figures with coordinates"
    """Each point of each figure of merit that has several, such as a message size."""

    @property
    def correction(self) -> Correction:
        """Return the default correction: FDR for points, which are for exploring, and else Holm's."""
        return Correction.FDR if self is FamilyKind.POINTS else Correction.HOLM


class SomeSubjects(Protocol):
    """Subjects by number, from 0."""

    def __len__(self) -> int:
        """Return how many there are."""

    def __getitem__(self, number: int, /) -> Subject:
        """Return one of them."""


class Subjects:
    """The subjects of a family; those of points are made when somebody asks for them."""

    def __init__(self, parts: Sequence[SomeSubjects]) -> None:
        self._parts = parts
        self._ends = list(itertools.accumulate(map(len, parts)))

    def __len__(self) -> int:
        """Return how many there are."""
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, number: int) -> Subject:
        """Return one of them."""
        part = bisect.bisect_right(self._ends, number)
        return self._parts[part][number - (self._ends[part - 1] if part else 0)]

    def __iter__(self) -> Iterator[Subject]:
        """Yield all of them, in order."""
        return (part[number] for part in self._parts for number in range(len(part)))


@dataclasses.dataclass(frozen=True)
class Family:
    """Subjects that are judged together, with the blocks of both sides, one column each.

    `better` holds the direction of each column. The blocks of a column are mere numbers, and not passes that
    were recorded, unless `is_recorded`.
    """

    kind: FamilyKind
    subjects: Subjects
    better: Sequence[Better | None]
    below: Floats
    above: Floats
    rounding: Floats
    is_recorded: npt.NDArray[np.bool_]


class FamilyRow(NamedTuple):
    """Where a row is judged: its family, and its number in the family.

    `at` holds the coordinates shown with it; None stands for those of its subject.
    """

    kind: FamilyKind
    number: int
    at: dict[str, Scalar] | None = None


class AskedFigure(NamedTuple):
    """A pair and one of its figures of merit, with what holds for all of its rows (see Subject)."""

    pair: Pair
    is_quoted: bool
    is_answer: bool
    is_uncrossed: bool

    def subject(
        self,
        cell: Cell,
        at: dict[str, Scalar],
        labels: Settings,
        note: str = "",
        over: tuple[str, ...] = (),
        cells: tuple[Cell, ...] = (),
    ) -> Subject:
        """Return what is compared: the figure of `cell`."""
        traits = (self.is_quoted, self.is_answer, self.is_uncrossed)
        return Subject(self.pair, cell.fom, cell.unit, cell.better, at, note, over, labels, cells, *traits)


class PointSubjects:
    """The subjects of the points `cells` of a figure."""

    def __init__(self, asked: AskedFigure, cells: Sequence[Cell], labels: Settings) -> None:
        self._asked, self._cells, self._labels = asked, cells, labels

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._cells)

    def __getitem__(self, number: int) -> Subject:
        """Return one of them."""
        cell = self._cells[number]
        return self._asked.subject(cell, row_coordinates(self._asked.pair, cell.at), self._labels)


class GatheredFamily:
    """A family under construction. Subjects whose data cross no compared network get no values."""

    def __init__(self, kind: FamilyKind) -> None:
        self.kind = kind
        self._subjects: list[SomeSubjects] = []
        self._pairs: list[Pair] = []
        self._better: list[Better | None] = []
        self._below: list[Floats] = []
        self._above: list[Floats] = []
        self._rounding: list[Floats] = []

    def add(
        self,
        asked: AskedFigure,
        subjects: SomeSubjects,
        better: Iterable[Better | None],
        sides: tuple[Floats, Floats],
        rounding: Floats,
    ) -> list[FamilyRow]:
        """Add subjects of one pair, with a column each, and return their rows."""
        first = len(self._better)
        self._better += better
        self._subjects.append(subjects)
        self._pairs.append(asked.pair)
        below, above = (np.full_like(side, np.nan) if asked.is_uncrossed else side for side in sides)
        self._below.append(below)
        self._above.append(above)
        self._rounding.append(rounding)
        return [FamilyRow(self.kind, number) for number in range(first, len(self._better))]

    def __len__(self) -> int:
        """Return the number of its columns."""
        return len(self._better)

    def family(self, recorded: Collection[str]) -> Family:
        """Return the family; `recorded` are the cases whose blocks are true passes."""
        are_recorded = [
            one.reference_case.id in recorded and one.contender_case.id in recorded for one in self._pairs
        ]
        return Family(
            self.kind,
            Subjects(self._subjects),
            self._better,
            np.ascontiguousarray(np.hstack(self._below)),
            np.ascontiguousarray(np.hstack(self._above)),
            np.concatenate(self._rounding),
            np.repeat(are_recorded, [len(part) for part in self._subjects]),
        )


def row_coordinates(pair: Pair, coordinates: Iterable[tuple[str, Scalar]]) -> dict[str, Scalar]:
    """Return `coordinates` with the shared settings; a coordinate named like a setting becomes ``at_…``."""
    return with_coordinates(pair.shared, dict(coordinates))
