"""What did and did not run together, in words that every output shares."""

from __future__ import annotations

from collections.abc import Sequence

from tare.core.campaign import Campaign
from tare.core.comparison import Finding
from tare.stats.intervals import MIN_BLOCKS

UNPAIRED = "unpaired"
"""Beside a verdict on runs that did not run together."""

APART = "not measured together"
"""In place of a verdict on sides that never ran together."""

UNCROSSED = "not compared"
"""In place of a verdict on networks that nothing crossed."""


def verdict_mark(one: Finding) -> str:
    """Return what stands behind the word of a verdict: `` (unpaired)``, mostly nothing."""
    return "" if one.is_paired or one.ratio is None else f" ({UNPAIRED})"


def over_words(found: Sequence[Finding]) -> str:
    """Return what n counts: ``paired over n blocks``."""
    measured = [one for one in found if one.ratio is not None]
    if all(one.is_paired for one in measured):
        return "paired over n blocks"
    if any(one.is_paired for one in measured):
        return "paired over n blocks, or unpaired over n runs of the side with fewer where it says so"
    return "unpaired, n being the runs of the side with fewer"


def doubt(found: Sequence[Finding]) -> str:
    """Return the doubt about what is compared though it did not run together; empty where nothing is."""
    if not any("did not run together" in one.note for one in found):
        return ""
    return (
        "Where it says unpaired, the sides did not run together: the machine may have changed between the "
        "sessions, and that would look the same."
    )


def cure(campaign: Campaign, found: Sequence[Finding]) -> str:
    """Return how to measure together what was not; empty where all was."""
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
