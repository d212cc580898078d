"""Fit the laws of scaling to the throughput of a line, of which scales may have run in different sessions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from tare.core.case import Pass
from tare.core.scaling import Law, LawFit
from tare.stats.intervals import Floats
from tare.stats.laws import fit_law


def fit_laws(
    laws: Iterable[Law], scales: Sequence[float], work: Floats, base: int | None, passes: Sequence[Pass]
) -> tuple[LawFit, ...]:
    """Return the laws fitted to `work`, passes × scales.

    `base` is the column of the reference scale. Only what ran beside it is fitted, unless it is None.
    """
    beside = work if base is None else _beside_base(work, base, passes)
    fits = tuple(fit_law(law, scales, beside) for law in laws)
    if (np.isfinite(work).any(axis=0) == np.isfinite(beside).any(axis=0)).all():
        return fits
    return tuple(
        msgspec.structs.replace(fit, refusal=fit.refusal.replace(" measured;", " measured together;"))
        for fit in fits
    )


def _beside_base(work: Floats, base: int, passes: Sequence[Pass]) -> Floats:
    """Return throughput, passes × scales, such that a block that ran in several sessions is one row of it.

    Each scale stands in the last of them as it stood next to the scale in column `base` where both ran: the
    machine may have changed from session to session. What ran without that scale is left out.
    """
    rows_of: dict[int, list[int]] = {}
    for row, one in enumerate(passes):
        rows_of.setdefault(one.block, []).append(row)
    found = work.copy()
    for rows in rows_of.values():
        with_base = [row for row in rows if not np.isnan(work[row, base])]
        has_zeros = bool((work[rows, base] <= 0).any() or np.isinf(work[rows, base]).any())
        if len(rows) == 1 or not with_base or has_zeros:
            continue
        last = with_base[-1]
        found[rows] = np.nan
        for row in with_base:  # a later one replaces an earlier one
            own = work[row] * (work[last, base] / work[row, base])
            found[last] = np.where(np.isnan(own), found[last], own)
    return found
