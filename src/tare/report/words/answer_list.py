"""Which answers a page shows at once, and which it folds: one of 199 contenders was 47,000 pixels high."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tare.core.counting import count
from tare.report.words.answer import Answer

MOST_ANSWERS = 12
"""The most answers that a page shows unfolded."""


@dataclasses.dataclass(frozen=True)
class AnswerList:
    """The answers of a page, in the plan's order: those that it shows, and those that it folds.

    Of many, those are shown that differ. `words` says how many are folded, and how many of them differ.
    """

    shown: tuple[Answer, ...]
    folded: tuple[Answer, ...]
    words: str


def answer_list(answers: Sequence[Answer]) -> AnswerList:
    """Return `answers`, of which a page shows MOST_ANSWERS at most at once."""
    first = sorted(answers, key=lambda one: not one.has_difference)[:MOST_ANSWERS]
    names = {one.variant for one in first}
    folded = tuple(one for one in answers if one.variant not in names)
    n_differing = sum(one.has_difference for one in folded)
    differing = f", {n_differing} of them worse or better in a figure" if n_differing else ""
    return AnswerList(
        shown=tuple(one for one in answers if one.variant in names),
        folded=folded,
        words=f"{count(len(folded), 'more contender')}{differing}",
    )
