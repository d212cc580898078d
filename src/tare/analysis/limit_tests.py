"""Test limits against intervals, all of them together, and explain each result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from tare.analysis.proofs import NOTHING_CROSSED
from tare.analysis.quantities import Bounds, least_of_quantile
from tare.analysis.row_notes import NOT_MEASURED, NOT_TOGETHER, UNPAIRED, untold_words
from tare.analysis.row_verdicts import RowVerdict
from tare.analysis.rules import QUANTILES, Bound, Function, Op
from tare.analysis.selection import Sample
from tare.analysis.ternary import Ternary
from tare.core.comparison import Mean
from tare.stats.intervals import MIN_BLOCKS, Floats
from tare.stats.looks import Looks
from tare.stats.scatter_ratios import MIN_COMPARED
from tare.stats.sign_test import least_of_median
from tare.stats.step_down import Mask, step_down
from tare.stats.variability import MIN_FOR_CV


class Trial(NamedTuple):
    """One limit and the sample to test; `limits` has one number per match, in the match's unit.

    `rows` is the verdict of `tare compare` on each match; None where it has no such row.
    """

    bound: Bound
    sample: Sample
    limits: Floats
    rows: Sequence[RowVerdict | None]

    @property
    def may_differ(self) -> Mask:
        """Return which matches may be claimed to be beyond the limit.

        A contender that is more than 5 % slower differs from its reference. `tare compare` tests for
        differences over all rows together. So a rule about one row must not claim a difference that `tare
        compare` does not find.
        """
        if self.bound.call.function.null is None:
            return np.ones(len(self.limits), np.bool_)
        is_outward = _is_outward(self.bound.op, self.limits, self.bound.call.function.null)
        return ~is_outward | np.array([one is None or one.is_different for one in self.rows], np.bool_)


class LimitResult(NamedTuple):
    """The result of a trial, with one entry per match."""

    trial: Trial
    plain: Bounds
    adjusted: Bounds
    levels: Floats
    truths: list[Ternary]
    confidence: float


def judge(trials: Sequence[Trial], confidence: float) -> list[LimitResult]:
    """Return the result of each trial; all trials together form one family."""
    plain = [trial.sample.quantity.bounds(confidence) for trial in trials]
    ends = np.cumsum([len(trial.limits) for trial in trials])[:-1]

    def decide(level: float) -> Mask:
        return np.concatenate(
            [_is_beyond(trial, trial.sample.quantity.claims(level)) & trial.may_differ for trial in trials]
        )

    if not trials:
        return []
    made, levels = step_down(decide, np.concatenate([np.isfinite(one.low) for one in plain]), confidence)
    return [
        _finding(trial, one, beyond, level, confidence)
        for trial, one, beyond, level in zip(
            trials, plain, np.split(made, ends), np.split(levels, ends), strict=True
        )
    ]


def _finding(trial: Trial, plain: Bounds, beyond: Mask, levels: Floats, confidence: float) -> LimitResult:
    adjusted = Bounds(plain.value, plain.low.copy(), plain.high.copy())
    for level in np.unique(levels):
        found, chosen = trial.sample.quantity.claims(float(level)), levels == level
        adjusted.low[chosen], adjusted.high[chosen] = found.low[chosen], found.high[chosen]
    within = _is_within(trial, trial.sample.quantity.claims(confidence))
    truths = [
        Ternary.TRUE if one else Ternary.FALSE if other else Ternary.UNKNOWN
        for one, other in zip(beyond.tolist(), within.tolist(), strict=True)
    ]
    return LimitResult(trial, plain, adjusted, levels, truths, confidence)


def _is_beyond(trial: Trial, found: Bounds) -> Mask:
    """Return where the whole interval is on the violating side of the limit; False without an interval."""
    low, high, limits = found.low, found.high, trial.limits
    with np.errstate(invalid="ignore"):
        match trial.bound.op:
            case Op.ABOVE:
                return np.asarray(low > limits)
            case Op.AT_LEAST:
                return np.asarray(low >= limits)
            case Op.BELOW:
                return np.asarray(high < limits)
            case Op.AT_MOST:
                return np.asarray(high <= limits)


def _is_outward(op: Op, limits: Floats, null: float) -> Mask:
    """Return where every value beyond the limit differs from `null`."""
    match op:
        case Op.ABOVE:
            return np.asarray(limits >= null)
        case Op.AT_LEAST:
            return np.asarray(limits > null)
        case Op.BELOW:
            return np.asarray(limits <= null)
        case Op.AT_MOST:
            return np.asarray(limits < null)


def _is_within(trial: Trial, found: Bounds) -> Mask:
    opposite = msgspec.structs.replace(trial.bound, op=trial.bound.op.opposite)
    return _is_beyond(trial._replace(bound=opposite), found)


def why(finding: LimitResult, i: int) -> str:
    """Return the reason for the result of a match, and which look it is if there was an earlier one."""
    note = finding.trial.sample.matches[i].note
    mark = _look_words(finding.trial.sample.quantity.looks, i)
    if note.startswith(UNPAIRED):
        mark += f"; {note.partition(';')[0]}"
    return f"{_why_alone(finding, i)}{mark}"


def _look_words(looks: Sequence[Looks], i: int) -> str:
    """Return which look it is, if there was an earlier one."""
    return f"; look {len(looks[i])}" if looks and len(looks[i]) > 1 else ""


def _why_alone(finding: LimitResult, i: int) -> str:
    match finding.truths[i]:
        case Ternary.TRUE:
            return "the whole interval is beyond the limit"
        case Ternary.FALSE:
            return "the whole interval is within the limit"
        case Ternary.UNKNOWN:
            return _why_unknown(finding, i)


def _why_unknown(finding: LimitResult, i: int) -> str:
    n_blocks = finding.trial.sample.quantity.n_blocks[i]
    function = finding.trial.bound.call.function
    if np.isnan(finding.plain.value[i]):
        if finding.trial.sample.matches[i].note.startswith(NOTHING_CROSSED):
            return "not compared; name the settings that are to be judged, such as nodes=2|4"
        if finding.trial.sample.matches[i].note.startswith(NOT_TOGETHER):
            return f"{NOT_TOGETHER}: the sides have no run in one block of one session; see 'tare compare'"
        return _why_absent(finding.trial, i)
    if np.isnan(finding.plain.low[i]):
        is_median = finding.trial.sample.quantity.mean is Mean.MEDIAN
        least = least_of_median(finding.confidence) if is_median else _least(function)
        if n_blocks < least:
            return _too_few(n_blocks, least)
        if is_median:
            return "no interval of the median: unpaired, too few blocks count, or some values are zero"
        return "no interval: some values are zero or less"
    r = finding.trial.sample.quantity.r_untold(len(finding.truths))[i]
    if np.isfinite(r):
        return untold_words(f"{r:.2f}", n_blocks)
    row = finding.trial.rows[i]
    if row is not None and not finding.trial.may_differ[i] and _is_beyond(finding.trial, finding.adjusted)[i]:
        return f"beyond the limit, but no sure difference among the {row.n_family} of 'tare compare'"
    if _is_beyond(finding.trial, finding.plain)[i]:
        return "beyond the limit, but not when adjusted for all comparisons that are judged"
    if _is_within(finding.trial, finding.plain)[i]:
        return "within the limit alone, but not when adjusted for looks"
    return "the limit lies within the interval; more runs narrow it"


def _least(function: Function) -> int:
    """Return how many runs an interval of `function` needs."""
    if function in QUANTILES:
        return least_of_quantile(QUANTILES[function])
    return {Function.CV: MIN_FOR_CV, Function.CV_RATIO: MIN_COMPARED}.get(function, MIN_BLOCKS)


def _why_absent(trial: Trial, i: int) -> str:
    function, n_blocks = trial.bound.call.function, trial.sample.quantity.n_blocks[i]
    if not n_blocks:
        if function is Function.EFFICIENCY:
            return "not measured at this scale, or not at the one that it refers to"
        return (trial.sample.matches[i].lacks or NOT_MEASURED) if function.has_reference else "not measured"
    if n_blocks < MIN_BLOCKS and function is not Function.OVERHEAD:
        return _too_few(n_blocks)
    if function in (Function.CV, Function.CV_RATIO):
        return "no scatter to speak of: values are zero or less, or all the same"
    return "no overhead: the figure of merit has no direction, or its reference is zero or less"


def _too_few(n_blocks: int, least: int = MIN_BLOCKS) -> str:
    return f"{n_blocks} run{'' if n_blocks == 1 else 's'}: an interval takes {least}"
