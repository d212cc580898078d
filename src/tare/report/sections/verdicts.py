"""The section on verdicts: a row per comparison, or per aggregate if there are too many comparisons."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

from tare.core.campaign import Campaign
from tare.core.comparison import Comparison
from tare.core.verdict import Claim
from tare.report.listing import Listing, PackedCell, PackedRow, split
from tare.report.section import LAST, Section, SectionFacts
from tare.report.sections.overview import css_class
from tare.report.variants import Variants
from tare.report.words.assumed import MARK, assumed_mark, footnote
from tare.report.words.changes import change, levels
from tare.report.words.mean_cost import beside_words
from tare.report.words.numbers import (
    coordinate,
    count,
    probability,
    ratio,
    ratio_bounds,
    visible,
    words,
)
from tare.report.words.pairing import APART, UNCROSSED, verdict_mark
from tare.report.words.settling import more

MOST_VERDICTS = 2000
"""The most comparisons of the table; of more, it has one per figure of merit, over all coordinates."""


@dataclasses.dataclass(frozen=True)
class VerdictRow:
    """One comparison as a row of the full table."""

    variant: str
    configuration: str
    fom: str
    at: str
    levels: tuple[str, str]
    ratio: str
    interval: str
    change: str
    n_blocks: int
    p: str
    verdict: str
    paint: str
    note: str
    cases: tuple[str, ...]
    sort_ratio: float | None
    sort_p: float | None

    @property
    def state(self) -> str:
        """Return the choice of the table's filter that selects the row."""
        return (
            "not measured"
            if self.verdict in (APART, UNCROSSED)
            else self.verdict.partition(" (")[0].removesuffix(MARK)
        )

    @property
    def label(self) -> str:
        """Return the name of the runs that the row is based on."""
        return f"{self.variant}, {self.configuration}"


@dataclasses.dataclass(frozen=True)
class Verdicts:
    """The rows of the table, its title, and a text on what it leaves out."""

    rows: Listing[VerdictRow]
    title: str
    left_out: str
    footnote: str = ""


def _made(facts: SectionFacts) -> Verdicts | None:
    found = verdicts(
        facts.statistics.comparisons, facts.statistics.aggregates, facts.campaign, facts.variants
    )
    return found if len(found.rows) else None


SECTION = Section(
    "verdicts",
    "What is the verdict on each figure?",
    after="environment",
    make=_made,
    order=LAST,
    template=Path(__file__).with_suffix(".html"),
)


def verdicts(
    comparisons: Sequence[Comparison],
    aggregates: Sequence[Comparison],
    campaign: Campaign,
    variants: Variants,
) -> Verdicts:
    """Return the table of the comparisons, shortened to a readable size, and what it leaves out."""
    chosen, title, left_out = comparisons, "every figure of merit at every size", ""
    if len(comparisons) > MOST_VERDICTS:
        chosen, title = aggregates, "every figure of merit, over all of its sizes"
        left_out = (
            f"{count(len(comparisons), 'comparison')}, one at each size, are too many for a page. Here each "
            "figure of merit is told over all of its sizes; “tare compare DIR --all” prints every size."
        )
    if len(chosen) > MOST_VERDICTS:
        title = f"the {MOST_VERDICTS} that lie farthest from 1"
        left_out += f" Of these {len(chosen)}, the {MOST_VERDICTS} farthest from 1 are here."
        chosen = sorted(chosen, key=_farness)[:MOST_VERDICTS]
    shown, rest = split(chosen)
    rows = Listing(
        tuple(_row(one, campaign, variants) for one in shown),
        tuple(_packed(_row(one, campaign, variants)) for one in rest),
    )
    return Verdicts(rows, f"{count(len(rows), 'comparison')}: {title}", left_out.strip(), footnote(chosen))


def _farness(one: Comparison) -> float:
    return -abs(math.log(one.ratio)) if one.ratio else 0.0


def _row(one: Comparison, campaign: Campaign, variants: Variants) -> VerdictRow:
    shared = {"workload"} | (set(campaign.cases[one.contender_case].settings) & set(campaign.plan.varied))
    p = one.p_equivalence_adjusted if one.verdict.claim is Claim.EQUIVALENCE else one.p_adjusted
    return VerdictRow(
        variant=variants.variant_of[one.contender_case].name,
        configuration=variants.configuration_of[one.contender_case].label,
        fom=words(one.fom),
        at=" · ".join(coordinate(name, value) for name, value in one.at.items() if name not in shared),
        levels=levels(one) or ("", ""),
        ratio=ratio(one.ratio),
        interval=ratio_bounds(one.ratio, one.low, one.high),
        change=str(change(one) or ""),
        n_blocks=one.n_blocks,
        p=probability(p),
        verdict=_verdict(one),
        paint=css_class(one),
        note="; ".join(filter(None, (visible(one.note), more(one), beside_words(one)))),
        cases=(one.reference_case, one.contender_case),
        sort_ratio=one.ratio,
        sort_p=p,
    )


def _verdict(one: Comparison) -> str:
    if one.is_apart:
        return APART
    if one.is_uncrossed:
        return UNCROSSED
    return (
        f"{one.verdict.value}{assumed_mark(one)}{verdict_mark(one)}"
        if one.ratio is not None
        else "not measured"
    )


def _packed(row: VerdictRow) -> PackedRow:
    """Return a row with the same cells as in the template."""
    return PackedRow(
        cases=row.cases,
        state=row.state,
        run="",
        label=row.label,
        cells=(
            PackedCell(row.variant),
            PackedCell(row.configuration),
            PackedCell(row.fom),
            PackedCell(row.at),
            *map(PackedCell, row.levels),
            PackedCell(row.ratio, "", row.sort_ratio),
            PackedCell(row.interval),
            PackedCell(row.change, "", row.sort_ratio),
            PackedCell(str(row.n_blocks), "", row.n_blocks),
            PackedCell(row.p, "", row.sort_p),
            PackedCell(row.verdict, row.note, paint=f"verdict {row.paint}"),
        ),
    )
