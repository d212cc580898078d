"""The section with the charts that show neither scaling nor what the nodes did."""

from __future__ import annotations

from typing import NamedTuple

from tare.report.charts.figures import Figure
from tare.report.section import SectionFacts, own_section
from tare.report.shown_configurations import drawn_configurations, left_out


class Charts(NamedTuple):
    """The figures, the heading for them, and sentences on what they leave out and on missing charts."""

    heading: str
    left_out: str
    figures: tuple[Figure, ...]
    faults: tuple[str, ...]


def _made(facts: SectionFacts) -> Charts | None:
    figures = tuple(
        one for one in facts.figures if not one.is_of_activity and not (facts.scaling and one.is_of_scale)
    )
    if not figures and not facts.chart_faults:
        return None
    drawn = drawn_configurations(facts.statistics.overview, facts.variants)
    rest = left_out(len(drawn), len(facts.variants.configurations), "workloads and scales")
    heading = _heading({one.name for one in figures}, has_scaling=bool(facts.scaling))
    return Charts(heading, rest, figures, facts.chart_faults)


def _heading(names: set[str], *, has_scaling: bool) -> str:
    if not names:
        return "Which charts are missing?"
    if names == {"blocks"}:
        return "How did the runs go?"
    if names <= {"figures", "blocks"}:
        return "How far apart are the figures, and did they drift?"
    return SECTION.title if has_scaling else "How does it go with size and scale?"


SECTION = own_section(__file__, "How does it go with size?", after="scaling", make=_made)
