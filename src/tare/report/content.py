"""Compute the whole content of the report, as plain values; the formats turn them into text."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tare.analysis.quoted_figures import quoted
from tare.core.campaign import Campaign
from tare.core.comparison import Mean
from tare.core.workload import Better
from tare.report.charts.blocks import block_panels
from tare.report.charts.figures import Figure, figures, watched_figure
from tare.report.charts.forest import forest_panels
from tare.report.charts.painting import Painter
from tare.report.listing import Listing
from tare.report.report_answers import ReportAnswers
from tare.report.section import MadeSection, SectionFacts, made_sections
from tare.report.sections.accounting import Account, account
from tare.report.sections.bounds import bound_rows, with_bounds
from tare.report.sections.curves import CurveTables, curve_tables
from tare.report.sections.design import design
from tare.report.sections.environment import Surroundings, surroundings
from tare.report.sections.heatmap import HeatMap, heat_maps
from tare.report.sections.packets import PacketSizes, packet_panels, packet_sizes
from tare.report.sections.panels import measured_panels, ratio_panels, scale_panels
from tare.report.sections.quality import Noise, facts, noises
from tare.report.sections.quality_warnings import (
    QualityWarnings,
    VariabilityRow,
    doubts,
    odd_runs,
    variability_rows,
    whole_run_scatters,
)
from tare.report.sections.reasons import ReasonRow, reason_rows, watched_words
from tare.report.sections.rules import ReportingRule, RuleFacts, rules
from tare.report.sections.runs import RunRow, moment, run_listing, run_rows
from tare.report.sections.scaling import ScalingBlock, efficiency_panels, scaling_blocks, speedup_panels
from tare.report.sections.telemetry import ReadTimeline, courses
from tare.report.sections.traffic import Crossing, crossings, summaries
from tare.report.sections.verdicts import Verdicts, verdicts
from tare.report.shown_configurations import at_places, comparisons_at, estimates_at, left_out, telling_places
from tare.report.variants import Variant, Variants, lay_out
from tare.report.words.answer import Answer, answer_all, reading
from tare.report.words.numbers import (
    count,
    percent,
    visible,
)

_WATCHED = ("telemetry", "packets")


@dataclasses.dataclass(frozen=True)
class Content:
    """The content of the report, section by section."""

    study: str
    question: str
    subtitle: str
    progress: str
    is_running: bool
    design: tuple[str, ...]
    has_pairs: bool
    has_unpaired: bool
    mean: Mean
    answers: tuple[Answer, ...]
    reading: str
    nothing_yet: str
    sides: Variants
    heat_maps: tuple[HeatMap, ...]
    maps_left_out: str
    places_left_out: str
    figures: tuple[Figure, ...]
    scaling: tuple[ScalingBlock, ...]
    curves: CurveTables
    reasons: tuple[ReasonRow, ...]
    watched: str
    crossings: tuple[Crossing, ...]
    traffic: tuple[tuple[Variant, str], ...]
    sections: tuple[MadeSection, ...]
    rules: tuple[ReportingRule, ...]
    packet_sizes: tuple[PacketSizes, ...]
    facts: tuple[tuple[str, str], ...]
    noises: tuple[Noise, ...]
    doubts: QualityWarnings
    variabilities: tuple[VariabilityRow, ...]
    account: Account
    surroundings: Surroundings
    verdicts: Verdicts
    runs: Listing[RunRow]
    margin: str
    confidence: str

    @property
    def has_factors(self) -> bool:
        """Return whether a table at the top shows any change as a factor, not in percent."""
        cells = (cell for one in self.heat_maps for row in one.rows for cell in row.cells)
        return any(cell is not None and cell.number.endswith("×") for cell in cells)

    @property
    def scale_figures(self) -> tuple[Figure, ...]:
        """Return the figures that show scaling; none if the campaign has no scaling."""
        return tuple(figure for figure in self.figures if self.scaling and figure.is_of_scale)

    @property
    def watched_figures(self) -> tuple[Figure, ...]:
        """Return the figures that show the activity of nodes and networks during the runs."""
        return tuple(figure for figure in self.figures if figure.name.startswith(_WATCHED))

    @property
    def charts_title(self) -> str:
        """Return the heading of the other figures."""
        others = [one for one in self.figures if not one.name.startswith(_WATCHED)]
        shown = {figure.name for figure in others if not (self.scaling and figure.is_of_scale)}
        if shown == {"blocks"}:
            return "How did the runs go?"
        if shown <= {"figures", "blocks"}:
            return "How far apart are the figures, and did they drift?"
        return "How does it go with size?" if self.scaling else "How does it go with size and scale?"


def content(
    campaign: Campaign,
    answers: ReportAnswers,
    *,
    painter: Painter | None = None,
    read_timeline: ReadTimeline = lambda attempt: None,
) -> Content:
    """Return the content of the report on `campaign`; without a `painter` it has no figures.

    `read_timeline` returns the telemetry of an attempt's nodes over time, or None.
    """
    plan = campaign.plan
    sides = lay_out(campaign, answers.comparisons)
    balance = account(campaign)
    crossed = crossings(campaign, answers.comparisons)
    noise = noises(answers.estimates, campaign, sides, whole_run_scatters(answers.trust.scatters))
    places = telling_places(answers.overview, sides)
    maps, maps_left_out = heat_maps(answers.aggregates, sides)
    sizes = packet_sizes(campaign)
    bounds = tuple(bound_rows(answers.estimates, campaign, sides))
    return Content(
        study=visible(plan.study),
        question=visible(plan.question) or _question(sides),
        subtitle=_subtitle(campaign),
        progress=f"{balance.n_done}/{balance.n_planned} runs",
        is_running=campaign.is_running,
        design=design(campaign),
        has_pairs=any(one.is_paired and one.low is not None for one in answers.comparisons),
        has_unpaired=any(not one.is_paired for one in answers.comparisons),
        mean=campaign.mean,
        answers=tuple(
            with_bounds(one, bounds)
            for one in answer_all(answers.headlines, answers.overview, sides, plan.margin, answers.aggregates)
        ),
        reading=reading(answers.headlines, plan.margin),
        nothing_yet=_nothing_yet(campaign, sides, balance),
        sides=sides,
        heat_maps=tuple(maps),
        maps_left_out=maps_left_out,
        places_left_out=left_out(len(places), len(sides.places), "workloads and scales"),
        figures=tuple(
            _figures(
                campaign, answers, sides, at_places(campaign, sides, places), read_timeline, sizes, painter
            )
        )
        if painter
        else (),
        scaling=tuple(scaling_blocks(answers.scalings, sides)),
        curves=curve_tables(answers.curves, sides),
        reasons=tuple(reason_rows(answers.reasons, sides)),
        watched=watched_words(campaign, has_reasons=bool(answers.reasons)),
        crossings=tuple(crossed),
        traffic=tuple(summaries(crossed, sides)),
        sections=tuple(made_sections(SectionFacts(campaign, sides, answers))),
        rules=rules(
            RuleFacts(
                campaign=campaign,
                sides=sides,
                quoted=quoted(answers.aggregates),
                scalings=answers.scalings,
                diagnosis=answers.diagnosis,
                bounds=bounds,
            )
        ),
        packet_sizes=tuple(sizes),
        facts=tuple(facts(campaign, balance, noise, answers.calibration)),
        noises=tuple(noise),
        doubts=doubts(answers.trust, campaign, sides),
        variabilities=tuple(variability_rows(answers.variabilities, answers.trust, sides)),
        account=balance,
        surroundings=surroundings(campaign, {case: side.name for case, side in sides.side_of.items()}),
        verdicts=verdicts(answers.comparisons, answers.aggregates, campaign, sides),
        runs=run_listing(run_rows(campaign, sides)),
        margin=percent(plan.margin, is_signed=False, decimals=0),
        confidence=_confidence(answers),
    )


def _figures(
    campaign: Campaign,
    answers: ReportAnswers,
    sides: Variants,
    cases: frozenset[str],
    read_timeline: ReadTimeline,
    sizes: Sequence[PacketSizes],
    painter: Painter,
) -> list[Figure]:
    estimates_shown = estimates_at(answers.estimates, cases)
    groups = {
        "figures": forest_panels(
            comparisons_at(quoted(answers.aggregates), cases), answers.comparisons, sides
        ),
        "time": measured_panels(estimates_shown, campaign, sides, Better.LOWER),
        "rate": measured_panels(estimates_shown, campaign, sides, Better.HIGHER),
        "ratio": ratio_panels(comparisons_at(answers.comparisons, cases), campaign, sides),
        "nodes": scale_panels(quoted(answers.aggregates), sides),
        "speedup": speedup_panels(answers.scalings, sides),
        "efficiency": efficiency_panels(answers.scalings, sides),
        "packets": packet_panels([one for one in sizes if one.case in cases], sides),
        "blocks": block_panels(campaign, sides, cases, odd_runs(answers.trust)),
    }
    reference = sides.reference.name if sides.reference else "the reference"
    timelines = courses(campaign, sides, cases, read_timeline)
    drawn = figures(groups, reference, campaign.plan.margin, painter)
    return drawn + watched_figure(timelines, painter)


def _question(sides: Variants) -> str:
    names = " and ".join(side.name for side in sides.contenders)
    return (
        f"What does {names} cost, next to {sides.reference.name}?"
        if sides.reference and names
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


def _nothing_yet(campaign: Campaign, sides: Variants, balance: Account) -> str:
    if balance.n_done == 0:
        return f"No run is done yet, so nothing can be said. {balance.sentence}"
    if sides.reference is None:
        return "The study names no reference, so nothing is compared; below is what was measured."
    if not sides.contenders:
        return "The plan has no contender beside the reference, so nothing is compared."
    return ""


def _confidence(answers: ReportAnswers) -> str:
    level = next((one.confidence for one in answers.comparisons), 0.95)
    return percent(level, is_signed=False, decimals=0)
