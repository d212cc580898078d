"""Logs of any length are read in the same memory, and the lines left out of them are counted."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator

import pytest

from bench.logs import LOGS, Log
from tare.core.workload import Parsed
from tare.plugins import registry
from tare.plugins.workloads.common import benchmark
from tare.plugins.workloads.common.output_limit import OutputLimit
from tare.plugins.workloads.common.text import Sieve, plain
from workloads.damage import NOISE
from workloads.osu_output import LATENCY, OSU

Pieces = Callable[[Log, int], Iterator[str]]

FULL_AT = 200  # figures; so few that a short log has more
IN_A_BATCH = 2570  # figures at most, ten a line: the batch in which it gets full is read to its end


@pytest.fixture
def low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "MOST_FIGURES", FULL_AT)


def _lines(pieces: Iterator[str]) -> Iterator[str]:
    for piece in pieces:
        yield from piece.splitlines(keepends=True)


def _peak_bytes(log: Log, pieces: Iterator[str]) -> int:
    """Return the most memory that the parser of `log` holds at a time."""
    workload = registry.workloads()[log.workload]
    lines = _lines(pieces)
    first = next(lines)  # the first piece is there before it is measured
    tracemalloc.start()
    try:
        workload.parse(line for source in ([first], lines) for line in source)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.usefixtures("low_limit")
@pytest.mark.parametrize("pieces", [Log.dense, Log.runs, Log.rows])
@pytest.mark.parametrize("name", LOGS)
def test_a_log_four_times_as_long_takes_no_more_memory(
    name: str, pieces: Pieces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.logs.PIECE_BYTES", 1 << 12)
    log = LOGS[name]
    short, long = (_peak_bytes(log, pieces(log, n_bytes)) for n_bytes in (1 << 18, 1 << 20))
    assert long < 1.3 * short


@pytest.mark.usefixtures("low_limit")
@pytest.mark.parametrize("name", LOGS)
def test_many_runs_are_read_up_to_the_limit_and_no_number_is_made_up(name: str) -> None:
    log = LOGS[name]
    lines = list(_lines(log.runs(1 << 20)))
    parsed = registry.workloads()[log.workload].parse(iter(lines))
    if parsed.is_complete:  # it holds few figures, or keeps only the last ones
        assert len(parsed.measurements) <= FULL_AT
    else:
        assert 0 < len(parsed.measurements) <= FULL_AT + IN_A_BATCH
        assert _read_to(parsed) < len(lines)


def _read_to(parsed: Parsed) -> int:
    """Return the line to which an output was read that holds too much."""
    words = parsed.problems[0].split("read to line ")[1].split()
    return int(words[0])


@pytest.mark.usefixtures("low_limit")
def test_the_lines_that_were_not_read_are_reported_with_the_cure() -> None:
    text = LATENCY * 100
    parsed = OSU["latency"].parse(iter(text.splitlines(keepends=True)))
    n_lines = text.count("\n")
    assert parsed.problems[0] == (
        f"the output holds more than any run prints, over {FULL_AT} figures with the frames of their tables: "
        f"it was read to line {_read_to(parsed)} of {n_lines}, as if it ended there; split it into files of "
        "fewer runs"
    )
    assert not parsed.is_complete


@pytest.mark.usefixtures("low_limit")
def test_what_was_read_is_what_a_shorter_log_holds() -> None:
    lines = (LATENCY * 100).splitlines(keepends=True)
    parsed = OSU["latency"].parse(iter(lines))
    alone = OSU["latency"].parse(iter(lines[: _read_to(parsed)]))
    assert parsed.measurements == alone.measurements


def test_an_output_that_ends_at_the_limit_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "MOST_FIGURES", 5)
    parsed = OSU["latency"].parse(iter(LATENCY.splitlines(keepends=True)))
    assert (parsed.is_complete, parsed.problems) == (True, ())


def test_a_reached_limit_ends_the_lines_and_counts_the_others() -> None:
    limit, read = OutputLimit(3), []
    for line in plain((f"{number}\n" for number in range(5000)), limit=limit):
        read.append(line)
        limit.take()
    assert read == [str(number) for number in range(len(read))]
    assert 3 < len(read) < 1000
    assert f"line {len(read)} of 5000" in (limit.fault or "")


def test_a_limit_that_is_not_reached_has_no_fault() -> None:
    limit = OutputLimit(3)
    for _ in plain(["1\n", "2\n", "3\n"], limit=limit):
        limit.take()
    assert limit.fault is None


# Lines that matter

SIEVE = Sieve("Time = |End", "FATAL")
LOG = ["Time = 1\n", *NOISE[:4] * 200, "End\n"]


def test_lines_that_begin_as_they_should_go_through_a_sieve() -> None:
    assert list(plain(LOG, sieve=SIEVE)) == ["Time = 1", "End"]


def test_consecutive_rows_go_through_a_sieve_as_one_string() -> None:
    sieve = Sieve("#", rows="[0-9]")
    log = ["# head\n", "1 2\n", "2 3 \n", *NOISE[:1], "4 5\n", "# end\n"]
    assert list(plain(log, sieve=sieve)) == ["# head", "1 2\n2 3", "4 5", "# end"]


def test_all_lines_near_a_word_go_through_a_sieve() -> None:
    log = [*LOG, "so it is --> FATAL\n", *LOG]
    passed = list(plain(log, sieve=SIEVE))
    position = passed.index("so it is --> FATAL")
    assert passed[position + 1 : position + 200] == [line.rstrip() for line in LOG[:199]]
    assert len(passed) < len(log)


def test_lines_with_more_than_their_text_go_through_a_sieve() -> None:
    coloured = [*LOG, "\x1b[32mTime = 2\x1b[0m\n"]
    assert list(plain(coloured, sieve=SIEVE))[-1] == "Time = 2"
