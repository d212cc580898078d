"""The section that says why: where the time of a difference goes, by what ranks did."""

from __future__ import annotations

from collections.abc import Iterator

from tare.core.attribution import Attribution, Cause
from tare.report.section import Cell, Section, SectionFacts, SectionTable, SectionText, Sentence
from tare.report.variants import Variants
from tare.report.words.causes import cause_sentence, cause_words, share_words, silence
from tare.report.words.numbers import NARROW, bracket_values, number, percent, quantity, visible


def _made(facts: SectionFacts) -> SectionText | None:
    found = facts.statistics.attributions
    if not found:
        return None
    sentences = [one for each in found for one in _sentences(each, facts)]
    tables = tuple(_table(one, facts.variants) for one in found if one.causes)
    return SectionText(tuple(sentences), tables)


def _sentences(one: Attribution, facts: SectionFacts) -> Iterator[Sentence]:
    label = facts.variants.case_label(one.contender_case)
    text = cause_sentence(one, facts.variants, facts.statistics.reasons)
    yield Sentence(text or f"{label}: {silence(one)}", one.contender_case, label)
    if one.note:
        yield Sentence(f"{label}: {visible(one.note)}", one.contender_case, label)


def _table(one: Attribution, variants: Variants) -> SectionTable:
    label = variants.case_label(one.contender_case)
    cost = one.cost
    priced = f". Profiling makes runs {percent(cost.value - 1)} longer" if cost is not None else ""
    return SectionTable(
        summary=f"Where the time goes: {label}",
        label=f"Where the time of {label} goes",
        caption=(
            f"Seconds a run, mean over ranks and {one.n_blocks} blocks of profiled runs; the parts sum to "
            f"the difference. A part is certain (✓) among all parts of the table{priced}"
        ),
        head=(
            Cell("Part"),
            Cell("Reference, s", is_number=True),
            Cell("Contender, s", is_number=True),
            Cell("Difference, s", is_number=True),
            Cell("Interval", is_number=True),
            Cell("Share of the difference", is_number=True),
            Cell("Certain"),
        ),
        rows=(*(_row(cause) for cause in one.causes), _sum(one)),
    )


def _row(cause: Cause) -> tuple[Cell, ...]:
    difference = cause.difference_s
    return (
        Cell(cause_words(cause)),
        Cell(number(cause.reference_s), is_number=True),
        Cell(number(cause.contender_s), is_number=True),
        Cell(quantity(difference.value, "s"), is_number=True),
        Cell(bracket_values(difference.low, difference.high), is_number=True),
        Cell(share_words(cause.share), is_number=True),
        Cell("✓" if cause.is_certain else ""),
    )


def _sum(one: Attribution) -> tuple[Cell, ...]:
    whole = one.difference_s
    sides = [sum(getattr(cause, side) for cause in one.causes) for side in ("reference_s", "contender_s")]
    return (
        Cell("Together"),
        *(Cell(number(side), is_number=True) for side in sides),
        Cell(quantity(whole.value, "s") if whole else "", is_number=True),
        Cell(bracket_values(whole.low, whole.high) if whole else "", is_number=True),
        Cell(f"100{NARROW}%", is_number=True),
        Cell("✓" if one.is_decided else ""),
    )


SECTION = Section("causes", "Why?", after="curves", make=_made, order=900, is_summarised=True)
