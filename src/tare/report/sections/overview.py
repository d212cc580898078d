"""The section at the top of the page: the change of each figure by each contender, workload and scale."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tare.analysis.quoted_figures import quoted
from tare.analysis.verdicts.row_notes import NOT_AT_EACH
from tare.core.comparison import Comparison, Mean
from tare.core.counting import count
from tare.core.verdict import Claim, Verdict
from tare.report.section import SectionFacts, own_section
from tare.report.shown_configurations import MOST_COLUMNS, left_out
from tare.report.variants import Configuration, Variant, Variants
from tare.report.words.assumed import FOOTNOTE, assumed_mark
from tare.report.words.changes import change, figure, levels
from tare.report.words.mean_cost import (
    beside_words,
    cost_change,
    mean_words,
    miss_words,
    progress_words,
    tail_words,
)
from tare.report.words.numbers import percent, probability, ratio, ratio_bounds, visible
from tare.report.words.pairing import verdict_mark
from tare.report.words.settling import more
from tare.stats.intervals import MIN_BLOCKS

_MOST_COLUMNS = 9
_STEPS = (0.05, 0.15, 0.4, 1.0)


@dataclasses.dataclass(frozen=True)
class HeatMapCell:
    """One contender in one configuration: the number, its CSS class (`paint`), and its texts.

    `settling` says what would settle an undecided result. `label` has the whole cell in words. `mark` is set
    if the verdict rests on an assumption that so few blocks cannot test.
    """

    sign: str
    number: str
    interval: str
    settling: str
    paint: str
    label: str
    details: tuple[tuple[str, str], ...]
    cases: tuple[str, ...]
    mark: str = ""


@dataclasses.dataclass(frozen=True)
class HeatMapRow:
    """One contender; a cell is None if the plan has no such case."""

    variant: Variant
    cells: tuple[HeatMapCell | None, ...]


@dataclasses.dataclass(frozen=True)
class HeatMapColumn:
    """One figure of merit in one configuration."""

    configuration: Configuration
    fom: str

    @property
    def title(self) -> str:
        """Return the title that the columns of all scales share: ``imb.pingpong, latency``."""
        return f"{self.configuration.problem}, {self.fom}"


@dataclasses.dataclass(frozen=True)
class HeatMap:
    """Contenders × columns; `groups` has each workload and figure of merit with its number of scales.

    Of many `rows` those farthest from the reference come first, `n_open` of them; the others are folded.
    """

    groups: tuple[tuple[str, int], ...]
    columns: tuple[HeatMapColumn, ...]
    rows: tuple[HeatMapRow, ...]
    n_open: int

    @property
    def footnote(self) -> str:
        """Return what the mark of a cell means; empty if no cell has it."""
        return FOOTNOTE if any(cell.mark for row in self.rows for cell in row.cells if cell) else ""


_MOST_ROWS = 30
"""The most contenders whose rows are not folded."""

_Cells = Mapping[tuple[Variant, HeatMapColumn], Comparison]


class Overview(NamedTuple):
    """The heat maps, and a sentence on what they leave out."""

    maps: tuple[HeatMap, ...]
    left_out: str

    @property
    def has_factors(self) -> bool:
        """Return whether a cell shows its change as a factor, not in percent."""
        cells = (cell for one in self.maps for row in one.rows for cell in row.cells)
        return any(cell is not None and cell.number.endswith("×") for cell in cells)

    @property
    def footnote(self) -> str:
        """Return what the mark of cells means; empty if no cell has it."""
        return next((one.footnote for one in self.maps if one.footnote), "")


def _made(facts: SectionFacts) -> Overview | None:
    found = overview(facts.statistics.aggregates, facts.variants)
    return found if found.maps else None


SECTION = own_section(__file__, "What does each change, by workload and scale?", after="answer", make=_made)


def overview(aggregates: Sequence[Comparison], variants: Variants) -> Overview:
    """Return the quoted figures as tables.

    The columns are in the order of the plan. Several workloads share a table as long as it is not wider than
    a page. The columns of one workload stay together if they fit into one table.
    """
    cells = {
        (
            variants.variant_of[one.contender_case],
            HeatMapColumn(variants.configuration_of[one.contender_case], figure(one)),
        ): one
        for one in quoted(aggregates)
    }
    every = list(dict.fromkeys(column for _, column in cells))
    shown = _most_different(cells, every)
    order = {configuration: index for index, configuration in enumerate(variants.configurations)}
    titles = {
        title: index
        for index, title in enumerate(
            dict.fromkeys(configuration.problem for configuration in variants.configurations)
        )
    }
    foms = list(dict.fromkeys(column.fom for column in every))
    shown.sort(
        key=lambda one: (titles[one.configuration.problem], foms.index(one.fom), order[one.configuration])
    )
    tables: list[list[HeatMapColumn]] = []
    for _, group in itertools.groupby(shown, key=lambda column: column.configuration.workload):
        columns = list(group)
        for start in range(0, len(columns), _MOST_COLUMNS):
            part = columns[start : start + _MOST_COLUMNS]
            if tables and len(tables[-1]) + len(part) <= _MOST_COLUMNS:
                tables[-1] += part
            else:
                tables.append(part)
    maps = tuple(_heat_map(columns, cells, variants) for columns in tables)
    return Overview(maps, left_out(len(shown), len(every), "columns"))


def _most_different(cells: _Cells, every: Sequence[HeatMapColumn]) -> list[HeatMapColumn]:
    farness = dict.fromkeys(every, 0.0)
    for (_, column), one in cells.items():
        farness[column] = max(farness[column], one.distance)
    return sorted(every, key=lambda column: -farness[column])[:MOST_COLUMNS]


def _heat_map(columns: Sequence[HeatMapColumn], cells: _Cells, variants: Variants) -> HeatMap:
    grouped = itertools.groupby(columns, key=lambda column: column.title)
    farness = dict.fromkeys(variants.contenders, 0.0)
    for (variant, column), one in cells.items():
        if column in columns:
            farness[variant] = max(farness[variant], one.distance)
    far = set(sorted(farness, key=lambda variant: -farness[variant])[:_MOST_ROWS])
    return HeatMap(
        groups=tuple((title, len(list(found))) for title, found in grouped),
        columns=tuple(columns),
        rows=tuple(
            HeatMapRow(variant, tuple(_cell(cells.get((variant, column)), variants) for column in columns))
            for variant in sorted(variants.contenders, key=lambda variant: variant not in far)
        ),
        n_open=len(far),
    )


def _cell(one: Comparison | None, variants: Variants) -> HeatMapCell | None:
    if one is None:
        return None
    where = f"{variants.configuration_of[one.contender_case].label}, {figure(one)}"
    label = f"{variants.variant_of[one.contender_case].name}, {where}"
    changed = change(one)
    if changed is None:
        reason = visible(one.note) or "not measured"
        text = f"{label}: {reason}"
        return HeatMapCell("–", "none", "", "", "missing", text, (("Result", reason),), _cases(one))
    number, interval = changed.number, changed.interval or "no interval"
    details = (
        (
            "Figure of merit",
            ", ".join(
                filter(None, (figure(one), f"{one.better} is better" if one.better else "no direction"))
            ),
        ),
        *_measured(one, variants),
        ("Ratio", f"{ratio(one.ratio)} {ratio_bounds(one.ratio, one.low, one.high)}".rstrip()),
        ("Change", f"{number} {interval}"),
        ("Evidence", _evidence(one)),
        ("Verdict", f"{one.verdict.value}{verdict_mark(one)}"),
        *((name, text) for name, text in _further(one) if text),
    )
    return HeatMapCell(
        one.verdict.sign,
        number,
        interval,
        _settling(one),
        paint(one),
        ", ".join(
            filter(
                None,
                (
                    f"{label}: {one.verdict.value}{assumed_mark(one)}{verdict_mark(one)}",
                    f"{number} {interval}",
                    _evidence(one),
                    more(one),
                    beside_words(one),
                ),
            )
        ),
        details,
        _cases(one),
        assumed_mark(one),
    )


def _evidence(one: Comparison) -> str:
    """Return on how many blocks or runs a ratio rests, and whether it has an interval."""
    n = count(one.n_blocks, "block" if one.is_paired else "run")
    unpaired = "" if one.is_paired else " a side at the least, unpaired"
    has_interval = one.low is not None
    confidence = percent(one.confidence, is_signed=False, decimals=0) if has_interval else "no"
    return f"{n}{unpaired}, {confidence} interval"


def _measured(one: Comparison, variants: Variants) -> Iterator[tuple[str, str]]:
    """Yield the values of both sides, in the unit of the figure."""
    values = levels(one)
    if values is not None:
        reference = variants.reference.name if variants.reference else "reference"
        yield "Measured", f"{values[1]}, {reference} {values[0]}"


def _settling(one: Comparison) -> str:
    """Return what would settle an undecided cell, or a remark on its verdict, in few characters."""
    if one.verdict.claim is Claim.EQUIVALENCE and one.may_miss is not None:
        mark, share = verdict_mark(one).strip(" ()"), percent(one.may_miss, is_signed=False)
        return ", ".join(filter(None, (mark, f"may miss {share} of runs")))
    if one.withheld_by:
        return "elapsed time is worse"
    if one.verdict is not Verdict.UNDECIDED:
        return verdict_mark(one).strip(" ()")
    if any(one.timed_out):
        return "runs timed out"
    if one.better is None:
        return "no direction"
    if one.low is None and (one.mean is Mean.MEDIAN or one.n_blocks >= MIN_BLOCKS):
        return "no interval"
    if one.low is None:
        return f"needs {MIN_BLOCKS} blocks"
    if one.rounding_hides:
        return "needs more digits"
    if NOT_AT_EACH in one.note:
        return "differs from size to size" if one.over == ("bytes",) else "differs from point to point"
    if one.mean is Mean.MEDIAN:
        return "needs more blocks"
    return f"+{count(one.more_blocks, 'block')}" if one.more_blocks is not None else "needs another design"


def _further(one: Comparison) -> Iterator[tuple[str, str]]:
    """Yield further details of a comparison, as pairs of a term and a text, which may be empty."""
    robust = one.hodges_lehmann
    yield (
        "Robust",
        (
            f"{ratio(robust.ratio)} {ratio_bounds(robust.ratio, robust.low, robust.high)} (Hodges–Lehmann)"
            if robust
            else ""
        ),
    )
    yield "p", _p_words(one)
    yield "Finds", f"{percent(one.detectable)} or more" if one.detectable is not None else ""
    yield "To settle", _settling(one) if one.verdict is Verdict.UNDECIDED and not one.is_within else ""
    yield "Read", progress_words(one)
    if one.mean_cost is not None:
        name = mean_words(one.mean_cost, one.unit)
        yield name[0].upper() + name[1:], cost_change(one.mean_cost)
        yield "Bad runs", tail_words(one)
    yield "Misses", miss_words(one)
    yield "Assumes", FOOTNOTE if assumed_mark(one) else ""
    yield "Note", visible(one.note)


def _p_words(one: Comparison) -> str:
    """Return the p value that the verdict table shows, and what it is of."""
    if one.p_of_claim is None:
        return ""
    of = "as large a difference as the margin" if one.verdict.claim is Claim.EQUIVALENCE else "no difference"
    return f"{probability(one.p_of_claim)} of {of}, corrected among {one.family}"


def paint(one: Comparison) -> str:
    """Return the CSS class of a comparison: its verdict and, if that is graded, the difference's size."""
    if one.ratio is None or not one.verdict.is_graded:
        return css_class(one)
    farness = math.expm1(one.distance)
    return f"{one.verdict.css_class}-{1 + sum(farness >= step for step in _STEPS)}"


def css_class(one: Comparison) -> str:
    """Return the CSS class of a comparison's verdict, without the size of the difference."""
    return "missing" if one.ratio is None else one.verdict.css_class


def _cases(one: Comparison) -> tuple[str, ...]:
    return (one.reference_case, one.contender_case)
