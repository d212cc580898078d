"""Whether a campaign keeps its rules: pass, fail or undecided, and only as far as the intervals say so.

A rule fails where an interval lies wholly beyond its limit. Many comparisons have many chances to do
so by accident, so an interval that is to fail is adjusted for the number of them (stats.step_down). To pass,
each must lie wholly within its limit: since all of them must, no adjustment is needed (the
intersection-union test; Berger 1982, Technometrics 24:295). Everything else is undecided.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from tare.answers.limits import convert
from tare.answers.quantities import Bounds, least_of_quantile
from tare.answers.rules import QUANTILES, Bound, Function, Group, Node, Op, Rule, bounds_of
from tare.answers.selection import Match, Sample, Selection
from tare.answers.truth import Truth, every, some
from tare.model.attempt import State
from tare.model.campaign import Campaign
from tare.model.values import Settings
from tare.stats.intervals import MIN_BLOCKS, Floats
from tare.stats.step_down import Mask, step_down


class Outcome(enum.StrEnum):
    """What becomes of a rule, and of the check as a whole."""

    PASS = "pass"  # noqa: S105 – not a password
    FAIL = "fail"
    UNDECIDED = "undecided"


class Undecided(enum.StrEnum):
    """What an undecided rule counts as."""

    PASS = "pass"  # noqa: S105 – not a password
    WARN = "warn"
    FAIL = "fail"


class Family(enum.StrEnum):
    """What a false alarm is counted in: the whole check, or each rule by itself."""

    CHECK = "check"
    RULE = "rule"


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """One match held against one limit.

    `value`, `low` and `high` are in `unit` (a fraction for "%", none for a ratio), at the check's
    confidence; `adjusted_low` and `adjusted_high` are of the interval at `adjusted_confidence`, by
    which it would fail. None where there is no interval. `is_beyond` says whether it is on the wrong side.
    """

    match: Match
    function: Function
    text: str
    limit: float
    unit: str
    n_blocks: int
    value: float | None
    low: float | None
    high: float | None
    adjusted_low: float | None
    adjusted_high: float | None
    adjusted_confidence: float
    is_beyond: Truth
    outcome: Outcome
    why: str


class RuleVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A rule, what became of it, and everything that it was judged by."""

    rule: Rule
    outcome: Outcome
    judged: tuple[Judged, ...]


