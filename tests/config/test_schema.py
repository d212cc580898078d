"""The JSON Schema accepts what the reader accepts, and refuses what an editor should underline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tare.cli.commands.schema import command
from tare.config import json_schema

jsonschema = pytest.importorskip("jsonschema")


def _errors(kind: str, document: Any) -> list[str]:
    validator = jsonschema.Draft202012Validator(json_schema(kind))
    return [error.message for error in validator.iter_errors(document)]


@pytest.mark.parametrize("kind", ["study", "site"])
def test_the_schema_is_valid_and_names_itself(kind: str) -> None:
    schema = json_schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"urn:tare:schema:{kind}:1"
    assert "x-also" not in json.dumps(schema)


@pytest.mark.parametrize("kind", ["study", "site"])
def test_every_key_is_described(kind: str) -> None:
    for struct in json_schema(kind)["$defs"].values():
        if "properties" not in struct:
            continue  # an enum
        assert struct["description"]
        assert [name for name, one in struct["properties"].items() if not one.get("description")] == []


def test_the_published_studies_satisfy_the_schema(published_studies: Path) -> None:
    studies = sorted(published_studies.glob("*.yaml"))
    assert studies
    for path in studies:
        assert _errors("study", yaml.safe_load(path.read_text())) == [], path.name


@pytest.mark.parametrize("name", ["local", "lab"])
def test_the_built_in_sites_satisfy_the_schema(name: str) -> None:
    path = Path(__file__).parents[2] / "src" / "tare" / "sites" / f"{name}.yaml"
    assert _errors("site", yaml.safe_load(path.read_text())) == []


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"study": "../up"},
        {"study": "s", "repeat": 3},
        {"study": "s", "repeats": 0},
        {"study": "s", "nodes": [2]},
        {"study": "s", "bind": "cor"},
        {"study": "s", "factors": {"nodes": []}},
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(document: dict[str, object]) -> None:
    assert _errors("study", document)


def test_the_command_prints_the_schema() -> None:
    result = CliRunner().invoke(command, ["site"])
    assert result.exit_code == 0
    assert json.loads(result.output) == json_schema("site")
