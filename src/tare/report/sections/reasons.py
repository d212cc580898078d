"""The table of telemetry differences, which may explain why a contender differs from its reference."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tare.analysis.causes.correlates import Reason
from tare.core.attempt import Attempt
from tare.core.campaign import Campaign
from tare.core.counting import count
from tare.core.telemetry import PREFIX
from tare.core.telemetry_sources import figures as telemetry_figures
from tare.core.verdict import Claim
from tare.report.sections.overview import css_class
from tare.report.variants import Configuration, Variant, Variants
from tare.report.words.assumed import FOOTNOTE, assumed_mark
from tare.report.words.numbers import ratio, ratio_bounds, scaled, visible, words

MOST_REASONS = 6
"""The most rows of one contender in one configuration: a reader looks for the one or two that matter."""

_MUCH = 10.0
"""Percent of the time of all cores: other programs that take this much during a run are mentioned."""

_LEAST_S = 0.5
"""The least seconds of a run: CPU time is counted in ticks of 10 ms, so shares of shorter runs are coarse."""


@dataclasses.dataclass(frozen=True)
class ReasonRow:
    """A telemetry figure of a contender and of its reference, as medians over runs.

    If the figure has a direction, `sign` and `paint` show whether the difference is for the worse. `mark` is
    set if this verdict rests on an assumption that so few blocks cannot test.
    """

    variant: Variant
    configuration: Configuration
    name: str
    summary: str
    reference: str
    contender: str
    sign: str
    paint: str
    verdict: str
    mark: str
    ratio: str
    interval: str
    n_blocks: int
    cases: tuple[str, ...]

    @property
    def footnote(self) -> str:
        """Return what the mark means; empty if there is none."""
        return FOOTNOTE if self.mark else ""


def reason_rows(reasons: Sequence[Reason], variants: Variants) -> list[ReasonRow]:
    """Return the largest differences of each contender in each configuration, at most MOST_REASONS."""
    shown: dict[str, int] = {}
    rows = []
    for reason in reasons:
        case = reason.comparison.contender_case
        shown[case] = shown.get(case, 0) + 1
        if shown[case] <= MOST_REASONS:
            rows.append(_row(reason, variants))
    return rows


def _row(reason: Reason, variants: Variants) -> ReasonRow:
    one = reason.comparison
    name = one.fom.removeprefix(PREFIX)
    figure = telemetry_figures()[name]
    is_directed = (
        one.verdict.claim is Claim.DIFFERENCE and figure.unit != "1/s"
    )  # slower work has fewer events a second
    return ReasonRow(
        variant=variants.variant_of[one.contender_case],
        configuration=variants.configuration_of[one.contender_case],
        name=words(name),
        summary=figure.summary,
        reference=scaled(reason.reference, figure.unit),
        contender=scaled(reason.contender, figure.unit),
        sign=one.verdict.sign if is_directed else "",
        paint=css_class(one) if is_directed else "",
        verdict=one.verdict.value if is_directed else "",
        mark=assumed_mark(one) if is_directed else "",
        ratio=_change(reason),
        interval=ratio_bounds(one.ratio, one.low, one.high),
        n_blocks=one.n_blocks,
        cases=(one.reference_case, one.contender_case),
    )


def _change(reason: Reason) -> str:
    if reason.reference and reason.contender:
        return ratio(reason.comparison.ratio)
    return "to nothing" if reason.reference else "from nothing"


def watched_words(campaign: Campaign, *, has_reasons: bool) -> str:
    """Return what the table cannot show: that nothing differs, and how many runs lack telemetry."""
    measured = [one for one in campaign.measured() if one.source is None]
    n_watched = sum(bool(one.telemetry) for one in measured)
    if not n_watched:
        return ""
    sentences = []
    if campaign.plan.reference and not has_reasons:
        sentences.append("Nothing that the nodes did is known to differ by one percent or more.")
    asked = [one for one in measured if _is_asked(campaign, one)]
    n_lost = sum(not one.telemetry for one in asked)
    if n_lost:
        sentences.append(
            f"{n_lost} of {count(len(asked), 'run')} {'has' if n_lost == 1 else 'have'} no part in this: not "
            "all nodes were watched to the end. The first line of telemetry.jsonl.gz there says why."
        )
    sentences += _others_words(measured)
    return " ".join(sentences)


def _others_words(measured: Sequence[Attempt]) -> list[str]:
    """Return a sentence on the runs during which other programs used much of the CPU; usually none."""
    watched = [one for one in measured if "cpu_others" in one.telemetry]
    known = [one for one in watched if one.elapsed_s >= _LEAST_S]
    beside = {
        one.folder: one.telemetry["cpu_others"] for one in known if one.telemetry["cpu_others"] >= _MUCH
    }
    if not beside:
        return []
    most = max(beside, key=beside.__getitem__)
    long_enough = f" of {_LEAST_S:g} s or more" if len(known) < len(watched) else ""
    return [
        f"Beside {len(beside)} of {count(len(known), 'run')}{long_enough} other programs took "
        f"{_MUCH:.0f} % or more of the time of all cores; most beside {visible(most)}: {beside[most]:.0f} %."
    ]


def _is_asked(campaign: Campaign, one: Attempt) -> bool:
    """Return whether the study asks for telemetry of the nodes of a run."""
    platform = campaign.cases[one.case].platform
    return campaign.plan.telemetry.period_of(platform) is not None
