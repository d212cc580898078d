"""Write a check as a code quality report, which GitLab shows in the merge request.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import hashlib

import msgspec

from tare.analysis.checking.check import Check, CheckedComparison, Outcome, RuleVerdict, Undecided
from tare.core.visible_text import visible_line
from tare.report.checks.words import case_words, limit_words, measured_words

_SEVERITY = {Undecided.PASS: "info", Undecided.WARN: "minor", Undecided.FAIL: "major"}


def code_quality_json(check: Check, undecided: Undecided, file: str) -> str:
    """Return one issue per comparison that did not pass, as JSON.

    `undecided` gives the severity of undecided comparisons. `file` is the location of rules without a file.
    """
    issues = [
        _issue(verdict, one, undecided, file)
        for verdict in check.verdicts
        for one in verdict.judged
        if one.outcome is not Outcome.PASS
    ]
    if check.requires_complete and not check.completeness.is_complete:
        issues.append(_body(str(check.completeness), "complete", "major", file, 1))
    return msgspec.json.format(msgspec.json.encode(issues), indent=1).decode()


def _issue(
    verdict: RuleVerdict, one: CheckedComparison, undecided: Undecided, file: str
) -> dict[str, object]:
    source = verdict.rule.source
    severity = "major" if one.outcome is Outcome.FAIL else _SEVERITY[undecided]
    description = (
        f"{one.outcome}: {verdict.rule.words}: {case_words(one)}: {measured_words(one)}, "
        f"limit {limit_words(one)}; {one.why}"
    )
    key = f"{verdict.rule.name}\0{verdict.rule.words}\0{one.text}\0{case_words(one)}"
    return _body(description, verdict.rule.name, severity, source.file or file, source.line or 1, key)


def _body(
    description: str, name: str, severity: str, file: str, line: int, key: str = ""
) -> dict[str, object]:
    # The fingerprint has no numbers in it: the same comparison is the same issue in the next pipeline.
    return {
        "description": visible_line(description),
        "check_name": visible_line(name),
        "fingerprint": hashlib.sha256((key or name).encode("utf-8", "replace")).hexdigest(),
        "severity": severity,
        "location": {"path": visible_line(file), "lines": {"begin": line}},
    }
