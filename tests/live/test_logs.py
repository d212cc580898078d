"""Streams of runs: in parts, as they grow, and harmless."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tare.core.safe_folder import SafeFolder
from tare.live.logs import CHUNK, find_streams, plain, read_chunk


def test_a_long_stream_is_shown_from_a_whole_line_near_its_end(tmp_path: Path) -> None:
    path = tmp_path / "stdout"
    path.write_text("".join(f"line {number}\n" for number in range(50_000)))
    tail = read_chunk(SafeFolder(path.parent, path.name))
    assert tail.text.startswith("line ")
    assert tail.text.endswith("line 49999\n")
    assert tail.size == path.stat().st_size
    assert tail.end - tail.start <= CHUNK


def test_a_stream_can_be_read_back_to_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "stdout"
    whole = "".join(f"Zeile {number} ✓\n" for number in range(20_000))
    path.write_text(whole, encoding="utf-8")
    chunk = read_chunk(SafeFolder(path.parent, path.name))
    parts = [chunk.text]
    while chunk.start:
        chunk = read_chunk(SafeFolder(path.parent, path.name), before=chunk.start)
        parts.insert(0, chunk.text)
    assert "".join(parts) == whole


@settings(max_examples=60)
@given(st.text(alphabet="aé✓😀\n", max_size=40), st.integers(0, 80))
def test_signs_that_are_written_in_two_parts_are_read_whole(
    tmp_path_factory: pytest.TempPathFactory, text: str, cut: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "stdout"
    data = text.encode()
    path.write_bytes(data[:cut])
    first = read_chunk(SafeFolder(path.parent, path.name), 0)
    path.write_bytes(data)
    second = read_chunk(SafeFolder(path.parent, path.name), first.end)
    assert first.text + second.text == text


def test_an_escape_sequence_that_is_not_whole_waits_for_its_end(tmp_path: Path) -> None:
    path = tmp_path / "stdout"
    path.write_bytes(b"red \x1b[3")
    first = read_chunk(SafeFolder(path.parent, path.name), 0)
    assert first.text == "red "
    path.write_bytes(b"red \x1b[31mnow")
    assert read_chunk(SafeFolder(path.parent, path.name), first.end).text == "now"


SECRET = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


@pytest.mark.parametrize("line", [f"export API_TOKEN={SECRET} now\n", f"using {SECRET}; done\n"])
@pytest.mark.parametrize("is_quiet", [False, True])
def test_a_secret_that_is_split_over_two_polls_is_shown_in_neither(
    tmp_path: Path, line: str, is_quiet: bool
) -> None:
    data = f"first\n{line}".encode()
    path = tmp_path / "stdout"
    for cut in range(len(data)):
        path.write_bytes(data[:cut])
        if is_quiet:  # it is not waited for the end of the line any more
            os.utime(path, (1, 1))
        first = read_chunk(SafeFolder(tmp_path, "stdout"), 0, is_live=True)
        path.write_bytes(data)
        second = read_chunk(SafeFolder(tmp_path, "stdout"), first.end, is_live=True)
        shown = first.text + second.text
        assert SECRET not in shown
        assert SECRET[-6:] not in shown, (cut, shown)
        if not is_quiet:
            assert SECRET[:6] not in shown, (cut, shown)
            assert shown.startswith("first\n")


def test_a_line_that_is_not_whole_comes_when_the_run_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "stdout"
    path.write_bytes(b"one\ntwo")
    first = read_chunk(SafeFolder(tmp_path, "stdout"), 0, is_live=True)
    assert first.text == "one\n"
    assert read_chunk(SafeFolder(tmp_path, "stdout"), first.end).text == "two"


def test_a_secret_at_the_border_of_two_parts_is_shown_in_neither(tmp_path: Path) -> None:
    path = tmp_path / "stdout"
    path.write_text("x" * (CHUNK - 10) + f"\n{SECRET}\nend\n")
    first = read_chunk(SafeFolder(tmp_path, "stdout"), 0)
    second = read_chunk(SafeFolder(tmp_path, "stdout"), first.end)
    assert (first.text + second.text).endswith("x\n(hidden)\nend\n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("10 %\r20 %\r\ndone", "10 %\n20 %\ndone"),
        ("a\x08b\x00", "a␈b␀"),
        ("\u202eturned", "⟨U+202E⟩turned"),
        ("\x1b(Bplain", "plain"),
    ],
)
def test_what_steers_terminals_is_gone_and_what_hides_is_seen(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_a_start_beyond_the_end_gives_nothing(tmp_path: Path) -> None:
    path = tmp_path / "stdout"
    path.write_text("short")
    chunk = read_chunk(SafeFolder(path.parent, path.name), 10**12)
    assert (chunk.text, chunk.start, chunk.end) == ("", 5, 5)


def test_bytes_that_are_no_text_do_not_hold_the_rest_up(tmp_path: Path) -> None:
    path = tmp_path / "stdout"
    path.write_bytes(b"\xff\xfe\x80\x80\x80\x80")
    assert read_chunk(SafeFolder(path.parent, path.name), 0).end == 6


def test_only_regular_files_are_streams(tmp_path: Path) -> None:
    (tmp_path / "stdout").write_text("x")
    (tmp_path / "prepare.stdout").write_text("x")
    (tmp_path / "notes").write_text("x")
    os.mkfifo(tmp_path / "stderr")
    (tmp_path / "link.stderr").symlink_to(tmp_path / "notes")
    assert list(find_streams(SafeFolder(tmp_path))) == ["stdout", "prepare.stdout"]
    with pytest.raises(OSError, match="regular"):
        read_chunk(SafeFolder(tmp_path, "stderr"))
