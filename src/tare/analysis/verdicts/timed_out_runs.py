"""Withhold claims that rest on runs which were fast enough not to be ended at their time-out.

A run that was ended at its time-out was slow, and gives no number. The others are then faster than the case
is: nothing that favours the case follows from them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from tare.core.attempt import Attempt, State
from tare.core.attribution import Attribution
from tare.core.campaign import Campaign
from tare.core.comparison import Finding
from tare.core.interval import Bounded
from tare.core.verdict import Verdict

_CHECK = "timeout"


def timed_out(campaign: Campaign) -> Mapping[str, int]:
    """Return how many runs of each case were ended at their time-out and not made again; it is cached."""
    return campaign.memo.get(timed_out, lambda: _counted(campaign))


def _counted(campaign: Campaign) -> Counter[str]:
    return Counter(
        run.case for run, one in campaign.latest().items() if run.block >= 1 and _has_timed_out(one)
    )


def of_survivors(found: Finding, reference: int, contender: int) -> Finding:
    """Return `found` without what favours a side of which runs timed out, and with a note on them.

    `reference` and `contender` are the numbers of these runs. No side of which a run timed out is called
    better or equivalent.
    """
    if not (reference or contender) or found.ratio is None:
        return found
    note = "; ".join(filter(None, (found.note, timed_out_words(reference, contender))))
    counted = msgspec.structs.replace(found, note=note, timed_out=(reference, contender))
    if found.verdict is Verdict.UNDECIDED or favours_survivors(found.verdict, reference, contender):
        return msgspec.structs.replace(counted, verdict=Verdict.UNDECIDED, more_blocks=None)
    return counted


def attribution_of_survivors(one: Attribution, campaign: Campaign) -> Attribution:
    """Return an attribution without what favours a side of which profiled runs timed out."""
    counts = campaign.memo.get(attribution_of_survivors, lambda: _counted_profiles(campaign))
    reference, contender = counts[one.reference_case], counts[one.contender_case]
    if not (reference or contender) or one.ratio is None:
        return one
    note = "; ".join(filter(None, (one.note, timed_out_words(reference, contender))))
    is_open = favours_survivors(_drawn(one.ratio), reference, contender)
    scatter = one.scatter
    if scatter is not None and favours_survivors(_drawn(scatter.ratio), reference, contender):
        scatter = msgspec.structs.replace(scatter, is_decided=False)
    return msgspec.structs.replace(one, note=note, is_decided=one.is_decided and not is_open, scatter=scatter)


def _counted_profiles(campaign: Campaign) -> Counter[str]:
    last: dict[tuple[str, int], Attempt] = {}
    for one in (*campaign.attempts, *campaign.profiled_attempts):
        key = one.case, one.block
        if one.is_profiled and one.block >= 1 and one.supersedes(last.get(key)):
            last[key] = one
    return Counter(one.case for one in last.values() if _has_timed_out(one))


def _has_timed_out(attempt: Attempt) -> bool:
    return attempt.state is State.FAILED and attempt.check == _CHECK


def _drawn(cost: Bounded) -> Verdict:
    return Verdict.WORSE if cost.value > 1 else Verdict.BETTER


def favours_survivors(verdict: Verdict, reference: int, contender: int) -> bool:
    """Return whether a verdict favours a side of which so many runs timed out.

    A claim that the sides are alike favours both.
    """
    favoured = {
        Verdict.BETTER: contender,
        Verdict.WORSE: reference,
        Verdict.EQUIVALENT: reference + contender,
    }
    return favoured.get(verdict, 0) > 0


def timed_out_words(reference: int, contender: int, *, is_alone: bool = False) -> str:
    """Return how many runs timed out: ``3 runs of the contender were ended at their time-out and …``.

    `is_alone` leaves out of whom, for a case that is compared with no other.
    """
    sides = {"reference": reference, "contender": contender}
    parts = [f"{count} run{'s'[: count > 1]} of the {side}" for side, count in sides.items() if count]
    runs = parts[0].partition(" of ")[0] if is_alone else " and ".join(parts)
    was, their, do = ("was", "its", "does") if reference + contender == 1 else ("were", "their", "do")
    return f"{runs} {was} ended at {their} time-out and {do} not count"
