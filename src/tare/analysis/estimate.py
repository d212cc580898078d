"""Estimate the level of every FOM of every case."""

from __future__ import annotations

from collections.abc import Collection

from tare.analysis.table import tabulate
from tare.core.campaign import Campaign
from tare.core.comparison import Estimate
from tare.core.telemetry import PREFIX
from tare.core.values import Scalar
from tare.stats.estimates import estimate
from tare.stats.intervals import CONFIDENCE, Floats


def estimates(campaign: Campaign, foms: Collection[str] = ()) -> list[Estimate]:
    """Return an estimate for each measured case, FOM and point of its coordinates, in the plan's order.

    Figures of telemetry are included only if `foms` name them.

    The estimate is the geometric mean over blocks with a t interval on the log scale, or the arithmetic mean
    where a value is zero or less. `at` holds only the coordinates; `case` identifies the rest.
    """
    table = tabulate(campaign, foms)
    found = estimate(table.values)
    rows = list(
        zip(
            found.n_blocks.tolist(),
            found.value.tolist(),
            *listed(found.low, found.high, found.cv),
            found.minimum.tolist(),
            found.maximum.tolist(),
            found.is_arithmetic.tolist(),
            strict=True,
        )
    )
    found_estimates = []
    ats: dict[int, dict[str, Scalar]] = {}  # by the id of what a table has once for all cases
    for case in campaign.plan.cases:
        for cell, column in table.columns.get(case.id, {}).items():
            if cell.fom.startswith(PREFIX) and cell.fom not in foms:
                continue
            n_blocks, value, low, high, cv, minimum, maximum, is_arithmetic = rows[column]
            found_estimates.append(
                Estimate(
                    case=case.id,
                    fom=cell.fom,
                    unit=cell.unit,
                    better=cell.better,
                    at=ats.setdefault(id(cell.at), dict(cell.at)),
                    n_blocks=n_blocks,
                    value=value,
                    low=low,
                    high=high,
                    cv=cv,
                    minimum=minimum,
                    maximum=maximum,
                    confidence=CONFIDENCE,
                    note="arithmetic mean: some values are zero or less" if is_arithmetic else "",
                )
            )
    return found_estimates


def listed(*columns: Floats) -> list[list[float | None]]:
    """Return arrays as lists, with None in place of NaN: outside arrays, None means absent."""
    return [
        [None if number != number else number for number in column]
        for column in (one.tolist() for one in columns)
    ]
