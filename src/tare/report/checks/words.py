"""The texts of a check that its table, its JUnit file and its summary share."""

from __future__ import annotations

import math

from tare.analysis.checking.check import Check, CheckedComparison, Outcome, RuleFamily
from tare.analysis.checking.rules import Function
from tare.core.attempt import State
from tare.core.counting import count
from tare.core.values import Settings
from tare.report.words.assumed import assumed_mark, footnote, if_independent
from tare.report.words.mean_cost import missed_mode_words
from tare.stats.looks import SHOWING_BLOCKS


def case_words(one: CheckedComparison) -> str:
    """Return the comparison's name: ``latency, imb.pingpong, network=overlay bytes=1024``."""
    settings = " ".join(f"{name}={value}" for name, value in one.match.at.items() if name != "workload")
    return ", ".join(filter(None, (one.match.fom, str(one.match.at.get("workload", "")), settings)))


def reference_words(reference: Settings) -> str:
    """Return the settings of the reference: ``network=host``."""
    return " ".join(f"{name}={value}" for name, value in reference.items())


def measured_words(one: CheckedComparison, *, is_adjusted: bool = False) -> str:
    """Return the value with its interval: ``+6.6 % [+4.5, +8.8]``, ``19.9 us [19.7, 20.2]``.

    An overhead is written as the change of the figure itself. For a rate, it is a decrease: ``−22 %``.
    """
    if one.value is None:
        return "–"
    low, high = (one.adjusted_low, one.adjusted_high) if is_adjusted else (one.low, one.high)
    unit = f" {one.unit}" if one.unit not in ("", "1") else ""
    value = one.value
    if one.is_turned:
        value, low, high = -value, None if high is None else -high, None if low is None else -low
    if low is None or high is None:
        return f"{_number(value, one, None)}{unit}"
    half = (high - low) / 2
    limit = -one.limit if one.is_turned else one.limit
    more = next((more for more in range(_MOST_MORE) if _shows((low, high), limit, one, half, more)), 0)
    ends = ", ".join(_number(end, one, half, more) for end in (low, high))
    return f"{_number(value, one, half, more)}{unit} [{ends}]"


def in_compare(one: CheckedComparison) -> str:
    """Return the verdict that `tare compare` and the report give for this comparison: ``▲ worse``.

    That of a scatter is named as such: the row of the same figure in a table has another verdict.
    """
    if one.verdict is None or not one.has_verdict:
        return "–"
    of_what = " (scatter)" if one.function is Function.CV_RATIO else ""
    return f"{one.verdict.sign} {one.verdict}{assumed_mark(one)}{of_what}"


def limit_words(one: CheckedComparison) -> str:
    """Return the limit in the unit of the limited value: ``5 %``, ``−5 %`` for a rate, ``2.5 us``."""
    if one.function.is_figure or one.unit != "%":
        text = f"{one.limit:.{15 if one.limit.is_integer() else 9}g}".replace("-", "−")
        return f"{text} {one.unit}" if one.unit not in ("", "1") else text
    limit = -one.limit if one.is_turned else one.limit
    return f"{limit * 100 + 0.0:.6g} %".replace("-", "−")


def why_words(one: CheckedComparison, confidence: float) -> str:
    """Return the reason for the outcome, and what may still change it.

    That is the adjusted interval if it differs from the shown one, or a slow mode that no run met.
    """
    if one.outcome is Outcome.PASS:
        return "; ".join(filter(None, (one.why, " ".join(missed_mode_words(one.may_miss).split()))))
    is_adjusted = one.adjusted_confidence > confidence + 1e-12 and one.adjusted_low is not None
    if not is_adjusted:
        return one.why
    share = f"{one.adjusted_confidence * 100:.4g} %"
    return f"{one.why}; with {share} confidence {measured_words(one, is_adjusted=True)}"


