"""Write a check as Markdown for the job summary of a CI service, and as GitHub annotations."""

from __future__ import annotations

from tare.analysis.checking.check import Check, CheckedComparison, Outcome, Undecided
from tare.core.visible_text import visible_line
from tare.report.checks.words import (
    case_words,
    headline,
    in_compare,
    judging_words,
    limit_words,
    measured_words,
    why_words,
)
from tare.report.escaping import markdown

MOST_ROWS = 500
"""The most rows of the tables, since GitHub refuses a job summary of more than 1 MiB."""

_SIGNS = {Outcome.PASS: "✅ pass", Outcome.FAIL: "❌ fail", Outcome.UNDECIDED: "❔ undecided"}
_WORST_FIRST = (Outcome.FAIL, Outcome.UNDECIDED, Outcome.PASS)


def check_markdown(check: Check) -> str:
    """Return the check as GitHub-flavoured Markdown: one table per rule, with failed comparisons first."""
    lines = [f"## {markdown(check.study)} at {markdown(check.site)}: {markdown(headline(check))}", ""]
    if not check.completeness.is_complete:
        lines += [f"⚠️ {markdown(str(check.completeness))}.", ""]
    for note in check.notes:
        lines += [f"⚠️ {markdown(note)}", ""]
    left = MOST_ROWS
    for verdict in check.verdicts:
        rule = verdict.rule
        named = f"**{markdown(rule.name)}** – " if rule.name != rule.text else ""
        lines += [f"### {_SIGNS[verdict.outcome]}: {named}{markdown(rule.words)}", ""]
        lines += [
            "| case | measured | in compare | limit | runs | verdict | why |",
            "| --- | ---: | --- | ---: | ---: | --- | --- |",
        ]
        rows = sorted(verdict.judged, key=lambda one: _WORST_FIRST.index(one.outcome))
        lines += [_row(one, check) for one in rows[:left]]
        if len(rows) > left:
            lines.append(f"| … and {len(rows) - left} more | | | | | | |")
        left = max(left - len(rows), 0)
        lines.append("")
    return "\n".join([*lines, markdown(judging_words(check)), ""])


def github_annotations(check: Check, undecided: Undecided) -> list[str]:
    """Return one workflow command per rule that did not pass (GitHub's ``::error::`` and ``::warning::``)."""
    commands = []
    for verdict in check.verdicts:
        if verdict.outcome is Outcome.PASS or (
            verdict.outcome is Outcome.UNDECIDED and undecided is Undecided.PASS
        ):
            continue
        is_error = verdict.outcome is Outcome.FAIL or undecided is Undecided.FAIL
        worst = next(one for one in verdict.judged if one.outcome is verdict.outcome)
        text = f"{verdict.rule.words}: {case_words(worst)}: {measured_words(worst)}; {worst.why}"
        title = _property(f"tare check: {verdict.outcome}: {verdict.rule.name}")
        commands.append(f"::{'error' if is_error else 'warning'} title={title}::{_data(text)}")
    commands += [f"::warning title=tare check::{_data(note)}" for note in check.notes]
    if check.requires_complete and not check.completeness.is_complete:
        commands.append(f"::error title=tare check::{_data(str(check.completeness))}")
    return commands


def _row(one: CheckedComparison, check: Check) -> str:
    cells = (
        case_words(one),
        measured_words(one),
        in_compare(one),
        limit_words(one),
        str(one.n_blocks),
        _SIGNS[one.outcome],
        why_words(one, check.confidence),
    )
    return f"| {' | '.join(map(markdown, cells))} |"


def _data(text: str) -> str:
    """Escape the message of a workflow command (actions/toolkit, packages/core/src/command.ts)."""
    return visible_line(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
