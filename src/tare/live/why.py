"""Say where the differences of a campaign come from so far, in the words of the report's section *Why?*."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from tare.analysis.causes.attribution import attributions, too_few_blocks
from tare.analysis.causes.correlates import explanations
from tare.analysis.pairs import pairs
from tare.analysis.predictions.prediction import predictions
from tare.analysis.predictions.tolerance import tolerances
from tare.core.attribution import Attribution
from tare.core.campaign import Campaign
from tare.report.variants import Variant, Variants
from tare.report.words.causes import cause_sentence, is_told
from tare.report.words.mean_and_scatter import mean_and_scatter_sentence
from tare.report.words.network_need import prediction_sentence, tolerance_sentence
from tare.report.words.numbers import visible
from tare.report.words.scatter_causes import scatter_sentence
from tare.report.words.silences import silences
from tare.stats.intervals import MIN_BLOCKS


@dataclasses.dataclass(frozen=True)
class WhyLine:
    """A sentence without its full stop, on runs of `variant`.

    `is_waiting` is true if it says that too few blocks have profiles, so that more of them may change it.
    """

    variant: Variant
    text: str
    is_waiting: bool = False


@dataclasses.dataclass(frozen=True)
class Why:
    """Where differences come from: the attributions with their sentences, and all lines of the section.

    `sentences` has one entry for each of `attributions`, empty where nothing is said.
    """

    attributions: tuple[Attribution, ...] = ()
    sentences: tuple[str, ...] = ()
    lines: tuple[WhyLine, ...] = ()


def why_so_far(campaign: Campaign, variants: Variants) -> Why:
    """Return what the profiled runs of `campaign` say so far; nothing if its plan has none."""
    if not campaign.plan.profiled:
        return Why()
    found = attributions(campaign)
    reasons = explanations(campaign) if any(is_told(one) for one in found) else []
    sentences = [cause_sentence(one, variants, reasons) for one in found]
    lines = [
        *_attributed(found, sentences, variants),
        *_unsaid([one for one, text in zip(found, sentences, strict=True) if not text], variants),
        *_awaited(campaign, found, variants),
        *_networks(campaign, variants),
    ]
    return Why(tuple(found), tuple(sentences), tuple(lines))


def _attributed(
    found: Sequence[Attribution], sentences: Sequence[str], variants: Variants
) -> Iterator[WhyLine]:
    for one, text in zip(found, sentences, strict=True):
        variant, label = variants.variant_of[one.contender_case], variants.case_label(one.contender_case)
        if both := mean_and_scatter_sentence(one, variants):
            yield WhyLine(variant, both)
        if text:
            yield WhyLine(variant, text)
        if scattered := scatter_sentence(one, variants):
            yield WhyLine(variant, f"{label}: {scattered}")
        if one.note:
            yield WhyLine(variant, f"{label}: {visible(one.note)}")


def _unsaid(found: Sequence[Attribution], variants: Variants) -> Iterator[WhyLine]:
    """Yield why nothing is said of the pairs `found`, once for each variant and reason."""
    for variant in variants.all:
        own = [one for one in found if variants.variant_of[one.contender_case] == variant]
        for said in silences(own, variants):
            waits = any(one.refusal and one.n_blocks < MIN_BLOCKS for one in said.pairs)
            yield WhyLine(variant, said.text, is_waiting=waits)


def _awaited(campaign: Campaign, found: Sequence[Attribution], variants: Variants) -> Iterator[WhyLine]:
    """Yield a line for each pair that is to be profiled, and has no profiled run yet."""
    profiled = {case.profile_of for case in campaign.plan.profiled}
    known = {one.contender_case for one in found}
    for pair in pairs(campaign):
        case = pair.contender_case.id
        if case not in known and {case, pair.reference_case.id} <= profiled:
            text = f"{variants.case_label(case)}: {too_few_blocks(0)}"
            yield WhyLine(variants.variant_of[case], text, is_waiting=True)


def _networks(campaign: Campaign, variants: Variants) -> Iterator[WhyLine]:
    """Yield the predictions and tolerances that there are; why there is none is in the report."""
    for prediction in predictions(campaign):
        if prediction.ratio is not None:
            text = f"Predicted: {prediction_sentence(prediction)}"
            yield WhyLine(variants.variant_of[prediction.case], text)
    for tolerance in tolerances(campaign):
        if tolerance.limits:
            text = f"Tolerance: {tolerance_sentence(tolerance)}"
            yield WhyLine(variants.variant_of[tolerance.case], text)
