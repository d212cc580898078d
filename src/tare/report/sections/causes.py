"""The section that says why: where the time of a difference goes, by what ranks did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tare.core.attribution import Attribution, Cause
from tare.core.counting import count
from tare.core.prediction import Prediction, Tolerance
from tare.report.section import Cell, Section, SectionFacts, SectionTable, SectionText, Sentence
from tare.report.variants import Variants
from tare.report.words.causes import cause_sentence, cause_words, part_words, share_words
from tare.report.words.mean_and_scatter import mean_and_scatter_sentence
from tare.report.words.network_need import (
    bandwidth_words,
    change_words,
    latency_words,
    prediction_sentence,
    side_words,
    tolerance_sentence,
)
from tare.report.words.numbers import NARROW, bracket_values, number, percent, quantity, scaled, visible
from tare.report.words.scatter_causes import is_scatter_told, scatter_sentence
from tare.report.words.silences import silences


def _made(facts: SectionFacts) -> SectionText | None:
    found = facts.statistics
    told = {id(one): cause_sentence(one, facts.variants, found.reasons) for one in found.attributions}
    sentences = [one for each in found.attributions for one in _sentences(each, told[id(each)], facts)]
    sentences += _unsaid([one for one in found.attributions if not told[id(one)]], facts.variants)
    sentences += [
        Sentence(f"Predicted: {prediction_sentence(one)}", one.case, facts.variants.case_label(one.case))
        for one in found.predictions
    ]
    sentences += [
        Sentence(f"Tolerance: {tolerance_sentence(one)}", one.case, facts.variants.case_label(one.case))
        for one in found.tolerances
    ]
    tables = [_table(one, facts.variants) for one in found.attributions if one.causes]
    tables += [_scattered(one, facts.variants) for one in found.attributions if _scatters(one)]
    tables += [_predicted(found.predictions)] if found.predictions else []
    tables += [_tolerated(found.tolerances)] if found.tolerances else []
    return SectionText(tuple(sentences), tuple(tables)) if sentences else None


def _sentences(one: Attribution, text: str, facts: SectionFacts) -> Iterator[Sentence]:
    label = facts.variants.case_label(one.contender_case)
    if both := mean_and_scatter_sentence(one, facts.variants):
        yield Sentence(both, one.contender_case, label)
    if text:
        yield Sentence(text, one.contender_case, label)
    if scattered := scatter_sentence(one, facts.variants):
        yield Sentence(f"{label}: {scattered}", one.contender_case, label)
    if one.note:
        yield Sentence(f"{label}: {visible(one.note)}", one.contender_case, label)


def _unsaid(found: Sequence[Attribution], variants: Variants) -> Iterator[Sentence]:
    """Yield why nothing is said of the pairs `found`, once for each reason."""
    for one in silences(found, variants):
        first, *others = (pair.contender_case for pair in one.pairs)
        yield Sentence(one.text, first, one.label, tuple(others))


def _table(one: Attribution, variants: Variants) -> SectionTable:
    label = variants.case_label(one.contender_case)
    cost = one.cost
    priced = ""
    if cost is not None:
        took = f"{number(cost.value)} {bracket_values(cost.low, cost.high)}".rstrip()
        priced = f". Profiled runs took × {took} against those without the profile"
    return SectionTable(
        summary=f"Where the time goes: {label}",
        label=f"Where the time of {label} goes",
        caption=(
            f"Seconds a run, mean over ranks and {count(one.n_blocks, 'block')} of profiled runs; the "
            "parts sum to "
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


def _scatters(one: Attribution) -> bool:
    return one.scatter is not None and is_scatter_told(one.scatter)


def _scattered(one: Attribution, variants: Variants) -> SectionTable:
    label = variants.case_label(one.contender_case)
    causes = one.scatter.causes if one.scatter is not None else ()
    return SectionTable(
        summary=f"What runs scatter by: {label}",
        label=f"What runs of {label} scatter by",
        caption=(
            f"Standard deviations from run to run over {count(one.n_blocks, 'block')} of profiled runs, "
            "and the share "
            "of each part in the variance of the side that scatters more. A part is certain (✓) among all "
            "parts of the table"
        ),
        head=(
            Cell("Part"),
            Cell("Reference, s", is_number=True),
            Cell("Contender, s", is_number=True),
            Cell("Share of the variance", is_number=True),
            Cell("Certain"),
        ),
        rows=tuple(
            (
                Cell(part_words(cause)),
                Cell(number(cause.reference_sd_s), is_number=True),
                Cell(number(cause.contender_sd_s), is_number=True),
                Cell(share_words(cause.share), is_number=True),
                Cell("✓" if cause.is_certain else ""),
            )
            for cause in causes
        ),
    )


def _predicted(found: Sequence[Prediction]) -> SectionTable:
    rows = tuple(
        (
            Cell(visible(one.workload)),
            Cell(side_words(one)[1]),
            Cell(change_words(one.ratio) if one.ratio else "–", is_number=True),
            Cell(change_words(one.measured_ratio) if one.measured_ratio else "not measured", is_number=True),
            Cell({True: "yes", False: "no", None: "–"}[one.is_inside]),
            Cell(visible("; ".join(one.remarks) or one.refusal)),
        )
        for one in found
    )
    return SectionTable(
        summary="Predicted and measured",
        label="Predicted and measured times",
        caption=(
            "Wall time on another network over that on the reference: Σ calls × cost of a call, from the "
            "networks’ curves, and as profiled runs took. 90 % intervals"
        ),
        head=(
            Cell("Workload"),
            Cell("Network"),
            Cell("Predicted", is_number=True),
            Cell("Measured", is_number=True),
            Cell("Agree"),
            Cell("Extrapolated"),
        ),
        rows=rows,
    )


def _tolerated(found: Sequence[Tolerance]) -> SectionTable:
    rows = tuple(
        (
            Cell(visible(one.workload)),
            Cell(str(one.nodes), is_number=True),
            Cell(percent(limit.share, is_signed=False, decimals=0), is_number=True),
            Cell(latency_words(limit), is_number=True),
            Cell(bandwidth_words(limit), is_number=True),
            Cell(number(one.messages), is_number=True),
            Cell(scaled(one.n_bytes, "B"), is_number=True),
        )
        for one in found
        for limit in one.limits
    )
    return SectionTable(
        summary="How much network it needs",
        label="Added latency and least bandwidth",
        caption=(
            "Added latency, or bandwidth of a node, that costs a share of the time: by the messages between "
            "nodes of the busiest rank, and the bytes that the busiest node receives"
        ),
        head=(
            Cell("Workload"),
            Cell("Nodes", is_number=True),
            Cell("Slower by", is_number=True),
            Cell("Added latency", is_number=True),
            Cell("Bandwidth", is_number=True),
            Cell("Messages", is_number=True),
            Cell("Bytes a node", is_number=True),
        ),
        rows=rows,
    )


SECTION = Section("causes", "Why?", after="curves", make=_made, order=900, is_summarised=True)
