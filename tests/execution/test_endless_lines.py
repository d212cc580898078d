"""A log with a line of gigabytes, such as a hole in a file, is refused before a parser holds it in memory."""

from __future__ import annotations

import errno
import io
import os
import resource
import threading
import time
from pathlib import Path
from typing import BinaryIO, TextIO, cast

import pytest

from tare.core.errors import CampaignError, UsageError
from tare.core.workload import Parsed, Workload
from tare.execution.parsing import MOST_LINE, parse_file, parse_output, parse_stream
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


class Zeros(io.RawIOBase):
    """A pipe from /dev/zero after a good log: it ends only after a terabyte."""

    def __init__(self) -> None:
        self.given = 0
        self._log = io.BytesIO((LATENCY + ROWS).encode())

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        self.given += size
        return self._log.read(size) or (b"\0" * size if self.given < 10**12 else b"")


def test_a_pipe_without_an_end_is_a_problem_and_takes_no_memory() -> None:
    before, zeros = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, Zeros()
    parsed = parse_stream(registry.workloads()["osu.latency"], cast("BinaryIO", zeros))
    assert parsed.problems == ("it has a line of more than 64 MiB, which is no log",)
    assert zeros.given < 80 * 1024 * 1024
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 256 * 1024


def test_a_pipe_of_many_lines_is_read_whole() -> None:
    text = ("x" * 1000 + "\r\n") * 100_000 + LATENCY + ROWS
    assert len(parse_stream(registry.workloads()["osu.latency"], io.BytesIO(text.encode())).measurements) > 20


def test_a_disk_that_does_not_give_an_output_is_not_its_programs_fault(tmp_path: Path) -> None:
    """The run was settled as invalid: "the parser broke"; the disk may be back when it is tried again."""

    class Broken:
        name, output = "broken", "stdout"

        def parse(self, lines: TextIO) -> Parsed:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    (tmp_path / "stdout").write_text("value: 1\n")
    with pytest.raises(CampaignError, match="stdout: cannot be read: Input/output error"):
        parse_output(cast("Workload", Broken()), tmp_path)


def test_a_pipe_that_is_empty_for_a_moment_is_waited_for() -> None:
    """One that does not block (O_NONBLOCK), as its maker may have set it, has not ended while it is empty."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    pieces = [LATENCY, ROWS[:100], ROWS[100:]]

    def write_slowly() -> None:
        with os.fdopen(writing, "w") as stream:
            for piece in pieces:
                time.sleep(0.05)
                print(piece, end="", file=stream, flush=True)

    writer = threading.Thread(target=write_slowly)
    writer.start()
    with os.fdopen(reading, "rb") as stream:
        parsed = parse_stream(registry.workloads()["osu.latency"], stream)
    writer.join()
    assert (len(parsed.measurements), parsed.problems) == (25, ())
