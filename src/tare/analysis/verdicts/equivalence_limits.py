"""Withhold the verdict "equivalent" from pairs of cases whose elapsed time got worse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tare.analysis.aspects import is_elapsed
from tare.core.comparison import Comparison, Finding
from tare.core.verdict import Verdict


def withhold(rows: Sequence[Comparison], figures: Iterable[Comparison]) -> list[Comparison]:
    """Return `rows` without the verdict "equivalent" for pairs with a worse elapsed time among `figures`.

    A stable rate means little for a job that takes longer. Such a row is undecided, and its note gives the
    reason: more blocks would not decide it.
    """
    return withheld(rows, longer_times(figures))


def longer_times(figures: Iterable[Comparison]) -> dict[tuple[str, str], str]:
    """Return the pairs of reference and contender with a worse elapsed time among `figures`, and its name."""
    longer: dict[tuple[str, str], str] = {}
    for one in figures:
        if one.verdict is Verdict.WORSE and is_elapsed(one.unit, one.better):
            longer.setdefault((one.reference_case, one.contender_case), one.fom)
    return longer


def withheld(rows: Sequence[Comparison], longer: Mapping[tuple[str, str], str]) -> list[Comparison]:
    """Return `rows` without the verdict "equivalent" for the pairs with a `longer` time; see `withhold`."""
    if not longer:
        return list(rows)
    return [_withheld(one, longer.get((one.reference_case, one.contender_case), "")) for one in rows]


def _withheld(one: Comparison, longer: str) -> Comparison:
    if not longer or one.verdict is not Verdict.EQUIVALENT:
        return one
    note = "; ".join(filter(None, (one.note, withheld_words(longer))))
    return msgspec.structs.replace(one, verdict=Verdict.UNDECIDED, withheld_by=longer, note=note)


def withheld_words(longer: str) -> str:
    """Return the reason why a row within the margin is not called equivalent; empty without one."""
    return f"within the margin, but {longer}, an elapsed time, is worse" if longer else ""


def own_note(one: Finding) -> str:
    """Return the note of a row without the reason for withholding "equivalent"."""
    return one.note.removesuffix(withheld_words(one.withheld_by)).removesuffix("; ")
