"""A section of a stranger's: how long all runs took together."""

from __future__ import annotations

from tare.report.section import Cell, Section, SectionFacts, SectionTable, SectionText, Sentence


def _made(facts: SectionFacts) -> SectionText | None:
    taken: dict[str, float] = {}
    for attempt in facts.campaign.measured():
        variant = facts.variants.variant_of[attempt.case].name
        taken[variant] = taken.get(variant, 0.0) + (attempt.elapsed_s or 0.0)
    if not taken:
        return None
    rows = tuple((Cell(variant), Cell(f"{value:.1f} s", is_number=True)) for variant, value in taken.items())
    return SectionText(
        (Sentence(f"All runs together took {sum(taken.values()):.1f} s & no more"),),
        (
            SectionTable(
                "Time by side",
                "Time that was taken",
                "Time by side",
                (Cell("Side"), Cell("Time", is_number=True)),
                rows,
            ),
        ),
    )


SECTION = Section("stranger-time", "What did it all take?", after="missing", make=_made, is_summarised=True)
