"""The section on how far the results can be trusted: quality warnings, noise, and other facts."""

from __future__ import annotations

from typing import NamedTuple

from tare.report.section import SectionFacts, own_section
from tare.report.sections.quality import Noise, noises, quality_facts
from tare.report.sections.quality_warnings import (
    QualityWarnings,
    VariabilityRow,
    quality_warnings,
    variability_rows,
    whole_run_scatters,
)


class ResultQuality(NamedTuple):
    """The quality warnings, the facts as pairs of a term and a text, and the noise of each case.

    `variabilities` compare the noise of contenders with that of their reference.
    """

    warnings: QualityWarnings
    facts: tuple[tuple[str, str], ...]
    noises: tuple[Noise, ...]
    variabilities: tuple[VariabilityRow, ...]


def _made(facts: SectionFacts) -> ResultQuality:
    statistics, campaign, variants = facts.statistics, facts.campaign, facts.variants
    noise = noises(statistics.estimates, campaign, variants, whole_run_scatters(statistics.quality.scatters))
    return ResultQuality(
        warnings=quality_warnings(statistics.quality, campaign, variants),
        facts=tuple(quality_facts(campaign, facts.account, noise, statistics.calibration)),
        noises=tuple(noise),
        variabilities=tuple(variability_rows(statistics.variabilities, statistics.quality, variants)),
    )


SECTION = own_section(__file__, "Can I trust it?", after="why", make=_made)
