"""The section on values: what each variant measured, side by side, with the best one marked."""

from __future__ import annotations

from collections.abc import Iterator

from tare.core.comparison import Estimate
from tare.core.counting import count
from tare.report.section import Cell, Section, SectionFacts, SectionTable, SectionText, Sentence
from tare.report.value_tables import ValueRow, ValueTable, figure_words, unit_words
from tare.report.variants import Variant
from tare.report.words.numbers import NARROW, SPACE, bracket_values, measured, number

_CAPTION = "Mean over the blocks, with its interval; ★ marks the best mean of a row, not a certain difference"
_SURVIVORS = "; ‡ without the runs that were ended at their time-out, so better than it is"

_ALL_VALUES = "the file values.csv has all (tare report --format csv)"
_MOST_CELLS = 3000


def _made(facts: SectionFacts) -> SectionText | None:
    if not facts.values:
        return None
    shown = tuple(_fitting(facts.values))
    left_out = len(facts.values) - len(shown)
    rest = [Sentence(f"{count(left_out, 'table')} more: {_ALL_VALUES}")] if left_out else []
    return SectionText(tuple(rest), tuple(_tables(shown, is_chosen=bool(facts.foms))))


def _fitting(tables: tuple[ValueTable, ...]) -> Iterator[ValueTable]:
    """Yield the tables that fit on a page that can be mailed, those of one number a run first."""
    left = _MOST_CELLS
    for one in sorted(tables, key=lambda one: one.has_sizes):
        left -= one.n_rows * len(one.variants)
        if left >= 0:
            yield one


def _tables(tables: tuple[ValueTable, ...], *, is_chosen: bool) -> Iterator[SectionTable]:
    for one in tables:
        yield SectionTable(
            summary=f"{one.problem}: {count(len(one.rows), 'value')}{' by size' if one.has_sizes else ''}",
            label=f"Values of {one.problem}{' by size' if one.has_sizes else ''}",
            caption=f"{one.problem}. {_CAPTION}{_survivors_words(one)}",
            head=tuple(_head(one)),
            rows=tuple(tuple(_row(one, row)) for row in one.rows),
            is_open=not one.has_sizes and len(tables) == 1,
            is_summarised=is_chosen or not one.has_sizes,
        )


def _survivors_words(table: ValueTable) -> str:
    return _SURVIVORS if any(row.survivors for row in table.rows) else ""


def _head(table: ValueTable) -> Iterator[Cell]:
    yield Cell("Figure of merit")
    yield Cell("Unit")
    if table.has_steps:
        yield Cell("At", is_number=True)
    for variant in table.variants:
        yield Cell(variant.name, is_number=True)
    if table.has_notes:
        yield Cell("What it is")


def _row(table: ValueTable, row: ValueRow) -> Iterator[Cell]:
    yield Cell(figure_words(row))
    yield Cell(unit_words(row))
    if table.has_steps:
        yield Cell(row.step, is_number=True)
    for variant in table.variants:
        yield Cell(_value(row, variant), is_number=True, is_best=variant in row.best)
    if table.has_notes:
        yield Cell(row.note)


def _value(row: ValueRow, variant: Variant) -> str:
    one = row.estimates.get(variant)
    if one is None:
        return "–"
    return f"{_estimate_words(one)}{' ‡' if variant in row.survivors else ''}"


def _estimate_words(one: Estimate) -> str:
    if one.low is None:
        return _printed(one.value)
    value = measured(one.value, one.low, one.high, "")
    decimals = len(value.partition(".")[2])
    if one.high is None or "e" in value or not decimals:
        return f"{value}{SPACE}{bracket_values(one.low, one.high)}".rstrip()
    low, high = (f"{end:,.{decimals}f}".replace(",", NARROW).replace("-", "−") for end in (one.low, one.high))
    return f"{value}{SPACE}[{low},{SPACE}{high}]"


def _printed(value: float) -> str:
    """Return a value without an interval as programs print it, to five digits: no interval limits them."""
    text = number(value, 5)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


SECTION = Section("values", "What did each one measure?", "charts", _made, order=20, is_summarised=True)
