"""Predict the difference of a program between two networks from the networks' own curves.

`predictions` takes a campaign with profiled runs, and one with curves; both may be the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from tare.analysis.attribution import attributions
from tare.analysis.collective_steps import NON_BLOCKING, steps
from tare.analysis.network_costs import NetworkCosts, Side, is_curve, paired, side_of
from tare.analysis.profiles import Profiled, mean, profiles
from tare.core.attribution import Attribution
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.interval import Bounded
from tare.core.prediction import PredictedCalls, Prediction
from tare.core.profile import Calls
from tare.stats.intervals import MIN_BLOCKS, Floats, arithmetic_intervals

CONFIDENCE = 0.90

_UNSURE = 0.5
"""By this share of itself, the predicted difference of extrapolated calls may be wrong either way."""


_LEAST_NAMED = 0.01
"""As a share of the predicted difference: remarks on calls that make less of it are not repeated."""


class _Row(NamedTuple):
    """The calls of one key: those of a rank in a run, and the time in them on the reference."""

    function: str
    size_class: int
    comm_size: int
    n_bytes: float
    calls: float
    seconds: float


def predictions(campaign: Campaign, curves: Campaign | None = None) -> list[Prediction]:
    """Return what each profiled case of the reference would take on each other network that has curves.

    The predicted difference is Σ calls × (cost on contender − cost on reference). Calls are those of a rank,
    the mean over ranks and profiled runs. A message costs once, when it is received; messages on one node
    cost nothing more. Of non-blocking receives only the exposed share counts: the time that the reference
    spent in them over what they cost there, at most 1. The interval, at 90 %, has Student's t over the blocks
    of the curves; half of what is extrapolated or modelled, either way; and all that is non-blocking may be
    hidden.
    """
    costs = NetworkCosts(curves or campaign)
    found = profiles(campaign).by_case
    if not found or not costs.sides:
        return []
    measured = attributions(campaign, CONFIDENCE)
    made = []
    for case in campaign.plan.cases:
        is_own = not campaign.plan.reference or campaign.plan.is_reference(case)
        if case.id in found and is_own and case.layout.nodes > 1 and not is_curve(case):
            runs = list(found[case.id].values())
            made += [
                _prediction(case, runs, costs, side, _measured(campaign, measured, case, side))
                for side in costs.sides
                if side != side_of(case)
            ]
    return made


def _measured(campaign: Campaign, found: Sequence[Attribution], case: Case, side: Side) -> Attribution | None:
    for one in found:
        if one.reference_case == case.id and side_of(campaign.cases[one.contender_case]) == side:
            return one if one.ratio is not None else None
    return None


def _prediction(
    case: Case, runs: Sequence[Profiled], costs: NetworkCosts, side: Side, measured: Attribution | None
) -> Prediction:
    own = side_of(case)
    nothing = Prediction(
        workload=case.workload,
        case=case.id,
        reference=own[1],
        contender=side[1],
        reference_platform=own[0],
        contender_platform=side[0],
        reference_s=sum(mean(one.profile.wall_s) for one in runs) / len(runs),
    )
    if own not in costs.sides:
        return msgspec.structs.replace(nothing, refusal=f"no curve of {own[1] or own[0]}, on which it ran")
    rows: list[PredictedCalls] = []
    totals: list[tuple[Floats, Floats]] = []
    uncovered: dict[str, float] = {}
    for row in _rows(runs):
        before = costs.cost(own, row.function, row.n_bytes, row.comm_size)
        after = costs.cost(side, row.function, row.n_bytes, row.comm_size)
        if before is None or after is None:
            if steps(row.function, row.n_bytes, row.comm_size):
                uncovered[row.function] = uncovered.get(row.function, 0.0) + row.seconds
            continue
        one, other = float(np.nanmean(before.seconds)), float(np.nanmean(after.seconds))
        exposed = min(1.0, row.seconds / (row.calls * one)) if row.function in NON_BLOCKING and one else 1.0
        weight = row.calls * exposed
        totals.append((before.seconds * weight, after.seconds * weight))
        remarks = tuple(dict.fromkeys((*before.remarks, *after.remarks)))
        rows.append(
            PredictedCalls(
                function=row.function,
                size_class=row.size_class,
                comm_size=row.comm_size,
                calls=row.calls,
                reference_call_s=one,
                contender_call_s=other,
                exposed=exposed,
                difference_s=weight * (other - one),
                remarks=remarks,
            )
        )
    return _with_intervals(nothing, rows, totals, uncovered, measured)


def _rows(runs: Sequence[Profiled]) -> Iterator[_Row]:
    """Yield the calls that cross the network, as means over ranks and runs."""
    gathered: dict[tuple[str, int, int], list[Calls]] = {}
    for run in runs:
        for row in run.profile.functions:
            if row.locality.crosses and steps(row.function, row.n_bytes, max(row.comm_size, 2)):
                gathered.setdefault((row.function, row.size_class, row.comm_size), []).append(row)
    for (function, size_class, comm_size), found in gathered.items():
        calls = sum(mean(row.calls) for row in found) / len(runs)
        if calls:
            n_bytes = sum(row.n_bytes for row in found) / len(found)
            seconds = sum(mean(row.seconds) for row in found) / len(runs)
            yield _Row(function, size_class, max(comm_size, 2), n_bytes, calls, seconds)


def _with_intervals(
    nothing: Prediction,
    rows: Sequence[PredictedCalls],
    totals: Sequence[tuple[Floats, Floats]],
    uncovered: dict[str, float],
    measured: Attribution | None,
) -> Prediction:
    if not rows:
        return msgspec.structs.replace(
            nothing, uncovered_s=uncovered, refusal="no call crosses the network, or no curve covers any"
        )
    value = sum(one.difference_s for one in rows)
    half = _half_width(totals)
    unsure = _UNSURE * sum(abs(one.difference_s) for one in rows if one.remarks)
    hidden = sum(one.difference_s for one in rows if one.function in NON_BLOCKING)
    in_full = sum(one.difference_s / one.exposed - one.difference_s for one in rows if 0 < one.exposed < 1)
    low = None if half is None else value - half - unsure - max(hidden, 0.0)
    high = None if half is None else value + half + unsure + max(in_full, 0.0)
    wall = nothing.reference_s
    if value <= -wall:
        return msgspec.structs.replace(
            nothing, uncovered_s=uncovered, refusal="by the curves the network would save more than it takes"
        )
    # No time is negative, whatever the noise of the curves.
    ratio = Bounded(
        1 + value / wall, *(None if end is None else max(0.0, 1 + end / wall) for end in (low, high))
    )
    return msgspec.structs.replace(
        nothing,
        difference_s=Bounded(value, low, high),
        ratio=ratio,
        measured_s=measured and measured.difference_s,
        measured_ratio=measured and measured.ratio,
        is_inside=_meet(ratio, measured.ratio) if measured and measured.ratio else None,
        rows=tuple(sorted(rows, key=lambda one: -abs(one.difference_s))),
        uncovered_s=uncovered,
        remarks=_remarks(rows),
    )


def _remarks(rows: Sequence[PredictedCalls]) -> tuple[str, ...]:
    """Return the remarks on calls that make a difference."""
    least = _LEAST_NAMED * sum(abs(one.difference_s) for one in rows)
    return tuple(
        dict.fromkeys(remark for one in rows if abs(one.difference_s) >= least for remark in one.remarks)
    )


def _half_width(totals: Sequence[tuple[Floats, Floats]]) -> float | None:
    """Return half of Student's interval of the difference of the totals, paired by pass where possible."""
    before, after = (paired([one[side] for one in totals]).sum(axis=1) for side in (0, 1))
    known = (after - before)[np.isfinite(after - before)]
    if len(known) >= MIN_BLOCKS:
        return _half(known)
    one, other = (_half(side[np.isfinite(side)]) for side in (before, after))
    return None if one is None or other is None else math.hypot(one, other)


def _half(values: Floats) -> float | None:
    if len(values) < MIN_BLOCKS:
        return None
    found = arithmetic_intervals(values[:, np.newaxis], CONFIDENCE)
    return float(found.high[0] - found.centre[0])


def _meet(one: Bounded, other: Bounded) -> bool | None:
    if one.low is None or one.high is None:
        return None
    low = other.value if other.low is None else other.low
    high = other.value if other.high is None else other.high
    return low <= one.high and one.low <= high
