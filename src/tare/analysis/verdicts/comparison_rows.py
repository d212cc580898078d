"""Rows of a table of comparisons. Each is made when somebody first asks for it.

A campaign may have a hundred thousand rows, of which a report shows some hundreds.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import overload

import msgspec

from tare.analysis.pairs import Pair
from tare.analysis.verdicts.equivalence_limits import withheld
from tare.analysis.verdicts.families import FamilyKind, FamilyRow
from tare.analysis.verdicts.judged_subjects import JudgedSubjects
from tare.analysis.verdicts.questions import FigureRows
from tare.core.comparison import Comparison
from tare.core.values import Scalar

Figure = tuple[str, tuple[tuple[str, Scalar], ...]]
"""A figure of merit and the labels that distinguish it from others of that name."""


class ComparisonRows(Sequence[Comparison]):
    """The rows of a table of comparisons, figure by figure.

    `judged` has the families of the rows. A row is not called equivalent if an elapsed time of its pair got
    `longer`.
    """

    def __init__(
        self,
        figures: Sequence[FigureRows],
        judged: Mapping[FamilyKind, JudgedSubjects],
        longer: Mapping[tuple[str, str], str],
    ) -> None:
        self._figures, self._judged, self._longer = figures, judged, longer
        self._located = [row for one in figures for row in one.rows]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._located)

    @overload
    def __getitem__(self, index: int) -> Comparison: ...
    @overload
    def __getitem__(self, index: slice) -> list[Comparison]: ...
    def __getitem__(self, index: int | slice) -> Comparison | list[Comparison]:
        """Return the row at `index`, or those of a slice."""
        if isinstance(index, slice):
            return self._made(self._located[index])
        return self._made([self._located[index]])[0]

    def __iter__(self) -> Iterator[Comparison]:
        """Yield all rows."""
        return iter(self._made(self._located))

    def of_contenders(self, cases: Collection[str]) -> list[Comparison]:
        """Return the rows of these contenders."""
        return self._made(
            [row for one in self._figures if one.pair.contender_case.id in cases for row in one.rows]
        )

    def pairs(self) -> list[Pair]:
        """Return the pairs that have rows; no row has to be made for them."""
        return [*{one.pair.contender_case.id: one.pair for one in self._figures}.values()]

    def n_points(self) -> Counter[tuple[str, Figure]]:
        """Return how many rows each figure of each contender has, by contender and figure."""
        found = Counter[tuple[str, Figure]]()
        for one in self._figures:
            found[one.pair.contender_case.id, (one.figure.fom, one.figure.labels)] += len(one.rows)
        return found

    @property
    def has_intervals(self) -> bool:
        """Return whether any row is paired and has an interval."""
        return any(self._judged[kind].has_intervals(numbers) for kind, numbers in self._numbers.items())

    @property
    def has_unpaired(self) -> bool:
        """Return whether any row is not paired."""
        return any(self._judged[kind].has_unpaired(numbers) for kind, numbers in self._numbers.items())

    @functools.cached_property
    def _numbers(self) -> dict[FamilyKind, list[int]]:
        return _by_family(self._located)

    def _made(self, located: Sequence[FamilyRow]) -> list[Comparison]:
        return rows_at(located, self._judged, self._longer)


def rows_at(
    located: Sequence[FamilyRow],
    judged: Mapping[FamilyKind, JudgedSubjects],
    longer: Mapping[tuple[str, str], str],
) -> list[Comparison]:
    """Return the rows at `located`; see `ComparisonRows`."""
    made = {kind: iter(judged[kind].comparisons(numbers)) for kind, numbers in _by_family(located).items()}
    return withheld([_shown_at(next(made[row.kind]), row) for row in located], longer)


def _by_family(located: Sequence[FamilyRow]) -> dict[FamilyKind, list[int]]:
    """Return the numbers of rows in their families."""
    found: dict[FamilyKind, list[int]] = {}
    for kind, rows in itertools.groupby(located, key=operator.attrgetter("kind")):
        found.setdefault(kind, []).extend(row.number for row in rows)
    return found


def _shown_at(one: Comparison, row: FamilyRow) -> Comparison:
    return one if row.at is None else msgspec.structs.replace(one, at=row.at)
