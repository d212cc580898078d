"""Test limits against intervals, all of them together, and explain each result."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tare.analysis.checking.quantities import Bounds, least_of_quantile
from tare.analysis.checking.row_verdicts import Row
from tare.analysis.checking.rules import QUANTILES, Bound, Function, Op
from tare.analysis.checking.selection import Match, Sample
from tare.analysis.proofs import NOTHING_CROSSED
from tare.analysis.verdicts.row_notes import (
    NO_COMMON_POINT,
    NO_SPEEDUP,
    NOT_MEASURED,
    NOT_TOGETHER,
    ROUNDED_AWAY,
    UNPAIRED,
    is_without_ratio,
    look_words,
    unresolved_words,
)
from tare.analysis.verdicts.timed_out_runs import timed_out_words
from tare.core.comparison import Comparison, Mean
from tare.core.counting import count
from tare.core.workload import Better
from tare.stats.intervals import CONFIDENCE, MIN_BLOCKS, Floats
from tare.stats.multiplicity import Mask, step_down
from tare.stats.scatter_ratios import MIN_COMPARED
from tare.stats.sign_test import least_of_median
from tare.stats.variability import MIN_FOR_CV


class Ternary(enum.Enum):
    """Whether a statement holds, as far as the evidence shows; `every` and `some` follow Kleene.

    An unknown statement may turn out true or false. So a conclusion from it is known only where both lead to
    the same result (S. C. Kleene, "Introduction to Metamathematics", 1952, § 64).
    """

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"


_RISING = (Ternary.FALSE, Ternary.UNKNOWN, Ternary.TRUE)


def every(statements: Iterable[Ternary]) -> Ternary:
    """Return whether all of `statements` hold: false if any is false, even if others are unknown."""
    return min(statements, key=_RISING.index, default=Ternary.TRUE)


def some(statements: Iterable[Ternary]) -> Ternary:
    """Return whether any of `statements` holds: true if any is true, even if others are unknown."""
    return max(statements, key=_RISING.index, default=Ternary.FALSE)


class Trial(NamedTuple):
    """One limit and the sample to test; `limits` has one number per match, in the match's unit.

    `rows` is the row of `tare compare` for each match; None where it has none.
    """

    bound: Bound
    sample: Sample
    limits: Floats
    rows: Sequence[Row | None]

    @property
    def may_differ(self) -> Mask:
        """Return which matches may be claimed to be beyond the limit.

        A contender that is more than 5 % slower differs from its reference. `tare compare` tests for
        differences over all rows together. So a rule about one row must not claim a difference that `tare
        compare` does not find.
        """
        null = self.bound.call.function.null
        if null is None:
            return np.ones(len(self.limits), np.bool_)
        includes_null = ~_HOLDS[self.bound.op.opposite](null, self.limits)
        return includes_null | np.array([one is None or one.is_different for one in self.rows], np.bool_)

    def is_beyond(self, found: Bounds, op: Op | None = None) -> Mask:
        """Return where the whole interval is on one side of the limit, by default the violating one."""
        op = op or self.bound.op
        return np.asarray(_HOLDS[op](found.low if op.is_upward else found.high, self.limits))

    def is_of_survivors(self, match: Match, *, is_beyond: bool) -> bool:
        """Return whether a result favours a side of which runs timed out, so that nothing follows from it."""
        return bool(match.timed_out[self._favours_contender(match, is_beyond=is_beyond)])

    def may_miss_a_mode(self, match: Match, *, is_beyond: bool) -> bool:
        """Return whether slow runs that no block met could change a result.

        They change means and scatter: of a case alone in one direction, of a comparison in both. A quantile
        allows for them.
        """
        function = self.bound.call.function
        if function in QUANTILES or (function is Function.VALUE and match.better is None):
            return False
        is_alone = function in (Function.VALUE, Function.CV)
        return not is_alone or self._favours_contender(match, is_beyond=is_beyond)

    def _favours_contender(self, match: Match, *, is_beyond: bool) -> bool:
        """Return whether a result is in favour of the contender, or of the case itself."""
        function = self.bound.call.function
        is_low_good = function in _COSTS or (
            function is not Function.EFFICIENCY and match.better is Better.LOWER
        )
        return is_low_good == (self.bound.op.is_upward != is_beyond)

    def is_within(self, found: Bounds) -> Mask:
        """Return where the whole interval keeps the limit; False without an interval."""
        return self.is_beyond(found, self.bound.op.opposite)


_NOTABLE = 0.2
"""The share of an interval's half-width from which rounding is told."""

