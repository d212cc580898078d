"""Judge the parts of an article's claims by the campaigns that were measured on this machine.

A rule is judged as `tare check` judges it, together with all rules of the article on the same campaign. So
"does not hold here" is corrected for the number of comparisons. "Holds here" needs every selected interval to
lie within the limit. An order is judged as `tare published --claims` judges one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from bench.articles.article import Article, Follows, Kind, Part, Rises
from bench.articles.matches import measure
from bench.articles.results import Evidence, Measured, PartResult, Results, Verdict
from tare.analysis.accounting import account
from tare.analysis.checking.check import CheckedComparison, Outcome, check
from tare.analysis.checking.rule_parser import parse_rule
from tare.analysis.checking.rules import Kind as RuleKind
from tare.analysis.checking.rules import Rule, RuleSource
from tare.core.campaign import Campaign
from tare.core.errors import UsageError
from tare.core.values import Scalar, Settings
from tare.published.claims import Claim, ClaimVerdict, Judgement, judge_claim
from tare.report.checks.words import case_words, measured_words, reference_words, why_words
from tare.stats.ratios import ratios

_OUTCOMES = {
    Outcome.PASS: Verdict.HOLDS,
    Outcome.FAIL: Verdict.DOES_NOT,
    Outcome.UNDECIDED: Verdict.UNDECIDED,
}
_WORST_LAST = (Verdict.HOLDS, Verdict.UNDECIDED, Verdict.DOES_NOT)
_CLAIM_VERDICTS = {
    ClaimVerdict.SUPPORTED: Verdict.HOLDS,
    ClaimVerdict.CONTRADICTED: Verdict.DOES_NOT,
    ClaimVerdict.UNDECIDED: Verdict.UNDECIDED,
    ClaimVerdict.NOT_IN_THE_DATA: Verdict.UNDECIDED,
}


def judge(article: Article, campaigns: Mapping[str, Campaign]) -> Results:
    """Return the results of all parts whose study has a campaign; `campaigns` are by the study's name."""
    parts: dict[str, PartResult] = {}
    for study, campaign in campaigns.items():
        tried = [part for part in article.parts if part.study == study]
        parts.update(_by_rules([part for part in tried if part.kind is Kind.RULE], campaign))
        for part in tried:
            if part.kind is not Kind.RULE:
                parts[part.id] = _by_figures(part, campaign)
    return Results(
        campaigns=tuple(_measured(study, campaign) for study, campaign in campaigns.items()),
        parts=tuple(parts[part.id] for part in article.parts if part.id in parts),
        tables=tuple(measure(article.matches, campaigns)),
    )


def _measured(study: str, campaign: Campaign) -> Measured:
    found = account(campaign)
    begun = [one.started_at for one in campaign.attempts if one.started_at is not None]
    return Measured(
        study=study,
        date=time.strftime("%Y-%m-%d", time.gmtime(max(begun))) if begun else "unknown",
        machine="; ".join(sorted(_processors(campaign))) or "unknown",
        tare=campaign.sessions[-1].tare if campaign.sessions else "unknown",
        n_done=found.n_done,
        n_planned=found.n_planned,
    )


def _processors(campaign: Campaign) -> set[str]:
    hosts = (facts for environment in campaign.environments.values() for facts in environment.values())
    known = (facts for facts in hosts if "cpu.model" in facts)
    return {f"{facts['cpu.model']}, {facts.get('cpu.cores', 'unknown')} cores" for facts in known}


def _by_rules(parts: Iterable[Part], campaign: Campaign) -> dict[str, PartResult]:
    """Judge rules that have the same reference together, so that they share one chance of a false alarm."""
    groups: dict[tuple[tuple[str, Scalar], ...], list[Part]] = {}
    for part in parts:
        groups.setdefault(tuple(part.reference.items()), []).append(part)
    found: dict[str, PartResult] = {}
    for reference, of_group in groups.items():
        found.update(_checked(of_group, campaign, dict(reference) or None))
    return found


def _checked(parts: Iterable[Part], campaign: Campaign, reference: Settings | None) -> dict[str, PartResult]:
    found: dict[str, PartResult] = {}
    rules: dict[str, Rule] = {}
    tests = {part.id: part.test for part in parts}
    for part in parts:
        rule = _rule(part)
        try:
            check(campaign, [rule], reference=reference)
        except UsageError as error:  # the campaign lacks what it names, as when all runs of a case failed
            found[part.id] = PartResult(
                part=part.id, test=part.test, verdict=Verdict.UNDECIDED, why=f"not judged: {error}"
            )
        else:
            rules[part.id] = rule
    if rules:
        checked = check(campaign, list(rules.values()), reference=reference)
        for name, verdict in zip(rules, checked.verdicts, strict=True):
            rows = tuple(_row(one, checked.confidence) for one in _merged(verdict.judged))
            found[name] = PartResult(
                part=name, test=tests[name], verdict=_OUTCOMES[verdict.outcome], evidence=rows
            )
    return found


def _rule(part: Part) -> Rule:
    return parse_rule(RuleSource(text=part.pass_if, kind=RuleKind.PASS_IF, where=f"part {part.id}"))


def _row(one: CheckedComparison, confidence: float) -> Evidence:
    return Evidence(
        what=case_words(one),
        against=reference_words(one.match.reference),
        measured=measured_words(one),
        n=one.n_blocks,
        verdict=_OUTCOMES[one.outcome],
        why="" if one.outcome is Outcome.PASS else why_words(one, confidence),
    )


