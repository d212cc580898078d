"""Select the figures that answer the study's question for each contender, for summary sentences.

A headline is about one figure of one workload. It never averages different kinds of figures or different
workloads. It averages over scales only where all of them have the same verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from tare.analysis.aggregate import Levels, block_levels
from tare.analysis.answering_figures import answering_foms
from tare.analysis.aspects import Aspect, Sizes, is_elapsed, parts
from tare.analysis.compare import aggregates, splits, terms_of
from tare.analysis.equivalence_limits import own_note
from tare.analysis.family_tests import Terms, findings
from tare.analysis.interim_looks import session_ends
from tare.analysis.pairs import Pair, pairs, told_blocks
from tare.analysis.proofs import nothing_crosses
from tare.analysis.questions import (
    SplitName,
    common_cells,
    figure_of,
    rounding_of,
    sides,
    split_name,
)
from tare.analysis.table import Cell, Table, tabulate
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison, Correction, Finding, Paid
from tare.core.values import Scalar, Settings
from tare.core.verdict import Verdict
from tare.core.workload import Better
from tare.stats.intervals import MIN_BLOCKS, Floats


class Headline(Finding, frozen=True, kw_only=True):
    """One figure of one workload with its change, at all places where it has the same verdict.

    `at` holds coordinates that are words, such as ``operation``. `cases` are the ids of the reference's and
    the contender's cases at each place. For several places, `ratio` is the geometric mean, formed within each
    block, and `least` and `most` are the smallest and the largest ratio. The verdict is that of each single
    place: the mean makes no claim of its own. `is_answer` is False for an elapsed time that answers another
    question; it is included because it got worse.
    """

    aspect: Aspect
    workloads: tuple[str, ...]
    fom: str
    unit: str
    better: Better
    reference: Settings
    contender: Settings
    at: Settings
    sizes: Sizes = Sizes.ALL
    cases: tuple[tuple[str, str], ...] = ()
    least: float | None = None
    most: float | None = None
    is_answer: bool = True

    @property
    def workload(self) -> str:
        """Return the workload of the figure."""
        return self.workloads[0]

    @property
    def is_elapsed(self) -> bool:
        """Return whether the figure is a time that somebody waits for."""
        return is_elapsed(self.unit, self.better)


class _Item(msgspec.Struct, frozen=True):
    """One figure of a pair with the values of each side, one per block, and its comparison."""

    pair: Pair
    fom: str
    unit: str
    aspect: Aspect
    at: dict[str, Scalar]
    sizes: Sizes
    below: Floats
    above: Floats
    rounding: float
    is_answer: bool
    row: Comparison
    """Its row of the table of figures, or of the splits."""


def headlines(
    campaign: Campaign,
    *,
    reference: Settings | None = None,
    margin: float | None = None,
    confidence: float = 0.95,
    correction: Correction = Correction.HOLM,
    figures: Sequence[Comparison] | None = None,
) -> list[Headline]:
    """Return the figures that answer the study's question for each contender, each with its verdict.

    Which figures answer depends on what differs between the sides (see `answering_foms`). A figure that is a
    row of `aggregates` has the verdict of that row; pass these rows as `figures` if they are known. For
    figures at many message sizes, only latency and bandwidth are included. Figures with coordinates that are
    words have one headline for each. These parts form a family of their own (see `splits`). Elapsed times
    that got worse are always included, whichever question they answer.
    """
    rows = (
        aggregates(campaign, reference=reference, margin=margin, confidence=confidence)
        if figures is None
        else figures
    )
    own = splits(campaign, reference=reference, margin=margin, confidence=confidence, correction=correction)
    items = list(_items(tabulate(campaign), campaign, pairs(campaign, reference), rows, own))
    terms = terms_of(campaign, margin, confidence, correction)
    groups: dict[object, list[_Item]] = {}
    worse = {_figure(one) for one in items if one.is_answer and _is_worse(one.row)}
    for one in items:
        if one.is_answer or (_is_worse(one.row) and _figure(one) not in worse):
            groups.setdefault(_key(one), []).append(one)
    return [_headline(group, campaign, terms) for group in groups.values()]


def _is_worse(found: Finding) -> bool:
    return found.verdict is Verdict.WORSE


def _figure(item: _Item) -> tuple[object, ...]:
    """Return the identity of an item's figure, for all of its sizes or only some."""
    return item.pair.contender_case.id, item.pair.reference_case.id, item.fom, item.unit, *item.at.items()


def _key(item: _Item) -> object:
    """Return the key that places in one headline have in common."""
    pair, found = item.pair, item.row
    what = (pair.workload, item.fom, item.unit, item.sizes, item.is_answer, tuple(item.at.items()))
    verdict = found.verdict if found.low is not None else None
    said = (verdict, bool(found.withheld_by), found.ratio is None)
    return tuple(pair.contender.items()), tuple(pair.reference.items()), what, said


