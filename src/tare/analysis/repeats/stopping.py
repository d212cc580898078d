"""Decide which cases are known precisely enough, and which need another block.

A study asks for comparisons, so the interval of the *ratio* must be narrow. A contender continues, together
with its reference, until their ratio by block is known within ± `until`. A drift that both share cancels in
this ratio, so it does not prolong the campaign. Where blocks resemble those before them, the interval is as
wide as it is reported. A case without a reference continues until its own value is known. Only the
width of the interval decides, never the verdict. Stopping as soon as a difference is
significant would find differences by chance (Armitage, McPherson and Rowe 1969, J. R. Stat. Soc. A 132:235).

All results here depend on the attempts and the plan alone, so an interrupted campaign continues in the same
way as it would have without the interruption.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from tare.analysis.aggregate import block_means
from tare.analysis.answering_figures import primary_foms
from tare.analysis.figures import Figure, Point, Points, read_figures
from tare.analysis.table import FigureName
from tare.core import log
from tare.core.attempt import Attempt
from tare.core.case import Pass
from tare.core.log import fields
from tare.core.plan import Plan
from tare.stats.autocorrelation import allowance
from tare.stats.intervals import CONFIDENCE, Floats, moments
from tare.stats.sequential import as_share, blocks_until, cautious_half_widths

_LOG = log.of("stopping")


class CasePrecision(msgspec.Struct, frozen=True, kw_only=True):
    """How precisely a case is known, by its least precise figure of merit.

    `against` is the reference if the precision is that of a ratio; None if it is that of the case's own
    value. `half_width` is that of the interval, as a share, widened for caution at few blocks, and for blocks
    that resemble those before them. `deviation` is the standard deviation of the logarithms between blocks.
    Both are None where there are too few blocks.
    """

    case: str
    against: str | None
    n_blocks: int
    half_width: float | None
    deviation: float | None
    is_settled: bool


class StoppingRule:
    """Decides block by block which cases continue. It takes each attempt once, in any order."""

    def __init__(self, plan: Plan, *, until: float | None = None) -> None:
        self._until = plan.repeats.until if until is None else until
        self._figures: dict[str, dict[FigureName, dict[Pass, Figure]]] = {case.id: {} for case in plan.cases}
        self._known_points: dict[Points, Points] = {}
        self._primary = {case.id: primary_foms(plan, case.workload) for case in plan.cases}
        references = {case.id: plan.reference_of(case) for case in plan.cases}
        self._reference = {case: one.id for case, one in references.items() if one is not None}
        references_used = set(self._reference.values())
        self._cases = [case.id for case in plan.cases if case.id not in references_used]

    def add(self, attempt: Attempt) -> None:
        """Add the figures of a measured run; they replace those of an earlier attempt of the same run."""
        blocks_of = self._figures.get(attempt.case)
        if blocks_of is None:
            return
        for blocks in blocks_of.values():
            blocks.pop(attempt.together, None)
        for name, figure in read_figures(attempt.series, self._known_points).items():
            blocks_of.setdefault(name, {})[attempt.together] = figure

    def wanted(self) -> set[str]:
        """Return the cases that need another block: those that are not settled, each with its reference.

        A case that never succeeded is not included, since more runs would not help.
        """
        found = set()
        for one in self.precisions():
            if not one.is_settled and self._figures[one.case]:
                _LOG.debug(
                    "not known well enough",
                    extra=fields(
                        case=one.case, half_width=one.half_width, until=self._until, n_blocks=one.n_blocks
                    ),
                )
                found |= {one.case} | ({one.against} if one.against else set())
        return found

    def precisions(self) -> list[CasePrecision]:
        """Return how precisely each case is known, in the plan's order.

        References are not included: a reference continues for as long as one of its contenders needs it.
        """
        against = {case: self._measured_reference(case) for case in self._cases}
        columns = [(case, column) for case in self._cases for column in self._columns(case, against[case])]
        worst: dict[str, CasePrecision] = {}
        for case, one in zip((case for case, _ in columns), self._judge(columns, against), strict=True):
            held = worst.get(case)
            if held is None or _width(one) > _width(held):
                worst[case] = one
        return [worst.get(case) or _unknown(case, against[case]) for case in self._cases]

    def _measured_reference(self, case: str) -> str | None:
        """Return the reference of a case; None if the reference never succeeded, so the case stands alone."""
        reference = self._reference.get(case)
        return reference if reference and self._figures[reference] else None

    def _columns(self, case: str, reference: str | None) -> Iterator[Floats]:
        """Yield one number per block, whose spread is judged, for each figure of merit that decides."""
        mine = self._figures[case]
        other = self._figures[reference] if reference else mine
        common = [name for name in mine if name in other]
        for name in [one for one in common if one.fom in self._primary[case]] or common:
            yield from _pair_columns(mine[name], other[name] if reference else None)
        if not common:  # same figures with other labels, such as hosts: each alone
            foms = {one[:2] for one in mine} & {one[:2] for one in other}
            for side in (mine, other):
                for name in [one for one in side if one[:2] in foms]:
                    yield from _pair_columns(side[name], None)

    def _judge(
        self, columns: Sequence[tuple[str, Floats]], against: dict[str, str | None]
    ) -> Iterator[CasePrecision]:
        n_rows = max((len(column) for _, column in columns), default=0)
        values = np.full((n_rows, len(columns)), np.nan)
        for index, (_, column) in enumerate(columns):
            values[: len(column), index] = column
        found = moments(values)
        half = cautious_half_widths(found, CONFIDENCE)
        half *= allowance(values).factor
        rows = zip(found.n_blocks.tolist(), half.tolist(), np.sqrt(found.variance).tolist(), strict=True)
        for (case, _), (n_blocks, width, deviation) in zip(columns, rows, strict=True):
            yield CasePrecision(
                case=case,
                against=against[case],
                n_blocks=n_blocks,
                half_width=None if math.isnan(width) else as_share(width),
                deviation=None if math.isnan(deviation) else deviation,
                is_settled=self._until is not None and as_share(width) <= self._until,
            )


def case_precisions(
    plan: Plan, attempts: Sequence[Attempt], *, until: float | None = None
) -> list[CasePrecision]:
    """Return how precisely each case of `plan` is known from measured `attempts`."""
    rule = StoppingRule(plan, until=until)
    for attempt in attempts:
        rule.add(attempt)
    return rule.precisions()


def expected_blocks(one: CasePrecision, plan: Plan) -> int | None:
    """Return how many blocks a case with the noise of `one` will take; None if this is unknown."""
    repeats = plan.repeats
    if repeats.until is None:
        return repeats.max
    if one.deviation is None or one.half_width is None:
        return None
    return blocks_until(one.deviation, math.log1p(repeats.until), repeats.min, repeats.max)


def _pair_columns(mine: dict[Pass, Figure], other: dict[Pass, Figure] | None) -> Iterator[Floats]:
    """Yield the numbers whose interval must be narrow: log ratios by block, or logarithms without `other`."""
    sides = [mine] if other is None else [mine, other]
    positive = next(iter(mine.values())).positive
    if positive and all(figure.positive is positive for side in sides for figure in side.values()):
        blocks = sorted(set.intersection(*(set(side) for side in sides)))
        logs = [np.array([side[block].log_mean for block in blocks]) for side in sides]
    else:  # other points in some blocks, or none above zero: take the common ones
        points = _common_points(sides)
        if not points:
            yield from (column for side in sides for column in _pair_columns(side, None))
            return
        means = _means(sides, points)
        if any((side <= 0).any() for side in means):
            yield from (_relative(side) for side in means)
            return
        logs = [np.log(side) for side in means]
    yield logs[0] - logs[1] if len(logs) == 2 else logs[0]


def _common_points(sides: Sequence[dict[Pass, Figure]]) -> Points:
    found = [dict.fromkeys(point for figure in side.values() for point in figure.points) for side in sides]
    return tuple(point for point in found[0] if all(point in one for one in found))


def _means(sides: Sequence[dict[Pass, Figure]], points: Points) -> tuple[Floats, ...]:
    """Return one number per block of each side, over those of `points` that comparisons also use."""
    blocks = sorted({block for side in sides for block in side})
    matrices = [
        np.array([[row.get(point, np.nan) for point in points] for row in _rows(side, blocks)])
        for side in sides
    ]
    return block_means(*matrices)[0]


def _rows(side: dict[Pass, Figure], blocks: Sequence[Pass]) -> Iterator[dict[Point, float]]:
    for block in blocks:
        figure = side.get(block)
        yield dict(zip(figure.points, figure.values, strict=True)) if figure else {}


def _relative(values: Floats) -> Floats:
    """Return values as shares of their mean; used where some are zero or less and have no logarithm."""
    if (values == values[0]).all():
        return np.zeros(len(values))
    with np.errstate(divide="ignore", invalid="ignore"):
        shares: Floats = values / abs(np.nanmean(values))
    return np.where(np.isfinite(shares), shares, np.nan)


def _width(one: CasePrecision) -> float:
    return math.inf if one.half_width is None else one.half_width


def _unknown(case: str, against: str | None) -> CasePrecision:
    return CasePrecision(
        case=case, against=against, n_blocks=0, half_width=None, deviation=None, is_settled=False
    )
