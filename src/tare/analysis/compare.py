"""Compare every contender with its reference: at each point, and over all points together.

All functions take a campaign and return `Comparison` rows: `comparisons` one for each point, `aggregates` one
for each figure of merit, `overview_of` one for each contender, workload and scale.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import msgspec
import numpy as np

from tare.analysis.equivalence_limits import withhold
from tare.analysis.estimate import listed
from tare.analysis.family_tests import Terms, findings
from tare.analysis.interim_looks import SessionEnds
from tare.analysis.missing import MissingValues
from tare.analysis.proofs import NOTHING_CROSSED
from tare.analysis.questions import (
    Family,
    FamilyKind,
    FamilyRow,
    Questions,
    SplitName,
    Subject,
    questions,
    with_left_out,
)
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison, ConfidenceLevel, Correction, Finding
from tare.core.values import Scalar, Settings
from tare.stats.estimates import estimate
from tare.stats.intervals import Floats


def comparisons(
    campaign: Campaign,
    *,
    reference: Settings | None = None,
    margin: float | None = None,
    correction: Correction | None = None,
    foms: Collection[str] = (),
) -> list[Comparison]:
    """Compare each contender with its reference, for every FOM and every point of its coordinates.

    `reference` and `margin` replace those of the study; `foms` selects rows by FOM, and all rows if empty. A
    cell that only one side measured gets a row without a ratio. Figures with one point have the same row as
    in `aggregates`. The points of all other figures form a family of their own, meant for exploring. By
    default, on average at most 5 % of the differences that it claims are false, and likewise of the
    equivalences. Raises UsageError when no case has the settings of `reference`.
    """
    asked = questions(campaign, reference, foms)
    return _rows(campaign, asked, asked.points, margin, correction)


def aggregates(
    campaign: Campaign,
    *,
    reference: Settings | None = None,
    margin: float | None = None,
    correction: Correction | None = None,
    foms: Collection[str] = (),
) -> list[Comparison]:
    """Compare each contender with its reference, with one row for each figure over its numeric coordinates.

    Coordinates that are words separate figures: written and read bytes, for example, are never averaged. For
    each side and block, the geometric mean over the coordinates is taken, and the interval pairs these block
    means. Points of one run rise and fall together, so they do not count as n independent observations. The
    FOMs that a summary shows form one family, and the others form another. So by default the chance of any
    false claim of a difference among the quoted figures is at most 5 %, and so is that of a false
    equivalence. `foms` selects rows by FOM.
    """
    asked = questions(campaign, reference, foms)
    return _rows(campaign, asked, asked.figures, margin, correction)


def splits(campaign: Campaign) -> dict[SplitName, Comparison]:
    """Compare parts of a figure's sizes, as sentences in a report do; they form a family of their own.

    The result is keyed by the cells of each part. A part with a single size is also a row of `comparisons`,
    with the same verdict.
    """
    asked = questions(campaign)
    rows = _rows(campaign, asked, list(asked.splits.values()), None, None)
    return dict(zip(asked.splits, rows, strict=True))


def _rows(
    campaign: Campaign,
    asked: Questions,
    located: Sequence[FamilyRow],
    margin: float | None,
    correction: Correction | None,
) -> list[Comparison]:
    """Return the rows at `located` with the verdicts of their families.

    A row is not called equivalent if an elapsed time of the same pair got longer.
    """
    over_coordinates = (FamilyKind.QUOTED, FamilyKind.OTHERS)
    wanted = {*over_coordinates, *(row.kind for row in located)}
    judged: dict[FamilyKind, list[Comparison]] = {}
    for family in asked.families:
        if family.kind in wanted:
            terms = terms_of(campaign, margin, correction or family.kind.correction)
            judged[family.kind] = _judged(campaign, family, terms, asked)
    rows = [_at(judged[row.kind][row.number], row.at) for row in located]
    return withhold(rows, itertools.chain.from_iterable(judged.get(kind, ()) for kind in over_coordinates))


def _at(one: Comparison, at: dict[str, Scalar]) -> Comparison:
    return one if one.at is at else msgspec.structs.replace(one, at=at)


def _judged(campaign: Campaign, family: Family, terms: Terms, asked: Questions) -> list[Comparison]:
    """Return the comparisons of a family; the result is cached, since a campaign does not change."""

    def judge() -> tuple[Family, list[Comparison]]:  # the family stays alive with it, so its id stays unique
        return family, judged_comparisons(campaign, family, terms, asked.ends)

    return campaign.memo.get((_judged, id(family), terms), judge)[1]


def overview_of(aggregates: Sequence[Comparison]) -> list[Comparison]:
    """Return one row for each contender case: its first FOM that answers, over all coordinates.

    If no FOM of a workload answers the question, its first FOM is shown. The verdicts are those of
    `aggregates`, so that the same row never has two verdicts. They remain valid here: what holds for a whole
    family also holds for a part of it.
    """
    shown: dict[str, Comparison] = {}
    for one in aggregates:
        held = shown.get(one.contender_case)
        if held is None or (one.is_answer and not held.is_answer):
            shown[one.contender_case] = one
    return list(shown.values())


def terms_of(campaign: Campaign, margin: float | None, correction: Correction) -> Terms:
    """Return the terms for verdicts; the margin is that of the study unless another is given."""
    return Terms(
        margin=campaign.plan.margin if margin is None else margin,
        correction=correction,
        mean=campaign.mean,
    )


def judged_comparisons(
    campaign: Campaign, family: Family, terms: Terms, ends: SessionEnds
) -> list[Comparison]:
    """Return the comparisons of a family."""
    with np.errstate(divide="ignore"):  # a count of zero gives a ratio of zero, whose logarithm is −inf
        found = findings(
            family.below,
            family.above,
            [one.better for one in family.subjects],
            terms,
            family.is_recorded,
            rounding=family.rounding,
            ends=ends,
            is_unpaired=campaign.compares_unpaired,
        )
    planned = _planned_blocks(campaign)
    sides = _from_common_runs(family.below, family.above)
    levels = zip(*(_levels(side) for side in sides), strict=True)
    missing = MissingValues(campaign)
    found = [
        missing.explained(subject.pair, one, below, above)
        for subject, one, below, above in zip(
            family.subjects, found, family.below.T, family.above.T, strict=True
        )
    ]
    return [
        comparison(
            subject,
            _crossed(subject, _in_progress(one, subject, planned)),
            levels=two,
            is_primary=subject.is_quoted,
            is_answer=subject.is_answer,
        )
        for subject, one, two in zip(family.subjects, found, levels, strict=True)
    ]


def _crossed(subject: Subject, found: Finding) -> Finding:
    """Return `found`, marked as without evidence if no data crossed the networks that are compared."""
    if not subject.is_uncrossed:
        return found
    return msgspec.structs.replace(found, is_uncrossed=True, is_apart=False, note=NOTHING_CROSSED)


def _planned_blocks(campaign: Campaign) -> dict[str, int]:
    """Return the number of planned blocks of each case that still has runs to come."""
    if campaign.is_imported:
        return {}
    planned, latest = campaign.planned(), campaign.latest()
    left = {run.case for run in planned if run not in latest}
    counts = Counter(run.case for run in planned)
    return {case: counts[case] for case in left}


def _in_progress(found: Finding, subject: Subject, planned: Mapping[str, int]) -> Finding:
    """Return `found` with the number of planned blocks, if more blocks than it has are planned."""
    if not planned:
        return found
    cases = (subject.pair.reference_case.id, subject.pair.contender_case.id)
    blocks = max((planned[case] for case in cases if case in planned), default=0)
    if found.ratio is None or blocks <= found.n_blocks:
        return found
    return msgspec.structs.replace(found, planned_blocks=blocks)


def _from_common_runs(below: Floats, above: Floats) -> tuple[Floats, Floats]:
    """Return both sides, passes × columns, where they ran together; whole columns if they never did.

    The level shown next to a change must come from the same runs as the change. A case may have run again
    later, together with other cases, when the machine was in another state.
    """
    both = np.isfinite(below) & np.isfinite(above)
    is_kept = both | ~both.any(axis=0)
    return np.where(is_kept, below, np.nan), np.where(is_kept, above, np.nan)


def _levels(values: Floats) -> list[ConfidenceLevel | None]:
    """Return the level of each column with its interval; None where there is no value."""
    found = estimate(values)
    rows = zip(*listed(found.value, found.low, found.high), strict=True)
    return [
        None if value is None else ConfidenceLevel(value=value, low=low, high=high)
        for value, low, high in rows
    ]


def comparison(
    subject: Subject,
    found: Finding,
    *,
    is_primary: bool,
    is_answer: bool = False,
    levels: tuple[ConfidenceLevel | None, ConfidenceLevel | None] = (None, None),
) -> Comparison:
    """Combine a subject with what was `found` of it into a `Comparison`."""
    found = with_left_out(found, subject.note)
    if subject.over and found.mean_cost is not None:  # no run measured a mean over sizes
        bare = msgspec.structs.replace(found.mean_cost, tail="", reference_tail=None, contender_tail=None)
        found = msgspec.structs.replace(found, mean_cost=bare)
    return Comparison(
        *msgspec.structs.astuple(found),
        fom=subject.fom,
        unit=subject.unit,
        better=subject.better,
        at=subject.at,
        reference=subject.pair.reference,
        contender=subject.pair.contender,
        reference_case=subject.pair.reference_case.id,
        contender_case=subject.pair.contender_case.id,
        is_primary=is_primary,
        is_answer=is_answer,
        over=subject.over,
        labels=subject.labels,
        reference_level=None if subject.over else levels[0],
        contender_level=None if subject.over else levels[1],
    )
