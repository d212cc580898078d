"""Compute the whole content of the report, as plain values; the formats turn them into text."""

from __future__ import annotations

import dataclasses
from typing import TypeVar

from tare.analysis.scales.common_base import common_base
from tare.analysis.verdicts.timed_out_runs import timed_out
from tare.core.attempt import State
from tare.core.campaign import Campaign
from tare.core.counting import count
from tare.report.charts.figures import DrawnFigures, Figure, drawn_figures
from tare.report.charts.kind import ChartFacts
from tare.report.charts.packets import packet_sizes
from tare.report.charts.painting import Painter
from tare.report.charts.requested import NO_SELECTION, Selection
from tare.report.charts.scaling import scaling_problems
from tare.report.charts.telemetry import ReadTimeline
from tare.report.report_statistics import ReportStatistics
from tare.report.section import MadeSection, SectionFacts, made_sections
from tare.report.sections.quality_warnings import odd_runs
from tare.report.sections.runs import moment
from tare.report.shown_configurations import cases_in, drawn_configurations
from tare.report.value_tables import ValueTable, value_tables
from tare.report.variants import Variants, lay_out
from tare.report.words.accounting import Account, account
from tare.report.words.answer import Answer, answer_all, reading
from tare.report.words.answer_list import AnswerList, answer_list
from tare.report.words.bounds import bound_rows, with_bounds
from tare.report.words.numbers import exact_percent, listed, percent, visible

PartT = TypeVar("PartT")


@dataclasses.dataclass(frozen=True)
class Content:
    """The content of the report: the answer and what surrounds it, then section by section."""

    study: str
    question: str
    subtitle: str
    progress: str
    is_running: bool
    answers: tuple[Answer, ...]
    reading: str
    nothing_yet: str
    account: Account
    variants: Variants
    figures: tuple[Figure, ...]
    chart_faults: tuple[str, ...]
    values: tuple[ValueTable, ...]
    sections: tuple[MadeSection, ...]
    margin: str
    confidence: str

    @property
    def listed_answers(self) -> AnswerList:
        """Return the answers that a page shows at once, and those that it folds."""
        return answer_list(self.answers)

    def part(self, kind: type[PartT]) -> PartT | None:
        """Return the content of the section that has one of type `kind`, or None if the report has none."""
        return next((one.part for one in self.sections if isinstance(one.part, kind)), None)


def content(
    campaign: Campaign,
    statistics: ReportStatistics,
    *,
    painter: Painter | None = None,
    read_timeline: ReadTimeline = lambda attempt: None,
    selection: Selection = NO_SELECTION,
) -> Content:
    """Return the content of the report on `campaign`; without a `painter` it has no figures.

    `read_timeline` returns the telemetry of an attempt's nodes over time, or None. `selection` is
    what a user asks to see.
    """
    plan = campaign.plan
    facts = _section_facts(campaign, statistics, painter, read_timeline, selection)
    variants = facts.variants
    answers = answer_all(
        statistics.headlines, statistics.overview, variants, plan.margin, statistics.aggregates
    )
    return Content(
        study=visible(plan.study),
        question=visible(plan.question) or _question(variants),
        subtitle=_subtitle(campaign),
        progress=f"{facts.account.n_done}/{count(facts.account.n_planned, 'run')}",
        is_running=campaign.is_running,
        answers=tuple(with_bounds(one, facts.bounds) for one in answers),
        reading=reading(statistics.headlines, plan.margin),
        nothing_yet=_nothing_yet(campaign, variants, facts.account),
        account=facts.account,
        variants=variants,
        figures=facts.figures,
        chart_faults=facts.chart_faults,
        values=facts.values,
        sections=tuple(made_sections(facts)),
        margin=exact_percent(plan.margin),
        confidence=_confidence(statistics),
    )


