"""Select the figures that answer the study's question for each contender, for summary sentences.

A headline is about one figure of one workload. It never averages different kinds of figures or different
workloads. It averages over scales only where all of them have the same verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tare.analysis.aggregate import Levels, block_levels
from tare.analysis.answering_figures import answering_foms
from tare.analysis.aspects import Aspect, Sizes, is_elapsed
from tare.analysis.proofs import nothing_crosses
from tare.analysis.table import tabulate
from tare.analysis.verdicts.compare import aggregates, splits, terms_of
from tare.analysis.verdicts.equivalence_limits import own_note
from tare.analysis.verdicts.families import Family, FamilyKind, Subject
from tare.analysis.verdicts.family_tests import judge
from tare.analysis.verdicts.interim_looks import session_ends
from tare.analysis.verdicts.questions import Questions, questions, size_parts, split_name
from tare.analysis.verdicts.row_notes import TOO_FEW_OR_ZERO
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison, Correction, Finding, MeanCost
from tare.core.counting import count
from tare.core.values import Settings
from tare.core.verdict import Verdict
from tare.core.workload import Better
from tare.stats.intervals import MIN_BLOCKS, Floats


class Headline(Finding, frozen=True, kw_only=True):
    """One figure of one workload with its change, for all pairs of cases with the same verdict.

    `at` holds coordinates that are words, such as ``operation``. `cases` are the ids of the reference's and
    the contender's cases of each pair. For several pairs, `ratio` is the geometric mean, formed within each
    block, and `least` and `most` are the smallest and the largest ratio. The verdict is that of each single
    pair: the mean makes no claim of its own. `is_answer` is False for an elapsed time that answers another
    question; it is included because it got worse. `judged_with` is the family that the verdict is drawn in.
    `rows` are the comparisons of the single pairs.
    """

    aspect: Aspect
    workload: str
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
    judged_with: FamilyKind = FamilyKind.QUOTED
    rows: tuple[Comparison, ...] = ()

    @property
    def is_elapsed(self) -> bool:
        """Return whether the figure is a time that somebody waits for."""
        return is_elapsed(self.unit, self.better)


class _Item(NamedTuple):
    """One figure of a pair with the values of each side, one per block.

    `row` is its row of the table of figures, or of the splits.
    """

    subject: Subject
    aspect: Aspect
    sizes: Sizes
    below: Floats
    above: Floats
    rounding: float
    is_recorded: bool
    is_answer: bool
    judged_with: FamilyKind
    row: Comparison


def headlines(campaign: Campaign) -> list[Headline]:
    """Return the figures that answer the study's question for each contender, each with its verdict.

    Which figures answer depends on what differs between the sides (see `answering_foms`). A figure that is a
    row of `aggregates` has the verdict of that row. For figures at many message sizes, only latency and
    bandwidth are included. Figures with coordinates that are words have one headline for each. These parts
    form a family of their own (see `splits`). Elapsed times that got worse are always included, whichever
    question they answer.
    """
    items = list(_items(campaign, questions(campaign)))
    groups: dict[object, list[_Item]] = {}
    worse = {_figure(one) for one in items if one.is_answer and _is_worse(one.row)}
    for one in items:
        if one.is_answer or (_is_worse(one.row) and _figure(one) not in worse):
            groups.setdefault(_key(one), []).append(one)
    return [_headline(group, campaign) for group in groups.values()]


def _is_worse(found: Finding) -> bool:
    return found.verdict is Verdict.WORSE


def _figure(item: _Item) -> tuple[object, ...]:
    """Return the identity of an item's figure, for all of its sizes or only some."""
    one = item.subject
    cases = one.pair.contender_case.id, one.pair.reference_case.id
    return *cases, one.fom, one.unit, *one.labels.items()


def _key(item: _Item) -> object:
    """Return the key that the items of one headline have in common."""
    one, found = item.subject, item.row
    what = (one.pair.workload, one.fom, one.unit, item.sizes, item.is_answer, tuple(one.labels.items()))
    verdict = found.verdict if found.low is not None else None
    judged = (verdict, bool(found.withheld_by), found.ratio is None)
    return tuple(one.pair.contender.items()), tuple(one.pair.reference.items()), what, judged


def _items(campaign: Campaign, asked: Questions) -> Iterator[_Item]:
    families = {family.kind: family for family in asked.families}
    rows_of_parts, table = splits(campaign), tabulate(campaign)
    for whole, row in zip(asked.figures, aggregates(campaign), strict=True):
        subject = families[whole.kind].subjects[whole.number]
        pair = subject.pair
        if nothing_crosses(campaign.plan, pair):
            continue
        answering = answering_foms(campaign.plan, pair)
        is_covered = False
        if not answering or subject.fom in answering:
            for aspect, sizes, cells in size_parts(table, pair, subject.cells):
                name = split_name(pair, cells)
                part, part_row = asked.splits.get(name, whole), rows_of_parts.get(name, row)
                is_covered |= part_row is row
                yield _item(families[part.kind], part.number, part_row, aspect, sizes)
        if not is_covered and is_elapsed(subject.unit, subject.better):
            item = _item(families[whole.kind], whole.number, row, Aspect.TIME, Sizes.ALL)
            yield item._replace(is_answer=False)


def _item(family: Family, number: int, row: Comparison, aspect: Aspect, sizes: Sizes) -> _Item:
    return _Item(
        subject=family.subjects[number],
        aspect=aspect,
        sizes=sizes,
        below=family.below[:, number],
        above=family.above[:, number],
        rounding=float(family.rounding[number]),
        is_recorded=bool(family.is_recorded[number]),
        is_answer=True,
        judged_with=family.kind,
        row=row,
    )


