"""Find the points of a figure that contradict the verdict over all of them.

A mean over message sizes may be within the margin although a contender is 25 % slower at small and 20 %
faster at larger ones. Such a mean is no equivalence.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tare.analysis.table import Cell, Table
from tare.analysis.verdicts.families import Subject
from tare.analysis.verdicts.row_notes import NOT_AT_EACH, NOT_EVERYWHERE
from tare.core.comparison import Finding, Mean
from tare.core.margins import is_beyond
from tare.core.units import format_bytes
from tare.core.verdict import Claim, Verdict, verdict_of
from tare.stats.autocorrelation import allow_for, unresolved_correlation, without_unresolved
from tare.stats.intervals import CONFIDENCE
from tare.stats.ratios import ratios, separate_unpaired

_MOST_NAMED = 3


def told_of_points(found: Finding, subject: Subject, table: Table, margin: float, mean: Mean) -> Finding:
    """Return the finding over all points without "equivalent" if a point surely lies beyond the margin.

    A difference stays, since it is one of the mean; its note names the points that surely differ the other
    way by more than the margin. Intervals of points are corrected for their number (Bonferroni).
    """
    is_alike = found.verdict.claim is Claim.EQUIVALENCE
    if len(subject.cells) < 2 or found.verdict is Verdict.UNDECIDED:
        return found
    points = _beyond(subject, table, margin, mean, is_paired=found.is_paired)
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
    subject: Subject, table: Table, margin: float, mean: Mean, *, is_paired: bool
) -> list[tuple[Cell, Verdict]]:
    """Return the points whose whole interval lies beyond the margin, each with its verdict."""
    cases = (subject.pair.reference_case.id, subject.pair.contender_case.id)
    columns = [table.find(case, subject.cells) for case in cases]
    below, above = (np.ascontiguousarray(table.values[:, one]) for one in columns)
    below, above = separate_unpaired(below, above, np.full(len(subject.cells), is_paired))
    confidence = 1 - (1 - CONFIDENCE) / len(subject.cells)
    rounding = table.shifts[columns[0]] + table.shifts[columns[1]]
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = ratios(below, above, confidence, rounding=rounding, mean=mean)
        found = plain
        if is_paired:
            found, _ = allow_for(plain, below, above, confidence)
            found = without_unresolved(found, unresolved_correlation(plain, below, above))
    ends = zip(subject.cells, found.low.tolist(), found.high.tolist(), strict=True)
    return [
        (cell, verdict_of(low, high, margin=margin, better=subject.better))
        for cell, low, high in ends
        if np.isfinite(low) and np.isfinite(high) and is_beyond(low, high, margin)
    ]


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
