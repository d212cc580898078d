"""Imported runs whose files tell when they ran: what did not run together is not paired."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.imports.imported_logs import osu, put, run
from tare.cli.commands import compare
from tare.storage.campaign import read_campaign

PATTERN = "{platform}/{block}/{started}/out.txt"
TOGETHER = {("bare", block): f"2026-01-0{block}T10:00:00Z" for block in range(1, 7)} | {
    ("docker", block): f"2026-01-0{block}T11:00:00Z" for block in range(1, 7)
}
APART = {("bare", block): f"2026-01-0{block}T10:00:00Z" for block in range(1, 7)} | {
    ("docker", block): f"2026-03-0{block}T10:00:00Z" for block in range(1, 7)
}


def imported(tmp_path: Path, starts: dict[tuple[str, int], str]) -> list[dict[str, object]]:
    """Return what is said of blocks that are all told, and of moments that are told, too."""
    for (platform, block), start in starts.items():
        text = osu((1.0 if platform == "bare" else 1.2) * (1 + block / 1000))
        put(tmp_path / "results" / platform / str(block) / start / "out.txt", text)
    settings = ("--set", "nodes=2", "--set", "ranks=2", "--reference", "platform=bare")
    done = run("osu.alltoall", tmp_path / "results", "--out", tmp_path / "c", "--pattern", PATTERN, *settings)
    assert done.exit_code == 0, done.output
    said = CliRunner().invoke(compare.command, [str(tmp_path / "c"), "--json"], catch_exceptions=False)
    found: list[dict[str, object]] = json.loads(said.output)["figures"]
    return found


def test_blocks_that_ran_one_after_another_are_paired(tmp_path: Path) -> None:
    assert all(one["is_paired"] for one in imported(tmp_path, TOGETHER))


def test_sides_of_two_months_are_unpaired_though_their_blocks_have_the_same_numbers(tmp_path: Path) -> None:
    found = imported(tmp_path, APART)
    assert found
    for one in found:
        assert not one["is_paired"]
        assert str(one["note"]).startswith("unpaired: the sides did not run together")
        assert one["ratio"] == pytest.approx(1.2, abs=0.01)
    said = run("osu.alltoall", tmp_path / "results", "--out", tmp_path / "c", "--pattern", PATTERN)
    assert "changed it meanwhile" not in said.output
    assert {one.session for one in read_campaign(tmp_path / "c").attempts} == {0, -1}
