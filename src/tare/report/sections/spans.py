"""Describe the time that a batch system adds to the programs, in a sentence per platform."""

from __future__ import annotations

from collections.abc import Iterator

from tare.analysis.spans import Quartiles, platform_spans
from tare.core.campaign import Campaign
from tare.core.units import format_seconds
from tare.report.words.numbers import count, visible


def span_sentences(campaign: Campaign) -> Iterator[str]:
    """Yield how long runs took before, in and after their programs, for each platform with a queue."""
    for one in platform_spans(campaign):
        yield (
            f"On {visible(one.platform)} the median (quartiles) of {count(one.program.n, 'run')} was "
            f"{_times(one.queued)} in the queue, {_times(one.starting)} from there until the program began, "
            f"{_times(one.program)} in the program, and {_times(one.ending)} until the results were home."
        )


def _times(one: Quartiles) -> str:
    if one.upper <= 0:
        return "no time"
    return f"{format_seconds(one.median)} ({format_seconds(one.lower)} to {format_seconds(one.upper)})"
