"""A little of `make soak` with every test run; and what its books would tell of a Tare that fails."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from soak.books import Book, Tally, balance
from tare.core.attempt import Attempt, Series, State
from tare.storage.journal import AttemptBegan, AttemptEnded, Event, write_line

_FAULTS = 6


@pytest.mark.slow
def test_a_short_soak_balances() -> None:
    words = ["--campaigns", "1", "--faults", str(_FAULTS), "--seed", "314", "--places", "process"]
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-m", "soak", *words], capture_output=True, text=True, check=False, env=env
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the books balance" in done.stdout
    faults = done.stdout.partition("times\n")[2].partition("\n\n")[0].splitlines()
    assert sum(int(line.split()[-1]) for line in faults) == _FAULTS


RUN = Attempt(
    case="a" * 16,
    block=1,
    attempt=1,
    state=State.DONE,
    started_at=1.0,
    series=[Series(fom="value", unit="s", values=[1.5])],
)
BEGAN = AttemptBegan(RUN.case, 1, 1, 1.0)
ENDED = AttemptEnded(RUN)
NAME = f"{RUN.case}/1.1"
STARTED, FINISHED = {"run": NAME, "what": "started"}, {"run": NAME, "what": "ended", "figure": 1.5}

Balance = Callable[..., set[str]]


@pytest.fixture
def wrong(tmp_path: Path) -> Balance:
    """Return the checks that a journal does not pass, held against a book."""

    def wrong(events: list[Event], book: list[dict[str, object]]) -> set[str]:
        (tmp_path / "journal.jsonl").write_bytes(b"".join(map(write_line, events)))
        (tmp_path / "book").write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in book))
        tally = Tally()
        balance(tmp_path / "journal.jsonl", Book(tmp_path / "book"), set(), tally)
        return {name for name, found in tally.wrong.items() if found}

    return wrong


def test_books_that_agree_balance(wrong: Balance) -> None:
    assert wrong([BEGAN, ENDED], [STARTED, FINISHED]) == set()


def test_a_run_that_is_not_on_record_is_found(wrong: Balance) -> None:
    assert wrong([], [STARTED, FINISHED]) == {"started runs are on record"}


def test_another_figure_is_found(wrong: Balance) -> None:
    assert wrong([BEGAN, ENDED], [STARTED, FINISHED | {"figure": 1.25}]) == {
        "figures are those that were written"
    }


def test_a_run_that_is_done_and_never_ended_is_found(wrong: Balance) -> None:
    assert "done runs ended well" in wrong([BEGAN, ENDED], [STARTED])


def test_a_run_that_is_done_twice_is_found(wrong: Balance) -> None:
    again = AttemptEnded(msgspec.structs.replace(RUN, attempt=2))
    second = AttemptBegan(RUN.case, 1, 2, 2.0)
    book = [{**one, "run": f"{RUN.case}/1.{number}"} for number in (1, 2) for one in (STARTED, FINISHED)]
    assert wrong([BEGAN, ENDED, second, again], book) == {"no run is done twice"}


def test_two_of_one_run_that_are_alive_at_once_are_found(wrong: Balance) -> None:
    assert wrong([BEGAN, ENDED], [STARTED, {"run": NAME, "what": "twice"}, FINISHED]) == {
        "no run lives twice at once"
    }
