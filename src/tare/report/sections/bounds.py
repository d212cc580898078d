"""The section on hardware bounds: how near each variant comes to the most that the hardware can give."""

from __future__ import annotations

from tare.core.counting import count
from tare.report.section import Cell, Section, SectionFacts, SectionTable, SectionText, Sentence
from tare.report.words.bounds import BoundRow

_HEAD = ("Where", "Side", "Figure of merit", "Best at", "Value", "Share", "Bound", "Source")


def _made(facts: SectionFacts) -> SectionText | None:
    rows = facts.bounds
    if not rows:
        return None
    whose = "its bound" if len(rows) == 1 else "their bounds"
    return SectionText(
        tuple(Sentence(one.sentence, one.case, f"{one.variant.name}, {one.configuration}") for one in rows),
        (
            SectionTable(
                summary=f"{count(len(rows), 'figure')} against {whose}",
                label="Figures against their bounds",
                caption="The best point of each figure against the most that its resource can give",
                head=tuple(Cell(name, is_number=name in ("Value", "Share")) for name in _HEAD),
                rows=tuple(_cells(one) for one in rows),
            ),
        ),
    )


def _cells(one: BoundRow) -> tuple[Cell, ...]:
    return (
        Cell(one.configuration),
        Cell(one.variant.name, variant=one.variant),
        Cell(one.fom),
        Cell(one.at or "–"),
        Cell(one.value, is_number=True),
        Cell(one.share, is_number=True),
        Cell(one.bound),
        Cell(one.source),
    )


SECTION = Section("bounds", "How near is it to what the hardware can give?", "charts", _made, order=10)
