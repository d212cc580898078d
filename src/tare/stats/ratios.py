"""Compute the ratio of a contender to its reference, with an interval that drift does not distort.

`ratios` takes the values of both sides, blocks × cells, and returns `Ratios`, with one entry per cell.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tare.core.comparison import Mean
from tare.stats.fieller import fieller_intervals
from tare.stats.intervals import (
    MIN_BLOCKS,
    Counts,
    Floats,
    geometric_intervals,
    moments,
    t_factors,
)
from tare.stats.sign_test import median_intervals


class Design(enum.IntEnum):
    """How the ratio of a cell was computed."""

    NONE = 0
    """One side or both have no value."""
    PAIRED = 1
    """Block against block: an effect on a whole block affects both sides, and cancels."""
    UNPAIRED = 2
    """All blocks against all blocks, where fewer than three blocks have both sides."""
    ARITHMETIC = 3
    """The ratio of arithmetic means with Fieller's interval: on request, or where values are zero or less."""
    MEDIAN = 4
    """The median of the ratios of blocks with the interval of the sign test: on request."""


@dataclasses.dataclass(frozen=True, eq=False)
class Ratios:
    """Contender / reference of each cell; NaN where there is no ratio, or no interval.

    `n_blocks` counts the common blocks; for an UNPAIRED cell, the blocks of the side with fewer. `error` is
    the standard error of ln ratio, and `freedom` its degrees of freedom; both are NaN where there is no
    interval. `rounding` is how far printed values may differ from measured ones, as a logarithm of the ratio;
    it widens the interval at both ends.

    `means` has one row per cell, for ARITHMETIC cells only (else NaN): the means of reference and contender,
    their variances and their covariance. `logs` has one row per cell with the log ratios of its blocks, for
    MEDIAN cells only (else NaN); it has no columns if no median was requested. The interval of a median has
    no standard error. `worth` is the number of independent blocks that the blocks count for.
    """

    n_blocks: Counts
    ratio: Floats
    low: Floats
    high: Floats
    error: Floats
    freedom: Floats
    design: npt.NDArray[np.int8]
    rounding: Floats
    means: Floats
    logs: Floats
    worth: Floats


def ratios(
    reference: Floats,
    contender: Floats,
    confidence: float = 0.95,
    *,
    rounding: Floats | None = None,
    mean: Mean = Mean.GEOMETRIC,
) -> Ratios:
    """Return contender / reference of each column; the rows of both sides are the same blocks.

    Paired: with d = ln(c/r) of each common block, the interval is exp(d̄ ± t(n−1) s/√n), the paired t
    interval on the log scale. This is the analysis of a randomised complete block design with two treatments
    (Fisher 1935, The Design of Experiments, ch. IV; Box, Hunter and Hunter 2005, ch. 3–4).

    For other means than the geometric one, and where values are zero or less, it is the ratio of the means of
    the common blocks with Fieller's interval, which is paired, too. Where a rate is zero there is no harmonic
    mean, and the arithmetic mean is used. The median is that of d, with the interval of the sign test
    (`tare.stats.sign_test`); unpaired, it is the ratio of medians without an interval. `rounding` widens each
    column's interval (see `tare.stats.rounding`).
    """
    design = _designs(reference, contender)
    if mean is Mean.HARMONIC:  # the harmonic mean of rates comes from the arithmetic mean of their times
        is_positive = design != Design.ARITHMETIC  # else there is no harmonic mean
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = 1 / contender, 1 / reference
        reference = np.where(is_positive, inverse[0], reference)
        contender = np.where(is_positive, inverse[1], contender)
    if mean is Mean.MEDIAN:
        design = np.where(design == Design.PAIRED, np.int8(Design.MEDIAN), design)
    elif mean is not Mean.GEOMETRIC:
        design = np.where(design == Design.NONE, design, np.int8(Design.ARITHMETIC))
    result = _paired(reference, contender, confidence, design, n_logs=len(reference) * (mean is Mean.MEDIAN))
    for column_design, fill in (
        (Design.UNPAIRED, _unpaired_median if mean is Mean.MEDIAN else _unpaired),
        (Design.ARITHMETIC, _arithmetic),
        (Design.MEDIAN, _median),
    ):
        columns = np.flatnonzero(design == column_design)
        if columns.size:
            part = fill(reference[:, columns], contender[:, columns], confidence)
            _put(result, columns, part)
    if rounding is not None:
        result.rounding[:] = rounding
        with np.errstate(over="ignore"):
            result.low[:] *= np.exp(-rounding)
            result.high[:] *= np.exp(rounding)
        is_zero = result.ratio == 0  # what is printed as 0 may be as much as what rounding hides elsewhere
        result.high[is_zero] = np.maximum(result.high, np.expm1(rounding))[is_zero]
    return result


