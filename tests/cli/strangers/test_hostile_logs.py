"""Logs, tables and dates of strangers: a campaign holds none that cannot be read, and no secret."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli.imports.imported_logs import osu, put
from tare.cli.commands.import_ import command
from tare.core.errors import UsageError
from tare.storage.campaign import read_campaign
from tare.storage.imports import started_at

SECRET = "-----BEGIN OPENSSH PRIVATE KEY-----"


def import_logs(tmp_path: Path, *options: str | Path) -> Result:
    arguments = ["osu.alltoall", "--out", tmp_path / "c", *options]
    return CliRunner().invoke(command, [*map(str, arguments)], catch_exceptions=False)


def table_of(tmp_path: Path, name: str, *values: str) -> Path:
    for number in range(len(values)):
        put(tmp_path / f"{number}.out", osu(1 + number / 10))
    rows = "".join(f"{number}.out,{value}\n" for number, value in enumerate(values))
    return put(tmp_path / "factors.csv", f"path,{name}\n{rows}")


@pytest.mark.parametrize("name", ["repeat", "started", "block"])
def test_a_number_of_thousands_of_digits_only_orders_the_repeats(tmp_path: Path, name: str) -> None:
    table = table_of(tmp_path, name, "1" + "0" * 5000, "9" * 5000)
    import_logs(tmp_path, "--table", table)
    sources = [one.source.path for one in read_campaign(tmp_path / "c").attempts if one.source]
    assert [Path(one).name for one in sources] == ["1.out", "0.out"]


@pytest.mark.parametrize(
    "date", ["0001-01-01T00:00:00+23:59", "0001-01-01", "9999-12-31T23:59:59-23:59", "9999-12-31"]
)
def test_a_campaign_is_readable_whatever_date_a_table_gives(tmp_path: Path, date: str) -> None:
    import_logs(tmp_path, "--table", table_of(tmp_path, "started", date, "2016-01-01"))
    assert len(read_campaign(tmp_path / "c").attempts) == 2


@pytest.mark.parametrize("seconds", [-90e9, 300e9, float("inf")])
def test_a_file_older_or_newer_than_calendars_has_no_time(seconds: float) -> None:
    assert started_at(None, seconds) is None
    assert started_at("1452600000", seconds) == 1452600000
    assert started_at(None, 1452600000.5) == 1452600000.5


def test_a_date_in_the_place_of_a_repeat_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    table = table_of(tmp_path, "repeat", "1", "20201026")
    with pytest.raises(UsageError, match=r"repeat 20201026 .* a date is \{started\}"):
        import_logs(tmp_path, "--table", table)
    assert not (tmp_path / "c").exists()


def test_a_link_out_of_a_strangers_tree_brings_no_secret_into_the_campaign(tmp_path: Path) -> None:
    secret = put(tmp_path / "home/id_ed25519", SECRET)
    tree = tmp_path / "tree"
    put(tree / "a/1.out", osu())
    (tree / "2.out").symlink_to(secret)
    (tree / "3.out").symlink_to("../home/id_ed25519")
    (tree / "4.out").symlink_to("a/1.out")
    done = import_logs(tmp_path, tree)
    assert done.stderr.count("a link that leads out of") == 2
    assert "name it to have it read" in done.stderr
    kept = [path.read_text() for path in (tmp_path / "c").rglob("*") if path.is_file()]
    assert len(read_campaign(tmp_path / "c").attempts) == 1
    assert not any(SECRET in text for text in kept)


def test_a_link_that_the_user_names_is_followed(tmp_path: Path) -> None:
    put(tmp_path / "far/1.out", osu())
    (tmp_path / "1.out").symlink_to("far/1.out")
    (tmp_path / "tree").symlink_to("far")
    import_logs(tmp_path, tmp_path / "1.out")
    import_logs(tmp_path, tmp_path / "tree")
    assert len(read_campaign(tmp_path / "c").attempts) == 1
    assert [path.name for path in (tmp_path / "far").iterdir()] == ["1.out"]


def test_a_path_with_a_nul_is_a_fault_of_its_line(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("path,nodes\n0\0.out,2\n")
    with pytest.raises(UsageError, match=r"table\.csv:2:1: .*NUL"):
        import_logs(tmp_path, "--table", tmp_path / "table.csv")


def test_a_table_of_many_columns_takes_no_time_by_their_square(tmp_path: Path) -> None:
    names = [*(f"c{number}" for number in range(50_000)), "c7"]
    (tmp_path / "table.csv").write_text(f"path,{','.join(names)}\n")
    began = time.monotonic()
    with pytest.raises(UsageError, match="column 'c7' is there twice"):
        import_logs(tmp_path, "--table", tmp_path / "table.csv")
    assert time.monotonic() - began < 20  # it was more than two minutes


def test_a_sparse_file_of_a_terabyte_is_refused_at_once(tmp_path: Path) -> None:
    """An archive holds one in a few bytes; its checksum alone took minutes."""
    table = table_of(tmp_path, "repeat", "1", "2")
    os.truncate(tmp_path / "1.out", 2**40)
    done = import_logs(tmp_path, "--table", table)
    assert done.exit_code == 1
    assert "1.out: cannot be read: it has more than 1 GiB, which is no log" in done.output
    assert len(read_campaign(tmp_path / "c").attempts) == 1
