"""Repeats and sizes of blocks in the paths of an import."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.imports.imported_logs import compared, elbencho, hpcg, put, run, settings
from tare.core.errors import UsageError
from tare.storage.campaign import read_campaign


def test_a_block_is_the_size_of_a_block_where_the_workload_has_one(
    elbencho_tree: Path, tmp_path: Path
) -> None:
    run(
        *("elbencho.write", elbencho_tree, "--out", tmp_path / "c", "--reference", "storage=lustre"),
        *("--pattern", "{storage}/{block}/{started}/out.txt"),
    )
    assert {one["block"] for one in settings(tmp_path / "c")} == {4096, 65536, 1 << 20}
    campaign = read_campaign(tmp_path / "c")
    assert len(campaign.plan.cases) == 6
    assert {one.block for one in campaign.attempts} == {1}  # three sizes are no three repeats
    rows = compared(tmp_path / "c")
    assert rows.count("nfs") == 2 * 3  # bandwidth and operations at each size


def test_a_number_that_may_be_a_repeat_is_asked_about(tmp_path: Path) -> None:
    put(tmp_path / "r" / "nfs" / "3" / "out.txt", elbencho(100))
    with pytest.raises(UsageError, match=r"3 looks like the number of a repeat; write \{repeat\}"):
        run(
            *("elbencho.write", tmp_path / "r", "--out", tmp_path / "c"),
            *("--pattern", "{storage}/{block}/out.txt"),
        )
    run(
        *("elbencho.write", tmp_path / "r", "--out", tmp_path / "c"),
        *("--pattern", "{storage}/{repeat}/out.txt", "--set", "block=512KiB"),
    )
    (attempt,) = read_campaign(tmp_path / "c").attempts
    assert (attempt.block, attempt.source and attempt.source.gives_block) == (3, True)
    assert settings(tmp_path / "c")[0]["block"] == 512 << 10


@pytest.mark.parametrize("name", ["block", "repeat"])
def test_a_block_at_a_time_is_stated_by_its_number(tmp_path: Path, name: str) -> None:
    for number, log in ((7, 1.0), (8, 1.5), (9, 2.0)):  # an interval takes three
        for platform, factor in (("a", 1.0), ("b", 1.1)):
            put(tmp_path / f"{number}" / f"{platform}.txt", hpcg(4, log * factor))
        done = run(
            *("hpcg", tmp_path / f"{number}", "--out", tmp_path / "c", "--pattern", "{platform}.txt"),
            *("--set", f"{name}={number}", "--set", f"date=2026-11-0{number}", "--reference", "platform=a"),
        )
        assert done.exit_code == 0
    found = read_campaign(tmp_path / "c").attempts
    assert sorted(one.block for one in found) == [7, 7, 8, 8, 9, 9]
    assert all(one.source and one.source.gives_block and one.source.gives_time for one in found)
    assert "paired over n blocks" in compared(tmp_path / "c")


def test_two_files_of_equal_settings_are_not_one_block(tmp_path: Path) -> None:
    for number in (1, 2):
        put(tmp_path / "r" / f"{number}.txt", hpcg(4, float(number)))
    done = run("hpcg", tmp_path / "r", "--out", tmp_path / "c", "--set", "repeat=3")
    assert "2.txt: block 3 of these settings is" in done.stderr
    assert [one.block for one in read_campaign(tmp_path / "c").attempts] == [3]


def test_a_block_that_is_a_size_is_shown_as_one(tmp_path: Path) -> None:
    put(tmp_path / "out.txt", elbencho(100))
    with pytest.raises(UsageError, match="--set block 7: here block is the size of a block"):
        run("elbencho.write", tmp_path / "out.txt", "--out", tmp_path / "c", "--set", "block=7")


def test_a_size_is_no_number_of_a_repeat(tmp_path: Path) -> None:
    put(tmp_path / "r" / "nfs" / "64KiB" / "out.txt", hpcg(4, 1.0))
    with pytest.raises(UsageError, match=r"\{block\} numbers repeats, and 64KiB is a size"):
        run("hpcg", tmp_path / "r", "--out", tmp_path / "c", "--pattern", "{storage}/{block}/out.txt")


@pytest.mark.parametrize("names", ["{repeat}/{block}", "{started}/{date}"])
def test_two_names_of_one_order_are_refused(tmp_path: Path, names: str) -> None:
    with pytest.raises(UsageError, match="mean the same here; leave one out"):
        run("hpcg", tmp_path, "--out", tmp_path / "c", "--pattern", f"{names}/out.txt")


def test_the_table_writes_sizes_as_a_study_does(elbencho_tree: Path, tmp_path: Path) -> None:
    names = "{storage}/{block}/{started}/out.txt"
    done = run("elbencho.write", elbencho_tree, "--out", tmp_path / "c", "--pattern", names)
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("block ")]
    assert "4KiB, 64KiB, 1MiB" in row
