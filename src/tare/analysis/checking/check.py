"""Check a campaign against rules; each rule gets the outcome pass, fail or undecided.

A rule fails where an interval lies wholly beyond its limit. With many comparisons, one of them may do so by
accident. So the intervals that decide on failing are adjusted for the number of comparisons
(stats.step_down). A rule passes where each interval lies wholly within its limit. Since all of them must, no
adjustment for their number is needed (the intersection-union test; Berger 1982, Technometrics 24:295).
Everything else is undecided.

A row that `tare compare` also shows has the same verdict here. A rule that only a difference can break fails
only if `tare compare` finds such a difference, adjusted for everything that it judges.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from tare.analysis.accounting import Accounting, account
from tare.analysis.checking.limit_tests import LimitResult, Ternary, Trial, every, judge, some, why
from tare.analysis.checking.limits import convert
from tare.analysis.checking.row_verdicts import RowVerdicts
from tare.analysis.checking.rule_directions import direction_note, uncovered_times
from tare.analysis.checking.rules import Bound, Function, Group, Node, Rule, bounds_of
from tare.analysis.checking.selection import Match, Selection
from tare.analysis.proofs import Uncrossed, unproven_cases
from tare.analysis.quoted_figures import Figure
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison, Mean, missed_share
from tare.core.values import Settings
from tare.core.verdict import Verdict
from tare.core.workload import Better
from tare.stats.intervals import CONFIDENCE


class Outcome(enum.StrEnum):
    """The outcome of a rule, and of the check as a whole."""

    PASS = "pass"  # noqa: S105 – not a password
    FAIL = "fail"
    UNDECIDED = "undecided"

    @property
    def sign(self) -> str:
        """Return a symbol with its own shape, so that it can be read without colour."""
        return {Outcome.PASS: "✓", Outcome.FAIL: "✗", Outcome.UNDECIDED: "▨"}[self]


class Undecided(enum.StrEnum):
    """How an undecided rule counts."""

    PASS = "pass"  # noqa: S105 – not a password
    WARN = "warn"
    FAIL = "fail"


class RuleFamily(enum.StrEnum):
    """The set of tests that share one chance of a false alarm: the whole check, or each rule."""

    CHECK = "check"
    RULE = "rule"


class CheckedComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One match of a rule, compared with one limit.

    `verdict` is that of the same row in `tare compare`, and `assumes_independence` is as in a Comparison.
    `verdict` is None if there is no such row. That row shows it only if it `has_verdict`: its sides ran
    together and, where they differ in their networks alone, data crossed those.

    `value`, `low` and `high` are in `unit` (a fraction for "%", none for a ratio), at the check's confidence.
    `adjusted_low` and `adjusted_high` are the ends of the interval at `adjusted_confidence`, which decides
    whether the rule fails. They are None where there is no interval. `is_beyond` says whether the interval
    lies on the wrong side of the limit.

    `may_miss` is how frequent a slow mode may be, as a share of the runs, that no run met and that could
    change a result that passes; None where none could, or where nothing is certain.

    `n_to_prove` counts the runs of the case and of its reference that had to prove which network carried
    their data. `n_not_proven` counts those of them that did not prove it.
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
    is_beyond: Ternary
    outcome: Outcome
    why: str
    verdict: Verdict | None = None
    has_verdict: bool = True
    assumes_independence: bool = False
    may_miss: float | None = None
    n_to_prove: int = 0
    n_not_proven: int = 0

    @property
    def is_turned(self) -> bool:
        """Return whether figure and overhead have opposite signs: an overhead makes a rate lower."""
        return self.function is Function.OVERHEAD and self.match.better is Better.HIGHER

    @property
    def change(self) -> tuple[float | None, float | None, float | None]:
        """Return contender / reference − 1 of the figure itself, with its interval; only for overheads."""
        if self.function is not Function.OVERHEAD or self.value is None:
            return None, None, None
        if not self.is_turned:
            return self.value, self.low, self.high
        low, high = (None if end is None else -end for end in (self.high, self.low))
        return -self.value, low, high


class RuleVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A rule, its outcome, and all comparisons that decided it."""

    rule: Rule
    outcome: Outcome
    judged: tuple[CheckedComparison, ...]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """The outcomes of all rules. `n_family` is the largest number of comparisons judged together.

    `mean` is the mean used for ratios and overheads. `notes` point out possible mistakes in the rules: rules
    that fail where a figure gets better, and elapsed times that got worse and that no rule covers.
    """

    study: str
    site: str
    verdicts: tuple[RuleVerdict, ...]
    completeness: Accounting
    requires_complete: bool
    outcome: Outcome
    confidence: float
    family: RuleFamily
    n_family: int
    mean: Mean = Mean.GEOMETRIC
    notes: tuple[str, ...] = ()

    def is_failed(self, undecided: Undecided) -> bool:
        """Return whether the check fails if an undecided rule counts as `undecided`."""
        return self.outcome is Outcome.FAIL or (
            self.outcome is Outcome.UNDECIDED and undecided is Undecided.FAIL
        )


