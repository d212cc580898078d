"""Find telemetry figures that differ between a contender and its reference.

Reports show them next to the result, as possible reasons for it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from tare.analysis.table import Table, tabulate
from tare.analysis.verdicts.compare import aggregates
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison, Correction
from tare.core.telemetry import PREFIX
from tare.core.telemetry_sources import figures as telemetry_figures
from tare.stats.intervals import CONFIDENCE
from tare.stats.multiplicity import holm
from tare.stats.ratios import common_rows

_LEAST_SHARE = 0.01
"""As a share of the figure: a smaller difference explains nothing, even if it is certain."""

_LEAST = {"%": 1.0, "1/s": 100.0, "packets": 10.0, "B/s": 1e6, "s": 0.01, "threads": 0.1}
"""The least difference that counts, by unit. For example, 0.2 % of a disk's time explains nothing, although
it is twice 0.1 %."""

_LEAST_RUNS = 5
"""For each side: with fewer runs, figures that jump between two levels differ too often by chance."""

_LEFT_OUT = frozenset({"sampler_cpu", "sampler_memory", "total_sent", "total_packets"})
"""What Tare itself uses, and figures that count a packet at each interface on its way."""

_PARTS_OF_WHOLE = frozenset({"cpu_user", "cpu_system", "cpu_iowait", "cpu_steal", "cpu_idle"})
"""Parts that sum to 100 %: if one gains, others lose."""

_ALIKE = (
    frozenset({"cpu_system", "cpu_system_peak"}),
    frozenset({"network_rate", "network_packet_rate"}),
    frozenset({"network_sent", "wire_sent"}),
    frozenset({"network_packets", "wire_packets", "tcp_segments"}),
    frozenset({"network_packet_size", "wire_packet_size"}),
    frozenset({"run_cpu", "run_cpu_user", "run_cpu_system"}),
    frozenset({"run_cpu_pressure", "run_cpu_stall"}),
    frozenset({"run_memory_pressure", "run_memory_stall"}),
    frozenset({"run_io_pressure", "run_io_stall"}),
    frozenset({"memory_peak", "run_memory_peak"}),
)
"""Figures that show the same thing, unless their ratios differ."""

_MIRRORED = 0.25  # share of the larger change: the rest goes to other parts


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """A telemetry figure that differs, with its comparison and the medians over the runs of both sides.

    `effect` is a conservative logarithm of the ratio, from the end of its interval nearest to 1: for × 1.5
    [1.2, 1.9], that is ln 1.2. If all runs of one side have 0, the least difference that counts takes the
    place of 0.
    """

    comparison: Comparison
    effect: float
    reference: float
    contender: float

    @property
    def figure(self) -> str:
        """Return the name of the figure, without its prefix."""
        return self.comparison.fom.removeprefix(PREFIX)


def explanations(campaign: Campaign) -> list[Reason]:
    """Return the telemetry figures that differ, by contender and place, each with the largest effect first.

    Ratios are paired by block. All figures that could differ form one family, corrected by Holm's procedure:
    where nothing differs, any row appears in at most 5 % of campaigns. Figures that are surely
    equal do not relax the correction, and figures that no run of either side changes are not counted.
    Differences too small to explain anything are left out, and so are those that repeat an earlier one.
    """
    if not any(one.telemetry for one in campaign.measured()):
        return []
    foms = [PREFIX + name for name in telemetry_figures() if name not in _LEFT_OUT]
    compared = aggregates(campaign, foms=foms, correction=Correction.NONE)
    table = tabulate(campaign, foms)
    columns = _first_columns(table)
    values = [_values(table, columns, one) for one in compared]
    p_values = np.array([_p_value(one, *sides) for one, sides in zip(compared, values, strict=True)])
    by_case: dict[str, list[Reason]] = {}
    for one, sides, p in zip(compared, values, holm(p_values).tolist(), strict=True):
        reason = _reason(one, *sides) if p <= 1 - CONFIDENCE else None
        if reason is not None:
            by_case.setdefault(one.contender_case, []).append(reason)
    return [reason for found in by_case.values() for reason in _without_repeats(found)]


def _first_columns(table: Table) -> dict[tuple[str, str], int]:
    """Return the column of the first cell of each case and figure."""
    found: dict[tuple[str, str], int] = {}
    for case, cells in table.columns.items():
        for cell, column in cells.items():
            found.setdefault((case, cell.fom), column)
    return found


def _values(
    table: Table, columns: Mapping[tuple[str, str], int], one: Comparison
) -> tuple[list[float], list[float]]:
    """Return the values of the runs of both sides; where they are paired, only of runs made together."""
    sides = [(case, one.fom) for case in (one.reference_case, one.contender_case)]
    if any(side not in columns for side in sides):
        return [], []
    found = [table.values[:, [columns[side]]] for side in sides]
    if one.is_paired:
        found = list(common_rows(found[0], found[1], np.ones(1, np.bool_)))
    below, above = (side[np.isfinite(side)].tolist() for side in found)
    return below, above


def _p_value(one: Comparison, below: Sequence[float], above: Sequence[float]) -> float:
    """Return the probability of such a clear difference by chance; NaN where there is nothing to compare.

    If each side has the same value in all of its runs, there is no scatter to estimate chance from. If one
    side has only zeros, there is no ratio. In both cases, assume that each run gets one value or the other by
    chance, with any probability. Then the a runs of one side and the b runs of the other separate this
    cleanly in at most 2 aᵃbᵇ/(a + b)^(a + b) of campaigns: 2/4ⁿ with n runs on each side.
    """
    if min(len(below), len(above)) < _LEAST_RUNS or len({*below, *above}) == 1:
        return math.nan
    if _is_from_nothing(below, above) or len({*below}) == len({*above}) == 1:
        a, b = len(below), len(above)
        return 2 * (a / (a + b)) ** a * (b / (a + b)) ** b
    return math.nan if one.p_adjusted is None else one.p_adjusted  # of this one alone, over all looks


def _reason(one: Comparison, below: Sequence[float], above: Sequence[float]) -> Reason | None:
    reference, contender = statistics.median(below), statistics.median(above)
    least = _LEAST.get(one.unit, 0.0)
    effect = _sure_effect(one)
    if _is_from_nothing(below, above):
        effect = math.log1p(abs(contender - reference) / (least or 1.0))
    if effect is None or effect < math.log1p(_LEAST_SHARE) or abs(contender - reference) < least:
        return None
    return Reason(comparison=one, effect=effect, reference=reference, contender=contender)


def _is_from_nothing(below: Sequence[float], above: Sequence[float]) -> bool:
    return (not any(below) and all(above)) or (not any(above) and all(below))


def _sure_effect(one: Comparison) -> float | None:
    """Return the log distance from 1 to the nearer end of the interval; None if it contains 1."""
    if one.low is None or one.high is None or one.low <= 0 or one.low <= 1 <= one.high:
        return None
    return min(abs(math.log(one.low)), abs(math.log(one.high)))


def _without_repeats(found: Sequence[Reason]) -> list[Reason]:
    """Return the reasons, the largest first, without those that repeat an earlier one."""
    kept: list[Reason] = []
    for reason in sorted(found, key=lambda one: -one.effect):
        if not any(_is_alike(reason, other) or _is_mirrored(reason, other) for other in kept):
            kept.append(reason)
    return kept


def _is_alike(one: Reason, other: Reason) -> bool:
    """Return whether two figures show the same thing: they are of one kind, and their intervals overlap."""
    if not any({one.figure, other.figure} <= kind for kind in _ALIKE):
        return False
    a, b = one.comparison, other.comparison
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return one.effect == other.effect
    return a.low <= b.high and b.low <= a.high


def _is_mirrored(one: Reason, other: Reason) -> bool:
    """Return whether one part of the CPU time lost what another part gained."""
    if not {one.figure, other.figure} <= _PARTS_OF_WHOLE:
        return False
    changes = [reason.contender - reason.reference for reason in (one, other)]
    return abs(sum(changes)) <= _MIRRORED * max(map(abs, changes))
