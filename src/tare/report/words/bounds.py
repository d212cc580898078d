"""The texts on hardware bounds: how near each variant comes to the most that the hardware can give."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tare.analysis.bounds import bound
from tare.analysis.estimate import EstimateRows
from tare.analysis.table import Cell
from tare.core.bounds import Bound, Resource
from tare.core.campaign import Campaign
from tare.core.comparison import Estimate
from tare.core.units import Dimension, unit_factor
from tare.core.workload import Better
from tare.report.variants import Variant, Variants
from tare.report.words.answer import Answer
from tare.report.words.numbers import NARROW, SPACE, coordinate, listed, percent, quantity, words

_POSSIBLE = 1.02
"""A larger share of the bound cannot result from rounding the figure or the link's rate."""


@dataclasses.dataclass(frozen=True)
class BoundRow:
    """The best value of one figure of one variant in one configuration, compared with its bound."""

    variant: Variant
    configuration: str
    fom: str
    at: str
    value: str
    share: str
    bound: str
    source: str
    remark: str
    case: str
    reached: float

    @property
    def sentence(self) -> str:
        """Return the row as a sentence: ``host reaches 78 % [76, 80] of the link's 25 Gbit/s in …``."""
        where = f"{self.configuration}, {self.fom}{f' at {self.at}' if self.at else ''}"
        remark = f": {self.remark}" if self.remark else ""
        return f"{self.variant.name} reaches {self.share} of {self.bound} in {where}{remark}"


def bound_rows(estimates: EstimateRows, campaign: Campaign, variants: Variants) -> list[BoundRow]:
    """Return the best point of each case and figure that has a known bound, in the order of the estimates."""
    best: dict[tuple[str, str], tuple[Estimate, Bound]] = {}
    bounds = {
        (case, *figure): bound(campaign, campaign.cases[case], *figure)
        for case in estimates.cases
        if case in variants.configuration_of
        for figure in _rates(estimates.cells(case))
    }
    bounded = frozenset(case for (case, _, _), known in bounds.items() if known is not None)
    for one in estimates.of_cases(bounded):
        if one.better is not Better.HIGHER:
            continue
        held = best.get((one.case, one.fom))
        if held is not None and held[0].value >= one.value:
            continue
        known = held[1] if held else bounds[one.case, one.fom, one.unit]
        if known is not None:
            best[one.case, one.fom] = one, known
    return [_row(one, known, variants) for one, known in best.values()]


def _rates(cells: Sequence[Cell]) -> dict[tuple[str, str], None]:
    """Return the figures of merit that are better if they are higher, each with its unit."""
    return dict.fromkeys((cell.fom, cell.unit) for cell in cells if cell.better is Better.HIGHER)


def with_bounds(answer: Answer, rows: Sequence[BoundRow]) -> Answer:
    """Return `answer` with a remark on how near its variant comes to a hardware bound, at best."""
    cases = frozenset(answer.cases)
    mine = [one for one in rows if one.variant == answer.variant and one.case in cases]
    if not mine:
        return answer
    nearest = max(mine, key=lambda one: one.reached)
    return dataclasses.replace(answer, beside=f"{answer.beside} At best {nearest.sentence}.".strip())


def _row(one: Estimate, known: Bound, variants: Variants) -> BoundRow:
    return BoundRow(
        variant=variants.variant_of[one.case],
        configuration=variants.configuration_of[one.case].label,
        fom=words(one.fom),
        at=listed([coordinate(name, value) for name, value in one.at.items()]),
        value=quantity(one.value, one.unit),
        share=_share(one, known.value),
        bound=bound_words(known),
        source=known.source,
        remark="more than there is, so the bound or the figure is wrong"
        if one.value > _POSSIBLE * known.value
        else "",
        case=one.case,
        reached=one.value / known.value,
    )


def _share(one: Estimate, most: float) -> str:
    share = percent(one.value / most, is_signed=False, decimals=0)
    if one.low is None or one.high is None:
        return share
    low, high = (f"{100 * end / most:.0f}" for end in (one.low, one.high))
    return f"{share}{SPACE}[{low},{SPACE}{high}]"


def bound_words(known: Bound) -> str:
    """Return a bound in its usual unit: ``the link's 25 Gbit/s``."""
    if known.resource is Resource.FLOPS:
        factor = unit_factor(known.unit, Dimension.FLOPS) or 1.0
        return f"the floating-point peak of {known.value * factor / 1e9:.4g}{NARROW}Gflop/s"
    bytes_per_s = known.value * (unit_factor(known.unit, Dimension.BYTES_PER_SECOND) or 1.0)
    if known.resource is Resource.MEMORY:
        return f"the memory's {bytes_per_s / 1e9:.4g}{NARROW}GB/s"
    both = " in both directions" if known.resource is Resource.LINK_BOTH_WAYS else ""
    return f"the link's {bytes_per_s * 8 / 1e9:.4g}{NARROW}Gbit/s{both}"
