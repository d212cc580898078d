"""Write why nothing is said of where the difference of a pair comes from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tare.core.attribution import Attribution
from tare.report.variants import Variants
from tare.report.words.numbers import listed, visible

_MOST_NAMED = 4
"""The most pairs that a sentence names; it counts the others."""


class Silence(NamedTuple):
    """Pairs of which nothing is said, for one reason: `label` names their contenders."""

    label: str
    why: str
    pairs: tuple[Attribution, ...]

    @property
    def text(self) -> str:
        """Return the pairs and the reason, without a full stop."""
        return f"{self.label}: {self.why}"


def silences(found: Iterable[Attribution], variants: Variants) -> list[Silence]:
    """Return why nothing is said of the pairs `found`: those with one reason share a sentence."""
    groups: dict[str, list[Attribution]] = {}
    for one in found:
        groups.setdefault(silence(one), []).append(one)
    return [Silence(_named(some, variants), why, tuple(some)) for why, some in groups.items()]


def _named(found: list[Attribution], variants: Variants) -> str:
    labels = [variants.case_label(one.contender_case) for one in found]
    rest = len(labels) - _MOST_NAMED
    return listed(labels if rest <= 1 else [*labels[:_MOST_NAMED], f"{rest} more"])


def silence(one: Attribution) -> str:
    """Return why there is no sentence on a pair."""
    if one.refusal:
        return visible(one.refusal)
    if not one.is_decided:
        return (
            "the wall times of the profiled runs do not differ for certain, so there is nothing to attribute"
        )
    if _is_contrary(one):
        return "runs without the profile differ the other way, so nothing is attributed"
    return "runs without the profile do not differ for certain, so nothing is attributed"


def _is_contrary(one: Attribution) -> bool:
    """Return whether runs without the profile differ for certain, in the other direction."""
    profiled, plain = one.difference_s, one.elapsed_s
    if profiled is None or plain is None or plain.low is None or plain.high is None:
        return False
    return plain.low > 0 if profiled.value < 0 else plain.high < 0
