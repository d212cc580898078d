"""A check as CI services read it, hostile names and all."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.synthetic import make_campaign
from tare.analysis.checking.check import Check, Undecided, check
from tare.analysis.checking.rule_parser import parse_rule
from tare.analysis.checking.rules import Kind, RuleSource
from tare.report.checks.code_quality import code_quality_json
from tare.report.checks.junit import junit_xml
from tare.report.checks.summary import MOST_ROWS, check_markdown, github_annotations

HOSTILE = '</testsuite><b onload="x">|\x00\x1b[31m\ud800\ufffe&]]>`::error::\n# %0A_*'


def checked(*, undecided: bool = False, name: str = "", study: str = "synthetic") -> Check:
    """Return a check of one rule that fails for times and passes for rates, or is undecided for times."""
    campaign = make_campaign(ratio=1.2, noise=0.005)
    plan = msgspec.structs.replace(campaign.plan, study=study)
    limit = 20 if undecided else 18
    source = RuleSource(text=f"overhead() > {limit} %", kind=Kind.FAIL_IF, where="--fail-if", name=name)
    return check(msgspec.structs.replace(campaign, plan=plan), [parse_rule(source)])


def counts(element: ElementTree.Element) -> dict[str, int]:
    return {name: int(element.attrib[name]) for name in ("tests", "failures", "skipped", "errors")}


def test_a_rule_is_a_suite_and_a_comparison_a_case() -> None:
    root = ElementTree.fromstring(junit_xml(checked(), Undecided.WARN))
    assert root.tag == "testsuites"
    (suite,) = root
    assert suite.attrib["name"] == "overhead() > 18 %"
    assert counts(root) == counts(suite) == {"tests": 2, "failures": 1, "skipped": 0, "errors": 0}
    failed, passed = suite.findall("testcase")
    assert failed.attrib["name"] == "latency, synthetic.pingpong, network=overlay"
    failure = failed.find("failure")
    assert failure is not None
    assert failure.attrib["message"].startswith("fail: overhead +")
    assert "limit 18 %" in failure.attrib["message"]
    assert [child.tag for child in passed] == ["system-out"]


@pytest.mark.parametrize(
    ("policy", "failures", "skipped"),
    [(Undecided.PASS, 0, 0), (Undecided.WARN, 0, 1), (Undecided.FAIL, 1, 0)],
)
def test_what_is_undecided_is_skipped_or_as_the_option_states(
    policy: Undecided, failures: int, skipped: int
) -> None:
    root = ElementTree.fromstring(junit_xml(checked(undecided=True), policy))
    assert counts(root) == {"tests": 2, "failures": failures, "skipped": skipped, "errors": 0}


def test_a_campaign_that_must_be_complete_is_a_case_too() -> None:
    one = msgspec.structs.replace(checked(), requires_complete=True)
    assert counts(ElementTree.fromstring(junit_xml(one, Undecided.WARN)))["tests"] == 3
    short = msgspec.structs.replace(one.completeness, is_running=True)
    root = ElementTree.fromstring(junit_xml(msgspec.structs.replace(one, completeness=short), Undecided.WARN))
    assert counts(root) == {"tests": 3, "failures": 2, "skipped": 0, "errors": 0}


@given(st.text())
def test_any_name_makes_xml_that_can_be_read_and_keeps_its_shape(name: str) -> None:
    text = junit_xml(checked(name=name + HOSTILE, study=name + HOSTILE), Undecided.WARN)
    root = ElementTree.fromstring(text.encode())
    assert [suite.tag for suite in root] == ["testsuite"]
    assert len(root.findall(".//testcase")) == 2
    assert not root.findall(".//b")


@given(st.text())
def test_any_name_stays_in_its_line_and_cell_of_a_summary(name: str) -> None:
    hostile = checked(name=name + HOSTILE, study=name + HOSTILE)
    plain = checked(name="name")
    lines, expected = (check_markdown(one).split("\n") for one in (hostile, plain))
    assert len(lines) == len(expected)
    assert [line[:3] for line in lines if line.startswith("#")] == ["## ", "###"]
    assert "<b" not in check_markdown(hostile).replace("\\<b", "")
    check_markdown(hostile).encode()


def test_gitlab_gets_hostile_names_as_text() -> None:
    one = checked(name=HOSTILE, study=HOSTILE)
    (issue,) = json.loads(code_quality_json(one, Undecided.WARN, f"a{HOSTILE}.yaml"))
    assert "\x1b" not in issue["description"] + issue["check_name"] + issue["location"]["path"]


LIVE = "@all #1 https://evil.example www.evil.example \u202eesrever\u2066"


def test_nothing_in_a_check_mentions_links_or_reorders() -> None:
    """GitHub makes mentions and links of text that is escaped, too; bidi overrides show another text."""
    one = checked(name=LIVE, study=LIVE)
    summary = check_markdown(one)
    for live in ("@all", "#1", "://", "www."):
        assert live not in summary
    texts = [
        summary,
        junit_xml(one, Undecided.WARN),
        *github_annotations(one, Undecided.WARN),
        code_quality_json(one, Undecided.WARN, "study.yaml"),
    ]
    for text in texts:
        assert "\u202e" not in text
        assert "\u2066" not in text


def test_a_summary_has_the_verdicts_and_the_worst_first() -> None:
    shown = check_markdown(checked())
    rows = [line for line in shown.splitlines() if line.startswith(("| latency", "| bandwidth"))]
    assert "❌ fail" in rows[0]
    assert "✅ pass" in rows[1]
    assert "of the check" in shown


def test_a_summary_is_of_bounded_length() -> None:
    one = checked()
    many = msgspec.structs.replace(one.verdicts[0], judged=one.verdicts[0].judged * MOST_ROWS)
    shown = check_markdown(msgspec.structs.replace(one, verdicts=(many,)))
    assert f"and {MOST_ROWS} more" in shown
    assert len(shown.encode()) < 2**20


def test_annotations_are_one_a_rule_on_one_line_each() -> None:
    (error,) = github_annotations(checked(name=HOSTILE), Undecided.WARN)
    assert error.startswith("::error title=tare check%3A fail%3A ")
    assert "\n" not in error
    assert error.split("::")[1].count(",") == 0
    (warning,) = github_annotations(checked(undecided=True), Undecided.WARN)
    assert warning.startswith("::warning ")
    assert github_annotations(checked(undecided=True), Undecided.PASS) == []


def test_gitlab_gets_an_issue_a_comparison_with_a_fingerprint_that_lasts() -> None:
    first, again = (json.loads(code_quality_json(checked(), Undecided.WARN, "study.yaml")) for _ in range(2))
    assert first == again
    (issue,) = first
    assert issue["severity"] == "major"
    assert issue["location"] == {"path": "study.yaml", "lines": {"begin": 1}}
    (other,) = json.loads(code_quality_json(checked(undecided=True), Undecided.WARN, "study.yaml"))
    assert other["severity"] == "minor"
    assert other["fingerprint"] != issue["fingerprint"]
