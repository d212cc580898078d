"""`tare check` as a pipeline runs it."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from cli.conftest import Tare
from support.synthetic import make_attempt, make_campaign, write_campaign

OVERHEAD = "overhead(latency, network=overlay)"


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """A contender that takes 20 % longer, known within a few per cent."""
    return write_campaign(make_campaign(ratio=1.2, noise=0.005), tmp_path / "c")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--fail-if", f"{OVERHEAD} > 5 %"), 1),
        (("--fail-if", f"{OVERHEAD} > 50 %"), 0),
        (("--pass-if", f"{OVERHEAD} < 50 %"), 0),
        (("--pass-if", f"{OVERHEAD} < 5 %"), 1),
        (("--fail-if", f"{OVERHEAD} > 50 %", "--fail-if", f"{OVERHEAD} > 5 %"), 1),
        (("--fail-if", f"{OVERHEAD} > 20 %"), 0),
        (("--fail-if", f"{OVERHEAD} > 20 %", "--undecided", "pass"), 0),
        (("--fail-if", f"{OVERHEAD} > 20 %", "--undecided", "fail"), 1),
        (("--fail-if", f"{OVERHEAD} > 50 %", "--require-complete"), 0),
        (("--fail-if", "overhead(network=ovrlay) > 5 %"), 2),
        (("--fail-if", "overhead(network=overlay > 5 %"), 2),
        (("--rules", "nowhere.yaml"), 2),
        ((), 2),
    ],
)
def test_the_exit_code_is_the_verdict(
    tare_here: Tare, campaign: Path, options: tuple[str, ...], code: int
) -> None:
    ended = tare_here("check", campaign, *options)
    assert ended.returncode == code, ended.stderr
    if code == 2:
        assert ended.stdout == ""
        assert ended.stderr.startswith("tare: ")


def test_a_folder_without_a_campaign_is_not_a_failed_check(tare_here: Tare, tmp_path: Path) -> None:
    assert tare_here("check", tmp_path, "--fail-if", f"{OVERHEAD} > 5 %").returncode == 2


def test_the_table_has_rule_case_interval_verdict_and_why(tare_here: Tare, campaign: Path) -> None:
    lines = tare_here("check", campaign, "--fail-if", f"{OVERHEAD} > 5 %").stdout.splitlines()
    assert lines[0] == f"✗ fail  fail if {OVERHEAD} > 5 %"
    assert lines[1].split() == [
        "case",
        "measured",
        "in",
        "compare",
        "limit",
        "n",
        "verdict",
        "why",
    ]
    assert lines[2].startswith("latency, synthetic.pingpong, network=overlay  +")
    assert "the whole interval is beyond the limit" in lines[2]
    assert lines[-1] == "fail: 0 of 1 rule passed, 1 failed"


def test_an_undecided_rule_reports_what_it_counts_as(tare_here: Tare, campaign: Path) -> None:
    assert "count as warn" in tare_here("check", campaign, "--fail-if", f"{OVERHEAD} > 20 %").stderr


def test_runs_that_are_missing_are_reported_and_can_fail_it(tare_here: Tare, tmp_path: Path) -> None:
    whole = make_campaign(ratio=1.2, noise=0.005)
    short = type(whole)(
        folder=whole.folder, plan=whole.plan, attempts=whole.attempts[:-1], orders=whole.orders
    )
    folder = write_campaign(short, tmp_path / "short")
    rule = ("--fail-if", f"{OVERHEAD} > 50 %")
    plain = tare_here("check", folder, *rule)
    assert plain.returncode == 0
    assert "9 of 10 planned runs are done, 1 pending" in plain.stdout
    assert tare_here("check", folder, *rule, "--require-complete").returncode == 1


def test_the_json_has_every_comparison(tare_here: Tare, campaign: Path) -> None:
    ended = tare_here("check", campaign, "--fail-if", f"{OVERHEAD} > 5 %", "--json")
    body = json.loads(ended.stdout)
    assert ended.returncode == 1
    assert (body["schema"], body["outcome"], body["is_failed"]) == ("tare.check/1", "fail", True)
    (one,) = body["rules"][0]["comparisons"]
    assert one["limit"] == 0.05
    assert 0.05 < one["low"] < one["value"] < one["high"]
    assert (one["fom"], one["outcome"], one["at"]["network"]) == ("latency", "fail", "overlay")


def test_quality_warnings_about_judged_cases_stand_below_the_rules(tare_here: Tare, tmp_path: Path) -> None:
    """Every third run of the host takes three times as long: its mean lies where no run does."""
    steady = make_campaign(noise=0.005, blocks=12, sizes=(1,))
    host = steady.plan.cases[0]
    attempts = [
        make_attempt(host, one.block, [60.0], (1,)) if one.case == host.id and one.block % 3 == 0 else one
        for one in steady.attempts
    ]
    folder = write_campaign(msgspec.structs.replace(steady, attempts=tuple(attempts)), tmp_path / "modes")
    rule = "value(latency, network={}) < 100 us"
    told = tare_here("check", folder, "--pass-if", rule.format("host")).stdout
    assert "Results to treat with caution" in told
    assert "latency: has two modes, at 20.0\u202fµs and 60.0\u202fµs" in told
    other = tare_here("check", folder, "--pass-if", rule.format("overlay"))
    assert "two modes" not in other.stdout
    body = json.loads(tare_here("check", folder, "--pass-if", rule.format("host"), "--json").stdout)
    assert "modes" in {one["suspicion"] for one in body["doubts"]}


RULES = f"""\
undecided: fail
rules:
  - name: the overlay is cheap enough
    fail_if: {OVERHEAD} > 20 %
  - pass_if: >-
      {OVERHEAD} < 50 %
      and value(latency, bytes=1) < 1 ms
