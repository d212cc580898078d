"""Compute the statistics of a campaign so far, in the same words and types as the report."""

from __future__ import annotations

import dataclasses
import math

from tare.analysis.quoted_figures import quoted
from tare.analysis.verdicts.compare import aggregates, overview_of
from tare.analysis.verdicts.headline import Headline, headlines
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison
from tare.live.why import Why, why_so_far
from tare.report.charts.panels import is_shown
from tare.report.variants import Variant, Variants, lay_out
from tare.report.words.answer import Answer, answer_all, reading
from tare.report.words.answer_list import AnswerList, answer_list


@dataclasses.dataclass(frozen=True)
class Dot:
    """One run: its ratio to the average of its case, and its index in the order of time."""

    order: int
    variant: Variant
    ratio: float


@dataclasses.dataclass(frozen=True)
class Statistics:
    """The statistics at one revision.

    `sentences` is empty as long as there is no result. `overview` has one row per contender case, `figures`
    one per quoted figure of merit.
    """

    revision: int
    variants: Variants
    sentences: tuple[Answer, ...]
    reading: str
    headlines: tuple[Headline, ...]
    overview: tuple[Comparison, ...]
    figures: tuple[Comparison, ...]
    dots: tuple[Dot, ...]
    why: Why

    @property
    def listed(self) -> AnswerList:
        """Return the sentences that a page shows at once, and those that it folds."""
        return answer_list(self.sentences)


def compute_statistics(campaign: Campaign, revision: int) -> Statistics:
    """Return the statistics of `campaign` so far."""
    variants = lay_out(campaign, ())
    measured = bool(campaign.measured())
    every = aggregates(campaign) if measured else []
    rows = overview_of(every)
    heads = headlines(campaign) if measured else []
    return Statistics(
        revision=revision,
        variants=variants,
        sentences=tuple(answer_all(heads, rows, variants, campaign.plan.margin, every)),
        reading=reading(heads, campaign.plan.margin),
        headlines=tuple(heads),
        overview=tuple(rows),
        figures=tuple(quoted(every)),
        dots=tuple(_dots(campaign, variants)),
        why=why_so_far(campaign, variants),
    )


def _dots(campaign: Campaign, variants: Variants) -> list[Dot]:
    """Return each measured run as the ratio of its first primary figure of merit to its case's mean."""
    logs: dict[str, list[tuple[int, float]]] = {}
    shown: dict[tuple[str, str], bool] = {}
    for order, attempt in enumerate(campaign.measured()):
        if attempt.case not in variants.variant_of:
            continue
        for series in attempt.series:
            key = (attempt.case, series.fom)
            if key not in shown:
                shown[key] = is_shown(campaign, *key)
            if shown[key] and series.values and min(series.values) > 0:
                log = math.fsum(map(math.log, series.values)) / len(series.values)
                logs.setdefault(attempt.case, []).append((order, log))
                break
    found = []
    for case, runs in logs.items():
        mean = math.fsum(log for _, log in runs) / len(runs)
        found += [Dot(order, variants.variant_of[case], math.exp(log - mean)) for order, log in runs]
    return found