_COSTS = (Function.OVERHEAD, Function.CV, Function.CV_RATIO)
"""Functions of which less is better, whatever the direction of the figure."""

_HOLDS = {Op.ABOVE: np.greater, Op.AT_LEAST: np.greater_equal, Op.BELOW: np.less, Op.AT_MOST: np.less_equal}
"""Takes a quantity and its limit. False where there is no quantity (NaN)."""


class LimitResult(NamedTuple):
    """The result of a trial, with one entry per match."""

    trial: Trial
    plain: Bounds
    adjusted: Bounds
    levels: Floats
    is_beyond: list[Ternary]


def judge(trials: Sequence[Trial]) -> list[LimitResult]:
    """Return the result of each trial; all trials together form one family."""
    plain = [trial.sample.quantity.bounds(CONFIDENCE) for trial in trials]
    ends = np.cumsum([len(trial.limits) for trial in trials])[:-1]

    def decide(level: float) -> Mask:
        return np.concatenate(
            [trial.is_beyond(trial.sample.quantity.claims(level)) & trial.may_differ for trial in trials]
        )

    if not trials:
        return []
    made, levels = step_down(decide, np.concatenate([np.isfinite(one.low) for one in plain]), CONFIDENCE)
    return [
        _finding(trial, one, beyond, level)
        for trial, one, beyond, level in zip(
            trials, plain, np.split(made, ends), np.split(levels, ends), strict=True
        )
    ]


def _finding(trial: Trial, plain: Bounds, beyond: Mask, levels: Floats) -> LimitResult:
    adjusted = Bounds(plain.value, plain.low.copy(), plain.high.copy())
    for level in np.unique(levels):
        found, chosen = trial.sample.quantity.claims(float(level)), levels == level
        adjusted.low[chosen], adjusted.high[chosen] = found.low[chosen], found.high[chosen]
    within = trial.is_within(trial.sample.quantity.claims(CONFIDENCE))
    results = zip(trial.sample.matches, beyond.tolist(), within.tolist(), strict=True)
    is_beyond = [_result(trial, match, is_beyond=one, is_within=other) for match, one, other in results]
    return LimitResult(trial, plain, adjusted, levels, is_beyond)


def _result(trial: Trial, match: Match, *, is_beyond: bool, is_within: bool) -> Ternary:
    if not (is_beyond or is_within) or trial.is_of_survivors(match, is_beyond=is_beyond):
        return Ternary.UNKNOWN
    return Ternary.TRUE if is_beyond else Ternary.FALSE


def why(finding: LimitResult, i: int, *, is_part: bool = False) -> str:
    """Return the reason for the result of a match, and which look it is if there was an earlier one.

    Of a bound that `is_part` of a rule, or was negated, it is said whether it holds: to be within or beyond
    its limit is neither good nor bad there.
    """
    looks, note = finding.trial.sample.quantity.looks, finding.trial.sample.matches[i].note
    bound = finding.trial.bound.text
    match finding.is_beyond[i]:
        case Ternary.TRUE:
            reason = f"“{bound}” holds for certain" if is_part else "the whole interval is beyond the limit"
        case Ternary.FALSE:
            no = f"“{bound}” certainly does not hold"
            reason = no if is_part else "the whole interval is within the limit"
        case Ternary.UNKNOWN:
            reason = _why_unknown(finding, i)
    if looks and (look := look_words(len(looks[i]))):
        reason += f"; {look}"
    return f"{reason}; {note.partition(';')[0]}" if note.startswith(UNPAIRED) else reason


