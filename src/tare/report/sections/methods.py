"""The section on how the runs were made and how everything was computed."""

from __future__ import annotations

from typing import NamedTuple

from tare.analysis.quoted_figures import quoted
from tare.core.comparison import Mean
from tare.report.section import SectionFacts, own_section
from tare.report.sections.design import design
from tare.report.sections.rules import ReportingRule, RuleFacts, rules


class Methods(NamedTuple):
    """The design in sentences, the reporting rules, and what decides which methods are described."""

    design: tuple[str, ...]
    has_pairs: bool
    has_unpaired: bool
    has_scaling: bool
    mean: Mean
    rules: tuple[ReportingRule, ...]


def _made(facts: SectionFacts) -> Methods:
    statistics = facts.statistics
    return Methods(
        design=design(facts.campaign),
        has_pairs=statistics.comparisons.has_intervals,
        has_unpaired=statistics.comparisons.has_unpaired,
        has_scaling=bool(facts.scaling),
        mean=facts.campaign.mean,
        rules=rules(
            RuleFacts(
                campaign=facts.campaign,
                variants=facts.variants,
                quoted=quoted(statistics.aggregates),
                scalings=statistics.scalings,
                diagnosis=statistics.diagnosis,
                bounds=facts.bounds,
            )
        ),
    )


SECTION = own_section(__file__, "How was this computed?", after="missing", make=_made)
