"""Test whether a contender scatters less than its reference, for noise of any distribution."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tare.stats.intervals import MIN_BLOCKS, Counts, Floats

MIN_COMPARED = 6
"""With fewer pairs, even the strongest evidence is not rarer than 5 in 100: 2 of 2⁵ exchanges of labels."""

_MOST = 4_095
"""The number of exchanges of labels that are drawn at random, if there are more."""

_AT_ONCE = 200
"""The number of columns computed at once: 7 MB."""

_MOST_HELD = 1_000_000
"""The most numbers of blocks in exchanges that are held at once: 8 MB."""

_ESTIMATED = 2
"""Blocks subtracted for the two medians, which are estimated from the same runs."""


@dataclasses.dataclass(frozen=True, eq=False)
class ScatterRatios:
    """The ratio of the contender's scatter to the reference's, one column per pair of sides.

    `n_blocks` counts the common blocks; for a column with `is_paired` = False, the runs of the side with
    fewer. `ratio` is NaN where a side has fewer than three runs or does not scatter. `typical` holds a sorted
    row for each column: logarithms of ratios, such that the true one is equally likely to lie between any two
    neighbours. Rounding of printed values may have lowered its logarithm by `hidden` and raised it by `made`.
    """

    n_blocks: Counts
    ratio: Floats
    is_paired: npt.NDArray[np.bool_]
    typical: tuple[Floats, ...]
    hidden: Floats
    made: Floats

    def interval(self, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Return both ends of the interval of each ratio; NaN where the blocks are too few for one."""
        ends = np.array([_ends(row, 1 - confidence) for row in self.typical]).reshape(-1, 2)
        is_known = np.isfinite(self.hidden + self.made)
        low, high = ends[:, 0] * np.exp(-self.made), ends[:, 1] * np.exp(self.hidden)
        return np.where(is_known, low, np.nan), np.where(is_known, high, np.nan)

    def difference_p_values(self) -> Floats:
        """Return the two-sided p value of equal scatter in each column; NaN where there is no ratio."""
        rows = zip(self.typical, self.hidden.tolist(), self.made.tolist(), strict=True)
        tails = [(_tail(row, made, -1), _tail(row, -hidden, 1)) for row, hidden, made in rows]
        found: Floats = np.minimum(1.0, 2 * np.array(tails).reshape(-1, 2).min(axis=1))
        return found

    def equivalence_p_values(self, margin: float) -> Floats:
        """Return the p value of a ratio outside [1/(1 + margin), 1 + margin]: two one-sided tests."""
        limit = math.log1p(margin)
        rows = zip(self.typical, self.hidden.tolist(), self.made.tolist(), strict=True)
        tails = [(_tail(row, made - limit, -1), _tail(row, limit - hidden, 1)) for row, hidden, made in rows]
        found: Floats = np.array(tails).reshape(-1, 2).max(axis=1)
        return found


