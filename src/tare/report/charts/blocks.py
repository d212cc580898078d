"""The panels that show each run in the order of time, so that drift can be seen."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Sequence

from tare.core.campaign import Campaign
from tare.core.case import Pass
from tare.report.charts.panels import IN_TIME, Panel, Point, first_fom, lines_of
from tare.report.variants import Configuration, Variant, Variants
from tare.report.words.numbers import SPACE, ratio

MOST_POINTS = 60
"""The most points of a case; if it has more blocks, a point is the mean of several, with their extremes."""


def block_panels(
    campaign: Campaign, variants: Variants, cases: Collection[str], odd: Collection[tuple[str, Pass]] = ()
) -> list[Panel]:
    """Return the ratio of each run of `cases` to the average of its case, one panel per configuration.

    The x axis has the blocks. If there are several sessions, it has their passes in the order of time.

    The value of a run is the geometric mean of its first primary FOM over all sizes. 1 is the geometric mean
    of the case over its blocks. If the points of all variants move together, the drift affects all of them.
    The outliers, `odd`, are marked.
    """
    logs = _logs(campaign, cases)
    names = _names(sorted({one for by_pass in logs.values() for one in by_pass}))
    last = max(names, default=0)
    step = math.ceil(last / MOST_POINTS)
    numbers = {one: number for number, (one, _) in names.items()}
    odd_of: dict[str, list[Pass]] = defaultdict(list)
    for case, one in odd:
        odd_of[case].append(one)
    grouped: dict[Configuration, dict[Variant, list[Point]]] = defaultdict(lambda: defaultdict(list))
    for case, by_pass in logs.items():
        mean = math.fsum(by_pass.values()) / len(by_pass)
        far = {numbers[one] for one in odd_of[case] if one in by_pass}
        points = _points({numbers[one]: log - mean for one, log in by_pass.items()}, far, step, names)
        grouped[variants.configuration_of[case]][variants.variant_of[case]] += points
    each = "each run" if step == 1 else f"{step} runs a point, with the least and the largest of them,"
    return [
        Panel(
            configuration.label,
            f"{each} next to its case’s average",
            lines_of(grouped[configuration]),
            IN_TIME,
        )
        for configuration in variants.configurations
        if configuration in grouped
    ]


_Names = dict[int, tuple[Pass, str]]
"""The pass at each position of the axis, and its name."""


def _names(passes: Sequence[Pass]) -> _Names:
    """Return the positions of `passes`: their block numbers if all are of one session, else 1, 2, 3 etc."""
    if len({one.session for one in passes}) < 2:
        return {one.block: (one, f"block {one.block}") for one in passes}
    return {
        number: (one, f"block {one.block} of session {one.session}") for number, one in enumerate(passes, 1)
    }


def _logs(campaign: Campaign, cases: Collection[str]) -> dict[str, dict[Pass, float]]:
    """Return the logarithm of the result of each run, by case and pass."""
    foms = {case: first_fom(campaign, case) for case in cases}
    logs: dict[str, dict[Pass, float]] = defaultdict(dict)
    for attempt in campaign.measured():
        if attempt.case not in foms:
            continue
        fom = foms[attempt.case]
        values = [value for series in attempt.series if series.fom == fom for value in series.values]
        if values and min(values) > 0:
            logs[attempt.case][attempt.together] = math.fsum(map(math.log, values)) / len(values)
    return logs


def _points(logs: dict[int, float], far: set[int], step: int, names: _Names) -> list[Point]:
    """Return a point for every `step` blocks: their geometric mean and, if `step` > 1, their extremes."""
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
                at=_span(blocks, names),
                value=ratio(y),
                interval=", ".join(filter(None, (span, "far off" if is_odd else ""))),
                n_blocks=len(blocks),
                is_odd=is_odd,
            )
        )
    return points


def _span(blocks: Sequence[int], names: _Names) -> str:
    first, last = names[blocks[0]][1], names[blocks[-1]][1]
    if len(blocks) == 1:
        return first
    has_sessions = "session" in first
    return f"{first} to {last}" if has_sessions else f"blocks {blocks[0]} to {blocks[-1]}"