def check(
    campaign: Campaign,
    rules: Sequence[Rule],
    *,
    reference: Settings | None = None,
    family: RuleFamily = RuleFamily.CHECK,
    requires_complete: bool = False,
) -> Check:
    """Judge each rule by the measurements of `campaign`; return all outcomes, and that of the check.

    If all rules hold, the chance that any of them fails by accident is at most 2.5 %, for the
    whole `family` together. With `requires_complete`, an incomplete campaign fails. Raises UsageError where a
    rule names something that the campaign does not have, or where a limit has the wrong unit.
    """
    named = {bound.call.fom or "" for rule in rules for bound in bounds_of(rule.violation)}
    rows = RowVerdicts(campaign, reference, named)
    selection = Selection(campaign, reference, named, rows.longer if "" in named else ())
    trials = [list(_trials(rule, selection, rows)) for rule in rules]
    if family is RuleFamily.CHECK:
        findings = iter(judge([trial for of_rule in trials for trial in of_rule]))
        judged = [[next(findings) for _ in of_rule] for of_rule in trials]
    else:
        judged = [judge(of_rule) for of_rule in trials]
    unproven = unproven_cases(campaign)
    verdicts = tuple(_verdict(rule, found, unproven) for rule, found in zip(rules, judged, strict=True))
    completeness = account(campaign)
    outcome = _overall(one.outcome for one in verdicts)
    sizes = [sum(one.low is not None for one in verdict.judged) for verdict in verdicts]
    return Check(
        study=campaign.plan.study,
        site=campaign.plan.site,
        verdicts=verdicts,
        completeness=completeness,
        requires_complete=requires_complete,
        outcome=Outcome.FAIL if requires_complete and not completeness.is_complete else outcome,
        confidence=CONFIDENCE,
        family=family,
        n_family=sum(sizes) if family is RuleFamily.CHECK else max(sizes, default=0),
        mean=campaign.mean,
        notes=_notes(rules, trials, rows.longer if campaign.plan.reference or reference else ()),
    )


def _notes(
    rules: Sequence[Rule], trials: Sequence[Sequence[Trial]], longer: Iterable[Figure]
) -> tuple[str, ...]:
    turned = [
        direction_note(rule, trial.bound, trial.sample.matches, rules)
        for rule, of_rule in zip(rules, trials, strict=True)
        for trial in of_rule
    ]
    judged = [match for of_rule in trials for trial in of_rule for match in trial.sample.matches]
    return (*dict.fromkeys(filter(None, turned)), *(uncovered_times(longer, judged) if rules else ()))


def _trials(rule: Rule, selection: Selection, rows: RowVerdicts) -> Iterator[Trial]:
    for bound in bounds_of(rule.violation):
        sample = selection.sample(rule, bound.call)
        limits = np.array([_limit(rule, bound, match) for match in sample.matches])
        names = [one.row for one in sample.matches]
        drawn = [None if name is None else rows.of(bound.call.function, name) for name in names]
        yield Trial(bound, sample, limits, drawn)


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


