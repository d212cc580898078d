"""Estimate how far printed values may differ from measured ones because of rounding."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tare.stats.intervals import Floats, Moments

_MOST_DIGITS = 10
"""A figure with this many significant digits counts as not rounded."""

_MANY = 20
"""Number of distinct values: if this many end in 0, it is no accident."""

_EXACT = 1e-12


def printed_steps(values: Floats, printed: Floats) -> Floats:
    """Return the step to which each of `values` was rounded; 0 where it was not.

    A format has a fixed number of decimals, or of significant digits. This number is the most that any
    printed value needs, since a final 0 does not show. With decimals the step is the same for all values.
    With significant digits it depends on the size of the value; only many distinct values can distinguish
    this case from round numbers.
    """
    known = np.abs(printed[np.isfinite(printed) & (printed != 0)])
    if not known.size:
        return np.zeros(len(values))
    with np.errstate(divide="ignore", invalid="ignore"):
        powers = np.floor(np.log10(np.abs(values)))
    n_digits = _n_places(known / 10.0 ** np.floor(np.log10(known)))
    if n_digits is None:
        return np.zeros(len(values))
    is_of_digits = len(np.unique(known)) >= _MANY
    n_decimals = _n_places(known)
    step = 0.0 if n_decimals is None else 10.0**-n_decimals
    of_digits = 10.0 ** (powers - n_digits)
    return np.maximum(np.where(np.isfinite(of_digits) & is_of_digits, of_digits, 0.0), step)


def _n_places(numbers: Floats) -> int | None:
    """Return how many decimals the numbers need; None where _MOST_DIGITS are not enough."""
    first = numbers[:_MANY, np.newaxis]  # these tell mostly, and take a hundredth of the time
    may_do = _have_places(first, np.arange(_MOST_DIGITS))
    return next((n for n in np.flatnonzero(may_do).tolist() if _have_places(numbers, n)), None)


def _have_places(numbers: Floats, n_places: int | npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Return whether so many decimals are enough for all of the numbers, none of which is 0."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large for decimals needs none
        scaled = numbers * 10.0**n_places
        nearest = np.rint(scaled)
        are_whole = (np.abs(scaled - nearest) <= _EXACT * np.maximum(scaled, 1.0)) & (nearest > 0)
    return np.asarray(are_whole.all(axis=0))


def rounding_shifts(found: Moments, steps: Floats) -> Floats:
    """Return how far rounding may have moved each mean, as a share of the mean.

    Where the noise covers several steps r, some values are rounded up and others down, and the mean hardly
    moves. For normal noise of standard deviation σ it moves by at most r/π · exp(−2π²σ²/r²), which is 0.002 r
    at σ = r/2 (Widrow and Kollár 2008, Quantization Noise, ch. 4). Where the noise is smaller, all values are
    rounded in the same direction, by up to r/2. Few values do not determine σ well. So the full r/2 is used
    up to σ = r/2, and 0 from σ = r on.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(np.nan_to_num(found.variance)) / steps
        shift = steps * np.clip(1 - spread, 0.0, 0.5) / np.abs(found.mean)
    return np.where((steps > 0) & np.isfinite(shift), shift, 0.0)


def widened(centre: Floats, low: Floats, high: Floats, shifts: Floats) -> tuple[Floats, Floats]:
    """Return intervals that hold what rounding may have hidden: `shifts`, as shares of the centres.

    An interval above 0 stays there: no shift is larger than half its value.
    """
    by = shifts * np.abs(centre)
    is_above = low > 0
    return (
        np.where(is_above, low * (1 - shifts), low - by),
        np.where(is_above, high * (1 + shifts), high + by),
    )


def shift_of_mean(shifts: Floats) -> float:
    """Return how far the mean of some columns may have moved, which are rounded independently."""
    return float(np.sqrt(np.square(shifts).sum()) / len(shifts)) if len(shifts) else 0.0
