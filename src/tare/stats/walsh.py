"""Find order statistics of the averages of all pairs of a sample, without sorting all averages."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tare.stats.intervals import Floats

Ranks = npt.NDArray[np.intp]

_DOUBLE, _INTEGER = struct.Struct("d"), struct.Struct("q")

_FEW = 100
"""Below this number of values, all averages are computed; above it, selection is faster."""

_MOST_HELD = 500_000
"""The number of values held at once: 4 MB, which stay in the cache."""

_N_GROUPS = 32
"""Groups of neighbours whose means approximate a sample at first; they err by 1 to 3 % of the ranks."""

_SLACK = 0.004
"""The share of the ranks by which the second guess is widened on each side."""


def walsh_order_statistics(ranked: Floats, ranks: Sequence[int]) -> Floats:
    """Return the averages (xᵢ + xⱼ)/2, i ≤ j, of each row of `ranked` at the given `ranks`, from 0.

    `ranked` is samples × values, each row sorted; the result is samples × ranks. For few values, all n(n +
    1)/2 averages are computed. For more, a bracket around each rank is guessed from the means of groups of
    neighbours. The averages below the bracket are counted in O(n) by merging x with 2a − x (Johnson and
    Mizoguchi 1978, SIAM J. Comput. 7:147), and only the averages within it are computed. A bracket that
    misses its rank, or that holds too many averages, for example because of ties, is found by halving
    instead. So the result does not depend on the guess, and is found in little memory. The values are finite.
    The result is exact but for the rounding of 2a − x: averages that are nearer to each other than twice the
    last bit of the largest value may stand for each other.
    """
    found = np.empty((len(ranked), len(ranks)))
    n = ranked.shape[1]
    n_held = n * (n + 1) // 2 if n < _FEW else 4 * n
    for part in _parts(len(ranked), n_held):
        if n < _FEW:
            found[part] = _of_all(ranked[part], ranks)
            continue
        guess = _Guess(ranked[part])
        for first in sorted(set(ranks)):
            found[part, [rank == first for rank in ranks]] = _select(ranked[part], first, guess)[
                :, np.newaxis
            ]
    return found


def _of_all(ranked: Floats, ranks: Sequence[int]) -> Floats:
    one, other = np.triu_indices(ranked.shape[1])
    averages = (ranked[:, one] + ranked[:, other]) / 2
    averages.partition(sorted(set(ranks)), axis=1)  # takes half the time of sorting
    found: Floats = averages[:, list(ranks)]
    return found


class _Guess:
    """An estimate of the average at any rank, from the averages of a few group means."""

    def __init__(self, ranked: Floats) -> None:
        edges = np.linspace(0, ranked.shape[1], _N_GROUPS + 1).astype(np.intp)
        groups = np.add.reduceat(ranked, edges[:-1], axis=1) / np.diff(edges)
        one, other = np.triu_indices(_N_GROUPS)
        self._averages = np.sort((groups[:, one] + groups[:, other]) / 2, axis=1)

    def at(self, share: Floats) -> Floats:
        """Return the average below which about `share` of the averages lie, one per row."""
        last = self._averages.shape[1] - 1
        position = np.clip(share, 0, 1) * last
        below = np.minimum(position.astype(np.intp), last - 1)
        rows = np.arange(len(position))
        low, high = self._averages[rows, below], self._averages[rows, below + 1]
        guess: Floats = low + (position - below) * (high - low)
        return guess


def _select(ranked: Floats, rank: int, guess: _Guess) -> Floats:
    """Return the average at one rank in each row."""
    n_rows, n = ranked.shape
    n_averages = n * (n + 1) // 2
    wanted = np.full(n_rows, (rank + 0.5) / n_averages)
    reached = _above_diagonal(_first_above(ranked, guess.at(wanted))).sum(axis=1)
    better = 2 * wanted - reached / n_averages
    first = _first_above(ranked, guess.at(better - _SLACK))
    last = _first_above(ranked, guess.at(better + _SLACK))
    n_below, n_up_to = (_above_diagonal(ends).sum(axis=1) for ends in (first, last))
    is_missed = (n_below > rank) | (n_up_to <= rank) | (n_up_to - n_below > _MOST_HELD)
    for row in np.flatnonzero(is_missed).tolist():
        first[row], last[row] = _halved(ranked[row : row + 1], rank)
        n_below[row] = _above_diagonal(first[row : row + 1]).sum()
    begin = _above_diagonal(first) + np.arange(n)
    sizes = np.maximum(last - begin, 0)
    found = np.empty(n_rows)
    for row, (values, starts, counts) in enumerate(zip(ranked, begin, sizes, strict=True)):
        if counts.sum() > _MOST_HELD:  # after halving: all are equal
            one = int(np.argmax(counts > 0))
            found[row] = (values[one] + values[starts[one]]) / 2
            continue
        position = rank - n_below[row]
        found[row] = np.partition(_candidates(values, starts, counts), position)[position]
    return found


def _halved(ranked: Floats, rank: int) -> tuple[Ranks, Ranks]:
    """Return the ends of a bracket around a rank, as of _first_above, for the only row of `ranked`.

    It holds few averages, or those that are equal within the precision of numbers. Halved is the list of all
    numbers between its ends, not their difference: 64 steps find any of them.
    """
    low, high = _place(float(ranked[0, 0])) - 1, _place(float(ranked[0, -1]))
    first, last = (_first_above(ranked, _numbers(place)) for place in (low, high))
    while high - low > 1 and int((_above_diagonal(last) - _above_diagonal(first)).sum()) > _MOST_HELD:
        middle = (low + high) // 2
        ends = _first_above(ranked, _numbers(middle))
        if int(_above_diagonal(ends).sum()) > rank:
            high, last = middle, ends
        else:
            low, first = middle, ends
    return first[0], last[0]


def _place(number: float) -> int:
    """Return the place of a number in the order of all double-precision numbers; that of 0 is 0."""
    (place,) = _INTEGER.unpack(_DOUBLE.pack(abs(number)))
    return -int(place) if number < 0 else int(place)


def _numbers(place: int) -> Floats:
    """Return the number at a place, for one row."""
    (number,) = _DOUBLE.unpack(_INTEGER.pack(abs(place)))
    return np.array([-number if place < 0 else number])


def _first_above(ranked: Floats, limits: Floats) -> Ranks:
    """Return for each xᵢ of each row the first j for which (xᵢ + xⱼ)/2 is greater than the row's limit.

    Both x and 2a − x are sorted, so a stable sort, which merges sorted runs, finds the position of each value
    of one among the other.
    """
    n = ranked.shape[1]
    complements = 2 * limits[:, np.newaxis] - ranked[:, ::-1]
    order = np.argsort(np.concatenate([ranked, complements], axis=1), axis=1, kind="stable")
    positions = np.flatnonzero(order >= n).reshape(ranked.shape) - np.arange(n)
    first: Ranks = (positions - 2 * n * np.arange(len(ranked))[:, np.newaxis])[:, ::-1]
    return first


def _above_diagonal(ends: Ranks) -> Ranks:
    """Return how many j ≥ i lie before each end of row i, so that each pair is counted once."""
    counts: Ranks = np.maximum(ends - np.arange(ends.shape[1]), 0)
    return counts


def _candidates(values: Floats, starts: Ranks, counts: Ranks) -> Floats:
    """Return the averages of each xᵢ with the `counts` values from `starts` on."""
    ends = np.cumsum(counts)
    one = np.repeat(np.arange(len(values)), counts)
    other = np.arange(ends[-1]) + np.repeat(starts - ends + counts, counts)
    averages: Floats = (values[one] + values[other]) / 2
    return averages


def _parts(n_rows: int, n_held: int) -> Iterator[slice]:
    """Yield slices of the rows; each row needs `n_held` values in memory."""
    step = max(1, _MOST_HELD // n_held)
    for start in range(0, n_rows, step):
        yield slice(start, start + step)
