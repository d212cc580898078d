"""Find the points of a figure that contradict the verdict over all of them.

A mean over message sizes may be within the margin although a contender is 25 % slower at small and 20 %
faster at larger ones. Such a mean is no equivalence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from tare.analysis.table import Cell, Table
from tare.analysis.verdicts.families import Subject
from tare.analysis.verdicts.judged_family import Terms
from tare.analysis.verdicts.row_notes import NOT_AT_EACH, NOT_EVERYWHERE
from tare.core.comparison import Finding
from tare.core.margins import are_beyond
from tare.core.units import format_bytes
from tare.core.verdict import Claim, Verdict, verdict_of
from tare.stats.autocorrelation import allow_for, unresolved_correlation, without_unresolved
from tare.stats.intervals import CONFIDENCE
from tare.stats.ratios import ratios, separate_unpaired

_MOST_NAMED = 3


def told_of_points(
    found: Sequence[Finding], subjects: Sequence[Subject], table: Table, terms: Terms
) -> list[Finding]:
    """Return the findings over all points without "equivalent" if a point surely lies beyond the margin.

    A difference stays, since it is one of the mean; its note names the points that surely differ the other
    way by more than the margin. Intervals of points are corrected for their number (Bonferroni). Subjects of
    one point stay as they are.
    """
    told = list(found)
    for numbers in _alike(found, subjects):
        own = [subjects[number] for number in numbers]
        beyond = _beyond(own, table, terms, is_paired=found[numbers[0]].is_paired)
        for number, points in zip(numbers, beyond, strict=True):
            told[number] = _told(found[number], points)
    return told


def _alike(found: Sequence[Finding], subjects: Sequence[Subject]) -> Iterable[list[int]]:
    """Return the numbers of the subjects whose points to look at; of each list, they are looked at together.

    Those of a list have equally many points, hence the same correction, and are paired alike.
    """
    alike: dict[tuple[int, bool], list[int]] = defaultdict(list)
    for number, (one, subject) in enumerate(zip(found, subjects, strict=True)):
        if subject.over and one.verdict is not Verdict.UNDECIDED:
            alike[len(subject.cells), one.is_paired].append(number)
    return alike.values()


def _told(found: Finding, points: Sequence[tuple[Cell, Verdict]]) -> Finding:
    """Return the finding, told of those of its `points` beyond the margin that contradict it."""
    is_alike = found.verdict.claim is Claim.EQUIVALENCE
    contrary = [(cell, verdict) for cell, verdict in points if is_alike or verdict is not found.verdict]
    if not contrary:
        return found
    named = [
        f"{verdict} at {_listed([cell for cell, drawn in contrary if drawn is verdict])}"
        for verdict in dict.fromkeys(verdict for _, verdict in contrary)
    ]
    why = f"{NOT_AT_EACH if is_alike else NOT_EVERYWHERE}{', '.join(named)}"
    note = "; ".join(filter(None, (found.note, why)))
    verdict = Verdict.UNDECIDED if is_alike else found.verdict
    return msgspec.structs.replace(found, verdict=verdict, note=note)


def _beyond(
    subjects: Sequence[Subject], table: Table, terms: Terms, *, is_paired: bool
) -> list[list[tuple[Cell, Verdict]]]:
    """Return, for each subject, the points whose whole interval lies beyond the margin, with their verdicts.

    All subjects have equally many points.
    """
    n_points = len(subjects[0].cells)
    pairs = [(one.pair.reference_case, one.pair.contender_case) for one in subjects]
    columns = [
        np.concatenate([table.find(case.id, one.cells) for case, one in zip(side, subjects, strict=True)])
        for side in zip(*pairs, strict=True)
    ]
    below, above = (np.ascontiguousarray(table.values[:, one]) for one in columns)
    below, above = separate_unpaired(below, above, np.full(below.shape[1], is_paired))
    confidence = 1 - (1 - CONFIDENCE) / n_points
    rounding = table.shifts[columns[0]] + table.shifts[columns[1]]
    with np.errstate(divide="ignore", invalid="ignore"):
        found = ratios(below, above, confidence, rounding=rounding, mean=terms.mean)
        if is_paired:
            unresolved = unresolved_correlation(found, below, above)
            found, _ = allow_for(found, below, above, confidence)
            found = without_unresolved(found, unresolved)
    points: list[list[tuple[Cell, Verdict]]] = [[] for _ in subjects]
    has_interval = np.isfinite(found.low) & np.isfinite(found.high)
    for column in np.flatnonzero(has_interval & are_beyond(found.low, found.high, terms.margin)).tolist():
        number, point = divmod(column, n_points)
        subject = subjects[number]
        ends = float(found.low[column]), float(found.high[column])
        verdict = verdict_of(*ends, margin=terms.margin, better=subject.better)
        points[number].append((subject.cells[point], verdict))
    return points


def _listed(cells: Sequence[Cell]) -> str:
    """Return the coordinates of points in words: ``1 B and 64 B``, ``1 B, 64 B, 1 KiB and 2 more``."""
    names = [" ".join(_coordinate(name, value) for name, value in one.at) for one in cells]
    shown = names[:_MOST_NAMED]
    if len(names) > len(shown):
        return f"{', '.join(shown)} and {len(names) - len(shown)} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def _coordinate(name: str, value: object) -> str:
    is_size = name == "bytes" and isinstance(value, (int, float))
    return format_bytes(value) if is_size and isinstance(value, (int, float)) else f"{name} {value}"
