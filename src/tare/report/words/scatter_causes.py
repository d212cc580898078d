"""Write what the scatter from run to run comes from as a sentence."""

from __future__ import annotations

from tare.core.attribution import Attribution, CauseKind, ScatterAttribution, ScatterCause
from tare.core.counting import count
from tare.core.interval import Bounded
from tare.report.variants import Variants
from tare.report.words.causes import MOST_CAUSES, part_words, share_said
from tare.report.words.numbers import bracket_values, listed, number

_LEAST_SHARE = 0.05
"""Smaller parts of the variance are not named."""

_LARGE_REST = 0.2
"""A larger part that is unexplained is named, certain or not."""


def scatter_sentence(one: Attribution, variants: Variants) -> str:
    """Return which side scatters more, and what that comes from, without a full stop; empty if not decided.

    It is decided if the wall times of profiled runs scatter differently for certain, and those of the runs
    without the profile do not scatter the other way round.
    """
    if one.scatter is None or not is_scatter_told(one.scatter):
        return ""
    scatter = one.scatter
    names = [variants.variant_of[case].name for case in (one.contender_case, one.reference_case)]
    if scatter.ratio.value < 1:
        names.reverse()
    configuration = variants.configuration_of[one.contender_case]
    nodes = f" on {count(configuration.nodes, 'node')}" if configuration.nodes else ""
    return (
        f"from run to run, times of profiled runs of {configuration.title}{nodes} scatter "
        f"{times_said(noisier(scatter.ratio))} as much on {names[0]} as on {names[1]}"
        f"{_without_profile(scatter)}: {_causes(scatter)}"
    )


def is_scatter_told(one: ScatterAttribution) -> bool:
    """Return whether scatters differ for certain, and runs without the profile do not contradict that."""
    if not one.is_decided:
        return False
    return one.plain_ratio is None or (one.plain_ratio.value > 1) == (one.ratio.value > 1)


def noisier(ratio: Bounded) -> Bounded:
    """Return a ratio of scatters, that of the side which scatters more over the other's."""
    if ratio.value >= 1:
        return ratio
    low, high = (None if end is None else 1 / end for end in (ratio.high, ratio.low))
    return Bounded(1 / ratio.value, low, high)


def times_said(ratio: Bounded) -> str:
    """Return a ratio with its interval; of one that is known within a factor of 4 at best, the ends alone."""
    low, high = ratio.low, ratio.high
    if low is not None and high is not None and high > 4 * low:
        return f"between {number(low)} and {number(high)} times"
    return f"{number(ratio.value)} {bracket_values(low, high)}".rstrip() + " times"


def _without_profile(one: ScatterAttribution) -> str:
    """Return the ratio of the runs without the profile, seen from the same side."""
    if one.plain_ratio is None:
        return ""
    plain = one.plain_ratio
    if one.ratio.value < 1:
        low, high = (None if end is None else 1 / end for end in (plain.high, plain.low))
        plain = Bounded(1 / plain.value, low, high)
    return f" (without the profile {times_said(plain)})"


def _causes(one: ScatterAttribution) -> str:
    named = [
        cause
        for cause in one.causes
        if cause.is_certain and cause.kind is not CauseKind.UNEXPLAINED and cause.share.value >= _LEAST_SHARE
    ]
    texts = [_from(cause, at) for at, cause in enumerate(named[:MOST_CAUSES])]
    rest = next((cause for cause in one.causes if cause.kind is CauseKind.UNEXPLAINED), None)
    if rest is not None and rest.share.value >= _LARGE_REST:
        texts.append(f"{share_said(rest.share)} is not explained by the profile")
    return listed(texts) if texts else "no single part that carries the variance is certain"


def _from(cause: ScatterCause, at: int) -> str:
    of_that = " of the variance is" if at == 0 else ""
    return f"{share_said(cause.share)}{of_that} {part_words(cause)}"
