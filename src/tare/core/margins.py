"""Test what an interval of a ratio shows: a difference from 1, or equivalence to 1 within a margin.

Every verdict is drawn with these functions, which take one interval or an array of them. The margin is
symmetric on the log scale, so that swapping the sides of a ratio changes nothing. A missing interval (NaN)
shows nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Mask = npt.NDArray[np.bool_]


def margin_ends(margin: float) -> tuple[float, float]:
    """Return the smallest and the largest ratio that count as equivalent: 1/(1 + margin) and 1 + margin."""
    return 1 / (1 + margin), 1 + margin


def excludes_one(low: Floats, high: Floats) -> Mask:
    """Return which intervals show a difference: those that do not contain 1."""
    return (low > 1) | (high < 1)


def are_within(low: Floats, high: Floats, margin: float) -> Mask:
    """Return which intervals lie wholly within the margin, including its ends: they show equivalence."""
    least, most = margin_ends(margin)
    return (low >= least) & (high <= most)


def are_beyond(low: Floats, high: Floats, margin: float) -> Mask:
    """Return which intervals lie wholly outside the margin, which shows that there is no equivalence."""
    least, most = margin_ends(margin)
    return (high < least) | (low > most)


def is_within(low: float, high: float, margin: float) -> bool:
    """Return whether an interval lies wholly within the margin (see `are_within`)."""
    return low >= 1 / (1 + margin) and high <= 1 + margin


def is_beyond(low: float, high: float, margin: float) -> bool:
    """Return whether an interval lies wholly outside the margin (see `are_beyond`)."""
    least, most = margin_ends(margin)
    return high < least or low > most
