"""Compare a campaign with another one, such as published results; their runs are never paired."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

import msgspec
import numpy as np

from tare.analysis.pairs import Pair, differing_settings
from tare.analysis.table import Cell, Table, tabulate
from tare.analysis.verdicts.compare import terms_of
from tare.analysis.verdicts.equivalence_limits import withhold
from tare.analysis.verdicts.families import Subject
from tare.analysis.verdicts.family_tests import judge
from tare.analysis.verdicts.judged_subjects import comparison
from tare.analysis.verdicts.timed_out_runs import of_survivors, timed_out
from tare.core.campaign import Campaign
from tare.core.case import LAYOUT, Case
from tare.core.comparison import Comparison, Correction, Finding
from tare.core.counting import count
from tare.core.values import Scalar
from tare.stats.intervals import MIN_BLOCKS, Floats

_Key = tuple[str, str, frozenset[tuple[str, Scalar]]]


class _Match(NamedTuple):
    """A figure that both campaigns have: a case and a column of each."""

    theirs: Case
    ours: Case
    cell: Cell
    below: int
    above: int


def against(
    ours: Campaign,
    theirs: Campaign,
    *,
    margin: float | None = None,
    correction: Correction = Correction.FDR,
    foms: Collection[str] = (),
) -> list[Comparison]:
    """Compare every figure of `ours` with the same figure of `theirs`, which is the reference.

    A figure is the same if workload, figure of merit, unit and coordinates are. Two cases are compared unless
    they differ in a number that varies within `theirs`, such as the number of nodes. Other differences are
    given in `reference` and `contender`. The ratio is that of the geometric means, unpaired. With fewer than
    three runs on either side it has no interval, and the verdict is undecided. `foms` selects figures of
    merit; all if empty. All rows form one family, in which by default at most 5 % of the claims are false on
    average.
    """
    below, above = tabulate(theirs), tabulate(ours)
    matches = [one for one in _matches(ours, theirs, above, below) if not foms or one.cell.fom in foms]
    if not matches:
        return []
    reference = below.values[:, [match.below for match in matches]]
    contender = above.values[:, [match.above for match in matches]]
    n_rows = max(len(reference), len(contender))
    judged = judge(
        _padded(reference, n_rows),
        _padded(contender, n_rows),
        [match.cell.better for match in matches],
        terms_of(ours, margin, correction),
        is_paired=np.zeros(len(matches), np.bool_),
        why_unpaired="runs of another time and place",
        rounding=below.shifts[[one.below for one in matches]] + above.shifts[[one.above for one in matches]],
    )
    ended = timed_out(theirs), timed_out(ours)
    rows = zip(matches, judged.findings(), _counts(reference), _counts(contender), strict=True)
    compared = [
        comparison(
            _subject(match),
            of_survivors(
                _with_counts(one, n_theirs, n_ours),
                ended[0].get(match.theirs.id, 0),
                ended[1].get(match.ours.id, 0),
            ),
            is_primary=True,
        )
        for match, one, n_theirs, n_ours in rows
    ]
    return withhold(compared, compared)


def apart(ours: Campaign, theirs: Campaign) -> list[str]:
    """Return why figures with the same name are not compared: the two sides have different coordinates.

    For example, a figure for both directions together is not comparable with a figure for one direction.
    """
    found: dict[str, None] = {}
    below, above = tabulate(theirs), tabulate(ours)
    for case in ours.plan.cases:
        for other in theirs.plan.cases:
            if other.workload != case.workload:
                continue
            mine = {(cell.fom, cell.unit): cell for cell in above.columns.get(case.id, {})}
            for cell in below.columns.get(other.id, {}):
                own = mine.get((cell.fom, cell.unit))
                if own is not None and (sentence := _unlike(cell, own, other.workload)):
                    found.setdefault(sentence)
    return list(found)


def _unlike(published: Cell, here: Cell, workload: str) -> str:
    """Return which coordinates only one of two figures of one name has; empty if there are none."""
    theirs, ours = ({name for name, _ in cell.at} for cell in (published, here))
    if theirs == ours:
        return ""
    has, lacks = ("published", "here") if theirs - ours else ("here", "published")
    names = ", ".join(sorted(theirs ^ ours))
    return f"{here.fom} of {workload} is told by {names} where it is {has}, and not where it is {lacks}"


def _matches(ours: Campaign, theirs: Campaign, above: Table, below: Table) -> Iterator[_Match]:
    for case in ours.plan.cases:
        cells = {_key(cell): column for cell, column in above.columns.get(case.id, {}).items()}
        for other in theirs.plan.cases:
            if other.workload != case.workload or not _meet(case, other, theirs.plan.varied):
                continue
            for cell, column in below.columns.get(other.id, {}).items():
                if _key(cell) in cells:
                    yield _Match(other, case, cell, column, cells[_key(cell)])


def _key(cell: Cell) -> _Key:
    return cell.fom, cell.unit, frozenset(cell.at)


def _meet(ours: Case, theirs: Case, varied: tuple[str, ...]) -> bool:
    """Return whether the cases agree in every number that varies within `theirs`; names may differ."""
    one, other = ours.settings, theirs.settings
    shared = [name for name in varied if name in other and (name in one or name in LAYOUT)]
    return all(one.get(name) == other[name] for name in shared if not isinstance(other[name], str))


def _counts(values: Floats) -> list[int]:
    counts: list[int] = np.isfinite(values).sum(axis=0).tolist()
    return counts


def _subject(match: _Match) -> Subject:
    pair = Pair(
        reference_case=match.theirs,
        contender_case=match.ours,
        reference=differing_settings(match.theirs, match.ours),
        contender=differing_settings(match.ours, match.theirs),
        shared={"workload": match.ours.workload},
    )
    cell = match.cell
    return Subject(pair, cell.fom, cell.unit, cell.better, {**pair.shared, **dict(cell.at)})


def _with_counts(found: Finding, n_theirs: int, n_ours: int) -> Finding:
    """Return `found` with the numbers of runs of both sides, if they are too few for an interval."""
    if found.low is not None or found.ratio is None:
        return found
    runs = f"{count(n_theirs, 'published run')} and {n_ours} here"
    note = f"{runs}: an interval takes {MIN_BLOCKS} on both sides"
    return msgspec.structs.replace(found, note=note)


def _padded(values: Floats, n_rows: int) -> Floats:
    return np.pad(values, ((0, n_rows - len(values)), (0, 0)), constant_values=np.nan)
