"""The texts on what verdicts from few blocks assume; every output shares them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Union

from tare.core.comparison import Finding
from tare.core.counting import every
from tare.core.verdict import Verdict
from tare.stats.autocorrelation import ASSUMED_CORRELATION
from tare.stats.intervals import MIN_BLOCKS
from tare.stats.looks import SHOWING_BLOCKS

if TYPE_CHECKING:
    from tare.analysis.checking.check import CheckedComparison

MARK = "†"
"""The mark of a verdict that rests on an assumption which so few blocks cannot test."""

FOOTNOTE = f"{MARK} rests on blocks being independent of each other, which so few cannot show."


Drawn = Union[Finding, "CheckedComparison"]
"""A result with a verdict, which may rest on the independence of blocks."""


def assumed_mark(one: Drawn) -> str:
    """Return MARK if the verdict holds only for independent blocks, and an empty string otherwise."""
    return MARK if one.assumes_independence and one.verdict not in (None, Verdict.UNDECIDED) else ""


def assumed_brief(one: Drawn) -> str:
    """Return the meaning of the mark in a few words, for outputs without room for a footnote."""
    return "rests on independent blocks" if assumed_mark(one) else ""


def footnote(found: Iterable[Drawn]) -> str:
    """Return what the mark means; empty if no result has it."""
    return FOOTNOTE if any(map(assumed_mark, found)) else ""


def assumed_of_intervals(numbers_of_blocks: Iterable[int]) -> str:
    """Return the assumption of intervals without a verdict; empty if all have enough blocks to test it."""
    few = [n_blocks for n_blocks in numbers_of_blocks if MIN_BLOCKS <= n_blocks < SHOWING_BLOCKS]
    return f"Intervals hold {if_independent(few)}." if few else ""


def if_independent(few: Collection[int], what: str = "blocks") -> str:
    """Return the condition that so few blocks cannot test; `few` has at least one number of them."""
    numbers = f"{min(few)} to {max(few)}" if min(few) < max(few) else f"{min(few)}"
    return f"if the {what} of a side are independent of each other, which {numbers} {what} cannot show"


def assumed_words(found: Sequence[Finding], subject: str = "All of this") -> str:
    """Return the assumption that few blocks need, and how many verdicts hold without it.

    The text is empty if all results have enough blocks to test the assumption.
    """
    judged = [one for one in found if one.low is not None]
    few = [one for one in judged if one.n_blocks < SHOWING_BLOCKS]
    if not few:
        return ""
    what = "blocks" if any(one.is_paired for one in few) else "runs"
    text = f"{subject} holds {if_independent([one.n_blocks for one in few], what)}"
    drawn = [one for one in few if one.verdict is not Verdict.UNDECIDED]
    sure = sum(not one.assumes_independence for one in drawn)
    if not drawn:
        return f"{text}."
    held = _held(sure, len(drawn), among=f" of so few {what}" if len(few) < len(judged) else "")
    return (
        f"{text}; {held} without that, where {what} resemble the one before by up to {ASSUMED_CORRELATION:g}."
    )


def _held(sure: int, drawn: int, among: str) -> str:
    """Return how many of the verdicts hold: ``all 3 verdicts hold``; `among` says which ones are counted."""
    if drawn == 1:
        return f"{'the' if sure else 'no'} verdict{among} holds"
    if sure == drawn:
        return f"{every(drawn)} verdicts{among} hold"
    if not sure:
        return f"no verdicts{among} hold"
    return f"{sure} of {drawn} verdicts{among} {'holds' if sure == 1 else 'hold'}"