def _merged(judged: Iterable[CheckedComparison]) -> Iterable[CheckedComparison]:
    """Merge what several limits say of one number, as those of a range: it holds if all of them hold.

    This is right for limits that are joined by ``and``. Of two limits that leave it undecided, the one that
    its interval contains says why.
    """
    merged: dict[tuple[str, str, str], CheckedComparison] = {}
    for one in judged:
        key = (case_words(one), reference_words(one.match.reference), measured_words(one))
        merged[key] = max(merged.get(key, one), one, key=_badness)
    return merged.values()


def _badness(one: CheckedComparison) -> tuple[int, bool]:
    is_contained = one.low is not None and one.high is not None and one.low <= one.limit <= one.high
    return _WORST_LAST.index(_OUTCOMES[one.outcome]), is_contained


def _by_figures(part: Part, campaign: Campaign) -> PartResult:
    if part.follows is not None:
        return _followed(part, part.follows, campaign)
    if part.rises is not None:
        return _risen(part, part.rises, campaign)
    return _counted(part, part.more_runs_than or 0, campaign)


def _counted(part: Part, limit: int, campaign: Campaign) -> PartResult:
    """Compare the number of measured runs with `limit`; an incomplete campaign may still reach it."""
    done = account(campaign)
    verdict = Verdict.DOES_NOT if done.is_complete else Verdict.UNDECIDED
    if done.n_done > limit:
        verdict = Verdict.HOLDS
    row = Evidence(
        what="runs done", measured=f"{done.n_done} of {done.n_planned}", n=done.n_done, verdict=verdict
    )
    return PartResult(part=part.id, test=part.test, verdict=verdict, evidence=(row,))


def _followed(part: Part, follows: Follows, campaign: Campaign) -> PartResult:
    claim = Claim(
        id=part.id,
        article="",
        claim=part.states,
        kind=Judgement.FOLLOWS_INVERSELY if follows.is_inverse else Judgement.FOLLOWS,
        data=part.study,
        fom=follows.fom,
        cause=follows.cause,
        over=follows.over,
    )
    try:
        finding = judge_claim(claim, campaign)
    except ValueError as error:  # a level has no run that counts
        return PartResult(part=part.id, test=part.test, verdict=Verdict.UNDECIDED, why=f"not judged: {error}")
    verdict = _CLAIM_VERDICTS[finding.verdict]
    rows = tuple(
        Evidence(
            what=one.what,
            measured=f"τ = {one.tau or 0:+.2f}".replace("-", "−"),
            n=one.n_contender,
            verdict=verdict,
            why=one.why,
        )
        for one in finding.evidence
    )
    return PartResult(part=part.id, test=part.test, verdict=verdict, evidence=rows)


def _risen(part: Part, rises: Rises, campaign: Campaign) -> PartResult:
    """Compare, block by block, the ratio of both sides at one point with that at the other."""
    at_start, at_end = (_ratios(campaign, rises, at) for at in (rises.start, rises.to))
    blocks = sorted(at_start.keys() & at_end.keys())
    if not blocks:
        why = "not judged: no block has both sides at both points"
        return PartResult(part=part.id, test=part.test, verdict=Verdict.UNDECIDED, why=why)
    found = ratios(
        np.array([[at_start[block]] for block in blocks]).reshape(-1, 1),
        np.array([[at_end[block]] for block in blocks]).reshape(-1, 1),
    )
    ratio, low, high = (float(one[0]) for one in (found.ratio, found.low, found.high))
    has_interval = math.isfinite(low) and math.isfinite(high)
    verdict = Verdict.UNDECIDED
    if has_interval and low > 1:
        verdict = Verdict.HOLDS
    elif has_interval and high < 1:
        verdict = Verdict.DOES_NOT
    rows = [
        Evidence(
            what=f"{rises.fom}, {_point(at)}: {_point(rises.contender)} / {_point(rises.reference)}",
            measured=_interval(of_point),
            n=len(of_point),
        )
        for at, of_point in ((rises.start, at_start), (rises.to, at_end))
    ]
    last = f"{ratio:.3f} [{low:.3f}, {high:.3f}]" if has_interval else "–"
    why = "" if verdict is Verdict.HOLDS else "the interval of the quotient is not wholly above 1"
    rows.append(
        Evidence(what="the second over the first", measured=last, n=len(blocks), verdict=verdict, why=why)
    )
    return PartResult(part=part.id, test=part.test, verdict=verdict, evidence=tuple(rows))


def _interval(by_block: Mapping[int, float]) -> str:
    """Return the mean of the ratios of all blocks with its interval."""
    if not by_block:
        return "–"
    column = np.array([[value] for value in by_block.values()])
    found = ratios(np.ones_like(column), column)
    ratio, low, high = (float(one[0]) for one in (found.ratio, found.low, found.high))
    return f"{ratio:.3f} [{low:.3f}, {high:.3f}]" if math.isfinite(low) else f"{ratio:.3f}"


def _ratios(campaign: Campaign, rises: Rises, at: Settings) -> dict[int, float]:
    """Return contender / reference at one point, by block; only blocks in which both were measured."""
    contender, reference = (
        dict(_values(campaign, rises.fom, settings, at)) for settings in (rises.contender, rises.reference)
    )
    return {
        block: contender[block] / reference[block] for block in sorted(contender.keys() & reference.keys())
    }


def _values(campaign: Campaign, fom: str, settings: Settings, at: Settings) -> Iterator[tuple[int, float]]:
    cases = {case.id for case in campaign.plan.cases if settings.items() <= dict(case.settings).items()}
    for attempt in campaign.measured():
        for series in attempt.series:
            if attempt.case in cases and series.fom == fom:
                for one in series.measurements():
                    if at.items() <= dict(one.at).items():
                        yield attempt.block, one.value


def _point(settings: Settings) -> str:
    return " ".join(f"{name}={value}" for name, value in settings.items())