def log_ratios(reference: Floats, contender: Floats) -> Floats:
    """Return ln(contender / reference) of each block that both sides have, NaN elsewhere."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.log(contender / reference)
    return found


def separate_unpaired(
    reference: Floats, contender: Floats, is_paired: npt.NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Return the sides with no common rows in unpaired columns, and with only common rows in paired ones.

    Columns are unpaired if their blocks only have the same numbers and nothing else in common, as in two
    campaigns, or in files that were numbered by name. In a paired column, a row with only one side is left
    out: a run without a partner is not compared with a run from another time.
    """
    reference, contender = common_rows(reference, contender, is_paired)
    if is_paired.all():
        return reference, contender
    nothing = np.full_like(contender, np.nan)
    above = np.where(is_paired, contender, np.nan)
    below = np.where(is_paired, np.nan, contender)
    return np.vstack([reference, nothing]), np.vstack([above, below])


def common_rows(
    reference: Floats, contender: Floats, is_paired: npt.NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Return the sides; in paired columns, without the rows that lack one of them."""
    is_kept = (np.isfinite(reference) & np.isfinite(contender)) | ~is_paired
    return np.where(is_kept, reference, np.nan), np.where(is_kept, contender, np.nan)


def paired_columns(
    reference: Floats, contender: Floats, is_recorded: npt.NDArray[np.bool_], *, is_unpaired: bool
) -> npt.NDArray[np.bool_]:
    """Return which columns are compared block by block.

    They are those whose blocks `is_recorded`; with `is_unpaired`, not those with fewer than three blocks that
    both sides have.
    """
    if not is_unpaired:
        return is_recorded
    return is_recorded & ~never_ran_together(reference, contender, is_recorded, MIN_BLOCKS)


def never_ran_together(
    reference: Floats, contender: Floats, is_paired: npt.NDArray[np.bool_], least: int = 1
) -> npt.NDArray[np.bool_]:
    """Return which paired columns have values of both sides, but fewer than `least` rows with both."""
    has_reference, has_contender = np.isfinite(reference), np.isfinite(contender)
    is_measured = has_reference.any(axis=0) & has_contender.any(axis=0)
    return np.asarray(is_paired & is_measured & ((has_reference & has_contender).sum(axis=0) < least))


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


def _paired(
    reference: Floats, contender: Floats, confidence: float, design: npt.NDArray[np.int8], *, n_logs: int
) -> Ratios:
    with np.errstate(divide="ignore", invalid="ignore"):
        found = geometric_intervals(contender / reference, confidence)
    logs = np.full((len(design), n_logs), np.nan)
    return _made(
        design, found.n_blocks, found.centre, found.low, found.high, found.error, found.freedom, logs=logs
    )


def _made(
    design: npt.NDArray[np.int8] | Design,
    n_blocks: Counts,
    ratio: Floats,
    low: Floats,
    high: Floats,
    error: Floats | float = np.nan,
    freedom: Floats | float = np.nan,
    *,
    means: Floats | None = None,
    logs: Floats | None = None,
) -> Ratios:
    """Return ratios that are not rounded, of blocks that all count."""
    n = len(ratio)
    return Ratios(
        n_blocks=n_blocks,
        ratio=ratio,
        low=low,
        high=high,
        error=np.array(np.broadcast_to(error, n)),
        freedom=np.array(np.broadcast_to(freedom, n)),
        design=np.array(np.broadcast_to(design, n), np.int8),
        rounding=np.zeros(n),
        means=np.full((n, 5), np.nan) if means is None else means,
        logs=np.empty((n, 0)) if logs is None else logs,
        worth=n_blocks.astype(np.float64),
    )


def _unpaired(reference: Floats, contender: Floats, confidence: float) -> Ratios:
    """Return the ratio of geometric means with Welch's interval on the log scale.

    The degrees of freedom are Satterthwaite's, so the sides may have different scatter (Welch 1947,
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
    with np.errstate(over="ignore"):  # an end beyond all floats is infinite
        ratio, low, high = (np.exp(log_ratio + shift) for shift in (0.0, -half, half))
    freedom = np.where(n_fewest >= MIN_BLOCKS, freedom, np.nan)
    return _made(Design.UNPAIRED, n_fewest, ratio, low, high, error, freedom)


def _unpaired_median(reference: Floats, contender: Floats, _confidence: float) -> Ratios:
    """Return the ratio of the medians of the sides, without an interval."""
    n_fewest = np.minimum(*(np.isfinite(side).sum(axis=0, dtype=np.int64) for side in (reference, contender)))
    ratio = np.nanmedian(contender, axis=0) / np.nanmedian(reference, axis=0)
    nothing = np.full(len(ratio), np.nan)
    return _made(Design.UNPAIRED, n_fewest, ratio, nothing, nothing)


def _median(reference: Floats, contender: Floats, confidence: float) -> Ratios:
    """Return the median of the ratios of blocks with the interval of the sign test."""
    logs = np.ascontiguousarray(log_ratios(reference, contender).T)
    n_blocks = np.isfinite(logs).sum(axis=1)
    centre, low, high = (
        np.exp(one) for one in median_intervals(logs, n_blocks.astype(np.float64), confidence)
    )
    return _made(Design.MEDIAN, n_blocks, centre, low, high, logs=logs)


def _arithmetic(reference: Floats, contender: Floats, confidence: float) -> Ratios:
    """Return the ratio of arithmetic means with Fieller's interval, where it exists.

    It uses the common blocks. Sides without a common block are treated as independent, with all of their
    blocks.
    """
    is_common = np.isfinite(reference) & np.isfinite(contender)
    n_common = is_common.sum(axis=0, dtype=np.int64)
    is_used = is_common | (n_common == 0)
    below, above = (moments(np.where(is_used, side, np.nan)) for side in (reference, contender))
    n_blocks = np.minimum(below.n_blocks, above.n_blocks)
    with np.errstate(divide="ignore", invalid="ignore"):
        products = np.where(is_common, (reference - below.mean) * (contender - above.mean), 0.0).sum(axis=0)
        covariance = np.where(n_common > 0, products / (n_common - 1) / n_common, 0.0)
        ratio = np.where((below.mean > 0) & (above.mean >= 0), above.mean / below.mean, np.nan)
        means = np.stack(
            [
                below.mean,
                above.mean,
                below.variance / below.n_blocks,
                above.variance / above.n_blocks,
                covariance,
            ],
            axis=1,
        )
    means[np.isnan(ratio) | (n_blocks < MIN_BLOCKS)] = np.nan
    freedom = np.where(n_blocks >= MIN_BLOCKS, n_blocks - 1.0, np.nan)
    low, high = fieller_intervals(means, t_factors(freedom, confidence))
    is_bounded = np.isfinite(low)
    with np.errstate(divide="ignore", invalid="ignore"):
        square = means[:, 2] / means[:, 0] ** 2 + means[:, 3] / means[:, 1] ** 2
        square -= 2 * means[:, 4] / (means[:, 0] * means[:, 1])
        square = np.where(ratio == 0, means[:, 2] / means[:, 0] ** 2, square)  # ln 0 has no error of its own
        error = np.where(is_bounded, np.sqrt(np.maximum(square, 0.0)), np.nan)
    freedom = np.where(is_bounded, freedom, np.nan)
    return _made(Design.ARITHMETIC, n_blocks, ratio, low, high, error, freedom, means=means)


def _put(whole: Ratios, columns: npt.NDArray[np.intp], part: Ratios) -> None:
    for field in dataclasses.fields(Ratios):
        if getattr(part, field.name).size:
            getattr(whole, field.name)[columns] = getattr(part, field.name)


def select_columns(whole: Ratios, columns: Sequence[int] | npt.NDArray[np.intp]) -> Ratios:
    """Return the chosen columns."""
    chosen = np.asarray(columns, np.intp)  # once, since a list is slow to index with
    return Ratios(**{field.name: getattr(whole, field.name)[chosen] for field in dataclasses.fields(Ratios)})


def multiplied(found: Ratios, factors: Floats) -> Ratios:
    """Return the ratios times a known factor each, as if all values of the contender were."""
    shifts = factors[:, np.newaxis]
    scales = np.hstack([np.ones_like(shifts), shifts, np.ones_like(shifts), shifts**2, shifts])
    ratio, low, high = (part * factors for part in (found.ratio, found.low, found.high))
    logs = found.logs + np.log(shifts)
    return dataclasses.replace(found, ratio=ratio, low=low, high=high, means=found.means * scales, logs=logs)
