"""Describe in sentences what is known about how imported runs were made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tare.analysis.pairs import pairs, recorded_blocks
from tare.core.attempt import Attempt
from tare.core.campaign import Campaign
from tare.core.case import Pass
from tare.core.counting import count
from tare.stats.intervals import MIN_BLOCKS


def imported_sentences(campaign: Campaign) -> Iterator[str]:
    """Yield that runs were imported, in which order they were made, and which are paired; may be empty."""
    runs = [one for one in campaign.measured() if one.source is not None]
    if not runs:
        return
    n_all = len(campaign.measured())
    which = "These runs" if len(runs) == n_all else f"{len(runs)} of {n_all} measured runs"
    yield f"{which} were made elsewhere and imported: {imported_order(runs)}."
    yield from _pairing(campaign, runs)


def imported_order(runs: Sequence[Attempt]) -> str:
    """Return what is known about the order in which imported runs were made, as part of a sentence."""
    n_told = sum(one.source is not None and one.source.gives_time for one in runs)
    if not n_told:
        return "the order in which they were made is not known"
    if n_told == len(runs):
        return "their order is that of the times in their files, which Tare cannot verify"
    of = f"{n_told} of {count(len(runs), 'file')}"
    return f"{of} {'has' if n_told == 1 else 'have'} times; the order of the others is not known"


def _pairing(campaign: Campaign, runs: Sequence[Attempt]) -> Iterator[str]:
    """Yield how imported runs are compared; only comparisons with runs of both sides are counted."""
    cases, told = {one.case for one in runs}, recorded_blocks(campaign)
    passes: dict[str, set[Pass]] = {}
    for one in campaign.measured():
        passes.setdefault(one.case, set()).add(one.together)
    compared = [{pair.reference_case.id, pair.contender_case.id} for pair in pairs(campaign)]
    compared = [one for one in compared if one & cases and one <= passes.keys()]
    least = MIN_BLOCKS if campaign.compares_unpaired else 1
    shared = [len(set.intersection(*(passes[case] for case in one))) for one in compared]
    n_paired = sum(one <= told and n >= least for one, n in zip(compared, shared, strict=True))
    if not compared:
        return
    if n_paired == len(compared):
        yield f"They are paired by the block that their files name{_except(runs)}."
    elif n_paired:
        yield (
            f"Of {count(len(compared), 'comparison')} {n_paired} {'is' if n_paired == 1 else 'are'} paired "
            "by the "
            f"block that the files name{_except(runs)}; the others lack blocks with both sides."
        )
    elif any(one <= told for one in compared):
        yield f"Their files name blocks, but too few of them hold runs of both sides{_except(runs)}."
    else:
        yield "Their files name no blocks, so all runs of one side are compared with all of the other."


def _except(runs: Sequence[Attempt]) -> str:
    """Return which runs of a block are nevertheless not paired, because of the times in their files."""
    reasons = []
    if len({one.session for one in runs}) > 1:
        reasons.append("go back to an earlier block")
    if any(one.part for one in runs):
        reasons.append("have a long time between them")
    return f", but not where they {' or '.join(reasons)} by the times in their files" if reasons else ""
