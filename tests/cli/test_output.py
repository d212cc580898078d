"""What a terminal is shown, and what it is not."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from tare.cli.main import make_group
from tare.terminal.output import at_work, print_table


class Terminal(io.StringIO):
    """Stands for a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("refusal", "is_plain"), [(None, False), ("1", True)])
def test_no_command_colours_anything_where_the_user_wants_none(
    monkeypatch: pytest.MonkeyPatch, refusal: str | None, is_plain: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if refusal:
        monkeypatch.setenv("NO_COLOR", refusal)
    shown = Terminal()
    monkeypatch.setattr(sys, "stdout", shown)
    make_group().main(["workloads", "imb.pingpong"], standalone_mode=False)
    assert "imb.pingpong" in shown.getvalue()
    assert ("\x1b[" not in shown.getvalue()) == is_plain


@pytest.mark.parametrize("words", [["workloads", "hpl", "--json"], ["parse", "hpl", "HPL.out", "--json"]])
def test_json_reaches_a_caller_in_the_same_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "HPL.out").write_text("nothing\n")
    with redirect_stdout(io.StringIO()) as said:
        make_group().main(words, standalone_mode=False)
    assert json.loads(said.getvalue())["schema"].startswith(f"tare.{words[0]}/")


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_that_something_goes_on_is_shown_at_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stderr", stream)
    with at_work("writing the report"):
        pass
    assert ("writing the report" in stream.getvalue()) == stream.isatty()


def _as_printed(rows: list[list[str]], capsys: pytest.CaptureFixture[str]) -> list[str]:
    print_table(("name", "n"), rows, frozenset({"n"}))
    return capsys.readouterr().out.splitlines()


def test_a_table_is_aligned_over_all_its_rows_however_many(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [[f"case {number}", str(number)] for number in range(2500)]
    printed = _as_printed(rows, capsys)
    assert printed[0] == "name          n"
    assert printed[1::2499] == ["case 0        0", "case 2499  2499"]


@pytest.mark.parametrize("at", [0, 1700])
def test_a_strange_cell_is_made_visible_and_leaves_all_others_aligned(
    at: int, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [["plain", "1"] for _ in range(2000)]
    rows[at] = ["\x1b[31mred\t", "22"]
    rows[at + 1] = ["short"]
    printed = _as_printed(rows, capsys)
    assert "\x1b" not in "".join(printed)
    width = max(map(len, printed))
    assert printed[1 + at].endswith("22")
    assert printed[2 + at] == "short"
    assert {len(line) for line in printed[1:] if line != "short"} == {width}


def test_a_table_without_rows_has_its_heads(capsys: pytest.CaptureFixture[str]) -> None:
    assert _as_printed([], capsys) == ["name  n"]
