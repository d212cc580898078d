"""The texts on paired and unpaired comparisons; every output shares them."""

from __future__ import annotations

from collections.abc import Sequence

from tare.core.campaign import Campaign
from tare.core.comparison import Finding
from tare.stats.intervals import MIN_BLOCKS

UNPAIRED = "unpaired"
"""The mark next to a verdict on runs that were not made together."""

APART = "not measured together"
"""The text instead of a verdict if the sides never ran together."""

UNCROSSED = "not compared"
"""The text instead of a verdict on networks that no data crossed."""


def verdict_mark(one: Finding) -> str:
    """Return the suffix of a verdict: `` (unpaired)`` for an unpaired comparison, else empty."""
    return "" if one.is_paired or one.ratio is None else f" ({UNPAIRED})"


def over_words(found: Sequence[Finding]) -> str:
    """Return what n counts: ``paired over n blocks``."""
    measured = [one for one in found if one.ratio is not None]
    if all(one.is_paired for one in measured):
        return "paired over n blocks"
    if any(one.is_paired for one in measured):
        return "paired over n blocks, or unpaired over n runs of the side with fewer where it says so"
    return "unpaired, n being the runs of the side with fewer"


def unpaired_warning(found: Sequence[Finding]) -> str:
    """Return a warning if some compared sides did not run together; else empty."""
    if not any("did not run together" in one.note for one in found):
        return ""
    return (
        "Where it says unpaired, the sides did not run together: the machine may have changed between the "
        "sessions, and that would look the same."
    )


def cure(campaign: Campaign, found: Sequence[Finding]) -> str:
    """Return how to measure the sides together that were not; empty if all were."""
    if not any(one.is_apart for one in found):
        return ""
    why = f"{APART[0].upper()}{APART[1:]}: both sides have runs, but none in one block of one session."
    if campaign.is_imported:
        return why
    n_blocks = max([campaign.plan.repeats.max, *campaign.orders]) + MIN_BLOCKS
    return (
        f"{why} 'tare run {campaign.shown_folder} --extend --blocks {n_blocks}' runs all cases beside each "
        f"other in {MIN_BLOCKS} more blocks; --unpaired compares what there is."
    )