def scatter_ratios(
    reference: Floats,
    contender: Floats,
    may_pair: npt.NDArray[np.bool_] | None = None,
    *,
    half_steps: tuple[Floats, Floats] | None = None,
) -> ScatterRatios:
    """Return the ratio of mean absolute deviations of the logarithms, contender / reference, by column.

    The logarithms are blocks × columns. Deviations are taken from each side's median, as by Brown and
    Forsythe (1974, JASA 69:364), and for pairs by Bonett and Seier (2003, J. Educ. Behav. Stat. 28:21). Means
    and variances fail for skewed noise, as does the test of Pitman and Morgan.

    If the contender scatters θ times as much with the same distribution, then |y|/θ and |x| of a block are
    interchangeable, however the two sides are correlated. So Σ_K|y| / Σ_K|x| over each subset K of the blocks
    is as likely above θ as below it, together with all other subsets. The sorted ratios of the subsets are
    the ends of exact intervals (sign changes: Fisher 1935, The Design of Experiments, § 21; typical values:
    Hartigan 1969, JASA 64:1303). Since the medians are estimated, these ratios are spread by √(n/(n − 2))
    about the ratio itself. At most 4,095 subsets are drawn, with a fixed seed.

    In simulations of normal, log-normal, t₃, exponential and bimodal noise, and of one slow run in ten, with
    5 to 50 blocks, equal scatters differ at 95 % in 1 to 5 % of studies. Fewer than six pairs decide nothing.

    Columns with fewer than three common blocks but three runs on each side are not paired, and neither are
    those for which `may_pair` is False. There, runs are exchanged between the sides instead, the same number
    from each.

    `half_steps` say how far rounding may have moved the values of each side, as shares of their mean. Each
    mean deviation may be wrong by as much.
    """
    is_common = np.isfinite(reference) & np.isfinite(contender)
    is_paired = is_common.sum(axis=0) >= MIN_BLOCKS
    if may_pair is not None:
        is_paired &= may_pair
    used = is_common | ~is_paired
    below, above = (_deviations(np.where(used, side, np.nan)) for side in (reference, contender))
    lengths = np.stack([np.isfinite(side).sum(axis=0) for side in (below, above)])
    ratio = _ratios(below, above, lengths)
    typical = [np.empty(0)] * len(ratio)
    known = np.flatnonzero(np.isfinite(ratio))
    kinds = np.stack([is_paired.astype(np.int64), *lengths])[:, known]
    for kind in np.unique(kinds, axis=1).T:
        alike = known[(kinds == kind[:, np.newaxis]).all(axis=0)]
        for start in range(0, len(alike), _AT_ONCE):
            columns = alike[start : start + _AT_ONCE]
            rows = _typical(_packed(below, columns), _packed(above, columns), is_paired=bool(kind[0]))
            for column, row in zip(columns.tolist(), rows, strict=True):
                typical[column] = row
    hidden, made = _rounding((below, above), lengths, half_steps)
    return ScatterRatios(lengths.min(axis=0), ratio, is_paired, tuple(typical), hidden, made)


def _rounding(
    sides: tuple[Floats, Floats], lengths: Counts, half_steps: tuple[Floats, Floats] | None
) -> tuple[Floats, Floats]:
    """Return by how much rounding may have lowered, and raised, the logarithm of each ratio; ∞ if by any."""
    if half_steps is None:
        return np.zeros(lengths.shape[1]), np.zeros(lengths.shape[1])
    more, less = [], []
    with np.errstate(divide="ignore", invalid="ignore"):
        for side, n, half in zip(sides, lengths, half_steps, strict=True):
            share = np.nan_to_num(half / (np.nansum(side, axis=0) / n), posinf=np.inf)
            more.append(np.log1p(share))
            less.append(-np.log(np.maximum(1 - share, 0.0)))
    return more[1] + less[0], more[0] + less[1]


