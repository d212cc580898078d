"""A log with a line of gigabytes, such as a hole in a file, is refused before a parser holds it in memory."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from tare.core.errors import UsageError
from tare.execution.parsing import MOST_LINE, parse_file
from tare.plugins import registry

LATENCY = "# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n"
ROWS = "".join(f"{size:<10d} 1.00\n" for size in (0, *(1 << power for power in range(23))))


@pytest.fixture
def with_hole(tmp_path: Path) -> Path:
    """Return a log with a line of 100 GB, which takes no room on the disk."""
    path = tmp_path / "hole.out"
    path.write_text(LATENCY)
    with path.open("r+b") as file:
        file.truncate(100 * 10**9)
        file.seek(0, 2)
        file.write(b"\n" + ROWS.encode())
    return path


def test_a_line_of_gigabytes_is_a_problem_and_takes_no_memory(with_hole: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    parsed = parse_file(registry.workloads()["osu.latency"], with_hole)
    assert parsed.problems == ("it has a line of more than 64 MiB, which is no log",)
    assert parsed.measurements == ()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


def test_a_large_log_of_short_lines_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.out"
    path.write_text("x" * 1000 + "\r" + LATENCY + ROWS)
    assert path.stat().st_size < MOST_LINE
    few = parse_file(registry.workloads()["osu.latency"], path)
    filler = ("." * (1 << 20) + "\r") * 70
    path.write_text(filler + LATENCY + ROWS)
    assert path.stat().st_size > MOST_LINE
    many = parse_file(registry.workloads()["osu.latency"], path)
    assert (few.problems, many.problems) == ((), ())
    assert many.measurements == few.measurements != ()


def test_parse_refuses_it_too(with_hole: Path) -> None:
    from click.testing import CliRunner

    from tare.cli.commands.parse import command

    told = CliRunner().invoke(command, ["osu.latency", str(with_hole)])
    assert told.exit_code == 1 or isinstance(told.exception, UsageError)
    assert "a line of more than 64 MiB" in told.output + str(told.exception)