class Completeness(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the runs that were planned so far."""

    n_planned: int
    counts: dict[State, int]
    is_running: bool

    @property
    def is_complete(self) -> bool:
        """Return whether every planned run is done."""
        return self.counts.get(State.DONE, 0) == self.n_planned and not self.is_running

    def __str__(self) -> str:
        rest = [f"{n} {state}" for state, n in self.counts.items() if state is not State.DONE and n]
        done = f"{self.counts.get(State.DONE, 0)} of {self.n_planned} planned runs are done"
        return ", ".join([done, *rest, *(["the campaign is still running"] if self.is_running else [])])


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts on all rules. `n_family` is the largest number of comparisons judged together."""

    study: str
    site: str
    verdicts: tuple[RuleVerdict, ...]
    completeness: Completeness
    requires_complete: bool
    outcome: Outcome
    confidence: float
    family: Family
    n_family: int

    def is_failed(self, undecided: Undecided) -> bool:
        """Return whether the check fails where an undecided rule counts as `undecided`."""
        return self.outcome is Outcome.FAIL or (
            self.outcome is Outcome.UNDECIDED and undecided is Undecided.FAIL
        )


def check(
    campaign: Campaign,
    rules: Sequence[Rule],
    *,
    reference: Settings | None = None,
    confidence: float = 0.95,
    family: Family = Family.CHECK,
    requires_complete: bool = False,
) -> Check:
    """Return what the measurements of `campaign` say of each rule, and of all of them.

    The chance that rules which hold are failed by accident is at most (1 − confidence) / 2, for the whole
    `family` together. A campaign that must be complete and is not fails. Raises UsageError where a rule
    names what the campaign does not have, or a limit has the wrong unit.
    """
    named = {bound.call.fom or "" for rule in rules for bound in bounds_of(rule.violation)}
    selection = Selection(campaign, reference, named)
    trials = [list(_trials(rule, selection)) for rule in rules]
    if family is Family.CHECK:
        findings = iter(_judge([trial for of_rule in trials for trial in of_rule], confidence))
        judged = [[next(findings) for _ in of_rule] for of_rule in trials]
    else:
        judged = [_judge(of_rule, confidence) for of_rule in trials]
    verdicts = tuple(_verdict(rule, found) for rule, found in zip(rules, judged, strict=True))
    completeness = _completeness(campaign)
    outcome = _overall([one.outcome for one in verdicts])
    sizes = [sum(one.low is not None for one in verdict.judged) for verdict in verdicts]
    return Check(
        study=campaign.plan.study,
        site=campaign.plan.site,
        verdicts=verdicts,
        completeness=completeness,
        requires_complete=requires_complete,
        outcome=Outcome.FAIL if requires_complete and not completeness.is_complete else outcome,
        confidence=confidence,
        family=family,
        n_family=sum(sizes) if family is Family.CHECK else max(sizes, default=0),
    )


class _Trial(NamedTuple):
    """One limit and what it is held against; `limits` has one number a match, in the match's unit."""

    bound: Bound
    sample: Sample
    limits: Floats


class _Finding(NamedTuple):
    """What is known of a trial, one entry a match."""

    trial: _Trial
    plain: Bounds
    adjusted: Bounds
    levels: Floats
    truths: list[Truth]


def _trials(rule: Rule, selection: Selection) -> Iterator[_Trial]:
    for bound in bounds_of(rule.violation):
        sample = selection.sample(rule, bound.call)
        limits = np.array([_limit(rule, bound, match) for match in sample.matches])
        yield _Trial(bound, sample, limits)


def _limit(rule: Rule, bound: Bound, match: Match) -> float:
    """Return the limit in the unit of what it bounds: a fraction, a ratio, or the unit of the FOM."""
    function, unit = bound.call.function, bound.unit
    if function in (Function.RATIO, Function.CV_RATIO):
        if unit not in ("", "%"):
            raise rule.fault(bound.column, f"a ratio has no unit {unit!r}; write for example 1.05")
        return convert(bound.limit, unit, "1")
    if function in (Function.OVERHEAD, Function.CV, Function.EFFICIENCY):
        if unit != "%":
            raise rule.fault(bound.column, f"{function} is a share; write it with %, such as 5 %")
        return bound.limit / 100
    if not unit and match.unit not in ("", "1"):
        message = f"{match.fom} is in {match.unit}; write the limit with its unit, such as 2 {match.unit}"
        raise rule.fault(bound.column, message)
    try:
        return convert(bound.limit, unit, match.unit)
    except ValueError as error:
        raise rule.fault(bound.column, f"{match.fom}: {error}") from error


def _judge(trials: Sequence[_Trial], confidence: float) -> list[_Finding]:
    """Return what is known of each trial, all of them being one family."""
    plain = [trial.sample.quantity.bounds(confidence) for trial in trials]
    ends = np.cumsum([len(trial.limits) for trial in trials])[:-1]

    def decide(level: float) -> Mask:
        return np.concatenate([_is_beyond(trial, trial.sample.quantity.bounds(level)) for trial in trials])

    if not trials:
        return []
    made, levels = step_down(decide, np.concatenate([np.isfinite(one.low) for one in plain]), confidence)
    return [
        _finding(trial, one, beyond, level)
        for trial, one, beyond, level in zip(
            trials, plain, np.split(made, ends), np.split(levels, ends), strict=True
        )
    ]


def _finding(trial: _Trial, plain: Bounds, beyond: Mask, levels: Floats) -> _Finding:
    adjusted = Bounds(plain.value, plain.low.copy(), plain.high.copy())
    for level in np.unique(levels):
        found, chosen = trial.sample.quantity.bounds(float(level)), levels == level
        adjusted.low[chosen], adjusted.high[chosen] = found.low[chosen], found.high[chosen]
    within = _is_within(trial, plain)
    truths = [
        Truth.TRUE if one else Truth.FALSE if other else Truth.UNKNOWN
        for one, other in zip(beyond.tolist(), within.tolist(), strict=True)
    ]
    return _Finding(trial, plain, adjusted, levels, truths)


def _is_beyond(trial: _Trial, found: Bounds) -> Mask:
    """Return where the whole interval is on the side of the limit that violates; not where it is absent."""
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


def _is_within(trial: _Trial, found: Bounds) -> Mask:
    opposite = msgspec.structs.replace(trial.bound, op=trial.bound.op.opposite)
    return _is_beyond(trial._replace(bound=opposite), found)


def _verdict(rule: Rule, findings: Sequence[_Finding]) -> RuleVerdict:
    by_bound = iter(findings)
    violated = _evaluate(rule.violation, by_bound)
    outcome = {Truth.TRUE: Outcome.FAIL, Truth.FALSE: Outcome.PASS, Truth.UNKNOWN: Outcome.UNDECIDED}[
        violated
    ]
    judged = tuple(one for finding in findings for one in _judged(finding, outcome))
    return RuleVerdict(rule=rule, outcome=outcome, judged=judged)


def _evaluate(node: Node, findings: Iterator[_Finding]) -> Truth:
    """Return whether `node` holds; `findings` come in the order of its bounds."""
    if isinstance(node, Group):
        truths = [_evaluate(part, findings) for part in node.parts]
        return every(truths) if node.is_all else some(truths)
    return some(next(findings).truths)


def _judged(finding: _Finding, of_rule: Outcome) -> Iterator[Judged]:
    trial = finding.trial
    for i, match in enumerate(trial.sample.matches):
        truth = finding.truths[i]
        yield Judged(
            match=match,
            function=trial.bound.call.function,
            text=trial.bound.call.text,
            limit=float(trial.limits[i]),
            unit=_UNITS.get(trial.bound.call.function, match.unit),
            n_blocks=trial.sample.quantity.n_blocks[i],
            value=_present(finding.plain.value[i]),
            low=_present(finding.plain.low[i]),
            high=_present(finding.plain.high[i]),
            adjusted_low=_present(finding.adjusted.low[i]),
            adjusted_high=_present(finding.adjusted.high[i]),
            adjusted_confidence=float(finding.levels[i]),
            is_beyond=truth,
            outcome=_of_one(truth, of_rule),
            why="; ".join(filter(None, (_why(finding, i), match.note))),
        )


_OUTCOMES = {Truth.TRUE: Outcome.FAIL, Truth.FALSE: Outcome.PASS, Truth.UNKNOWN: Outcome.UNDECIDED}
_UNITS = {
    Function.OVERHEAD: "%",
    Function.RATIO: "",
    Function.CV: "%",
    Function.CV_RATIO: "",
    Function.EFFICIENCY: "%",
}


def _of_one(truth: Truth, of_rule: Outcome) -> Outcome:
    """Return what a comparison is to a reader of its rule: where 'and' excuses it, beyond is no fault."""
    if truth is Truth.FALSE:
        return Outcome.PASS
    if truth is Truth.TRUE:
        return of_rule
    return Outcome.PASS if of_rule is Outcome.PASS else Outcome.UNDECIDED


def _why(finding: _Finding, i: int) -> str:
    match finding.truths[i]:
        case Truth.TRUE:
            return "the whole interval is beyond the limit"
        case Truth.FALSE:
            return "the whole interval is within the limit"
        case Truth.UNKNOWN:
            return _why_unknown(finding, i)


def _why_unknown(finding: _Finding, i: int) -> str:
    n_blocks = finding.trial.sample.quantity.n_blocks[i]
    function = finding.trial.bound.call.function
    if np.isnan(finding.plain.value[i]):
        return _why_absent(finding.trial, n_blocks)
    if np.isnan(finding.plain.low[i]):
        least = least_of_quantile(QUANTILES[function]) if function in QUANTILES else MIN_BLOCKS
        if n_blocks < least:
            return _too_few(n_blocks, least)
        return "no interval: some values are zero or less"
    if _is_beyond(finding.trial, finding.plain)[i]:
        return "beyond the limit, but not when adjusted for all comparisons that are judged"
    return "the limit lies within the interval; more runs narrow it"


def _why_absent(trial: _Trial, n_blocks: int) -> str:
    function = trial.bound.call.function
    if not n_blocks:
        if function is Function.EFFICIENCY:
            return "not measured at this scale, or not at the one that it refers to"
        return "not measured on both sides" if function.has_reference else "not measured"
    if n_blocks < MIN_BLOCKS and function is not Function.OVERHEAD:
        return _too_few(n_blocks)
    if function in (Function.CV, Function.CV_RATIO):
        return "no scatter to speak of: values are zero or less, or all the same"
    return "no overhead: the figure of merit has no direction, or its reference is zero or less"


def _too_few(n_blocks: int, least: int = MIN_BLOCKS) -> str:
    return f"{n_blocks} run{'' if n_blocks == 1 else 's'}: an interval takes {least}"


def _present(number: float) -> float | None:
    return None if np.isnan(number) else float(number)


def _overall(outcomes: Sequence[Outcome]) -> Outcome:
    for worst in (Outcome.FAIL, Outcome.UNDECIDED):
        if worst in outcomes:
            return worst
    return Outcome.PASS


def _completeness(campaign: Campaign) -> Completeness:
    latest = campaign.latest()
    planned = campaign.planned()
    counts = Counter(latest[run].state if run in latest else State.PENDING for run in planned)
    return Completeness(n_planned=len(planned), counts=dict(counts), is_running=campaign.is_running)
