"""Attribute a difference to computation, MPI functions, waiting and files.

`attributions` takes a campaign with profiled runs and returns one Attribution for each pair that has some.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from tare.analysis.causes.profiles import (
    COMPUTATION,
    WAITING,
    ComponentKey,
    Profiled,
    Profiles,
    common_passes,
    components,
    matrix,
    mean,
    profiles,
)
from tare.analysis.causes.scatter_causes import scatter_attribution, with_decided_scatter
from tare.analysis.causes.size_groups import group_name, size_groups
from tare.analysis.causes.uneven_computation import uneven
from tare.analysis.causes.unprofiled import Elapsed, elapsed
from tare.analysis.pairs import Pair, pairs
from tare.analysis.proofs import nothing_crosses
from tare.analysis.verdicts.interim_looks import SessionEnds, session_ends
from tare.analysis.verdicts.row_notes import unresolved_words
from tare.analysis.verdicts.timed_out_runs import attribution_of_survivors
from tare.core.attribution import Attribution, Cause, CauseKind
from tare.core.campaign import Campaign
from tare.core.case import Pass
from tare.core.counting import count
from tare.core.interval import Bounded
from tare.stats.autocorrelation import allow_for, unresolved_correlation
from tare.stats.equivalence import difference_p_values
from tare.stats.intervals import CONFIDENCE, MIN_BLOCKS, Floats, arithmetic_intervals
from tare.stats.looks import Looks, sequential_p_values
from tare.stats.multiplicity import holm
from tare.stats.ratios import ratios
from tare.stats.shares import Shares, shares

_ORDER = {kind: at for at, kind in enumerate(CauseKind)}

_LEAST_DELAY = 0.1
"""As a share of the difference: ranks that compute only so much longer make nobody wait for most of it."""

_LEAST_WAITED_FOR = 0.5
"""As a share of the waiting: if the delay of slow ranks explains less of it, most of it was for others."""

_POLLS = (
    *("MPI_Test", "MPI_Iprobe", "MPI_Improbe", "MPI_Waitany", "MPI_Waitsome", "MPI_Request_get_status"),
    "MPI_Win_test",
)
"""How the names of functions begin that are called the more often, the longer a program waits."""

_SAME_CALLS = 0.01
"""The share by which the numbers of calls of both sides may differ before a note says so."""


class _Sides(NamedTuple):
    """The runs of both sides in the passes that both have, and their components, blocks × keys.

    What slow ranks compute longer counts with the waiting for them, but not in `measured`, which has the
    components of both sides as they are.
    """

    passes: list[Pass]
    runs: tuple[list[Profiled], list[Profiled]]
    keys: list[ComponentKey]
    reference: Floats
    contender: Floats
    slow_ranks: tuple[int, ...]
    measured: tuple[Floats, Floats]


def attributions(campaign: Campaign, confidence: float = CONFIDENCE) -> list[Attribution]:
    """Return what the difference of each pair with profiled runs consists of, in the plan's order.

    A difference is decided if its p value is at most 5 % among all pairs (Holm), in profiled runs. Pairs
    whose profiled runs all failed have one, which says why.
    """
    found = profiles(campaign)
    if not found.by_case and not found.missing:
        return []
    profiled = found.by_case.keys() | found.missing.keys()
    asked = [pair for pair in pairs(campaign) if profiled & {pair.reference_case.id, pair.contender_case.id}]
    made = [_attribution(campaign, found, pair, confidence) for pair in asked]
    p_values = np.array([np.nan if one.p_adjusted is None else one.p_adjusted for one in made])
    decided = with_decided_scatter(
        [
            one
            if not np.isfinite(p)
            else msgspec.structs.replace(one, p_adjusted=p, is_decided=bool(p <= 1 - CONFIDENCE))
            for one, p in zip(made, holm(p_values).tolist(), strict=True)
        ]
    )
    return [attribution_of_survivors(one, campaign) for one in decided]


def too_few_blocks(n_blocks: int, why: str = "") -> str:
    """Return that too few blocks have a profile of both sides, and `why` runs have none."""
    blocks = count(n_blocks, "block has", "blocks have")
    text = f"{blocks} a profile of both sides; {MIN_BLOCKS} or more are needed"
    return f"{text}; {why}" if why else text


def _attribution(campaign: Campaign, found: Profiles, pair: Pair, confidence: float) -> Attribution:
    nothing = Attribution(
        workload=pair.workload,
        reference_case=pair.reference_case.id,
        contender_case=pair.contender_case.id,
        reference=pair.reference,
        contender=pair.contender,
    )
    passes = common_passes(found, pair.reference_case.id, pair.contender_case.id)
    if len(passes) < MIN_BLOCKS:
        why = found.why_missing(pair.reference_case.id, pair.contender_case.id)
        text = too_few_blocks(len(passes), why)
        return msgspec.structs.replace(nothing, n_blocks=len(passes), refusal=text)
    if nothing_crosses(campaign.plan, pair):
        return msgspec.structs.replace(
            nothing, n_blocks=len(passes), refusal="all ranks are on one node, so no data cross the network"
        )
    sides = _sides(found, pair, passes)
    both = elapsed(campaign, pair, passes, confidence)
    return _parted(nothing, sides, both, session_ends(campaign, passes), confidence)


def _sides(found: Profiles, pair: Pair, passes: list[Pass]) -> _Sides:
    runs = [
        [found.by_case[case.id][one] for one in passes] for case in (pair.reference_case, pair.contender_case)
    ]
    rows = [[components(run.profile) for run in side] for side in runs]
    keys = sorted({key for side in rows for row in side for key in row}, key=_key_order)
    below, above = (matrix(side, keys) for side in rows)
    measured = (below, above.copy())
    slow_ranks: tuple[int, ...] = ()
    if len({run.profile.ranks for side in runs for run in side}) == 1:
        computed = [np.array([run.profile.computation_s for run in side], np.float64) for side in runs]
        of_slow, found_slow = uneven(*computed)
        if (
            found_slow
            and WAITING in keys
            and _is_waited_for(of_slow, len(found_slow), len(computed[0][0]), keys, below, above)
        ):
            slow_ranks = found_slow
            above[:, keys.index(COMPUTATION)] -= of_slow
            above[:, keys.index(WAITING)] += of_slow
    return _Sides(passes, (runs[0], runs[1]), keys, below, above, slow_ranks, measured)


def _is_waited_for(
    of_slow: Floats, n_slow: int, n_ranks: int, keys: list[ComponentKey], below: Floats, above: Floats
) -> bool:
    """Return whether ranks that compute longer make others wait, for a part of the difference that counts.

    `of_slow` is what `n_slow` of them compute longer, in the mean over ranks. Where there is less of it
    together with the waiting, these ranks are not what changed; where others wait much longer than one of
    them is late, they wait for other ranks, too.
    """
    longer = float(of_slow.mean())
    waited = float((above - below)[:, keys.index(WAITING)].mean())
    delay = longer * n_ranks / n_slow  # of one of them, for which all others wait
    return (
        longer > 0
        and longer + waited > 0
        and delay >= _LEAST_DELAY * _difference(below, above)
        and delay * (n_ranks - n_slow) / n_ranks >= _LEAST_WAITED_FOR * waited
    )


def _difference(below: Floats, above: Floats) -> float:
    """Return by how much the wall time differs, in seconds, whichever side is longer."""
    return abs(float((above - below).sum(axis=1).mean()))


def _key_order(key: ComponentKey) -> tuple[int, str, int]:
    kind, name, size = key
    return _ORDER[CauseKind(kind)], name, size


def _parted(
    nothing: Attribution, sides: _Sides, both: Elapsed, ends: SessionEnds, confidence: float
) -> Attribution:
    differences = sides.contender - sides.reference
    walls = [side.sum(axis=1) for side in (sides.reference, sides.contender)]
    columns = walls[0][:, np.newaxis], walls[1][:, np.newaxis]
    looks = ends.looks(*columns, np.ones(1, np.bool_))
    ratio, p_value, resembling = _judged(*columns, looks, confidence)
    whole = arithmetic_intervals((walls[1] - walls[0])[:, np.newaxis], confidence)
    parts = _causes(sides, differences, [(at,) for at in range(len(sides.keys))], confidence)
    grouped = size_groups(sides.keys, shares(differences, confidence).share.tolist())
    causes = _causes(sides, differences, grouped, confidence)
    return msgspec.structs.replace(
        nothing,
        n_blocks=len(sides.passes),
        ratio=ratio,
        difference_s=_first(whole.centre, whole.low, whole.high),
        p_adjusted=p_value,
        parts=tuple(parts),
        causes=tuple(sorted(causes, key=lambda one: -one.share.value)),
        elapsed_s=both.plain_s,
        profiled_elapsed_s=both.profiled_s,
        cost=both.cost,
        scatter=scatter_attribution(sides.keys, *sides.measured, both.plain, looks, confidence),
        note="; ".join(filter(None, (_note(sides), resembling))),
    )


def _judged(
    below: Floats, above: Floats, looks: Sequence[Looks], confidence: float
) -> tuple[Bounded, float | None, str]:
    """Return the ratio of wall times, the p value of their difference, and why it has none, if so.

    Both allow for what verdicts allow for: blocks that resemble the one before, and several looks.
    """
    plain = ratios(below, above, confidence)
    found, _ = allow_for(plain, below, above, confidence)
    ratio = _first(found.ratio, found.low, found.high)
    r = float(unresolved_correlation(plain, below, above)[0])
    if np.isfinite(r):
        return ratio, None, unresolved_words(f"{r:.2f}", len(below))
    return ratio, float(sequential_p_values(difference_p_values(found), looks)[0]), ""


def _first(*values: Floats) -> Bounded:
    return Bounded.of(*(float(one[0]) for one in values))


def _causes(
    sides: _Sides, differences: Floats, groups: Sequence[tuple[int, ...]], confidence: float
) -> list[Cause]:
    """Return one cause for each group of columns; certain are those that differ among all groups."""
    joined = np.column_stack([differences[:, list(group)].sum(axis=1) for group in groups])
    found = shares(joined, confidence)
    adjusted = holm(found.p_values)
    return [
        _cause(sides, group, found, at, is_certain=bool(adjusted[at] <= 1 - CONFIDENCE))
        for at, group in enumerate(groups)
    ]


def _cause(sides: _Sides, group: tuple[int, ...], found: Shares, at: int, *, is_certain: bool) -> Cause:
    named = group_name(sides.keys, group)
    cause = Cause(
        kind=named.kind,
        name=named.name,
        least_bytes=named.least_bytes,
        most_bytes=named.most_bytes,
        reference_s=float(sides.reference[:, list(group)].sum(axis=1).mean()),
        contender_s=float(sides.contender[:, list(group)].sum(axis=1).mean()),
        difference_s=Bounded.of(float(found.mean[at]), float(found.low[at]), float(found.high[at])),
        share=Bounded.of(float(found.share[at]), float(found.share_low[at]), float(found.share_high[at])),
        is_certain=is_certain,
    )
    if named.kind is CauseKind.WAITING and sides.slow_ranks:
        first, *others = sides.slow_ranks
        return msgspec.structs.replace(cause, rank=first, more_ranks=len(others))
    if named.kind is not CauseKind.FUNCTION:
        return cause
    names = {sides.keys[column][1] for column in group}
    sizes = {sides.keys[column][2] for column in group}
    calls = [_calls(side, names, sizes) for side in sides.runs]
    times = [
        None if not n else seconds / n
        for n, seconds in zip(calls, (cause.reference_s, cause.contender_s), strict=True)
    ]
    return msgspec.structs.replace(
        cause, calls=calls[0], reference_call_s=times[0], contender_call_s=times[1]
    )


def _calls(runs: Sequence[Profiled], names: Collection[str], sizes: set[int]) -> float:
    """Return the calls of a rank in a run: the mean over ranks and runs."""
    counted = [
        sum(
            mean(row.calls)
            for row in run.profile.functions
            if row.function in names and row.size_class in sizes
        )
        for run in runs
    ]
    return sum(counted) / len(counted)


def _note(sides: _Sides) -> str:
    """Return that both sides did not do the same, so that a difference is not only one of cost."""
    calls = [
        sum(
            sum(row.calls)
            for run in side
            for row in run.profile.functions
            if not row.function.startswith(_POLLS)
        )
        / len(side)
        for side in sides.runs
    ]
    dropped = [run.profile.n_dropped for side in sides.runs for run in side]
    notes = []
    if abs(calls[1] - calls[0]) > _SAME_CALLS * max(*calls, 1.0):
        notes.append(
            f"polls apart, the contender made {calls[1]:,.0f} MPI calls, and the reference {calls[0]:,.0f}"
        )
    if any(dropped):
        instances = count(max(dropped), "instance", is_grouped=True)
        notes.append(f"waiting is not parted from transfer in {instances} of collective operations")
    return "; ".join(notes)
