"""What a terminal is shown, and what it is not."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from rich.cells import cell_len

from tare.cli.main import make_group
from tare.core.attempt import Attempt, State
from tare.terminal.output import at_work, print_table
from tare.terminal.progress import _outcome


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


def test_the_line_of_a_run_whose_time_nobody_knows_has_no_time() -> None:
    """As of a job that somebody cancelled: it left no record of when its program ended."""
    gone = Attempt(case="a", block=1, attempt=1, state=State.FAILED, started_at=None, reason="cancelled")
    assert _outcome(gone) == "failed  cancelled"
    done = Attempt(case="a", block=1, attempt=1, state=State.DONE, started_at=1.0, elapsed_s=8.0)
    assert _outcome(done) == "done  8.0 s"


WIDE = (
    ("contender", "figure of merit", "n", "verdict"),
    [
        (
            "overlay",
            "latency, us",
            "5",
            "▲ worse: so in the mean over all of them, but better at 1 B and 64 B",
        ),
        ("macvlan", "", "5", "≈ equivalent"),
    ],
)


def shown_at(
    width: int,
    monkeypatch: pytest.MonkeyPatch,
    table: tuple[Sequence[str], Sequence[Sequence[str]]] = WIDE,
) -> list[str]:
    """Return the lines of a table on a terminal of so many characters."""
    shown = Terminal()
    monkeypatch.setattr(sys, "stdout", shown)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    print_table(*table, numeric=frozenset({"n"}))
    return shown.getvalue().splitlines()


def test_a_table_that_fits_has_a_line_for_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(shown_at(120, monkeypatch)) == 3


def test_the_last_column_of_a_table_that_is_too_wide_is_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown_at(70, monkeypatch)
    assert max(map(len, lines)) <= 70
    assert lines[1].startswith("overlay    latency, us      5  ▲ worse: so in the mean")
    assert lines[2] == " " * 31 + "them, but better at 1 B and 64 B"
    assert " ".join(lines[-1].split()) == "macvlan 5 ≈ equivalent"


def test_rows_are_stacked_where_no_room_is_left_for_the_last_column(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown_at(40, monkeypatch)
    assert max(map(len, lines)) <= 40
    assert lines[0] == "overlay"
    assert lines[1] == "  figure of merit  latency, us"
    words = " ".join(" ".join(lines).split())
    assert "verdict ▲ worse: so in the mean over all of them, but better at 1 B and 64 B" in words
    assert lines[-4:-1] == ["macvlan", "  n                5", "  verdict          ≈ equivalent"]


def test_wide_and_combining_characters_leave_the_columns_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [("日本", "1", "x"), ("cafe\u0301", "22", "x"), ("plain ±", "333", "x")]
    print_table(("study", "n", "end"), rows, frozenset({"n"}))
    assert capsys.readouterr().out.splitlines() == [
        "study      n  end",
        "日本       1  x",
        "cafe\u0301      22  x",
        "plain ±  333  x",
    ]
    print_table(("日本", "n", "end"), [("a", "1", "x")], frozenset({"n"}))
    assert capsys.readouterr().out.splitlines() == ["日本  n  end", "a     1  x"]


def test_cells_of_wide_characters_are_folded_to_their_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    table = (("case", "日本"), [("a", "日本語 " * 8), ("日本", "x " * 20)])
    folded = shown_at(30, monkeypatch, table)
    assert max(map(cell_len, folded)) <= 30
    assert [line for line in folded if not line.startswith(" ")] == [
        "case  日本",
        "a     日本語 日本語 日本語",
        "日本  x x x x x x x x x x x x",
    ]
    stacked = shown_at(20, monkeypatch, table)
    assert max(map(cell_len, stacked)) <= 24
    assert stacked[:3] == ["a", "  日本  日本語 日本語", "        日本語 日本語"]
