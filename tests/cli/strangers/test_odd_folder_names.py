"""Folders with names that a file system allows and nobody means: a campaign works there, or is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import Tare
from cli.small_study import small_study

STUDY = small_study("echo value: 1.2$$; echo {text}", repeats=3)
ODD = [
    "$(touch forged)`touch forged`;touch forged",
    "-rf *\nb\tc\x1b[2J",
    "\"'\\ %s {text}…é\u202e",
    "x" * 255,
]


@pytest.mark.parametrize("name", ODD)
def test_a_campaign_in_a_folder_of_an_odd_name_is_run_and_reported(
    tare_here: Tare, tmp_path: Path, name: str
) -> None:
    study = tmp_path / name / "study.yaml"
    study.parent.mkdir()
    study.write_text(STUDY)
    folder = study.parent / name
    for words in (
        ("run", str(study), "--out", str(folder)),
        ("compare", str(folder)),
        ("report", str(folder)),
    ):
        ended = tare_here(*words, cwd=study.parent, is_hostile=True)
        assert ended.returncode == 0, (words, ended.stderr)
        assert "\x1b" not in ended.stdout + ended.stderr
    assert not list(tmp_path.rglob("forged"))