def _items(
    table: Table,
    campaign: Campaign,
    found: Iterable[Pair],
    rows: Iterable[Comparison],
    own: Mapping[SplitName, Comparison],
) -> Iterator[_Item]:
    known = {
        (one.reference_case, one.contender_case, one.fom, one.unit, tuple(one.labels.items())): one
        for one in rows
    }
    for pair in found:
        if nothing_crosses(campaign.plan, pair):
            continue
        answering = answering_foms(campaign.plan, pair)
        for cells in common_cells(table, pair):
            first = cells[0]
            row = known.get((pair.reference_case.id, pair.contender_case.id, *figure_of(first)))
            if row is None:
                continue
            if not answering or first.fom in answering:
                told = [
                    _item(table, pair, chosen, (aspect, sizes), own.get(split_name(pair, chosen), row))
                    for aspect, sizes, chosen in parts(cells)
                ]
                yield from told
                if any(one.row is row for one in told):
                    continue
            if is_elapsed(first.unit, first.better):
                yield _item(table, pair, cells, (Aspect.TIME, Sizes.ALL), row, is_answer=False)


def _item(
    table: Table,
    pair: Pair,
    cells: list[Cell],
    part: tuple[Aspect, Sizes],
    row: Comparison,
    *,
    is_answer: bool = True,
) -> _Item:
    below, above, _ = sides(table, pair, cells)
    aspect, sizes = part
    first = cells[0]
    return _Item(
        pair=pair,
        fom=first.fom,
        unit=first.unit,
        aspect=aspect,
        at=dict(first.labels),
        sizes=sizes,
        below=below,
        above=above,
        rounding=rounding_of(table, pair, cells),
        is_answer=is_answer,
        row=row,
    )


def _cases(item: _Item) -> set[str]:
    return {item.pair.reference_case.id, item.pair.contender_case.id}


def _headline(items: Sequence[_Item], campaign: Campaign, terms: Terms) -> Headline:
    found = [one.row for one in items]
    one, first = found[0], items[0]
    values = {name: getattr(one, name) for name in Finding.__struct_fields__}
    values["note"] = own_note(one)
    if len(items) > 1:
        values |= _mean(items, found, campaign, terms)
    ratios = [each.ratio for each in found if each.ratio is not None]
    return Headline(
        aspect=first.aspect,
        workloads=(first.pair.workload,),
        fom=first.fom,
        unit=first.unit,
        better=first.aspect.better,
        reference=first.pair.reference,
        contender=first.pair.contender,
        at=first.at,
        sizes=first.sizes,
        cases=tuple((each.pair.reference_case.id, each.pair.contender_case.id) for each in items),
        least=min(ratios, default=None),
        most=max(ratios, default=None),
        is_answer=first.is_answer,
        **values,
    )


def _mean(
    items: Sequence[_Item], found: Sequence[Finding], campaign: Campaign, terms: Terms
) -> dict[str, object]:
    """Return the mean over places that have the same verdict: its ratio, its interval, and that verdict.

    The claim is made for every place, so the p value is that of the least certain place.
    """
    levels = _levels(items, campaign)
    is_paired = np.array([set().union(*map(_cases, items)) <= told_blocks(campaign)])
    (mean,) = findings(
        levels.reference[:, np.newaxis],
        levels.contender[:, np.newaxis],
        [items[0].aspect.better],
        terms,
        is_paired,
        rounding=np.sqrt(np.square([[one.rounding] for one in items]).sum(axis=0)) / len(items),
        is_unpaired=campaign.compares_unpaired,
        ends=session_ends(campaign, tabulate(campaign).passes),
    )
    notes = list(dict.fromkeys(filter(None, map(own_note, found))))
    if levels.left_out:
        left_out = f"{levels.left_out} of {len(items)} cases left out: too few blocks, or zero or less"
        notes = (
            [*notes, left_out] if levels.left_out < len(items) else [left_out]
        )  # without a mean, no other note holds
    if levels.n_missing:
        missing = f"{levels.n_missing} of {levels.n_pairs} pairs of runs are missing"
        notes.append(f"{missing}; the others of their blocks count")
    names = ("p_value", "p_adjusted", "p_equivalence", "p_equivalence_adjusted")
    more = [one.more_blocks for one in found]
    return {
        "n_blocks": mean.n_blocks,
        "ratio": mean.ratio,
        "low": mean.low,
        "high": mean.high,
        "hodges_lehmann": mean.hodges_lehmann,
        "detectable": mean.detectable,
        "verdict": found[0].verdict,
        "more_blocks": None if None in more else _most(more),
        "note": "; ".join(notes),
        "paid": _telling(found) or mean.paid,
        "assumes_independence": any(one.assumes_independence for one in found),
        "planned_blocks": _most(one.planned_blocks for one in found),
        **{name: _most(getattr(one, name) for one in found) for name in names},
    }


def _telling(found: Sequence[Finding]) -> Paid | None:
    """Return the `Paid` of the place where it is farthest from 1; None if it agrees with all verdicts."""
    telling = [one.paid for one in found if one.paid is not None and one.paid.is_telling]
    return max(telling, key=lambda one: abs(one.ratio - 1), default=None)


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _levels(items: Sequence[_Item], campaign: Campaign) -> Levels:
    below, above = (
        np.column_stack([one.below for one in items]),
        np.column_stack([one.above for one in items]),
    )
    are_told = set().union(*map(_cases, items)) <= told_blocks(campaign)
    least = MIN_BLOCKS if campaign.compares_unpaired else 1
    together = int((np.isfinite(below) & np.isfinite(above)).any(axis=1).sum())
    return block_levels(below, above, is_paired=are_told and together >= least)
