"""Arrange the measured values of a campaign as one matrix, passes × cells.

`tabulate` takes a campaign and returns a `Table`. All analyses read their numbers from it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from tare.core.attempt import Attempt, Series
from tare.core.campaign import Campaign
from tare.core.case import Pass
from tare.core.memo import Memo
from tare.core.telemetry import PREFIX
from tare.core.values import LEAST_FIGURE, Scalar
from tare.core.workload import Better
from tare.stats.intervals import MIN_BLOCKS, Floats, Moments, moments
from tare.stats.rounding import printed_steps, rounding_shifts

Columns = npt.NDArray[np.intp]
T = TypeVar("T")


class FigureName(NamedTuple):
    """The identity of a figure for comparisons: the FOM, its unit, and the labels (see `Cell.labels`)."""

    fom: str
    unit: str
    labels: tuple[tuple[str, Scalar], ...] = ()


class Cell(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """The content of one column of a case: a FOM at one point of its coordinates."""

    fom: str
    unit: str
    better: Better | None
    at: tuple[tuple[str, Scalar], ...]

    @property
    def labels(self) -> tuple[tuple[str, Scalar], ...]:
        """Return the coordinates that identify the figure, such as ``operation``; they are never averaged.

        They are the coordinates that are words, and percentiles. Other numbers, such as a message size, say
        at which point a figure was measured.
        """
        return labels_of(self.at)

    @property
    def figure(self) -> FigureName:
        """Return the figure that it is a point of; written and read bytes, for example, are two figures."""
        return FigureName(self.fom, self.unit, self.labels)


def by_figure(cells: Iterable[Cell]) -> dict[FigureName, list[Cell]]:
    """Return `cells` by the figure that they are points of."""
    grouped: dict[FigureName, list[Cell]] = {}
    for cell in cells:
        grouped.setdefault(cell.figure, []).append(cell)
    return grouped


@functools.lru_cache(maxsize=4096)
def labels_of(at: tuple[tuple[str, Scalar], ...]) -> tuple[tuple[str, Scalar], ...]:
    """Return those of the coordinates `at` that identify the figure; see `Cell.labels`."""
    return tuple(
        (name, value)
        for name, value in at
        if name == _ORDER or isinstance(value, bool) or not isinstance(value, (int, float))
    )


_ORDER = "percentile"


@dataclasses.dataclass(frozen=True, eq=False)
class CaseColumns(Mapping[Cell, int]):
    """The column of each cell of a case: `columns[places[cell]]`.

    Cases that measured the same cells share their `places`.
    """

    places: dict[Cell, int]
    columns: Columns

    def __getitem__(self, cell: Cell) -> int:
        """Return the column of `cell`."""
        return int(self.columns[self.places[cell]])

    def __iter__(self) -> Iterator[Cell]:
        """Yield the cells."""
        return iter(self.places)

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.places)


TINY = "values nearer to 0 than 10⁻⁶⁰ count as 0"
"""The note on figures that are not 0, and are treated as if they were (LEAST_FIGURE)."""

_NO_COLUMNS = CaseColumns({}, np.empty(0, np.intp))


@dataclasses.dataclass(frozen=True, eq=False)
class Table:
    """Values of measured attempts, passes × columns; NaN where a pass has no value.

    A pass is what ran together: a block in one session. `passes` names each row, in the order of time. A
    block that continued in a later session has several passes, and a case may have a value in each. `columns`
    gives the column of each cell, by case. The last column is all NaN and belongs to no case: it stands for
    everything that was never measured. `shifts` says for each column how far rounding may have moved its
    mean, as a share of the mean, and `half_steps` how far it may have moved any one value.
    `has_tiny` marks columns with values nearer to 0 than LEAST_FIGURE, which are 0 here.
    """

    values: Floats
    columns: Mapping[str, CaseColumns]
    passes: tuple[Pass, ...]
    shifts: Floats
    half_steps: Floats
    has_tiny: npt.NDArray[np.bool_]
    memo: Memo = dataclasses.field(default_factory=Memo, repr=False)

    def cells(self, *cases: str) -> list[Cell]:
        """Return the cells that any of `cases` has, those of the first case first."""
        distinct = {id(places): places for places in map(self.places, cases)}

        def find() -> tuple[list[Cell], object]:
            return list(dict.fromkeys(cell for places in distinct.values() for cell in places)), distinct

        return list(self.memo.get((Table.cells, *distinct), find)[0])

    def places(self, case: str) -> Mapping[Cell, int]:
        """Return the place of each cell that `case` has; cases with the same cells share the result."""
        return self.columns.get(case, _NO_COLUMNS).places

    def find(self, case: str, cells: Sequence[Cell]) -> Columns:
        """Return the column of each of `cells` in `case`; the last column if it was never measured."""
        places = self.places(case)

        def find() -> tuple[Columns, object]:  # the cells stay alive with it, so their ids stay unique
            return np.array([places.get(cell, -1) for cell in cells], np.intp), list(cells)

        found, _ = self.memo.get((Table.find, id(places), *map(id, cells)), find)
        nothing = self.values.shape[1] - 1
        columns = self.columns[case].columns[found] if places else np.full(len(cells), nothing)
        return np.where(found < 0, nothing, columns)

    def once(self, find: Callable[[Sequence[Cell]], T], cells: Sequence[Cell]) -> T:
        """Return what `find` finds of `cells` of this table; nobody may change the result.

        Most cases share their cells, so it is found once for all of them. Cells are told apart by identity:
        sizes of 1 and 1.0 are equal, and are not shown alike.
        """
        return self.memo.get((find, *map(id, cells)), lambda: find(cells))


def tabulate(campaign: Campaign, foms: Collection[str] = ()) -> Table:
    """Return the values that count: those of the last DONE attempt of each measured run in each session.

    Telemetry is included only if `foms` name some of it, since it explains a result and is no result. Tables
    are cached, since a campaign does not change and a report asks for them several times.
    """
    has_telemetry = any(fom.startswith(PREFIX) for fom in foms)

    def find() -> Table:
        return tabulate_attempts(counted(campaign), _workloads(campaign), has_telemetry=has_telemetry)

    return campaign.memo.get((tabulate, has_telemetry), find)


def counted(campaign: Campaign) -> list[Attempt]:
    """Return the attempts whose values count: the last DONE one of each measured run in each session."""
    return list({(one.together, one.case): one for one in campaign.measured()}.values())


def _workloads(campaign: Campaign) -> dict[str, str]:
    return {case.id: case.workload for case in campaign.plan.cases}


def tabulate_attempts(
    attempts: Iterable[Attempt], workloads: Mapping[str, str], *, has_telemetry: bool = False
) -> Table:
    """Return the values of `attempts`, one per case and pass, and of their telemetry only if asked for.

    `workloads` names the workload of each case: each workload prints its figures in its own format.
    """
    attempts = list(attempts)
    passes = sorted({one.together for one in attempts})
    rows = {one: row for row, one in enumerate(passes)}
    finder = _ColumnFinder()
    found = []
    for attempt in attempts:
        every = attempt.series + attempt.telemetry_series if has_telemetry else attempt.series
        found.append((rows[attempt.together], *finder.locate(attempt.case, every)))
    values = np.full((len(rows), finder.n_columns + 1), np.nan)
    for row, columns, numbers in found:
        values[row, columns] = numbers
    is_tiny = (np.abs(values) < LEAST_FIGURE) & (values != 0)
    values[is_tiny] = 0.0
    sessions = np.array([one.session for one in passes], np.int64)
    found_moments = moments(np.asfortranarray(values))  # by columns
    steps = _steps(found_moments, finder, attempts, workloads)
    with np.errstate(divide="ignore", invalid="ignore"):
        half_steps = np.where(steps > 0, steps / 2 / np.abs(found_moments.mean), 0.0)
    shifts = _largest_shifts(values, found_moments, sessions, steps)
    return Table(values, finder.columns, tuple(passes), shifts, half_steps, is_tiny.any(axis=0))


def _steps(
    found: Moments, finder: _ColumnFinder, attempts: Sequence[Attempt], workloads: Mapping[str, str]
) -> Floats:
    """Return the step to which the values of each column, with the moments `found`, were rounded.

    The format of a figure is inferred from all values that its workload printed, up to a few thousand.
    """
    printed: dict[_Format, list[float]] = {}
    for one in attempts:
        workload = workloads.get(one.case, "")
        for series in one.series:
            known = printed.setdefault((workload, series.fom, series.unit), [])
            if len(known) < _ENOUGH:
                known += series.values
    steps = np.zeros(len(found.mean))
    for figure, own in _columns_by_format(finder.columns, workloads).items():
        written = np.array(printed.get(figure, ()), np.float64)
        steps[own] = printed_steps(np.abs(found.mean[own]), written[np.abs(written) >= LEAST_FIGURE])
    return steps


def _columns_by_format(
    columns: Mapping[str, CaseColumns], workloads: Mapping[str, str]
) -> dict[_Format, Columns]:
    places: dict[int, dict[tuple[str, str], list[int]]] = {}  # by identity: most cases share them
    found: dict[_Format, list[Columns]] = {}
    for case, own in columns.items():
        by_figure = places.get(id(own.places))
        if by_figure is None:
            by_figure = places[id(own.places)] = {}
            for cell, place in own.places.items():
                by_figure.setdefault((cell.fom, cell.unit), []).append(place)
        for figure, chosen in by_figure.items():
            found.setdefault((workloads.get(case, ""), *figure), []).append(own.columns[chosen])
    return {figure: np.concatenate(parts) for figure, parts in found.items()}


def _largest_shifts(values: Floats, found: Moments, sessions: npt.NDArray[np.int64], steps: Floats) -> Floats:
    """Return the largest shift over all values, and over each session with enough values.

    `found` are the moments of all values. The noise is that within a session, since a change between sessions
    does not change how values are rounded.
    """
    largest = rounding_shifts(found, steps)
    numbers = np.unique(sessions)
    for number in numbers if len(numbers) > 1 else ():
        own = moments(values[sessions == number])
        is_enough = own.n_blocks >= MIN_BLOCKS
        largest = np.where(is_enough, np.maximum(largest, rounding_shifts(own, steps)), largest)
    return largest


_Format = tuple[str, str, str]
"""Workload, figure and unit: these are printed in one format."""

_ENOUGH = 5000
"""The number of values that is enough to infer the format of a figure."""

_Shape = list[tuple[str, str, Better | None, int, dict[str, list[Scalar]]]]
"""All of a case's series except their values; it is mostly the same in every block."""


