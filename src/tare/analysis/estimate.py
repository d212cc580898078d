"""Estimate the level of every FOM of every case."""

from __future__ import annotations

from tare.analysis.table import tabulate
from tare.core.campaign import Campaign
from tare.core.comparison import Estimate
from tare.stats.estimates import estimate


def estimates(campaign: Campaign, *, confidence: float = 0.95) -> list[Estimate]:
    """Return an estimate for each measured case, FOM and point of its coordinates, in the plan's order.

    The estimate is the geometric mean over blocks with a t interval on the log scale, or the arithmetic mean
    where a value is zero or less. `at` holds only the coordinates; `case` identifies the rest.
    """
    table = tabulate(campaign)
    found = estimate(table.values, confidence)
    columns = zip(
        found.n_blocks.tolist(),
        found.value.tolist(),
        absent_as_none(found.low.tolist()),
        absent_as_none(found.high.tolist()),
        absent_as_none(found.cv.tolist()),
        found.minimum.tolist(),
        found.maximum.tolist(),
        found.is_arithmetic.tolist(),
        strict=True,
    )
    rows = list(columns)
    answers = []
    for case in campaign.plan.cases:
        for cell, column in table.columns.get(case.id, {}).items():
            n_blocks, value, low, high, cv, minimum, maximum, is_arithmetic = rows[column]
            answers.append(
                Estimate(
                    case=case.id,
                    fom=cell.fom,
                    unit=cell.unit,
                    better=cell.better,
                    at=dict(cell.at),
                    n_blocks=n_blocks,
                    value=value,
                    low=low,
                    high=high,
                    cv=cv,
                    minimum=minimum,
                    maximum=maximum,
                    confidence=confidence,
                    note="arithmetic mean: some values are zero or less" if is_arithmetic else "",
                )
            )
    return answers


def absent_as_none(numbers: list[float]) -> list[float | None]:
    """Return `numbers` with None in place of NaN: outside arrays, None means absent."""
    return [None if number != number else number for number in numbers]
