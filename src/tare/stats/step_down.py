"""Apply Holm's procedure to intervals, for decisions against a limit other than 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tare.stats.intervals import Floats

Mask = npt.NDArray[np.bool_]


def step_down(decide: Callable[[float], Mask], is_judged: Mask, confidence: float) -> tuple[Mask, Floats]:
    """Return which claims of a family are made, and the confidence of the interval that judges each.

    `decide` says which claims the intervals of a confidence make. `is_judged` marks those that have an
    interval and so belong to the family. First, all m claims are judged at 1 − α/m. Each claim that is made
    leaves one fewer, and the rest are judged again. The chance of any false claim is at most α, however the
    claims depend on each other (Holm 1979, Scand. J. Stat. 6:65). It is α/2 for claims to one side of
    two-sided intervals.
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
