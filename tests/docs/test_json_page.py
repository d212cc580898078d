"""docs/json.md explains all that `--json` prints: each contract, and the keys of what needs no campaign."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from tare.cli.main import make_group

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "json.md").read_text()
SERVE = (ROOT / "docs" / "serve.md").read_text()
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)


def keys(value: object) -> set[str]:
    if isinstance(value, dict):
        return {*value}.union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


def test_every_contract_is_explained() -> None:
    sources = (ROOT / "src" / "tare").rglob("*.py")
    schemas = {one for file in sources for one in re.findall(r'"(tare\.[a-z._]+/\d+)"', file.read_text())}
    assert len(schemas) > 30
    assert not {one for one in schemas if one not in (SERVE if one.startswith("tare.serve") else PAGE)}


def test_the_contents_name_every_section() -> None:
    contents = PAGE[: PAGE.index("\n## ")]
    anchors = {re.sub(r"[^\w -]", "", one).replace(" ", "-").lower() for one in SECTION.findall(PAGE)}
    assert anchors == set(re.findall(r"\]\(#([\w-]+)\)", contents))


@pytest.mark.parametrize("command", ["doctor", "workloads", "lab status"])
def test_every_key_is_explained(command: str) -> None:
    done = CliRunner().invoke(make_group(), [*command.split(), "--json"], catch_exceptions=False)
    section = re.search(rf"^## {command}\n(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)
    assert section
    found = keys(json.loads(done.stdout))
    assert not {one for one in found if not re.search(rf"\b{one}\b", section[1])}


def test_an_object_that_says_what_is_missing_is_printed_although_the_exit_code_is_3() -> None:
    done = CliRunner().invoke(make_group(), ["lab", "status", "--name", "absent", "--json"])
    assert (done.exit_code, json.loads(done.stdout)["is_up"]) == (3, False)
    assert "`init`, `doctor`, `doctor --site` and `lab status` print their object" in PAGE
