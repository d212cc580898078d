"""The section on what the nodes and networks did during the runs, which may explain differences."""

from __future__ import annotations

from typing import NamedTuple

from tare.report.charts.figures import Figure
from tare.report.charts.packets import PacketSizes
from tare.report.section import SectionFacts, own_section
from tare.report.sections.reasons import ReasonRow, reason_rows, watched_words
from tare.report.sections.traffic import Crossing, crossings, summaries
from tare.report.variants import Variant


class Activity(NamedTuple):
    """The differences in telemetry, the traffic by interface, the sizes of packets, and their figures.

    `watched` says what the differences leave out. `traffic` has a text for each variant. It `is_folded` where
    profiles say where the time goes.
    """

    reasons: tuple[ReasonRow, ...]
    watched: str
    figures: tuple[Figure, ...]
    crossings: tuple[Crossing, ...]
    traffic: tuple[tuple[Variant, str], ...]
    packet_sizes: tuple[PacketSizes, ...]
    is_folded: bool = False


def _made(facts: SectionFacts) -> Activity | None:
    crossed = crossings(facts.campaign, facts.statistics.comparisons.pairs())
    found = Activity(
        reasons=tuple(reason_rows(facts.statistics.reasons, facts.variants)),
        watched=watched_words(facts.campaign, has_reasons=bool(facts.statistics.reasons)),
        figures=tuple(one for one in facts.figures if one.is_of_activity),
        crossings=tuple(crossed),
        traffic=tuple(summaries(crossed, facts.variants)),
        packet_sizes=facts.packet_sizes,
        is_folded=any(one.causes for one in facts.statistics.attributions),
    )
    return found if found.crossings or found.reasons or found.figures or found.packet_sizes else None


SECTION = own_section(__file__, "What differed meanwhile?", after="curves", make=_made)
