"""Test in which ways blocks fail to repeat one another; each test covers all series at once."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tare.stats.autocorrelation import lag_one
from tare.stats.intervals import Floats
from tare.stats.modes import two_modes
from tare.stats.outliers import outliers
from tare.stats.trend import drift_p_values, theil_sen
from tare.stats.warmup import warm_ups


class RepeatabilityWarning(enum.StrEnum):
    """A way in which the blocks of a case are not repeats of one another, the most serious first."""

    DRIFT = "drift"
    WARM_UP = "warm-up"
    MODES = "modes"
    AUTOCORRELATION = "autocorrelation"
    OUTLIERS = "outliers"

    @property
    def is_in_time(self) -> bool:
        """Return whether it is about the order of the blocks."""
        return self not in (RepeatabilityWarning.MODES, RepeatabilityWarning.OUTLIERS)

    @property
    def is_of_campaign(self) -> bool:
        """Return whether its p value is for the whole campaign and needs no correction."""
        return self is RepeatabilityWarning.WARM_UP

    @property
    def is_shared(self) -> bool:
        """Return whether the machine may cause it in all cases alike."""
        return self in (RepeatabilityWarning.DRIFT, RepeatabilityWarning.WARM_UP)


@dataclasses.dataclass(frozen=True, eq=False)
class RepeatabilityResult:
    """The result of one test for each series, whether or not it is significant.

    `effect` is how far it moves values, as a logarithm. `size` is the number to report, and `levels` (levels
    × series) are further numbers to report. `is_concerned` marks values, blocks × series.
    """

    p: Floats
    effect: Floats
    size: Floats
    is_concerned: npt.NDArray[np.bool_]
    levels: Floats


def run_test(kind: RepeatabilityWarning, logs: Floats) -> RepeatabilityResult:
    """Return the result of the test for `kind` on each column of `logs`, blocks in the order of time.

    For a warm-up, higher values must mean slower.
    """
    return _TESTS[kind](logs)


def _drift(logs: Floats) -> RepeatabilityResult:
    slope = theil_sen(logs)
    has_value = np.isfinite(logs)
    effect = slope * (has_value.sum(axis=0) - 1)
    return RepeatabilityResult(
        drift_p_values(logs, slope), effect, np.expm1(slope), has_value, _no_levels(logs)
    )


def _warm_up(logs: Floats) -> RepeatabilityResult:
    found = warm_ups(logs)
    has_value = np.isfinite(logs)
    is_first = has_value & (has_value.cumsum(axis=0) <= found.n_first)
    return RepeatabilityResult(found.p, found.shift, np.expm1(found.shift), is_first, _no_levels(logs))


def _modes(logs: Floats) -> RepeatabilityResult:
    found = two_modes(logs)
    is_high, is_low = logs > found.split, logs < found.split
    is_fewer = np.where(is_high.sum(axis=0) <= is_low.sum(axis=0), is_high, is_low)
    effect = found.high - found.low
    levels = np.exp(np.stack([found.low, found.high]))
    return RepeatabilityResult(found.p, effect, np.expm1(effect), is_fewer, levels)


def _autocorrelation(logs: Floats) -> RepeatabilityResult:
    found = lag_one(logs)
    has_value = np.isfinite(logs)
    highest = np.where(has_value, logs, -np.inf).max(axis=0, initial=-np.inf)
    lowest = np.where(has_value, logs, np.inf).min(axis=0, initial=np.inf)
    return RepeatabilityResult(found.p, highest - lowest, found.r, has_value, found.threshold[np.newaxis])


def _outliers(logs: Floats) -> RepeatabilityResult:
    found = outliers(logs)
    distance = np.where(found.is_outlier, logs - found.centre, 0.0)
    farthest = np.abs(distance).argmax(axis=0)[np.newaxis] if len(logs) else np.empty((0, logs.shape[1]), int)
    effect = np.take_along_axis(distance, farthest, axis=0).sum(axis=0)
    levels = np.exp(found.centre)[np.newaxis]
    return RepeatabilityResult(found.p, effect, np.expm1(effect), found.is_outlier, levels)


def _no_levels(logs: Floats) -> Floats:
    return np.empty((0, logs.shape[1]))


_TESTS: dict[RepeatabilityWarning, Callable[[Floats], RepeatabilityResult]] = {
    RepeatabilityWarning.DRIFT: _drift,
    RepeatabilityWarning.WARM_UP: _warm_up,
    RepeatabilityWarning.MODES: _modes,
    RepeatabilityWarning.AUTOCORRELATION: _autocorrelation,
    RepeatabilityWarning.OUTLIERS: _outliers,
}
