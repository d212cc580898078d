"""Each claim that is made of a random campaign, held against the truth.

``PYTHONPATH=tests python -m truth 2000`` prints the table (``make truth``).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence

import msgspec

from tare.analysis.causes.correlates import explanations
from tare.analysis.checking.check import Outcome, check
from tare.analysis.checking.rule_parser import parse_rules
from tare.analysis.checking.rules import Kind, RuleSource
from tare.analysis.trust.quality import quality
from tare.analysis.trust.repeatability import RepeatabilityWarning
from tare.analysis.trust.session_changes import session_changes
from tare.analysis.verdicts.compare import aggregates, comparisons
from tare.analysis.verdicts.variability import variabilities
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison, Finding
from tare.core.interval import Bounded
from tare.core.verdict import Verdict
from tare.core.workload import Better
from truth.campaigns import Truth
from truth.claims import claims_difference, is_false, true_ratio
from truth.wild import WANDERING, Wild

_ROUNDING = 1e-9
ASSUMED = "holds without independence"
"""Of verdicts of few blocks that are said to hold where blocks resemble the one before."""


@dataclasses.dataclass(frozen=True)
class Asked:
    """One thing that was asked of a campaign: its family, what was claimed, and whether that is false.

    `could_be_false` says that a false claim is possible, as a difference is where there is none: the
    rate is that of the studies in which any could be. `is_claimed` is False where nothing was decided.
    """

    family: str
    is_claimed: bool
    is_false: bool
    could_be_false: bool = True
    text: str = ""


def asked(study: Wild, found: Campaign) -> Iterator[Asked]:
    """Yield everything that is asked of a campaign, and what is claimed of it."""
    truth = study.truth
    rows = aggregates(found)
    quoted = [one for one in rows if one.is_primary]
    yield from _of_rows("main figures", truth, found, quoted)
    yield from _of_rows("other figures", truth, found, [one for one in rows if not one.is_primary])
    yield from _of_rows("points", truth, found, comparisons(found))
    yield from _of_intervals(truth, found, quoted)
    yield from _of_check(truth, found, rows)
    yield from _of_scatter(truth, found)
    yield from _of_doubts(study, found)
    if study.special == WANDERING:
        for one in _of_rows(ASSUMED, truth, found, quoted):
            row_is_sure = "assumes_independence=True" not in one.text
            yield dataclasses.replace(
                one, is_claimed=one.is_claimed and row_is_sure, is_false=one.is_false and row_is_sure
            )
    if study.rises is not None:
        yield from _of_telemetry(study, found)
    if truth.ended:
        yield from _again(truth, found, quoted)
    if study.until is not None:
        yield from _of_rows("stopped by until", truth, found, quoted)


def _of_rows(kind: str, truth: Truth, found: Campaign, rows: Sequence[Comparison]) -> Iterator[Asked]:
    for one in rows:
        if one.low is None:
            continue
        ratio = true_ratio(truth, found, one)
        is_wrong = is_false(truth, found, one)
        is_same = abs(ratio - 1) < _ROUNDING
        differs = claims_difference(one)
        yield Asked(f"{kind}: difference", differs, differs and is_wrong, is_same, str(one))
        same = one.verdict is Verdict.EQUIVALENT
        is_apart = abs(math.log(ratio)) > math.log1p(truth.margin) + _ROUNDING
        yield Asked(f"{kind}: equivalence", same, same and is_wrong, is_apart, str(one))


def _of_intervals(truth: Truth, found: Campaign, rows: Sequence[Finding]) -> Iterator[Asked]:
    for one in rows:
        if isinstance(one, Comparison) and one.low is not None and one.high is not None and not truth.zeros:
            ratio = true_ratio(truth, found, one)
            is_outside = not one.low - _ROUNDING <= ratio <= one.high + _ROUNDING
            yield Asked("interval of a ratio", True, is_outside, text=f"{ratio} {one}")


def _of_check(truth: Truth, found: Campaign, rows: Sequence[Comparison]) -> Iterator[Asked]:
    """Yield what a check of the margin fails or passes."""
    text = f"overhead() > {truth.margin * 100:g} %"
    (verdict,) = check(found, parse_rules([RuleSource(text=text, kind=Kind.FAIL_IF, where="test")])).verdicts
    references = {(one.contender_case, one.fom, *one.labels.items()): one for one in rows}
    for one in verdict.judged:
        labels = [item for item in one.match.at.items() if item[0] == "operation"]
        row = references.get((one.match.case, one.match.fom, *labels))
        if row is None or one.low is None:
            continue
        ratio = true_ratio(truth, found, row)
        overhead = 1 - ratio if row.better is Better.HIGHER else ratio - 1
        is_beyond = overhead > truth.margin + _ROUNDING
        fails, passes = one.outcome is Outcome.FAIL, one.outcome is Outcome.PASS
        yield Asked("check: failed", fails, fails and not is_beyond, not is_beyond, str(one))
        yield Asked("check: passed", passes, passes and is_beyond, is_beyond, str(one))


def _of_scatter(truth: Truth, found: Campaign) -> Iterator[Asked]:
    """Yield whether scatters differ: they do only where the contender has noise of its own."""
    if truth.decimals is not None or truth.zeros:
        return  # what is printed scatters otherwise
    for one in variabilities(found):
        if one.low is not None:
            differs = one.verdict in (Verdict.WORSE, Verdict.BETTER)
            is_same = truth.contender_noise is None
            yield Asked("scatter: difference", differs, differs and is_same, is_same, str(one))


def _of_doubts(study: Wild, found: Campaign) -> Iterator[Asked]:
    """Yield the doubts in time, where nothing gives reason to any."""
    truth = study.truth
    doubted = {one.kind: str(one) for one in quality(found).warnings}
    moves = truth.drift or truth.step or truth.together or truth.late_slower != 1 or truth.late
    if not moves and truth.blocks >= 5:
        for suspicion in (
            RepeatabilityWarning.DRIFT,
            RepeatabilityWarning.WARM_UP,
            RepeatabilityWarning.AUTOCORRELATION,
        ):
            is_told = suspicion in doubted
            yield Asked(f"doubt: {suspicion}", is_told, is_told, text=doubted.get(suspicion, ""))
    has_modes = study.noise in ("bimodal", "one in ten slow", "exponential") or study.special
    if not moves and not has_modes and truth.blocks >= 10 and truth.decimals is None and not truth.zeros:
        is_told = RepeatabilityWarning.MODES in doubted
        yield Asked("doubt: modes", is_told, is_told, text=doubted.get(RepeatabilityWarning.MODES, ""))
    if truth.ended and not moves:
        for change in session_changes(found):
            yield Asked("between sessions: change", change.is_serious, change.is_serious, text=str(change))


def _of_telemetry(study: Wild, found: Campaign) -> Iterator[Asked]:
    """Yield the rows of what differed meanwhile, by whether it does."""
    second = next(iter(study.truth.factors.values()))[1]
    named = explanations(found)
    yield Asked("why: rows", False, False)
    for reason in named:
        is_so = reason.comparison.contender.get(study.factor) == second
        rise = (study.rises or {}).get(reason.figure, 1.0) if is_so else 1.0
        is_up = (reason.comparison.ratio or 1.0) > 1
        yield Asked("why: rows", True, rise == 1 or is_up != (rise > 1), text=str(reason))


def _again(truth: Truth, found: Campaign, rows: Sequence[Comparison]) -> Iterator[Asked]:
    """Yield what is claimed at either of two looks: after the first session, and at the end."""
    first = tuple(one for one in found.attempts if one.session == 1)
    early = dataclasses.replace(truth, ended=())
    before = [one for one in aggregates(msgspec.structs.replace(found, attempts=first)) if one.is_primary]
    yield from _of_rows("at either look", early, found, before)
    yield from _of_rows("at either look", truth, found, rows)


def misses(one: Bounded | None, truth: float) -> bool | None:
    """Return whether an interval misses the truth; None where there is none."""
    if one is None or one.low is None:
        return None
    high = math.inf if one.high is None else one.high
    return not one.low - _ROUNDING <= truth <= high + _ROUNDING
