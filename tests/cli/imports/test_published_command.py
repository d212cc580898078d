"""`tare published --out`: the campaign of a publication, also after the command was killed."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tare.cli.main import make_group
from tare.core.errors import UsageError
from tare.storage import imports
from tare.storage.campaign import JOURNAL, PLAN, read_campaign

NAME = "hpcc-fabrics"


class Killed(BaseException):
    """Stands for a signal that cannot be caught."""


def kill(*_: object, **__: object) -> None:
    raise Killed


def published(folder: Path, name: str = NAME) -> None:
    words = ["published", name, "--out", str(folder)]
    CliRunner().invoke(make_group(), words, standalone_mode=False, catch_exceptions=False)


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    published(tmp_path / "whole")
    return tmp_path / "whole"


@pytest.mark.parametrize("step", ["_keep_evidence", "freeze"])
def test_what_a_killed_command_began_is_completed(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    with monkeypatch.context() as killing:
        killing.setattr(imports, step, kill)
        with pytest.raises(Killed):
            published(tmp_path / "killed")
    published(tmp_path / "killed")
    assert (tmp_path / "killed" / PLAN).read_bytes() == (whole / PLAN).read_bytes()
    assert (tmp_path / "killed" / JOURNAL).read_bytes() == (whole / JOURNAL).read_bytes()


@pytest.mark.parametrize("n_lines", [0, 1, 2, 3])
def test_the_rest_of_its_runs_is_added(whole: Path, n_lines: int) -> None:
    attempts = read_campaign(whole).attempts
    lines = (whole / JOURNAL).read_bytes().splitlines(keepends=True)
    (whole / JOURNAL).write_bytes(b"".join(lines[:n_lines]) + lines[n_lines][:20])
    published(whole)
    assert sorted(read_campaign(whole).attempts, key=repr) == sorted(attempts, key=repr)


@pytest.mark.parametrize("name", [NAME, "hpcg-containers"])
def test_a_campaign_that_is_whole_or_of_another_publication_is_left_alone(whole: Path, name: str) -> None:
    before = (whole / JOURNAL).read_bytes()
    with pytest.raises(UsageError, match="is there already; choose another --out"):
        published(whole, name)
    assert (whole / JOURNAL).read_bytes() == before


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(UsageError, match="holds something else; choose another --out"):
        published(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["mine"]
