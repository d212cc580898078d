"""Find the interim looks of a campaign: the session ends at which a verdict could have been read."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tare.analysis.pairs import pairs, recorded_blocks
from tare.core.campaign import Campaign
from tare.core.case import Pass
from tare.stats.intervals import MIN_BLOCKS, Floats
from tare.stats.looks import ColumnLooks, Looks
from tare.stats.ratios import paired_columns


@dataclasses.dataclass(frozen=True, eq=False)
class SessionEnds:
    """The session of each pass, and the sessions at whose end a verdict could be read.

    The last session is always one of the latter.
    """

    sessions: npt.NDArray[np.int64]
    ends: tuple[int, ...]

    def looks(self, reference: Floats, contender: Floats, is_paired: npt.NDArray[np.bool_]) -> ColumnLooks:
        """Return the numbers of blocks at each look, by column; () where there was never an interval."""
        if not self.ends:
            return ColumnLooks([()], np.zeros(reference.shape[1], np.intp))
        sides = np.isfinite(reference), np.isfinite(contender)
        both = sides[0] & sides[1]
        counts = []
        for end in self.ends:
            until = (self.sessions <= end)[:, np.newaxis]
            fewest = np.minimum(*((side & until).sum(axis=0) for side in sides))
            counts.append(np.where(is_paired, (both & until).sum(axis=0), fewest))
        distinct, which = np.unique(np.array(counts), axis=1, return_inverse=True)
        return ColumnLooks([_distinct(column) for column in distinct.T.tolist()], which.ravel())


def session_ends(campaign: Campaign, passes: Sequence[Pass]) -> SessionEnds:
    """Return the looks that the sessions of `campaign` gave.

    A session that only continues the unfinished plan of its predecessor adds no look. A session that planned
    other blocks adds one, and so does a session whose plan is unknown. Imported runs were all available at
    once, so their times are no looks.
    """
    numbers = sorted({one.session for one in passes})
    planned = {one.number: one.blocks for one in campaign.sessions}
    ends = [
        number
        for number, following in itertools.pairwise(numbers)
        if following > 0 and (not planned.get(number) or planned.get(number) != planned.get(following))
    ]
    sessions = np.array([one.session for one in passes], np.int64)
    return SessionEnds(sessions, (*ends, *numbers[-1:]))


def looks_at(campaign: Campaign) -> dict[str, int]:
    """Return the current look of each contender, by case; of each case where nothing is compared.

    The verdicts are computed at this look (see SessionEnds). Figures that some runs lack may be at an earlier
    look.
    """
    found = pairs(campaign)
    sides = [(one.reference_case.id, one.contender_case.id) for one in found]
    if not found:
        sides = [(case.id, case.id) for case in campaign.plan.cases]
    measured = [one for one in campaign.measured() if one.series]
    passes = sorted({one.together for one in measured})
    rows = {one: row for row, one in enumerate(passes)}
    columns = {case.id: column for column, case in enumerate(campaign.plan.cases)}
    values = np.full((len(rows), len(columns)), np.nan)
    for one in measured:
        if one.case in columns:
            values[rows[one.together], columns[one.case]] = 1.0
    below, above = (values[:, [columns[side[index]] for side in sides]] for index in (0, 1))
    recorded = recorded_blocks(campaign)
    is_recorded = np.array([recorded.issuperset(side) for side in sides], np.bool_)
    is_paired = paired_columns(below, above, is_recorded, is_unpaired=campaign.compares_unpaired)
    looks = session_ends(campaign, passes).looks(below, above, is_paired)
    return {contender: max(len(one), 1) for (_, contender), one in zip(sides, looks, strict=True)}


def _distinct(counts: Sequence[int]) -> Looks:
    """Return the distinct block counts with an interval: without new blocks it is the same look."""
    return tuple(dict.fromkeys(count for count in counts if count >= MIN_BLOCKS))
