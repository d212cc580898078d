"""The section on verdicts: a row per comparison, or per aggregate if there are too many comparisons."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tare.analysis.verdicts.row_notes import is_without_ratio
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison
from tare.core.counting import count
from tare.report.listing import Column, Listing, ListingCell, ListingRow
from tare.report.section import SectionFacts, own_section
from tare.report.sections.overview import css_class
from tare.report.variants import Variants
from tare.report.words.assumed import assumed_mark, footnote
from tare.report.words.changes import change, levels
from tare.report.words.mean_cost import beside_words
from tare.report.words.numbers import coordinate, probability, ratio, ratio_bounds, visible, words
from tare.report.words.pairing import APART, UNCROSSED, verdict_mark
from tare.report.words.settling import more

MOST_VERDICTS = 2000
"""The most comparisons of the table; of more, it has one per figure of merit, over all coordinates."""


@dataclasses.dataclass(frozen=True)
class Verdicts:
    """The rows of the table, its title, and a text on what it leaves out."""

    rows: Listing
    title: str
    left_out: str
    footnote: str = ""


def _made(facts: SectionFacts) -> Verdicts | None:
    found = verdicts(
        facts.statistics.comparisons, facts.statistics.aggregates, facts.campaign, facts.variants
    )
    return found if len(found.rows) else None


SECTION = own_section(__file__, "What is the verdict on each figure?", after="environment", make=_made)


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
            "figure of merit is shown over all of its sizes; “tare compare DIR --all” prints every size."
        )
    if len(chosen) > MOST_VERDICTS:
        title = f"the {MOST_VERDICTS} that lie farthest from 1"
        left_out += f" Of these {len(chosen)}, the {MOST_VERDICTS} farthest from 1 are here."
        chosen = sorted(chosen, key=_farness)[:MOST_VERDICTS]
    reference = variants.reference.name if variants.reference else "Reference"
    rows = Listing(_columns(reference), tuple(_row(one, campaign, variants) for one in chosen))
    return Verdicts(rows, f"{count(len(rows), 'comparison')}: {title}", left_out.strip(), footnote(chosen))


def _farness(one: Comparison) -> float:
    return -one.distance


def _columns(reference: str) -> tuple[Column, ...]:
    return (
        Column("Contender", "", "text"),
        Column("Where", "", "text"),
        Column("Figure of merit", "", "text"),
        Column("At", "n"),
        Column(reference, "n"),
        Column("Measured", "n"),
        Column("Ratio", "n", "number"),
        Column("Interval", "n"),
        Column("Change", "n", "number"),
        Column("n", "n", "number"),
        Column("p", "n", "number"),
        Column("Verdict", "", "text"),
    )


def _row(one: Comparison, campaign: Campaign, variants: Variants) -> ListingRow:
    shared = {"workload"} | (set(campaign.cases[one.contender_case].settings) & set(campaign.plan.varied))
    at = " · ".join(coordinate(name, value) for name, value in one.at.items() if name not in shared)
    variant = variants.variant_of[one.contender_case].name
    configuration = variants.configuration_of[one.contender_case].label
    sort_key = "" if one.ratio is None else one.ratio
    own = "" if visible(one.note) == _verdict(one) else visible(one.note)
    note = "; ".join(filter(None, (own, more(one), beside_words(one))))
    cells = (
        ListingCell(variant),
        ListingCell(configuration),
        ListingCell(words(one.fom)),
        ListingCell(at),
        *map(ListingCell, levels(one) or ("", "")),
        ListingCell(ratio(one.ratio), value=sort_key),
        ListingCell(ratio_bounds(one.ratio, one.low, one.high)),
        ListingCell(str(change(one) or ""), value=sort_key),
        ListingCell(str(one.n_blocks)),
        ListingCell(probability(one.p_of_claim), value=one.p_of_claim),
        ListingCell(_verdict(one), note, paint=f"verdict {css_class(one)}"),
    )
    cases = (one.reference_case, one.contender_case)
    return ListingRow(cases, _state(one), "", f"{variant}, {configuration}", cells)


def _verdict(one: Comparison) -> str:
    if one.is_apart:
        return APART
    if one.is_uncrossed:
        return UNCROSSED
    return (
        f"{one.verdict.value}{assumed_mark(one)}{verdict_mark(one)}"
        if one.ratio is not None
        else "no ratio"
        if is_without_ratio(one)
        else "not measured"
    )


def _state(one: Comparison) -> str:
    """Return the choice of the table's filter that selects a row."""
    if is_without_ratio(one):
        return one.verdict.value
    return "not measured" if one.is_apart or one.is_uncrossed or one.ratio is None else one.verdict.value