def _why_unknown(finding: LimitResult, i: int) -> str:
    trial, quantity = finding.trial, finding.trial.sample.quantity
    n_blocks, note = quantity.n_blocks[i], trial.sample.matches[i].note
    if np.isnan(finding.plain.value[i]):
        if note.startswith(NOTHING_CROSSED):
            return "not compared; name the settings that are to be judged, such as nodes=2|4"
        if note.startswith(NOT_TOGETHER):
            return f"{NOT_TOGETHER}: the sides have no run in one block of one session; see 'tare compare'"
        return _why_absent(trial, i)
    if np.isnan(finding.plain.low[i]):
        is_median = quantity.mean is Mean.MEDIAN
        least = least_of_median(CONFIDENCE) if is_median else _least(trial.bound.call.function)
        if n_blocks < least:
            return _too_few(n_blocks, least)
        if is_median:
            return "no interval of the median: unpaired, too few blocks count, or some values are zero"
        is_lost = quantity.rounding is not None and np.isinf(quantity.rounding[i])
        return ROUNDED_AWAY if is_lost else "no interval: some values are zero or less"
    r = quantity.r_unresolved(len(finding.is_beyond))[i]
    if np.isfinite(r):
        return unresolved_words(f"{r:.2f}", n_blocks)
    return _why_open(finding, i)


def _why_open(finding: LimitResult, i: int) -> str:
    """Return why an interval decides nothing, although nothing prevents that it decides."""
    trial = finding.trial
    match, row = trial.sample.matches[i], trial.rows[i]
    if any(match.timed_out):
        return timed_out_words(*match.timed_out, is_alone=match.beside is None)
    if row is not None and not trial.may_differ[i] and trial.is_beyond(finding.adjusted)[i]:
        return f"beyond the limit, but no sure difference among the {row.family} of 'tare compare'"
    if trial.is_beyond(finding.plain)[i]:
        return "beyond the limit, but not when adjusted for all comparisons that are judged"
    if trial.is_within(finding.plain)[i]:
        return "within the limit alone, but not when adjusted for looks"
    why = "the limit lies within the interval; more runs narrow it"
    rounding, share = finding.trial.sample.quantity.rounding, _half_width(finding, i)
    if rounding is not None and rounding[i] > _NOTABLE * share:
        moved = np.expm1(rounding[i]) if trial.bound.call.function.has_reference else rounding[i]
        why += f", but not below the ± {100 * moved:.2g} % by which rounding may have moved it"
    return why


def _half_width(finding: LimitResult, i: int) -> float:
    """Return half the width of an interval as a share of the value; overheads and scatter are shares."""
    plain, function = finding.plain, finding.trial.bound.call.function
    half = float(plain.high[i] - plain.low[i]) / 2
    is_share = function in (Function.OVERHEAD, Function.CV)
    return half if is_share or not plain.value[i] else half / abs(float(plain.value[i]))


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
        match = trial.sample.matches[i]
        if match.note.startswith(NO_COMMON_POINT):
            return NO_COMMON_POINT
        if function is Function.CV_RATIO and not match.lacks:
            return "not computed: some values are zero or less"
        return (match.lacks or NOT_MEASURED) if function.has_reference else "not measured"
    if n_blocks < MIN_BLOCKS and function is not Function.OVERHEAD:
        return _too_few(n_blocks)
    if function in (Function.CV, Function.CV_RATIO):
        return "not computed: some values are zero or less, or all are the same"
    row = trial.rows[i]
    if isinstance(row, Comparison) and is_without_ratio(row):
        return row.note
    if function is Function.EFFICIENCY:
        return NO_SPEEDUP
    return "no overhead: the figure of merit has no direction, or its reference is zero or less"


def _too_few(n_blocks: int, least: int = MIN_BLOCKS) -> str:
    return f"{count(n_blocks, 'run')}: an interval takes {least}"