def _headline(items: Sequence[_Item], campaign: Campaign) -> Headline:
    found = [one.row for one in items]
    one, first, subject = found[0], items[0], items[0].subject
    values = {name: getattr(one, name) for name in Finding.__struct_fields__}
    values["note"] = own_note(one)
    if len(items) > 1:
        values |= _mean(items, found, campaign)
    ratios = [each.ratio for each in found if each.ratio is not None]
    return Headline(
        aspect=first.aspect,
        workload=subject.pair.workload,
        fom=subject.fom,
        unit=subject.unit,
        better=first.aspect.better,
        reference=subject.pair.reference,
        contender=subject.pair.contender,
        at=dict(subject.labels),
        sizes=first.sizes,
        cases=tuple((each.row.reference_case, each.row.contender_case) for each in items),
        least=min(ratios, default=None),
        most=max(ratios, default=None),
        is_answer=first.is_answer,
        judged_with=first.judged_with,
        rows=tuple(found),
        **values,
    )


def _mean(items: Sequence[_Item], found: Sequence[Finding], campaign: Campaign) -> dict[str, object]:
    """Return the mean over items that have the same verdict: its ratio, its interval, and that verdict.

    The claim is made for every item, so the p value is that of the least certain one.
    """
    is_recorded = all(one.is_recorded for one in items)
    levels = _levels(items, campaign, is_recorded=is_recorded)
    judged = judge(
        levels.reference[:, np.newaxis],
        levels.contender[:, np.newaxis],
        [items[0].aspect.better],
        terms_of(campaign, None, Correction.HOLM),
        np.array([is_recorded]),
        rounding=np.sqrt(np.square([[one.rounding] for one in items]).sum(axis=0)) / len(items),
        is_unpaired=campaign.compares_unpaired,
        ends=session_ends(campaign, tabulate(campaign).passes),
    )
    (mean,) = judged.findings()
    notes = _notes(found)
    if levels.left_out:
        left_out = f"{levels.left_out} of {count(len(items), 'case')} {TOO_FEW_OR_ZERO}"
        if levels.left_out < len(items):
            notes.append(left_out)
        elif len(notes) != 1 or found[0].ratio is not None:  # without a mean, no other note holds
            notes = [left_out]
    if levels.n_missing:
        missing = (
            f"{levels.n_missing} of {count(levels.n_pairs, 'pair')} of runs "
            f"{'is' if levels.n_missing == 1 else 'are'} missing"
        )
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
        "timed_out": (sum(one.timed_out[0] for one in found), sum(one.timed_out[1] for one in found)),
        "rounding": max(one.rounding for one in found),
        "rounding_hides": all(one.rounding_hides for one in found),
        "verdict": found[0].verdict,
        "more_blocks": None if None in more else _most(more),
        "note": "; ".join(notes),
        "mean_cost": _most_notable(found) or mean.mean_cost,
        "assumes_independence": any(one.assumes_independence for one in found),
        "planned_blocks": _most(one.planned_blocks for one in found),
        **{name: _most(getattr(one, name) for one in found) for name in names},
    }


def _notes(found: Sequence[Finding]) -> list[str]:
    """Return the notes of rows, each with the number of its rows if they are not all; the rest is counted."""
    numbers = Counter(map(own_note, found))
    n_without = numbers.pop("", 0)
    if found[0].ratio is None or (len(numbers) < 2 and not n_without):
        return list(numbers)
    cases = count(len(found), "case")
    notes = [f"in {n} of {cases}, {note}" for note, n in numbers.most_common(_MOST_NOTES)]
    if rest := numbers.total() - sum(n for _, n in numbers.most_common(_MOST_NOTES)):
        notes.append(f"{count(rest, 'more case has a note', 'more cases have notes')} in the tables")
    return notes


_MOST_NOTES = 2
"""The most different notes of single pairs that their mean quotes."""


def _most_notable(found: Sequence[Finding]) -> MeanCost | None:
    """Return the `MeanCost` farthest from 1 among those that disagree with their verdicts, if any."""
    notable = [one.mean_cost for one in found if one.mean_cost is not None and one.mean_cost.is_notable]
    return max(notable, key=lambda one: abs(one.ratio - 1), default=None)


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _levels(items: Sequence[_Item], campaign: Campaign, *, is_recorded: bool) -> Levels:
    below, above = (
        np.column_stack([one.below for one in items]),
        np.column_stack([one.above for one in items]),
    )
    if is_recorded and not campaign.compares_unpaired:
        below, above = _side_by_side(below, above, [one.block for one in tabulate(campaign).passes])
    least = MIN_BLOCKS if campaign.compares_unpaired else 1
    together = int((np.isfinite(below) & np.isfinite(above)).any(axis=1).sum())
    return block_levels(below, above, is_paired=is_recorded and together >= least)


def _side_by_side(below: Floats, above: Floats, blocks: Sequence[int]) -> tuple[Floats, Floats]:
    """Return both sides, passes × cases, with the pairs of a block in as few of its passes as hold them.

    Cases that were added later ran in another session than the rest of their block. Each pair ran together,
    so the mean over cases may take one pair of each from different passes of a block.
    """
    is_pair = np.isfinite(below) & np.isfinite(above)
    moved = tuple(np.where(is_pair, np.nan, side) for side in (below, above))
    rows_of: dict[int, list[int]] = {}
    for row, block in enumerate(blocks):
        rows_of.setdefault(block, []).append(row)
    for rows in rows_of.values():
        for column in range(below.shape[1]):
            paired = [row for row in rows if is_pair[row, column]]
            last = rows[len(rows) - len(paired) :]
            for to, side in zip(moved, (below, above), strict=True):
                to[last, column] = side[paired, column]
    return moved[0], moved[1]
