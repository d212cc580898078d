"""Describe the results of curve analyses in words, for the page and for the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tare.analysis.verdicts.timed_out_runs import timed_out_words
from tare.core.curves import Crossover, HockneyFit, Saturation
from tare.core.workload import ParameterKind
from tare.report.words.numbers import SPACE, percent
from tare.report.words.scaling import is_bytes, scale_words, settings_words, share


def misfit_words(one: HockneyFit) -> str:
    """Return the misfit of the line, such as ``11 %``, or why no line was fitted."""
    if one.refusal:
        return f"not fitted: {one.refusal}"
    return f"{percent(one.misfit or 0.0, is_signed=False)}{_survivors(one.timed_out)}"


def crossover_words(one: Crossover, kinds: Mapping[str, ParameterKind]) -> str:
    """Return a crossover: ``tcp is better below 3.2 KiB [2.9 KiB to 3.6 KiB], shm above (…)``."""
    first, second = (settings_words(variant, kinds) for variant in (one.first, one.second))
    where = _estimated(one, one.x.value, kinds)
    ends = [None if end is None else _estimated(one, end, kinds) for end in (one.x.low, one.x.high)]
    interval = f"{SPACE}[{ends[0]} to {ends[1]}]" if all(ends) else ""
    few = "" if one.is_certain or one.timed_out else "without interval: too few blocks; "
    caveat = f"{_survivors(one.timed_out)}; ".removeprefix("; ") if one.timed_out else few
    low, high = (scale_words(one.along, _rounded(end), kinds) for end in one.between)
    return f"{first} is better below {where}{interval}, {second} above ({caveat}measured at {low} and {high})"


def saturation_words(one: Saturation, kinds: Mapping[str, ParameterKind]) -> str:
    """Return where a figure comes near its best value, and how certain that is."""
    return f"{_reached(one, kinds)}{_survivors(one.timed_out)}"


def _survivors(n_timed_out: int) -> str:
    """Return what is to be known of a curve of which runs timed out; empty if none did."""
    return f"; {timed_out_words(0, n_timed_out, is_alone=True)}" if n_timed_out else ""


def _reached(one: Saturation, kinds: Mapping[str, ParameterKind]) -> str:
    where = scale_words(one.along, one.x, kinds)
    earlier = scale_words(one.along, one.possible_x, kinds)
    doubt = f"; {earlier} not excluded" if one.possible_x < one.x else ""
    if one.is_open:
        return f"not below {where}, the last that was measured{doubt}"
    if one.x == one.best_x:
        return f"at {where}, the best{doubt}"
    reached = f"from {where}: {share(one.share)} of the best"
    if one.certain_x == one.x:
        return f"{reached}, surely"
    if one.certain_x is not None:
        return f"{reached}; surely from {scale_words(one.along, one.certain_x, kinds)}"
    return f"{reached}; not surely below {scale_words(one.along, one.best_x, kinds)}, the best"


def _rounded(value: float) -> float:
    """Return `value` without decimals if it is 100 or more, and with one decimal otherwise."""
    return float(round(value)) if value >= 100 else round(value, 1)


def _estimated(one: Crossover, value: float, kinds: Mapping[str, ParameterKind]) -> str:
    """Return an estimated position, with no more digits than it deserves: ``9 KiB``, not ``8.998 KiB``."""
    if is_bytes(one.along, kinds):
        factor = 1024 ** max(math.floor(math.log(value, 1024)), 0) if value > 0 else 1
        return scale_words(one.along, float(f"{value / factor:.3g}") * factor, kinds)
    return scale_words(one.along, _rounded(value), kinds)
