"""Compare every contender with its reference: at each point, and over all points together.

All functions take a campaign and return `Comparison` rows: `comparisons` one for each point, `aggregates` one
for each figure of merit, `overview_of` one for each contender, workload and scale.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tare.analysis.verdicts.comparison_rows import ComparisonRows, rows_at
from tare.analysis.verdicts.equivalence_limits import longer_times
from tare.analysis.verdicts.families import Family, FamilyKind, FamilyRow
from tare.analysis.verdicts.interim_looks import SessionEnds
from tare.analysis.verdicts.judged_family import Terms
from tare.analysis.verdicts.judged_subjects import JudgedSubjects
from tare.analysis.verdicts.questions import Questions, SplitName, questions
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison, Correction
from tare.core.values import Settings


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
    rows = comparison_rows(campaign, reference=reference, margin=margin, correction=correction, foms=foms)
    return list(rows)


def comparison_rows(
    campaign: Campaign,
    *,
    reference: Settings | None = None,
    margin: float | None = None,
    correction: Correction | None = None,
    foms: Collection[str] = (),
) -> ComparisonRows:
    """Return the rows of `comparisons`, of which each is made when somebody first asks for it."""
    asked = questions(campaign, reference, foms)
    judged = _judged(campaign, asked, margin, correction)
    return ComparisonRows(asked.points, judged, longer_times(_over_coordinates(judged)))


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
    judged = _judged(campaign, asked, margin, correction)
    return rows_at(located, judged, longer_times(_over_coordinates(judged)))


_OVER_COORDINATES = (FamilyKind.QUOTED, FamilyKind.OTHERS)


def _over_coordinates(judged: Mapping[FamilyKind, JudgedSubjects]) -> list[Comparison]:
    """Return the comparisons of all figures over their coordinates."""
    return [row for kind in _OVER_COORDINATES if kind in judged for row in judged[kind].all()]


def _judged(
    campaign: Campaign,
    asked: Questions,
    margin: float | None,
    correction: Correction | None,
) -> dict[FamilyKind, JudgedSubjects]:
    """Return the families with their verdicts."""
    return {
        family.kind: _judged_family(
            campaign, family, terms_of(campaign, margin, correction or family.kind.correction), asked.ends
        )
        for family in asked.families
    }


def _judged_family(campaign: Campaign, family: Family, terms: Terms, ends: SessionEnds) -> JudgedSubjects:
    """Return a family with its verdicts; the result is cached, since a campaign does not change."""

    def judge() -> tuple[Family, JudgedSubjects]:  # the family stays alive with it, so its id stays unique
        return family, JudgedSubjects(campaign, family, terms, ends)

    return campaign.memo.get((_judged_family, id(family), terms), judge)[1]


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
