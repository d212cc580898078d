"""Attribute the scatter from run to run to computation, MPI functions, waiting and files.

A platform may cost little in the mean and much in scatter. `scatter_attribution` says which parts of the wall
time carry that, on the side that scatters more.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tare.analysis.causes.profiles import ComponentKey
from tare.analysis.causes.size_groups import group_name, size_groups
from tare.core.attribution import Attribution, ScatterAttribution, ScatterCause
from tare.core.interval import Bounded
from tare.stats.intervals import CONFIDENCE, Floats
from tare.stats.looks import Looks, sequential_p_values
from tare.stats.multiplicity import holm
from tare.stats.scatter_ratios import MIN_COMPARED, scatter_ratios
from tare.stats.scatter_shares import ScatterShares, scatter_shares
from tare.stats.variability import logarithms


def scatter_attribution(
    keys: Sequence[ComponentKey],
    reference: Floats,
    contender: Floats,
    plain: Floats,
    looks: Sequence[Looks],
    confidence: float,
) -> ScatterAttribution | None:
    """Return what the scatter of the wall times consists of; None where there is no ratio of scatters.

    `reference` and `contender` hold the components in seconds, blocks × `keys`; `plain` has the elapsed times
    without the profile, blocks × sides. The p value allows for the `looks` at the blocks, one entry, and is
    not adjusted for other comparisons yet (see `with_decided_scatter`).
    """
    walls = np.column_stack([side.sum(axis=1) for side in (reference, contender)])
    ratio, p_value = _compared(walls, confidence)
    if ratio is None:
        return None
    noisier = contender if ratio.value >= 1 else reference
    groups = size_groups(keys, scatter_shares(noisier).share.tolist())
    joined = [_joined(side, groups) for side in (reference, contender)]
    found = scatter_shares(_joined(noisier, groups), confidence)
    return ScatterAttribution(
        n_blocks=len(walls),
        ratio=ratio,
        plain_ratio=_compared(plain, confidence)[0],
        p_adjusted=None if p_value is None else float(sequential_p_values(np.array([p_value]), looks)[0]),
        causes=_causes(keys, groups, joined, found),
    )


def with_decided_scatter(found: Sequence[Attribution]) -> list[Attribution]:
    """Return attributions whose scatter is decided if its p value is at most 5 % among all (Holm)."""
    p_values = [np.nan if one.scatter is None else one.scatter.p_adjusted for one in found]
    adjusted = holm(np.array([np.nan if p is None else p for p in p_values], np.float64)).tolist()
    return [
        one
        if one.scatter is None or not np.isfinite(p)
        else msgspec.structs.replace(
            one,
            scatter=msgspec.structs.replace(one.scatter, p_adjusted=p, is_decided=bool(p <= 1 - CONFIDENCE)),
        )
        for one, p in zip(found, adjusted, strict=True)
    ]


def _compared(times: Floats, confidence: float) -> tuple[Bounded | None, float | None]:
    """Return the ratio of the scatters of two columns with its interval, and the p value of equal ones."""
    logs = logarithms(times)
    found = scatter_ratios(logs[:, :1], logs[:, 1:])
    ratio = float(found.ratio[0])
    if not np.isfinite(ratio):
        return None, None
    low, high = (float(ends[0]) for ends in found.interval(confidence))
    p_value = float(found.difference_p_values()[0])
    is_enough = int(found.n_blocks[0]) >= MIN_COMPARED and bool(found.is_paired[0])
    return Bounded.of(ratio, low, high), p_value if is_enough and np.isfinite(p_value) else None


def _joined(side: Floats, groups: Sequence[tuple[int, ...]]) -> Floats:
    return np.column_stack([side[:, list(group)].sum(axis=1) for group in groups])


def _causes(
    keys: Sequence[ComponentKey],
    groups: Sequence[tuple[int, ...]],
    joined: Sequence[Floats],
    found: ScatterShares,
) -> tuple[ScatterCause, ...]:
    deviations = [side.std(axis=0, ddof=1).tolist() for side in joined]
    adjusted = holm(found.p_values).tolist()
    causes = []
    for at, group in enumerate(groups):
        named = group_name(keys, group)
        causes.append(
            ScatterCause(
                kind=named.kind,
                name=named.name,
                least_bytes=named.least_bytes,
                most_bytes=named.most_bytes,
                reference_sd_s=deviations[0][at],
                contender_sd_s=deviations[1][at],
                share=Bounded.of(float(found.share[at]), float(found.low[at]), float(found.high[at])),
                is_certain=adjusted[at] <= 1 - CONFIDENCE,
            )
        )
    return tuple(sorted(causes, key=lambda one: -one.share.value))