def _deviations(logs: Floats) -> Floats:
    """Return the distance of each value from the median of its column; NaN where there is no value."""
    ranked = np.sort(logs, axis=0)  # NaN is sorted last
    last = np.maximum(np.isfinite(logs).sum(axis=0) - 1, 0)
    middle = [np.take_along_axis(ranked, rank[np.newaxis], axis=0) for rank in (last // 2, (last + 1) // 2)]
    deviations: Floats = np.abs(logs - (middle[0] + middle[1]) / 2) if len(logs) else logs
    return deviations


def _packed(deviations: Floats, columns: npt.NDArray[np.intp]) -> Floats:
    """Return the values of columns with equally many values, without their gaps."""
    chosen = deviations[:, columns].T
    packed: Floats = chosen[np.isfinite(chosen)].reshape(len(columns), -1).T
    return packed


def _ratios(below: Floats, above: Floats, lengths: Counts) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        means = [np.nansum(side, axis=0) / n for side, n in zip((below, above), lengths, strict=True)]
        found = means[1] / means[0]
    is_known = (lengths >= MIN_BLOCKS).all(axis=0) & (means[0] > 0) & (means[1] > 0)
    return np.where(is_known, found, np.nan)


def _typical(below: Floats, above: Floats, *, is_paired: bool) -> Floats:
    """Return sorted typical logarithms, columns × values; NaN, last, where no run of a subset scatters."""
    parts: Iterator[tuple[Floats, Floats]] = _exchanges(len(below), len(above))
    if is_paired:
        parts = ((chosen, chosen) for chosen in _subsets(len(below)))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.vstack([np.log(theirs @ above) - np.log(ours @ below) for ours, theirs in parts]).T
    centre = np.log(above.mean(axis=0) / below.mean(axis=0))[:, np.newaxis]
    n_blocks = min(len(below), len(above))
    found: Floats = centre + (logs - centre) * math.sqrt(n_blocks / (n_blocks - _ESTIMATED))
    found.sort(axis=1)
    return found


def _subsets(n_blocks: int) -> Iterator[Floats]:
    """Yield subsets of the blocks, one per row: all but the empty one, or a random sample, part by part."""
    if 2**n_blocks - 1 <= _MOST:
        numbers = np.arange(1, 2**n_blocks)[:, np.newaxis]
        yield ((numbers >> np.arange(n_blocks)) & 1).astype(np.float64)
        return
    random = np.random.default_rng(n_blocks)
    for n_rows in _parts(n_blocks):
        yield (random.random((n_rows, n_blocks)) < 0.5).astype(np.float64)


def _exchanges(n_below: int, n_above: int) -> Iterator[tuple[Floats, Floats]]:
    """Yield which runs of both sides are exchanged, one exchange per row, part by part.

    The empty exchange is left out.
    """
    n_runs = n_below + n_above
    if math.comb(n_runs, n_below) <= _MOST:
        yield _moved(np.array(list(itertools.combinations(range(n_runs), n_below))), n_runs)
        return
    random = np.random.default_rng(n_runs)
    for n_rows in _parts(n_runs):
        order = random.random((n_rows, n_runs)).argpartition(n_below, axis=1)
        yield _moved(order[:, :n_below], n_runs)


def _moved(chosen: npt.NDArray[np.intp], n_runs: int) -> tuple[Floats, Floats]:
    """Return which runs leave the first side and which come to it, if each row of `chosen` is that side."""
    n_below = chosen.shape[1]
    is_below = np.zeros((len(chosen), n_runs), np.bool_)
    is_below[np.arange(len(chosen))[:, np.newaxis], chosen] = True
    is_moved = is_below[:, n_below:].any(axis=1)
    leaving, coming = ~is_below[is_moved, :n_below], is_below[is_moved, n_below:]
    return leaving.astype(np.float64), coming.astype(np.float64)


def _parts(n_runs: int) -> Iterator[int]:
    """Yield numbers of rows that sum to _MOST, each with as many rows of `n_runs` numbers as may be held."""
    step = max(1, _MOST_HELD // n_runs)
    for start in range(0, _MOST, step):
        yield min(step, _MOST - start)


def _ends(row: Floats, alpha: float) -> tuple[float, float]:
    """Return the ends beyond which the true ratio lies in `alpha` of studies; NaN where there are none."""
    n_known = int((~np.isnan(row)).sum())
    n_beyond = int(alpha / 2 * (len(row) + 1) + 1e-9) - (len(row) - n_known)
    if n_beyond < 1:
        return math.nan, math.nan
    low, high = math.exp(row[n_beyond - 1]), math.exp(row[n_known - n_beyond])
    return (low, high) if math.isfinite(high) else (math.nan, math.nan)


def _tail(row: Floats, at: float, side: int) -> float:
    """Return the share of typical values on one side of `at`; unknown values count on both sides."""
    if not len(row):
        return math.nan
    is_there = np.isnan(row) | (row <= at if side < 0 else row >= at)
    return float((is_there.sum() + 1) / (len(row) + 1))
