"""P values that allow for how many questions were asked at once.

NaN marks a comparison that has no p value; it is not counted among the family.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tare.stats.intervals import Floats


def holm(p_values: Floats, most_true: int | None = None) -> Floats:
    """Return Holm's step-down adjusted p values: max over ranks k ≤ j of (m − k + 1) p(k), at most 1.

    Rejecting those below α keeps the chance of any false rejection ≤ α, however the tests depend on each
    other (Holm 1979, Scand. J. Stat. 6:65). Where logic lets no more than `most_true` of the m null
    hypotheses be true together, the factor never needs to exceed that (Shaffer 1986, JASA 81:826).
    """
    is_known = np.isfinite(p_values)
    known = p_values[is_known]
    order = np.argsort(known, kind="stable")
    factors = np.arange(len(known), 0, -1)
    if most_true is not None:
        factors = np.minimum(factors, most_true)
    stepped = np.maximum.accumulate(known[order] * factors)
    adjusted = np.empty_like(known)
    adjusted[order] = np.minimum(stepped, 1.0)
    return _spread(adjusted, is_known)


def benjamini_hochberg(p_values: Floats, among: Floats | None = None) -> Floats:
    """Return Benjamini–Hochberg adjusted p values: min over ranks k of m max(p(k), p) / k, at most 1.

    The ranked p(k) are those of the m members of the family `among`, by default `p_values` themselves, of
    which the formula is then the usual min over k ≥ j of m p(k) / k. Rejecting the members below α keeps
    the expected share of false ones among the rejected ≤ α, for tests that are independent or rise and
    fall together (Benjamini and Hochberg 1995, JRSS B 57:289; Benjamini and Yekutieli 2001, Ann. Stat.
    29:1165).
    """
    among = p_values if among is None else among
    ranked = np.sort(among[np.isfinite(among)])
    is_known = np.isfinite(p_values)
    if not len(ranked):
        return np.where(is_known, 1.0, np.nan)
    m = len(ranked)
    ranks = np.arange(1, m + 1)
    from_rank = np.append(np.minimum.accumulate((ranked * m / ranks)[::-1])[::-1], np.inf)
    known = p_values[is_known]
    n_below = np.searchsorted(ranked, known, side="left")
    from_below = np.where(n_below > 0, known * m / np.maximum(n_below, 1), np.inf)
    adjusted = np.minimum(from_rank[n_below], from_below)
    return _spread(np.minimum(adjusted, 1.0), is_known)


def _spread(known: Floats, is_known: npt.NDArray[np.bool_]) -> Floats:
    spread = np.full(is_known.shape, np.nan)
    spread[is_known] = known
    return spread
