"""The subjects of a family with their verdicts, as comparisons.

The verdicts of a family rest on all of its subjects, and are computed for whole columns. A comparison is made
when somebody first asks for it.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from tare.analysis.estimate import listed
from tare.analysis.proofs import NOTHING_CROSSED
from tare.analysis.table import TINY, tabulate
from tare.analysis.verdicts.contrary_points import told_of_points
from tare.analysis.verdicts.families import Family, Subject
from tare.analysis.verdicts.family_tests import judge
from tare.analysis.verdicts.interim_looks import SessionEnds
from tare.analysis.verdicts.judged_family import JudgedFamily, Terms
from tare.analysis.verdicts.missing import MissingValues
from tare.analysis.verdicts.questions import with_left_out
from tare.analysis.verdicts.timed_out_runs import of_survivors, timed_out
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison, ConfidenceLevel, Finding
from tare.stats.intervals import CONFIDENCE, Floats
from tare.stats.levels import Level, levels


class JudgedSubjects:
    """The subjects of a family with their verdicts."""

    def __init__(self, campaign: Campaign, family: Family, terms: Terms, ends: SessionEnds) -> None:
        self._campaign, self._family, self._terms, self._ends = campaign, family, terms, ends
        self._missing = MissingValues(campaign)
        self._made: dict[int, Comparison] = {}

    @functools.cached_property
    def _judged(self) -> JudgedFamily:
        family = self._family
        with np.errstate(divide="ignore"):  # a count of zero gives a ratio of zero, whose logarithm is −inf
            return judge(
                family.below,
                family.above,
                family.better,
                self._terms,
                family.is_recorded,
                rounding=family.rounding,
                ends=self._ends,
                is_unpaired=self._campaign.compares_unpaired,
            )

    def comparisons(self, numbers: Sequence[int]) -> list[Comparison]:
        """Return the comparisons of the subjects with these numbers."""
        missing = [number for number in dict.fromkeys(numbers) if number not in self._made]
        if missing:
            self._made.update(zip(missing, self._make(missing), strict=True))
        return [self._made[number] for number in numbers]

    def all(self) -> list[Comparison]:
        """Return the comparisons of all subjects."""
        return self.comparisons(range(len(self._family.subjects)))

    def has_intervals(self, numbers: Sequence[int]) -> bool:
        """Return whether any of these subjects is paired and has an interval."""
        columns = np.array(numbers, np.intp)
        return bool((self._judged.is_paired[columns] & np.isfinite(self._judged.found.low[columns])).any())

    def has_unpaired(self, numbers: Sequence[int]) -> bool:
        """Return whether any of these subjects is not paired."""
        return not self._judged.is_paired[np.array(numbers, np.intp)].all()

    def _make(self, numbers: Sequence[int]) -> Iterator[Comparison]:
        subjects = [self._family.subjects[number] for number in numbers]
        below, above = (
            np.ascontiguousarray(side[:, numbers]) for side in (self._family.below, self._family.above)
        )
        with np.errstate(divide="ignore"):
            found = self._judged.of(numbers).findings()
        sides = _from_common_runs(below, above, np.array([one.is_paired for one in found], bool))
        found_levels = levels(*sides, self._shifts(subjects), self._terms.mean, CONFIDENCE)
        both = zip(*map(_listed_levels, found_levels), strict=True)
        planned = _planned_blocks(self._campaign)
        explained = self._told_of_tiny(subjects, self._explained(subjects, found, below, above))
        for subject, one, two in zip(subjects, explained, both, strict=True):
            yield comparison(
                subject,
                _crossed(subject, _in_progress(one, subject, planned)),
                levels=two,
                is_primary=subject.is_quoted,
                is_answer=subject.is_answer,
            )

    def _explained(
        self, subjects: Sequence[Subject], found: Sequence[Finding], below: Floats, above: Floats
    ) -> list[Finding]:
        """Return the findings, told of missing values, of runs that timed out, and of contrary points."""
        n_timed_out = timed_out(self._campaign)
        explained = [
            of_survivors(
                self._missing.explained(subject.pair, one, one_below, one_above, subject.cells),
                n_timed_out.get(subject.pair.reference_case.id, 0),
                n_timed_out.get(subject.pair.contender_case.id, 0),
            )
            for subject, one, one_below, one_above in zip(subjects, found, below.T, above.T, strict=True)
        ]
        return told_of_points(explained, subjects, tabulate(self._campaign), self._terms)

    def _told_of_tiny(self, subjects: Sequence[Subject], found: Sequence[Finding]) -> list[Finding]:
        """Return the findings with a note on those of which values count as 0 although they are not."""
        table = tabulate(self._campaign)
        if not table.has_tiny.any():
            return list(found)
        return [
            msgspec.structs.replace(one, note="; ".join(filter(None, (one.note, TINY))))
            if any(
                table.has_tiny[table.find(case.id, subject.cells)].any()
                for case in (subject.pair.reference_case, subject.pair.contender_case)
            )
            else one
            for subject, one in zip(subjects, found, strict=True)
        ]

    def _shifts(self, subjects: Sequence[Subject]) -> tuple[Floats, Floats]:
        """Return how far rounding may have moved the mean of each side of single points, as shares."""
        table = tabulate(self._campaign)
        below, above = np.zeros((2, len(subjects)))
        for at, one in enumerate(subjects if table.shifts.any() else ()):
            if len(one.cells) == 1:
                below[at], above[at] = (
                    table.shifts[table.find(case.id, one.cells)[0]]
                    for case in (one.pair.reference_case, one.pair.contender_case)
                )
        return below, above


def _crossed(subject: Subject, found: Finding) -> Finding:
    """Return `found`, marked as without evidence if no data crossed the networks that are compared."""
    if not subject.is_uncrossed:
        return found
    return msgspec.structs.replace(found, is_uncrossed=True, is_apart=False, note=NOTHING_CROSSED)


def _planned_blocks(campaign: Campaign) -> dict[str, int]:
    """Return the number of planned blocks of each case that still has runs to come; it is cached."""
    return campaign.memo.get(_planned_blocks, lambda: _found_planned_blocks(campaign))


def _found_planned_blocks(campaign: Campaign) -> dict[str, int]:
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


def _from_common_runs(
    below: Floats, above: Floats, is_paired: npt.NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Return both sides, passes × columns, where paired ones ran together; whole columns if they never did.

    The level shown next to a change must come from the same runs as the change. A case may have run again
    later, together with other cases, when the machine was in another state.
    """
    both = np.isfinite(below) & np.isfinite(above)
    is_kept = both | ~(is_paired & both.any(axis=0))
    return np.where(is_kept, below, np.nan), np.where(is_kept, above, np.nan)


def _listed_levels(found: Level) -> list[ConfidenceLevel | None]:
    """Return the level of each column with its interval; None where there is no value."""
    rows = zip(*listed(*found), strict=True)
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