def judging_words(check: Check) -> str:
    """Return how the intervals were judged, in one or more sentences."""
    text = f"Intervals are of {check.confidence * 100:.4g} % confidence{_assumed(check)}."
    if any(one.verdict is not None for verdict in check.verdicts for one in verdict.judged):
        text += " No rule fails for a difference that 'tare compare' does not find among all that it judges."
    if note := footnote(one for verdict in check.verdicts for one in verdict.judged):
        text += f" {note}"
    if check.n_family < 2:
        return text
    what = "of the check" if check.family is RuleFamily.CHECK else "of each rule"
    return (
        f"{text} To fail, one must be beyond its limit when adjusted for all comparisons {what} "
        f"(Holm; {'up to ' if check.family is RuleFamily.RULE else ''}{check.n_family})."
    )


def _assumed(check: Check) -> str:
    """Return the assumption that intervals from few blocks make; empty if there are enough blocks."""
    n_blocks = [one.n_blocks for verdict in check.verdicts for one in verdict.judged if one.low is not None]
    few = [n for n in n_blocks if n < SHOWING_BLOCKS]
    return f" {if_independent(few)}" if few else ""


def headline(check: Check) -> str:
    """Return the result of the check in one line: ``fail: 1 of 3 rules passed, 1 failed, 1 undecided``."""
    n_rules = len(check.verdicts)
    counts = {outcome: sum(one.outcome is outcome for one in check.verdicts) for outcome in Outcome}
    rules = f"{count(n_rules, 'rule')}"
    parts = [f"{counts[Outcome.PASS]} of {rules} passed"]
    parts += [f"{counts[Outcome.FAIL]} failed"] if counts[Outcome.FAIL] else []
    parts += [f"{counts[Outcome.UNDECIDED]} undecided"] if counts[Outcome.UNDECIDED] else []
    n_left = check.completeness.counts.get(State.PENDING, 0)
    if n_left:
        n_planned = check.completeness.n_planned
        parts.append(
            f"preliminary: {n_left} of {count(n_planned, 'planned run')} {'is' if n_left == 1 else 'are'} "
            "still to come"
        )
    if check.requires_complete and not check.completeness.is_complete:
        parts.append("the campaign is not complete")
    return f"{check.outcome}: {', '.join(parts)}"


_MOST_MORE = 4
"""So many more digits, at most, show on which side of a limit the end of an interval lies."""


def _shows(ends: tuple[float, float], limit: float, one: CheckedComparison, half: float, more: int) -> bool:
    """Return whether the printed ends of an interval are on those sides of the limit where they are."""
    is_percent = one.unit == "%" and not one.function.is_figure
    for end in filter(math.isfinite, ends):
        shown = float(_number(end, one, half, more).replace("−", "-")) / (100 if is_percent else 1)
        if end != limit and ((shown > limit) is not (end > limit) or math.isclose(shown, limit)):
            return False
    return True


def _number(value: float, one: CheckedComparison, half: float | None, more: int = 0) -> str:
    """Return `value` with digits down to about a tenth of the half width of its interval, or `more`."""
    if math.isinf(value):
        sign = "−" if value < 0 else "+" if one.function is Function.OVERHEAD else ""
        return f"{sign}∞"
    if one.unit == "%" and not one.function.is_figure:
        sign = "+" if one.function is Function.OVERHEAD else ""
        text = _digits(value * 100, half and half * 100, more, sign)
    else:
        text = _digits(value, half, more)
    return (text if float(text) else text.lstrip("+-")).replace("-", "−")


def _digits(value: float, half: float | None, more: int, sign: str = "") -> str:
    """Return `value` in digits; with an exponent if those before or after the point would be too many."""
    if value == 0 or _LEAST_PLAIN <= abs(value) < _LEAST_WITH_EXPONENT:
        return f"{value:{sign}.{_decimals(value, half) + more}f}"
    size = half or abs(value) / 100
    smaller = math.floor(math.log10(abs(value))) - math.floor(math.log10(size)) if size < math.inf else 0
    return f"{value:{sign}.{min(max(smaller + 1, 1), 12) + more}e}"


_LEAST_PLAIN, _LEAST_WITH_EXPONENT = 1e-9, 1e12


def _decimals(value: float, half: float | None) -> int:
    size = half or abs(value) / 100
    return min(max(1 - math.floor(math.log10(size)), 0), 12) if 0 < size < math.inf else 1
