"""Write a check as JUnit XML: one test suite per rule, one test case per comparison.

The format has no standard. This module uses the subset on which Jenkins, GitLab and GitHub Actions agree
(https://github.com/testmoapp/junitxml).
"""

from __future__ import annotations

from xml.etree import ElementTree

from tare.analysis.checking.check import Check, CheckedComparison, Outcome, RuleVerdict, Undecided
from tare.core.counting import count
from tare.core.visible_text import visible
from tare.report.checks.words import case_words, limit_words, measured_words, reference_words, why_words
from tare.report.words.assumed import assumed_brief

_COMPLETE = "every planned run is done"


def junit_xml(check: Check, undecided: Undecided) -> str:
    """Return the check as one XML document; `undecided` says how an undecided comparison counts.

    WARN marks it as skipped, FAIL as failed and PASS as passed.
    """
    root = ElementTree.Element("testsuites", name="tare check")
    for verdict in check.verdicts:
        _suite(root, check, verdict, undecided)
    if check.requires_complete:
        suite = ElementTree.SubElement(root, "testsuite", name=_COMPLETE)
        case = _case(suite, check, _COMPLETE)
        if not check.completeness.is_complete:
            _add_result(case, "failure", str(check.completeness))
    suites = list(root)
    for suite in suites:
        _count(suite, [suite])
    _count(root, suites)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(root: ElementTree.Element, check: Check, verdict: RuleVerdict, undecided: Undecided) -> None:
    suite = ElementTree.SubElement(root, "testsuite", name=visible(verdict.rule.name))
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in (("rule", verdict.rule.words), ("verdict", str(verdict.outcome))):
        ElementTree.SubElement(properties, "property", name=name, value=visible(value))
    for one in verdict.judged:
        case = _case(suite, check, case_words(one))
        if one.outcome is Outcome.FAIL or (one.outcome is Outcome.UNDECIDED and undecided is Undecided.FAIL):
            _add_result(case, "failure", f"{one.outcome}: {_details(one, check.confidence)}")
        elif one.outcome is Outcome.UNDECIDED and undecided is Undecided.WARN:
            _add_result(case, "skipped", f"undecided: {_details(one, check.confidence)}")
        else:
            ElementTree.SubElement(case, "system-out").text = visible(_details(one, check.confidence))


def _case(suite: ElementTree.Element, check: Check, name: str) -> ElementTree.Element:
    group = visible(f"{check.study}@{check.site}")
    return ElementTree.SubElement(suite, "testcase", classname=group, name=visible(name), time="0")


def _add_result(case: ElementTree.Element, kind: str, message: str) -> None:
    result = ElementTree.SubElement(case, kind, message=visible(message))
    if kind == "failure":
        result.set("type", "tare.check")


def _details(one: CheckedComparison, confidence: float) -> str:
    against = f" against {reference_words(one.match.reference)}" if one.match.reference else ""
    brief = assumed_brief(one)
    row = f"'tare compare': {one.verdict}, {brief}; " if brief else ""
    return (
        f"{one.function} {measured_words(one)}{against}, limit {limit_words(one)}, "
        f"{count(one.n_blocks, 'run')}; "
        f"{row}{why_words(one, confidence)}"
    )


def _count(element: ElementTree.Element, suites: list[ElementTree.Element]) -> None:
    """Set the attributes with counts that readers of the format expect."""
    for name, kind in (
        ("tests", "testcase"),
        ("failures", "testcase/failure"),
        ("skipped", "testcase/skipped"),
    ):
        element.set(name, str(sum(len(suite.findall(kind)) for suite in suites)))
    element.set("errors", "0")
