from __future__ import annotations

import io

import pytest

from tare.workloads.text import plain


def test_lines_lose_their_ends_and_trailing_blanks() -> None:
    assert list(plain(["one \n", "\n", "  two\t\r\n"])) == ["one", "", "  two"]


def test_a_byte_order_mark_is_taken_off() -> None:
    assert list(plain(["\ufeff# head\n", "\ufeffnot at the start\n"])) == ["# head", "\ufeffnot at the start"]


@pytest.mark.parametrize(
    "coloured",
    ["\x1b[1;32m8 1.5\x1b[0m\n", "\x1b[K8 1.5\n", "\x1b]0;title\x078 1.5\n", "8\x1b[?25l 1.5\n"],
)
def test_colours_are_taken_off(coloured: str) -> None:
    assert list(plain([coloured])) == ["8 1.5"]


def test_an_overwritten_progress_line_becomes_several() -> None:
    assert list(plain(["10 %\r20 %\rdone\n"])) == ["10 %", "20 %", "done"]


def test_the_last_line_of_a_file_is_left_out_when_its_end_is_missing() -> None:
    assert list(plain(io.StringIO("latency 1.25\nlatency 1.2"))) == ["latency 1.25"]


def test_lines_that_never_had_ends_are_all_kept() -> None:
    assert list(plain("latency 1.25\nlatency 1.27".splitlines())) == ["latency 1.25", "latency 1.27"]


def test_no_lines_are_no_lines() -> None:
    assert list(plain([])) == []