"""


def test_rules_can_stand_in_a_file_and_options_overrule_it(
    tare_here: Tare, campaign: Path, tmp_path: Path
) -> None:
    (tmp_path / "rules.yaml").write_text(RULES)
    ended = tare_here("check", campaign, "--rules", "rules.yaml")
    assert ended.returncode == 1
    assert "▨ undecided  the overlay is cheap enough: fail if" in ended.stdout
    assert "undecided rules count as fail (rules.yaml says so; see --undecided)" in ended.stderr
    ended = tare_here("check", campaign, "--rules", "rules.yaml", "--undecided", "warn")
    assert ended.returncode == 0
    assert "undecided rules count as warn (--undecided)" in ended.stderr


def test_faults_of_a_rules_file_come_with_their_places(
    tare_here: Tare, campaign: Path, tmp_path: Path
) -> None:
    (tmp_path / "rules.yaml").write_text("rules:\n  - fail_if: overhed() > 5 %\n  - pass_if: ratio() = 1\n")
    told = tare_here("check", campaign, "--rules", "rules.yaml").stderr
    assert "rules.yaml:2:14: rules[0].fail_if: column 1: unknown function 'overhed'" in told
    assert "rules.yaml:3:14: rules[1].pass_if: column 9: an interval can never show" in told
    (tmp_path / "rules.yaml").write_text("rules:\n  - {name: x}\n  - {fail_fi: y}\nundecided: maybe\n")
    told = tare_here("check", campaign, "--rules", "rules.yaml").stderr
    assert "rules.yaml:2:5: rules[0]: a rule has one of fail_if and pass_if" in told
    assert "did you mean 'fail_if'?" in told
    assert "'maybe' is unknown here" in told


def test_junit_and_summaries_are_written_where_services_look(
    tare_here: Tare, campaign: Path, tmp_path: Path
) -> None:
    rule = ("--fail-if", f"{OVERHEAD} > 5 %")
    (tmp_path / "step.md").write_text("earlier step\n")
    env = {"GITHUB_STEP_SUMMARY": str(tmp_path / "step.md"), "CI_PROJECT_DIR": str(tmp_path)}
    ended = tare_here("check", campaign, *rule, "--junit", "check.xml", "--summary", "github", env=env)
    assert ended.returncode == 1
    assert ElementTree.parse(tmp_path / "check.xml").getroot().attrib["failures"] == "1"
    assert (tmp_path / "step.md").read_text().startswith("earlier step\n## synthetic at nowhere")
    assert "::error title=tare check" in ended.stderr
    assert tare_here("check", campaign, *rule, "--summary", "gitlab", env=env).returncode == 1
    (issue,) = json.loads((tmp_path / "gl-code-quality-report.json").read_text())
    assert issue["location"]["path"] == f"{campaign}/study.yaml"
    assert tare_here("check", campaign, *rule, "--summary", "summary.md").returncode == 1
    assert "❌ fail" in (tmp_path / "summary.md").read_text()


def test_a_github_summary_elsewhere_reports_what_is_missing(tare_here: Tare, campaign: Path) -> None:
    rule = ("--fail-if", f"{OVERHEAD} > 5 %")
    ended = tare_here("check", campaign, *rule, "--summary", "github", env={"GITHUB_STEP_SUMMARY": ""})
    assert ended.returncode == 2
    assert "GITHUB_STEP_SUMMARY is not set" in ended.stderr
    assert ended.stdout == ""


@pytest.mark.parametrize("option", ["--junit", "--summary"])
@pytest.mark.parametrize(("file", "code"), [("/dev/full", 3), ("nowhere/file", 2)])
def test_a_full_disk_is_not_called_wrong_usage(
    tare_here: Tare, campaign: Path, option: str, file: str, code: int
) -> None:
    ended = tare_here("check", campaign, "--fail-if", f"{OVERHEAD} > 5 %", option, file)
    assert (ended.returncode, f"{file}: cannot write: " in ended.stderr) == (code, True)


def test_sides_that_never_ran_together_have_no_verdict_in_compare_and_so_none_here(
    tare_here: Tare, tmp_path: Path
) -> None:
    """It said *? undecided*, as of sides that ran together."""
    made = make_campaign(ratio=1.2, noise=0.005)
    reference = {case.id for case in made.plan.cases if made.plan.is_reference(case)}
    sessions = [
        msgspec.structs.replace(one, session=0 if one.case in reference else 1) for one in made.attempts
    ]
    folder = write_campaign(msgspec.structs.replace(made, attempts=tuple(sessions)), tmp_path / "c")
    assert "– not measured together" in tare_here("compare", folder).stdout
    heading, row = tare_here("check", folder, "--fail-if", f"{OVERHEAD} > 5 %").stdout.splitlines()[1:3]
    assert row[heading.index("in compare") :].split()[0] == "–"