def _verdict(rule: Rule, findings: Sequence[LimitResult], unproven: Mapping[str, Uncrossed]) -> RuleVerdict:
    by_bound = iter(findings)
    outcome = _OUTCOMES[_evaluate(rule.violation, by_bound)]
    is_part = len(findings) > 1 or rule.has_negation
    judged = tuple(
        one for finding in findings for one in _judged(finding, outcome, unproven, is_part=is_part)
    )
    return RuleVerdict(rule=rule, outcome=outcome, judged=judged)


def _evaluate(node: Node, findings: Iterator[LimitResult]) -> Ternary:
    """Return whether the condition `node` holds; `findings` come in the order of its bounds."""
    if isinstance(node, Group):
        parts = [_evaluate(part, findings) for part in node.parts]
        return every(parts) if node.is_all else some(parts)
    return some(next(findings).is_beyond)


def _judged(
    finding: LimitResult, of_rule: Outcome, unproven: Mapping[str, Uncrossed], *, is_part: bool
) -> Iterator[CheckedComparison]:
    trial = finding.trial
    for i, match in enumerate(trial.sample.matches):
        row = trial.rows[i]
        rests_on = [unproven[case] for case in (match.case, match.beside) if case and case in unproven]
        n_to_prove = sum(one.n_measured for one in rests_on)
        n_not_proven = sum(one.n_runs for one in rests_on)
        outcome = _of_one(finding.is_beyond[i], of_rule)
        yield CheckedComparison(
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
            is_beyond=finding.is_beyond[i],
            outcome=outcome,
            why=_joined(
                why(finding, i, is_part=is_part), match.note, _unproven_words(n_not_proven, n_to_prove)
            ),
            verdict=None if row is None else row.verdict,
            has_verdict=not isinstance(row, Comparison) or not (row.is_apart or row.is_uncrossed),
            assumes_independence=row is not None and row.assumes_independence,
            may_miss=_may_miss(finding, i, outcome),
            n_to_prove=n_to_prove,
            n_not_proven=n_not_proven,
        )


def _joined(*texts: str) -> str:
    """Return texts as one, without the parts that an earlier part says or begins with."""
    parts: list[str] = []
    for part in filter(None, (part for text in texts for part in text.split("; "))):
        parts += [] if any(one.startswith(part) for one in parts) else [part]
    return "; ".join(parts)


def _may_miss(finding: LimitResult, i: int, outcome: Outcome) -> float | None:
    trial, is_beyond = finding.trial, finding.is_beyond[i]
    if outcome is not Outcome.PASS or is_beyond is Ternary.UNKNOWN:
        return None
    if not trial.may_miss_a_mode(trial.sample.matches[i], is_beyond=is_beyond is Ternary.TRUE):
        return None
    return missed_share(trial.sample.quantity.n_blocks[i], CONFIDENCE)


def _unproven_words(n_not_proven: int, n_to_prove: int) -> str:
    """Return a note on the runs whose network is not proven; empty if all are proven."""
    if not n_not_proven:
        return ""
    runs = "run" if n_to_prove == 1 else "runs"
    return f"on {n_not_proven} of {n_to_prove} {runs} it is not proven that their network carried the data"


_OUTCOMES = {Ternary.TRUE: Outcome.FAIL, Ternary.FALSE: Outcome.PASS, Ternary.UNKNOWN: Outcome.UNDECIDED}
_UNITS = {
    Function.OVERHEAD: "%",
    Function.RATIO: "",
    Function.CV: "%",
    Function.CV_RATIO: "",
    Function.EFFICIENCY: "%",
}


def _of_one(is_beyond: Ternary, of_rule: Outcome) -> Outcome:
    """Return the outcome of one comparison within its rule.

    A value beyond its limit passes if its rule passes, because another part of an 'and' holds.
    """
    if is_beyond is Ternary.FALSE:
        return Outcome.PASS
    if is_beyond is Ternary.TRUE:
        return of_rule
    return Outcome.PASS if of_rule is Outcome.PASS else Outcome.UNDECIDED


def _present(number: float) -> float | None:
    return None if np.isnan(number) else float(number)


def _overall(outcomes: Iterable[Outcome]) -> Outcome:
    worst_first = (Outcome.FAIL, Outcome.UNDECIDED, Outcome.PASS)
    return min(outcomes, key=worst_first.index, default=Outcome.PASS)
