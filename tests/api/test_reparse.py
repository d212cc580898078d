"""Outputs are read anew from Python, as `tare reparse` reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

import tare


def study(regex: str, command: str = "echo value: 1.5; echo my value: 7") -> dict[str, object]:
    fom = {"name": "value", "unit": "s", "better": "lower", "regex": regex}
    return {
        "study": "read",
        "workloads": {"say": {"command": ["sh", "-c", command], "foms": [fom]}},
        "workload": "say",
        "repeats": 3,
    }


def test_a_mended_mapping_reads_what_a_wrong_one_could_not(tmp_path: Path) -> None:
    wrong, right = study("value: (\\S+)"), study("^value: (\\S+)")
    old = tare.run_study(wrong, tmp_path / "old", boost=False)
    assert old.progress == (0, 3)
    new = tare.reparse_campaign(tmp_path / "old", right, tmp_path / "new")
    assert (new.progress, new.folder) == ((3, 3), tmp_path / "new")
    assert new.measurements()["value"].to_list() == [1.5] * 3
    assert tare.open_campaign(tmp_path / "old").progress == (0, 3)


def test_what_is_refused_names_arguments_and_no_options(tmp_path: Path) -> None:
    tare.run_study(study("value: (\\S+)"), tmp_path / "old", boost=False)
    with pytest.raises(tare.UsageError, match="another folder"):
        tare.reparse_campaign(tmp_path / "old", study("^value: (\\S+)"), tmp_path / "old")
    with pytest.raises(tare.UsageError, match="run it as a campaign of its own"):
        tare.reparse_campaign(tmp_path / "old", study("^value: (\\S+)", "echo 2"), tmp_path / "new")
    with pytest.raises(tare.NoCampaign):
        tare.reparse_campaign(tmp_path / "none", study("^value: (\\S+)"), tmp_path / "new")
    assert not (tmp_path / "new").exists()
