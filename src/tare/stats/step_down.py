"""Holm's procedure told in intervals, for decisions against a limit other than 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tare.stats.intervals import Floats

Mask = npt.NDArray[np.bool_]


def step_down(decide: Callable[[float], Mask], is_judged: Mask, confidence: float) -> tuple[Mask, Floats]:
    """Return which of a family of claims are made, and the confidence of the interval that each is judged by.

    `decide` says which claims the intervals of a confidence make; `is_judged` those that have an interval
    and so belong to the family. All m claims are judged at 1 − α/m first; each that is made leaves one
    fewer, and the rest are judged again. The chance that any is made falsely is at most α, whatever
    their dependence (Holm 1979, Scand. J. Stat. 6:65): α/2 for claims to one side of two-sided intervals.
    """
    alpha = 1 - confidence
    made = np.zeros(len(is_judged), np.bool_)
    levels = np.full(len(is_judged), confidence)
    while n_left := int((is_judged & ~made).sum()):
        level = 1 - alpha / n_left
        levels[~made] = level
        found = decide(level) & is_judged & ~made
        if not found.any():
            break
        made |= found
    return made, levels
