"""Whether neighbouring blocks resemble each other, which makes every interval too narrow."""

from __future__ import annotations

import dataclasses

import numpy as np

from tare.stats.intervals import Floats
from tare.stats.series import MIN_SERIES, by_length


@dataclasses.dataclass(frozen=True, eq=False)
class Autocorrelations:
    """The correlation of each series with itself one block later; `threshold` is its limit at 5 %."""

    r: Floats
    p: Floats
    threshold: Floats


def lag_one(series: Floats) -> Autocorrelations:
    """Return r₁ = Σ(x_t − x̄)(x_{t+1} − x̄) / Σ(x_t − x̄)² of each column, and how surely it is positive.

    Of independent values r₁ is nearly normal with the mean −1/n and at most the variance 1/n (Bartlett 1946,
    J. R. Stat. Soc. Suppl. 8:27). The true one is smaller, (n − 2)²/(n²(n − 1)), but with it a normal curve
    finds too much among few values (Dufour and Roy 1985, J. Econometrics 29:257). Negative correlation is
    not looked for: it makes intervals too wide, which misleads nobody. Values on both sides of a gap
    count as neighbours.
    """
    from scipy.special import ndtr, ndtri

    r, p, threshold = (np.full(series.shape[1], np.nan) for _ in range(3))
    for alike in by_length(series, MIN_SERIES):
        length = len(alike.values)
        centred = alike.values - alike.values.mean(axis=0)
        square = np.square(centred).sum(axis=0)
        product = (centred[1:] * centred[:-1]).sum(axis=0)
        mean, deviation = -1 / length, 1 / np.sqrt(length)
        found = np.divide(product, square, out=np.full(len(square), mean), where=square > 0)
        r[alike.columns] = found
        p[alike.columns] = ndtr(-(found - mean) / deviation)
        threshold[alike.columns] = mean + deviation * ndtri(0.95)
    return Autocorrelations(r, p, threshold)
