"""Adjust verdicts for repeated looks, where more blocks are measured after an undecided verdict.

Measuring more because a verdict is undecided gives chance another opportunity. With 5 % at every look, some
13 to 17 % of studies without any difference end with a claimed difference. So all looks share the allowed
error: alpha spending (Lan and DeMets 1983, Biometrika 70:659; Jennison and Turnbull 2000, Group Sequential
Methods, ch. 7).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from tare.stats.intervals import Floats

RESERVE = 0.2
"""The share of the allowed error that the first look leaves for all later ones."""

SHOWING_BLOCKS = 20
"""With fewer blocks, nothing shows that the blocks of a side are independent of each other."""

Looks = tuple[int, ...]
"""The number of blocks at each look; the present look is the last."""


class ColumnLooks(Sequence[Looks]):
    """The looks of each column: `distinct[which[column]]`. Many columns have the same."""

    def __init__(self, distinct: Sequence[Looks], which: npt.NDArray[np.intp]) -> None:
        self._distinct, self._which = distinct, which

    @classmethod
    def of(cls, looks: Sequence[Looks]) -> ColumnLooks:
        """Return looks by column as such."""
        if isinstance(looks, ColumnLooks):
            return looks
        numbers = {one: number for number, one in enumerate(dict.fromkeys(looks))}
        return cls(list(numbers), np.array([numbers[one] for one in looks], np.intp))

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self._which)

    @overload
    def __getitem__(self, column: int) -> Looks: ...
    @overload
    def __getitem__(self, column: slice | npt.NDArray[np.intp]) -> ColumnLooks: ...
    def __getitem__(self, column: int | slice | npt.NDArray[np.intp]) -> Looks | ColumnLooks:
        """Return the looks of a column, or of some columns."""
        if isinstance(column, int):
            looks: Looks = self._distinct[self._which[column]]
            return looks
        return ColumnLooks(self._distinct, self._which[column])

    def groups(self) -> Iterator[tuple[Looks, npt.NDArray[np.intp]]]:
        """Yield all distinct looks with their columns."""
        for number in np.unique(self._which).tolist():
            yield self._distinct[number], np.flatnonzero(self._which == number)


_N_GRID = 81
_BOUNDS: Floats = np.linspace(0, 12, 161)
"""Standard errors among which the bound of a look is searched."""

_SMALLEST = 1e-12


def next_look(looks: Looks) -> Looks:
    """Return the looks with one more, at twice the blocks of the last, in the least whole numbers.

    Levels depend on the ratios of the numbers of blocks alone, so that all columns with one look share them.
    """
    following = (*looks, 2 * looks[-1])
    divisor = math.gcd(*following)
    return tuple(one // divisor for one in following)


def spent(looks: Looks) -> Floats:
    """Return the share of the allowed error that is spent by each look: 1 − RESERVE / (n/n₁)².

    The numbers of looks and of blocks are not known in advance. So the function of the blocks has no end, and
    never reaches 1.
    """
    share: Floats = 1 - RESERVE * np.square(looks[0] / np.array(looks, np.float64))
    return share


def sequential_p_values(p_values: Floats, looks: Sequence[Looks]) -> Floats:
    """Return the least error over all looks with which the last look would reject, by column.

    Rejecting where it is at most α keeps the chance of a false rejection at any of the looks at most α. It
    can be adjusted for many comparisons like any p value (Liu and Anderson 2008, JASA 103:1621; Ye, Li, Liu
    and Yao 2013, Stat. Med. 32:1112). `looks` has one entry per column; () leaves a column unchanged.
    """
    found = p_values.copy()
    for one, columns in ColumnLooks.of(looks).groups():
        if one:
            found[columns] = _sequential(p_values[columns], one)
    return found


def nominal_level(alpha: float, looks: Looks) -> float:
    """Return the level that a plain p value must reach at the last of `looks`, for α over all of them."""
    if not looks:
        return alpha
    allowed, nominal = _boundary(looks)
    return float(np.exp(np.interp(np.log(max(alpha, _SMALLEST)), np.log(allowed), np.log(nominal))))


def _sequential(p_values: Floats, looks: Looks) -> Floats:
    allowed, nominal = _boundary(looks)
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.exp(np.interp(np.log(p_values), np.log(nominal), np.log(allowed), right=0.0))
        outer = p_values * allowed[0] / nominal[0]  # far out, both are proportional
    return np.where(np.isnan(p_values), np.nan, np.where(p_values < nominal[0], outer, inner))


@functools.lru_cache(maxsize=512)
def _boundary(looks: Looks) -> tuple[Floats, Floats]:
    """Return a grid of allowed errors, and for each the level of the last look."""
    allowed = np.geomspace(_SMALLEST, 1.0, 37)
    nominal = np.array([_last_level(alpha, looks) for alpha in allowed.tolist()])
    return allowed, np.maximum.accumulate(nominal)


def _last_level(alpha: float, looks: Looks) -> float:
    """Return the level of the last look, by the recursion of Armitage et al. (1969, JRSS A 132:235).

    S_k, the sum of the blocks' noise, is normal with variance n_k, and so is each step. The probability that
    stays within the bounds of a look continues to the next look. The bound there is such that it takes the
    error to be spent at that look.
    """
    from scipy.special import ndtr, ndtri

    shares = alpha * spent(looks)
    bound = -float(ndtri(shares[0] / 2))
    if len(looks) == 1:
        return float(shares[0])
    grid = np.linspace(-bound, bound, _N_GRID) * np.sqrt(looks[0])
    density = np.exp(-np.square(grid) / looks[0] / 2) / np.sqrt(2 * np.pi * looks[0])
    for number in range(1, len(looks)):
        step = np.sqrt(looks[number] - looks[number - 1])
        weights = density * (grid[1] - grid[0])
        weights[[0, -1]] /= 2
        bounds = _BOUNDS[:, np.newaxis] * np.sqrt(looks[number])
        crossed = (ndtr((-bounds - grid) / step) + ndtr((grid - bounds) / step)) @ weights
        wanted = np.log(shares[number] - shares[number - 1])
        with np.errstate(divide="ignore"):
            bound = float(np.interp(-wanted, -np.log(np.maximum(crossed, 1e-300)), _BOUNDS))
        following = np.linspace(-bound, bound, _N_GRID) * np.sqrt(looks[number])
        distance = (following[:, np.newaxis] - grid) / step
        kernel = np.exp(-np.square(distance) / 2) / (step * np.sqrt(2 * np.pi))
        grid, density = following, kernel @ weights
    return float(2 * ndtr(-bound))
