"""Every rule, file and pipeline of docs/check.md does what the page says."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from cli.conftest import TARE
from support.synthetic import make_campaign, make_case, write_campaign
from tare.analysis.checking.rule_parser import parse_rule
from tare.analysis.checking.rules import Function, Kind, RuleSource
from tare.cli.main import make_group

PAGE = (Path(__file__).parents[2] / "docs" / "check.md").read_text()
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", PAGE, re.DOTALL)
YAML = [text for language, text in BLOCKS if language == "yaml"]
RULES = [line for language, text in BLOCKS if not language for line in text.splitlines()]


def commands(node: object) -> Iterator[str]:
    """Yield the shell lines of a pipeline."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from ([value] if key == "run" else value if key == "script" else commands(value))
    elif isinstance(node, list):
        for item in node:
            yield from commands(item)


CHECKS = [line for text in YAML for line in commands(yaml.safe_load(text)) if line.startswith("tare check")]


@pytest.mark.parametrize("text", RULES)
def test_every_rule_of_the_page_is_one(text: str) -> None:
    assert parse_rule(RuleSource(text=text, kind=Kind.FAIL_IF, where="page")).text == text


def test_every_function_is_explained() -> None:
    cells = re.findall(r"^\| (`\w+\(…\)`[^|]*)\|", PAGE, re.MULTILINE)
    assert re.findall(r"(\w+)\(…\)", " ".join(cells)) == [str(one) for one in Function]


def test_every_option_that_the_page_names_is_there() -> None:
    shown = CliRunner().invoke(make_group(), ["check", "--help"]).stdout
    named = {*re.findall(r"--[a-z]+[a-z-]*", PAGE)} - {"--out"}  # that of tare run
    assert len(named) > 6
    assert named <= {*re.findall(r"--[a-z]+[a-z-]*", shown)}


@pytest.mark.parametrize("line", CHECKS)
@pytest.mark.parametrize(("ratio", "code"), [(1.05, 0), (3.0, 1)])
def test_the_pipelines_of_the_page_pass_and_fail(tmp_path: Path, line: str, ratio: float, code: int) -> None:
    assert len(CHECKS) == 2
    (tmp_path / "rules.yaml").write_text(next(text for text in YAML if "rules:" in text))
    campaign = make_campaign([make_case("host"), make_case("overlay")], ratio=ratio, noise=0.005)
    write_campaign(campaign, tmp_path / "campaigns" / "network-tax")
    env = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "CI_PROJECT_DIR": str(tmp_path)}
    _, *arguments = shlex.split(line)
    ended = subprocess.run(
        [TARE, *arguments], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == code, ended.stdout + ended.stderr
    assert (tmp_path / "check.xml").exists()
    assert (tmp_path / "summary.md").exists() or (tmp_path / "gl-code-quality-report.json").exists()
