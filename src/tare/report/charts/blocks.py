"""Run by run in the order of time, so that drift can be seen."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection

from tare.model.campaign import Campaign
from tare.model.case import Run
from tare.report.charts.panels import IN_TIME, Panel, Point, first_fom, lines_of
from tare.report.sides import Place, Side, Sides
from tare.report.words.numbers import SPACE, ratio

MOST_POINTS = 60
"""Points of a case; where there are more blocks, a point is several in a row, with their extremes."""


def block_panels(
    campaign: Campaign, sides: Sides, cases: Collection[str], odd: Collection[Run] = ()
) -> list[Panel]:
    """Return each run of `cases` next to the average of its case, against the block, one panel a place.

    A run counts as the geometric mean of its first primary FOM over all sizes; 1 is the geometric
    mean of the case over its blocks. Drift that hits all sides alike shows as points that move together.
    The runs that lie far off, `odd`, are marked.
    """
    logs = _logs(campaign, cases)
    last = max((block for by_block in logs.values() for block in by_block), default=0)
    step = math.ceil(last / MOST_POINTS)
    grouped: dict[Place, dict[Side, list[Point]]] = defaultdict(lambda: defaultdict(list))
    for case, by_block in logs.items():
        mean = math.fsum(by_block.values()) / len(by_block)
        far = {run.block for run in odd if run.case == case}
        points = _points({block: log - mean for block, log in by_block.items()}, far, step)
        grouped[sides.place_of[case]][sides.side_of[case]] += points
    each = "each run" if step == 1 else f"{step} runs a point, with the least and the largest of them,"
    return [
        Panel(place.label, f"{each} next to its case’s average", lines_of(grouped[place], sides), IN_TIME)
        for place in sides.places
        if place in grouped
    ]


def _logs(campaign: Campaign, cases: Collection[str]) -> dict[str, dict[int, float]]:
    """Return the logarithm of the result of each run, by case and block."""
    foms = {case: first_fom(campaign, case) for case in cases}
    logs: dict[str, dict[int, float]] = defaultdict(dict)
    for attempt in campaign.measured():
        if attempt.case not in foms:
            continue
        fom = foms[attempt.case]
        values = [value for series in attempt.series if series.fom == fom for value in series.values]
        if values and min(values) > 0:
            logs[attempt.case][attempt.block] = math.fsum(map(math.log, values)) / len(values)
    return logs


def _points(logs: dict[int, float], far: set[int], step: int) -> list[Point]:
    """Return a point for every `step` blocks: their geometric mean and, of several, their extremes."""
    together: dict[int, list[int]] = defaultdict(list)
    for block in sorted(logs):
        together[(block - 1) // step].append(block)
    points = []
    for blocks in together.values():
        found = [logs[block] for block in blocks]
        y = math.exp(math.fsum(found) / len(found))
        is_odd = not far.isdisjoint(blocks)
        low, high = math.exp(min(found)), math.exp(max(found))
        span = f"{ratio(low)} to{SPACE}{ratio(high)}" if len(blocks) > 1 else ""
        points.append(
            Point(
                x=sum(blocks) / len(blocks),
                y=y,
                low=low if span else None,
                high=high if span else None,
                at=f"block {blocks[0]}" if len(blocks) == 1 else f"blocks {blocks[0]} to {blocks[-1]}",
                value=ratio(y),
                interval=", ".join(filter(None, (span, "far off" if is_odd else ""))),
                n_blocks=len(blocks),
                is_odd=is_odd,
            )
        )
    return points
