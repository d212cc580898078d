"""Compute the whole content of the report, as plain values; the formats turn them into text."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TypeVar

from tare.analysis.answering_figures import with_shown
from tare.analysis.common_base import common_base
from tare.analysis.quoted_figures import quoted
from tare.core.campaign import Campaign
from tare.core.workload import Better
from tare.report.charts.blocks import block_panels
from tare.report.charts.figures import Figure, figures, watched_figure
from tare.report.charts.forest import forest_panels
from tare.report.charts.kind import ChartFacts, ChartKind, ChartPart, made_charts
from tare.report.charts.packets import PacketSizes, packet_panels, packet_sizes
from tare.report.charts.painting import Painter
from tare.report.charts.panels import measured_panels, ratio_panels, scale_panels
from tare.report.charts.requested import NO_SELECTION, Selection, requested_chart
from tare.report.charts.scaling import Problems, scaling_panels, scaling_problems
from tare.report.charts.telemetry import ReadTimeline, node_timelines
from tare.report.report_statistics import ReportStatistics
from tare.report.section import MadeSection, SectionFacts, made_sections
from tare.report.sections.quality_warnings import odd_runs
from tare.report.sections.runs import moment
from tare.report.shown_configurations import cases_in, drawn_configurations
from tare.report.value_tables import ValueTable, value_tables
from tare.report.variants import Variants, lay_out
from tare.report.words.accounting import Account, account
from tare.report.words.answer import Answer, answer_all, reading
from tare.report.words.bounds import bound_rows, with_bounds
from tare.report.words.numbers import count, percent, visible

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
    values: tuple[ValueTable, ...]
    sections: tuple[MadeSection, ...]
    margin: str
    confidence: str

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
    variants = lay_out(campaign, statistics.comparisons)
    balance = account(campaign)
    bounds = tuple(bound_rows(statistics.estimates, campaign, variants))
    scaling = scaling_problems(statistics.scalings, variants, is_every_fom=bool(selection.foms))
    sizes = tuple(packet_sizes(campaign))
    drawn = (
        _figures(campaign, statistics, variants, scaling, sizes, read_timeline, painter, selection)
        if painter
        else []
    )
    values = value_tables(statistics.estimates, variants, selection.foms)
    facts = SectionFacts(
        campaign, variants, statistics, balance, bounds, scaling, sizes, tuple(drawn), values, selection.foms
    )
    return Content(
        study=visible(plan.study),
        question=visible(plan.question) or _question(variants),
        subtitle=_subtitle(campaign),
        progress=f"{balance.n_done}/{balance.n_planned} runs",
        is_running=campaign.is_running,
        answers=tuple(
            with_bounds(one, bounds)
            for one in answer_all(
                statistics.headlines, statistics.overview, variants, plan.margin, statistics.aggregates
            )
        ),
        reading=reading(statistics.headlines, plan.margin),
        nothing_yet=_nothing_yet(campaign, variants, balance),
        account=balance,
        variants=variants,
        figures=facts.figures,
        values=values,
        sections=tuple(made_sections(facts)),
        margin=percent(plan.margin, is_signed=False, decimals=0),
        confidence=_confidence(statistics),
    )


def _figures(
    campaign: Campaign,
    statistics: ReportStatistics,
    variants: Variants,
    scaling: Problems,
    sizes: Sequence[PacketSizes],
    read_timeline: ReadTimeline,
    painter: Painter,
    selection: Selection,
) -> list[Figure]:
    cases = cases_in(campaign, variants, drawn_configurations(statistics.overview, variants))
    estimates = [one for one in statistics.estimates if one.case in cases]
    compared = [one for one in statistics.comparisons if one.contender_case in cases]
    registered = _registered(campaign, variants, statistics, cases, selection)
    main_figures = quoted(statistics.aggregates)
    if selection.foms:
        campaign = with_shown(campaign, selection.foms)
        main_figures = [one for one in statistics.aggregates if one.fom in selection.foms]
    drawn_figures = [one for one in main_figures if one.contender_case in cases]
    groups = {
        "figures": forest_panels(drawn_figures, statistics.comparisons, variants),
        "time": measured_panels(estimates, campaign, variants, Better.LOWER),
        "rate": measured_panels(estimates, campaign, variants, Better.HIGHER),
        "value": measured_panels(estimates, campaign, variants, None),
        "ratio": ratio_panels(compared, campaign, variants),
        "nodes": scale_panels(main_figures, variants),
        "speedup": scaling_panels(scaling, variants),
        "efficiency": scaling_panels(scaling, variants, is_efficiency=True),
        "packets": packet_panels([one for one in sizes if one.case in cases], variants),
        "blocks": block_panels(campaign, variants, cases, odd_runs(statistics.quality)),
    }
    reference = variants.reference.name if variants.reference else "the reference"
    timelines = node_timelines(campaign, variants, cases, read_timeline)
    drawn = figures(groups, reference, campaign.plan.margin, painter, registered)
    return drawn + watched_figure(timelines, painter)


def _registered(
    campaign: Campaign,
    variants: Variants,
    statistics: ReportStatistics,
    cases: frozenset[str],
    selection: Selection,
) -> list[tuple[ChartKind, ChartPart]]:
    """Return the charts of the registered kinds, and those that a user asks for."""
    facts = ChartFacts(
        campaign,
        variants,
        statistics,
        cases,
        base=common_base(campaign.plan, selection.base),
        foms=selection.foms,
        requested=frozenset(one.fom for one in selection.requests if not one.factor),
    )
    asked = (requested_chart(one, facts) for one in selection.requests if one.factor)
    return [*made_charts(facts), *filter(None, asked)]


def _question(variants: Variants) -> str:
    names = " and ".join(variant.name for variant in variants.contenders)
    return (
        f"What does {names} cost, next to {variants.reference.name}?"
        if variants.reference and names
        else "What was measured?"
    )


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
        return f"No run is done yet, so nothing can be said. {balance.sentence}"
    if variants.reference is None:
        return "The study names no reference, so nothing is compared; below is what was measured."
    if not variants.contenders:
        return "The plan has no contender beside the reference, so nothing is compared."
    return ""


def _confidence(statistics: ReportStatistics) -> str:
    level = next((one.confidence for one in statistics.comparisons), 0.95)
    return percent(level, is_signed=False, decimals=0)