class _Layout(NamedTuple):
    """The place of each cell of some series; values i of an attempt belong to place `which[i]`.

    `which` is None if no two values share a place. `cells` are those of each series.
    """

    cells: list[list[Cell]]
    places: dict[Cell, int]
    which: Columns | None


class _Destinations(NamedTuple):
    """Where the values of one attempt go: `columns`; or, if some share a column, `columns[which]`."""

    shape: _Shape
    columns: Columns
    which: Columns | None


class _ColumnFinder:
    """Assigns a column to each cell of each case, in the order of first use."""

    def __init__(self) -> None:
        self.columns: dict[str, CaseColumns] = {}
        self.n_columns = 0
        self._destinations: dict[str, _Destinations] = {}
        self._layouts: dict[tuple[int, ...], _Layout] = {}
        self._cells: dict[tuple[str, str, tuple[str, ...]], tuple[Series, list[Cell]]] = {}

    def locate(self, case: str, every: Sequence[Series]) -> tuple[Columns, Floats]:
        """Return the columns of the series of an attempt, and the value for each.

        The blocks of a case nearly always repeat the same figures at the same coordinates, so the columns of
        its last attempt are cached. Values with the same coordinates are replaced by their mean: they come
        from one run, and so they are not independent observations.
        """
        shape = [(one.fom, one.unit, one.better, len(one.values), one.at) for one in every]
        found = self._destinations.get(case)
        if found is None or shape != found.shape:
            layout = self._layout_of(every)
            columns = self._columns_of(case, layout)
            found = self._destinations[case] = _Destinations(shape, columns, layout.which)
        numbers = np.array([value for one in every for value in one.values], np.float64)
        if found.which is None:
            return found.columns, numbers
        return found.columns, np.bincount(found.which, numbers) / np.bincount(found.which)

    def _columns_of(self, case: str, layout: _Layout) -> Columns:
        """Return the column of each place of `layout` in a case; cells that are new to it get new columns."""
        known = self.columns.get(case, _NO_COLUMNS)
        if not layout.places.keys() <= known.places.keys():
            places = {**known.places}
            for cell in layout.places:
                places.setdefault(cell, len(places))
            new = np.arange(self.n_columns, self.n_columns + len(places) - len(known))
            self.n_columns += len(new)
            known = self.columns[case] = CaseColumns(
                places if known.places else layout.places, np.concatenate([known.columns, new])
            )
        return known.columns[[known.places[cell] for cell in layout.places]]

    def _layout_of(self, every: Sequence[Series]) -> _Layout:
        """Return the places of the cells of some series; attempts with the same cells share them."""
        cells = [self._cells_of(one) for one in every]
        key = tuple(map(id, cells))  # a layout keeps its cells, so their ids stay unique
        found = self._layouts.get(key)
        if found is None:
            places: dict[Cell, int] = {}
            which = [places.setdefault(cell, len(places)) for own in cells for cell in own]
            is_shared = len(places) < len(which)
            found = self._layouts[key] = _Layout(cells, places, np.array(which) if is_shared else None)
        return found

    def _cells_of(self, series: Series) -> list[Cell]:
        """Return the cell of each value; the last cells are cached, since cases mostly share them."""
        kind = (series.fom, series.unit, tuple(series.at))
        last = self._cells.get(kind)
        if last is not None and _is_alike(series, last[0]):
            return last[1]
        cells = [Cell(series.fom, series.unit, series.better, at) for at in _coordinates(series)]
        self._cells[kind] = (series, cells)
        return cells


def _is_alike(one: Series, other: Series) -> bool:
    """Return whether two series of one FOM have the same coordinates in the same order."""
    return len(one.values) == len(other.values) and one.better == other.better and one.at == other.at


def _coordinates(series: Series) -> Sequence[tuple[tuple[str, Scalar], ...]]:
    if not series.at:
        return [()] * len(series.values)
    named = ([(name, value) for value in column] for name, column in series.at.items())
    return list(zip(*named, strict=True))
