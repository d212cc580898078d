"""Adjust p values, or intervals, for the number of tests made together.

NaN marks a comparison without a p value; it does not count as a member of the family.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tare.stats.intervals import Floats

Mask = npt.NDArray[np.bool_]


def holm(p_values: Floats) -> Floats:
    """Return Holm's step-down adjusted p values: max over ranks k ≤ j of (m − k + 1) p(k), at most 1.

    Rejecting those below α keeps the chance of any false rejection at most α, however the tests depend on
    each other (Holm 1979, Scand. J. Stat. 6:65).
    """
    is_known = np.isfinite(p_values)
    known = p_values[is_known]
    order = np.argsort(known, kind="stable")
    stepped = np.maximum.accumulate(known[order] * np.arange(len(known), 0, -1))
    adjusted = np.empty_like(known)
    adjusted[order] = np.minimum(stepped, 1.0)
    return _spread(adjusted, is_known)


def benjamini_hochberg(p_values: Floats) -> Floats:
    """Return Benjamini–Hochberg adjusted p values: min over ranks k ≥ j of m p(k) / k, at most 1.

    Rejecting those below α keeps the expected share of false rejections at most α, for tests that are
    independent or positively dependent (Benjamini and Hochberg 1995, JRSS B 57:289; Benjamini and Yekutieli
    2001, Ann. Stat. 29:1165).
    """
    is_known = np.isfinite(p_values)
    known = p_values[is_known]
    order = np.argsort(known, kind="stable")
    ranks = np.arange(1, len(known) + 1)
    adjusted = np.empty_like(known)
    adjusted[order] = np.minimum.accumulate((known[order] * len(known) / ranks)[::-1])[::-1]
    return _spread(np.minimum(adjusted, 1.0), is_known)


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


def _spread(known: Floats, is_known: Mask) -> Floats:
    spread = np.full(is_known.shape, np.nan)
    spread[is_known] = known
    return spread
