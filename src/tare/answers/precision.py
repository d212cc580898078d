"""When a case is known well enough to stop repeating it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from tare.answers.aggregate import block_means
from tare.answers.table import tabulate_attempts
from tare.model.attempt import Attempt
from tare.stats.estimates import estimate, relative_half_widths


def is_precise_enough(
    attempts: Iterable[Attempt],
    until: float,
    confidence: float = 0.95,
    *,
    primary: Collection[str] = (),
) -> bool:
    """Return whether every primary FOM of one case is known within ± `until` of its value.

    `attempts` are its DONE attempts, one a block; `primary` names the FOMs that decide, all when
    empty or never measured. Each FOM counts as its geometric mean over coordinates, by block. False
    with fewer than three blocks. Stopping at a width, rather than at a result, keeps the interval
    honest but for a little undercoverage at few blocks (Chow and Robbins 1965, Ann. Math. Stat. 36:457).
    """
    table = tabulate_attempts(attempts)
    columns: dict[tuple[str, str], list[int]] = {}
    for cells in table.columns.values():
        for cell, column in cells.items():
            columns.setdefault((cell.fom, cell.unit), []).append(column)
    deciding = [found for (fom, _), found in columns.items() if fom in primary] or list(columns.values())
    if not deciding:
        return False
    means = [block_means(table.values[:, found])[0][0] for found in deciding]
    widths = relative_half_widths(estimate(np.column_stack(means), confidence))
    return bool((widths <= until).all())
