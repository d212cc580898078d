"""`tare compare` names the cases that have no reference, and where the rows that it has hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.synthetic import make_campaign, make_case, write_campaign
from tare.cli.commands.compare import command

CASES = (
    make_case("host"),
    make_case("overlay"),
    make_case("overlay", nodes=4),
    make_case("overlay", nodes=8),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_campaign(make_campaign(CASES), tmp_path / "c")


def test_cases_whose_reference_was_never_planned_are_named(folder: Path) -> None:
    done = CliRunner().invoke(command, [str(folder)])
    assert done.exit_code == 0, done.output
    table, _, rest = done.output.partition("Not in the table:\n")
    assert table.count("nodes=2") == 2, "each of the two rows says that it is of 2 nodes"
    for nodes in (4, 8):
        assert f"network=overlay nodes={nodes} ranks={nodes} is held against nothing" in rest


def test_they_are_in_the_json_too(folder: Path) -> None:
    found = json.loads(CliRunner().invoke(command, [str(folder), "--json"]).output)
    assert [one["case"] for one in found["without_reference"]] == [CASES[2].id, CASES[3].id]
    assert found["without_reference"][0]["nearest"] == CASES[0].id
    assert "nodes" in found["without_reference"][0]["differing"]


def test_a_table_of_all_cases_says_nothing_more(tmp_path: Path) -> None:
    done = CliRunner().invoke(command, [str(write_campaign(make_campaign(), tmp_path / "c"))])
    assert "Not in the table" not in done.output
    assert "nodes=2" not in done.output
