"""What others cite, copy and rely on says what the code says today."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

from tare import __version__
from tare.cli.main import make_group
from tare.config import json_schema
from tare.storage.frame import SCHEMA_VERSION
from tare.storage.journal import VERSION

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "compatibility.md").read_text()
TEMPLATES = sorted((ROOT / "deploy" / "ci").glob("*.yaml"))


def commands(node: object) -> Iterator[str]:
    """Yield the shell lines of a pipeline."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "run":
                yield value
            elif key in {"script", "after_script"}:
                yield from value
            else:
                yield from commands(value)
    elif isinstance(node, list):
        for item in node:
            yield from commands(item)


def test_the_citation_is_of_this_version() -> None:
    body = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert body["version"] == __version__
    assert {"cff-version", "message", "title", "authors", "license"} <= {*body}
    assert f'license = "{body["license"]}"' in (ROOT / "pyproject.toml").read_text()


def test_the_versions_on_the_page_are_those_of_the_code() -> None:
    assert f"`version` in its `session` lines, now {VERSION} " in PAGE
    assert f"`schema_version`, now {SCHEMA_VERSION} " in PAGE
    for kind in ("study", "site"):
        assert f"`{json_schema(kind)['$id']}`" in PAGE


def test_both_services_have_a_template() -> None:
    assert [one.name for one in TEMPLATES] == ["github.yaml", "gitlab.yaml"]


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: one.stem)
def test_every_command_of_a_template_is_one(template: Path) -> None:
    found = [shlex.split(one) for one in commands(yaml.safe_load(template.read_text()))]
    assert [one[:2] for one in found] == [["tare", "run"], ["tare", "check"], ["tare", "report"]]
    for _, name, *arguments in found:
        command = make_group().get_command(click.Context(make_group()), name)
        assert command is not None
        options = {option for one in command.params for option in one.opts}
        assert {one for one in arguments if one.startswith("--")} <= options
    assert re.search(r"^# .*docs/check\.md", template.read_text(), re.MULTILINE)