def figures(
    campaign: Campaign,
    statistics: ReportStatistics,
    *,
    read_timeline: ReadTimeline = lambda attempt: None,
    selection: Selection = NO_SELECTION,
) -> DrawnFigures:
    """Return the figures of the report on `campaign`; no picture of them is made before it is used."""
    variants = lay_out(campaign, statistics.comparisons.pairs())
    facts = _chart_facts(campaign, statistics, variants, read_timeline, selection)
    return drawn_figures(facts, selection.requests, Painter())


def _section_facts(
    campaign: Campaign,
    statistics: ReportStatistics,
    painter: Painter | None,
    read_timeline: ReadTimeline,
    selection: Selection,
) -> SectionFacts:
    """Return the facts; the charts are made first, since other processes draw them meanwhile."""
    variants = lay_out(campaign, statistics.comparisons.pairs())
    charts = _chart_facts(campaign, statistics, variants, read_timeline, selection)
    drawn = drawn_figures(charts, selection.requests, painter) if painter else DrawnFigures()
    return SectionFacts(
        campaign=campaign,
        variants=variants,
        statistics=statistics,
        account=account(campaign),
        bounds=tuple(bound_rows(statistics.estimates, campaign, variants)),
        scaling=charts.scaling,
        packet_sizes=charts.packet_sizes,
        figures=drawn.figures,
        values=value_tables(statistics.estimates, variants, selection.foms, timed_out(campaign)),
        foms=selection.foms,
        chart_faults=drawn.faults,
    )


def _chart_facts(
    campaign: Campaign,
    statistics: ReportStatistics,
    variants: Variants,
    read_timeline: ReadTimeline,
    selection: Selection,
) -> ChartFacts:
    shown = drawn_configurations(statistics.overview, variants)
    return ChartFacts(
        campaign=campaign,
        variants=variants,
        statistics=statistics,
        cases=cases_in(campaign, variants, shown),
        base=common_base(campaign.plan, selection.base),
        foms=selection.foms,
        requested=frozenset(one.fom for one in selection.requests if not one.factor),
        scaling=scaling_problems(statistics.scalings, variants, is_every_fom=bool(selection.foms)),
        packet_sizes=tuple(packet_sizes(campaign)),
        odd_runs=odd_runs(statistics.quality),
        read_timeline=read_timeline,
    )


def _question(variants: Variants) -> str:
    names = [variant.name for variant in variants.contenders]
    if not variants.reference or not names:
        return "What was measured?"
    who = listed(names) if len(names) <= _MOST_NAMED else f"{len(names)} contenders"
    return f"What {'does' if len(names) == 1 else 'do'} {who} cost, next to {variants.reference.name}?"


_MOST_NAMED = 4
"""The most contenders that the title of a report without a question names."""


def _subtitle(campaign: Campaign) -> str:
    known = [case.layout.nodes for case in campaign.plan.cases if "nodes" not in case.unknown]
    nodes = count(max(known, default=0), "node") if known or not campaign.plan.cases else "nodes unknown"
    parts = [f"{visible(campaign.plan.site)}, {nodes}"]
    started = [one.started_at for one in campaign.attempts if one.started_at is not None]
    if started:
        first, last = moment(min(started)).date(), moment(max(started)).date()
        parts.append(f"{first}" if first == last else f"{first} to {last}")
    return " · ".join(parts)


def _nothing_yet(campaign: Campaign, variants: Variants, balance: Account) -> str:
    if balance.n_done == 0:
        is_over = {state for state, n in balance.states.items() if n} <= {State.FAILED, State.INVALID}
        return f"No run is done{'' if is_over else ' yet'}, so nothing can be said. {balance.sentence}"
    if variants.reference is None:
        return "The study names no reference, so nothing is compared; below is what was measured."
    if not variants.contenders:
        return "The plan has no contender beside the reference, so nothing is compared."
    return ""


def _confidence(statistics: ReportStatistics) -> str:
    level = statistics.comparisons[0].confidence if statistics.comparisons else 0.95
    return percent(level, is_signed=False, decimals=0)
