"""How many times the reference the contender is, with an interval that drift cannot fake."""

from __future__ import annotations

import dataclasses
import enum

import numpy as np
import numpy.typing as npt

from tare.stats.intervals import (
    MIN_BLOCKS,
    Counts,
    Floats,
    geometric_intervals,
    moments,
    t_factors,
)


class Design(enum.IntEnum):
    """How the ratio of a cell was found."""

    NONE = 0
    """One side or both have no value."""
    PAIRED = 1
    """Block against block: what slowed a whole block slowed both sides, and cancels."""
    UNPAIRED = 2
    """All blocks against all blocks, for want of three blocks that both sides have."""
    ARITHMETIC = 3
    """Arithmetic means and no interval, since some values are zero or less."""


@dataclasses.dataclass(frozen=True, eq=False)
class Ratios:
    """Contender / reference of each cell; NaN where there is no ratio, or no interval.

    `n_blocks` counts the common blocks, and for an UNPAIRED cell the blocks of the side with fewer.
    `error` is the standard error of ln ratio, and `freedom` its degrees of freedom; both are NaN where
    there is no interval.
    """

    n_blocks: Counts
    ratio: Floats
    low: Floats
    high: Floats
    error: Floats
    freedom: Floats
    design: npt.NDArray[np.int8]


def ratios(reference: Floats, contender: Floats, confidence: float = 0.95) -> Ratios:
    """Return contender / reference of each column, both sides' rows being the same blocks.

    Paired: with d = ln(c/r) of each common block, exp(d̄ ± t(n−1) s/√n), the paired t interval on
    the log scale. It is the analysis of a randomised complete block design with two treatments
    (Fisher 1935, The Design of Experiments, ch. IV; Box, Hunter and Hunter 2005, ch. 3–4).
    """
    design = _designs(reference, contender)
    result = _paired(reference, contender, confidence, design)
    for column_design, fill in ((Design.UNPAIRED, _unpaired), (Design.ARITHMETIC, _arithmetic)):
        columns = np.flatnonzero(design == column_design)
        if columns.size:
            part = fill(reference[:, columns], contender[:, columns], confidence)
            _put(result, columns, part)
    return result


def log_ratios(reference: Floats, contender: Floats) -> Floats:
    """Return ln(contender / reference) of each block that both sides have, NaN elsewhere."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.log(contender / reference)
    return found


def set_apart(
    reference: Floats, contender: Floats, is_paired: npt.NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Return the sides such that no row has both of a column that is not paired.

    For runs whose blocks have the same number and nothing else in common: two campaigns, or files that
    were numbered in the order of their names.
    """
    if is_paired.all():
        return reference, contender
    nothing = np.full_like(contender, np.nan)
    above = np.where(is_paired, contender, np.nan)
    below = np.where(is_paired, np.nan, contender)
    return np.vstack([reference, nothing]), np.vstack([above, below])


def _designs(reference: Floats, contender: Floats) -> npt.NDArray[np.int8]:
    has_reference, has_contender = np.isfinite(reference), np.isfinite(contender)
    n_common = (has_reference & has_contender).sum(axis=0)
    n_fewest = np.minimum(has_reference.sum(axis=0), has_contender.sum(axis=0))
    is_positive = ~((reference <= 0) | (contender <= 0)).any(axis=0)
    conditions = [
        n_fewest == 0,
        ~is_positive,
        n_common >= MIN_BLOCKS,
        n_fewest >= MIN_BLOCKS,
        n_common >= 1,
    ]
    choices = [Design.NONE, Design.ARITHMETIC, Design.PAIRED, Design.UNPAIRED, Design.PAIRED]
    return np.select(conditions, [np.int8(choice) for choice in choices], np.int8(Design.UNPAIRED))


def _paired(reference: Floats, contender: Floats, confidence: float, design: npt.NDArray[np.int8]) -> Ratios:
    with np.errstate(divide="ignore", invalid="ignore"):
        found = geometric_intervals(contender / reference, confidence)
    return Ratios(
        n_blocks=found.n_blocks,
        ratio=found.centre,
        low=found.low,
        high=found.high,
        error=found.error,
        freedom=found.freedom,
        design=design,
    )


def _unpaired(reference: Floats, contender: Floats, confidence: float) -> Ratios:
    """Return the ratio of geometric means with Welch's interval on the log scale.

    The degrees of freedom are Satterthwaite's, so the sides may scatter differently (Welch 1947,
    Biometrika 34:28).
    """
    one, other = moments(np.log(reference)), moments(np.log(contender))
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [side.variance / side.n_blocks for side in (one, other)]
        square = parts[0] + parts[1]
        freedom = np.square(square) / (
            np.square(parts[0]) / (one.n_blocks - 1) + np.square(parts[1]) / (other.n_blocks - 1)
        )
    freedom = np.where(square > 0, freedom, 1.0)  # no scatter at all: any factor gives width 0
    n_fewest = np.minimum(one.n_blocks, other.n_blocks)
    error = np.where(n_fewest >= MIN_BLOCKS, np.sqrt(square), np.nan)
    half = t_factors(freedom, confidence) * error
    log_ratio = other.mean - one.mean
    return Ratios(
        n_blocks=n_fewest,
        ratio=np.exp(log_ratio),
        low=np.exp(log_ratio - half),
        high=np.exp(log_ratio + half),
        error=error,
        freedom=np.where(n_fewest >= MIN_BLOCKS, freedom, np.nan),
        design=np.full(len(half), Design.UNPAIRED, np.int8),
    )


def _arithmetic(reference: Floats, contender: Floats, _confidence: float) -> Ratios:
    """Return the ratio of arithmetic means, over the common blocks if any, where it means something."""
    is_common = np.isfinite(reference) & np.isfinite(contender)
    n_common = is_common.sum(axis=0, dtype=np.int64)
    is_used = is_common | (n_common == 0)
    below = moments(np.where(is_used, reference, np.nan)).mean
    above = moments(np.where(is_used, contender, np.nan)).mean
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where((below > 0) & (above >= 0), above / below, np.nan)
    nothing = np.full(len(ratio), np.nan)
    return Ratios(
        n_blocks=n_common,
        ratio=ratio,
        low=nothing,
        high=nothing,
        error=nothing,
        freedom=nothing,
        design=np.full(len(ratio), Design.ARITHMETIC, np.int8),
    )


def _put(whole: Ratios, columns: npt.NDArray[np.intp], part: Ratios) -> None:
    for field in dataclasses.fields(Ratios):
        getattr(whole, field.name)[columns] = getattr(part, field.name)
