"""`tare export`, from a campaign folder to bytes."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from support.synthetic import SIZES, make_campaign, write_campaign
from tare.cli.commands.export import command
from tare.core.errors import InfrastructureError, UsageError

N_ROWS = 2 * 5 * 2 * len(SIZES)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_campaign(make_campaign(), tmp_path / "campaign")


def test_stdout_gets_csv_unless_asked_otherwise(folder: Path) -> None:
    result = CliRunner().invoke(command, [str(folder)], catch_exceptions=False)
    assert len(pl.read_csv(result.stdout_bytes)) == N_ROWS


def test_parquet_goes_to_stdout_too(folder: Path) -> None:
    result = CliRunner().invoke(command, [str(folder), "--format", "parquet"], catch_exceptions=False)
    assert len(pl.read_parquet(io.BytesIO(result.stdout_bytes))) == N_ROWS


def test_a_file_gets_the_same_bytes_as_stdout(folder: Path, tmp_path: Path) -> None:
    arguments = [str(folder), "--format", "json"]
    shown = CliRunner().invoke(command, arguments, catch_exceptions=False).stdout_bytes
    target = tmp_path / "rows.json"
    CliRunner().invoke(command, [*arguments, "--output", str(target)], catch_exceptions=False)
    assert target.read_bytes() == shown


@pytest.mark.parametrize("ending", ["csv", "json", "parquet", "PARQUET"])
def test_a_file_has_the_format_that_its_name_ends_in(folder: Path, tmp_path: Path, ending: str) -> None:
    def run(*options: str) -> bytes:
        return CliRunner().invoke(command, [str(folder), *options], catch_exceptions=False).stdout_bytes

    target = tmp_path / f"values.{ending}"
    run("--output", str(target))
    assert target.read_bytes() == run("--format", ending.lower())
    run("--format", "csv", "--output", str(target))
    assert target.read_bytes() == run()


@pytest.mark.parametrize("name", ["values.xlsx", "values.csv.gz", "values.tsv"])
def test_an_ending_of_no_format_is_refused_with_those_that_there_are(
    folder: Path, tmp_path: Path, name: str
) -> None:
    target = tmp_path / name
    with pytest.raises(UsageError, match=r"there is no format \.\w+; .* \.csv, \.json or \.parquet, or give"):
        CliRunner().invoke(command, [str(folder), "-o", str(target)], catch_exceptions=False)
    assert not target.exists()
    CliRunner().invoke(command, [str(folder), "-o", str(target), "--format", "csv"], catch_exceptions=False)
    assert target.read_bytes().startswith(b"schema_version,")


def test_a_file_without_an_ending_is_csv(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "values"
    CliRunner().invoke(command, [str(folder), "-o", str(target)], catch_exceptions=False)
    assert target.read_bytes().startswith(b"schema_version,")


def test_the_error_names_a_file_that_cannot_be_written(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "missing" / "rows.csv"
    with pytest.raises(UsageError, match=r"rows\.csv: cannot write"):
        CliRunner().invoke(command, [str(folder), "-o", str(target)], catch_exceptions=False)


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full, full(4)")
def test_a_full_disk_is_a_clear_error_in_every_format(folder: Path, form: str) -> None:
    with pytest.raises(InfrastructureError, match="No space left on device"):
        CliRunner().invoke(
            command, [str(folder), "-o", "/dev/full", "--format", form], catch_exceptions=False
        )
