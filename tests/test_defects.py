"""What nobody foresaw is told as a defect, with a traceback that steers no terminal and shows no secret."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tare.core.bug_report import report_of, traceback_of
from tare.live.connections import RateLimit

POISON = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\nFORGED: all done\u202e password=hunter2-X9"

BROKEN = """\
import sys, threading
import tare.cli.main as main
class Broken(Exception):
    def __str__(self): raise ValueError
def fail(*_): raise {error}
main._run = fail
def in_thread():
    one = threading.Thread(target=fail)
    one.start()
    one.join()
    return 0
sys.argv = ["tare", "status", "--hunter2-X9"]
if {is_thread}: main._run = lambda _: in_thread()
main.main()
"""


def raised(make: Callable[[], BaseException]) -> BaseException:
    try:
        raise make()
    except BaseException as error:
        return error


def told(error: str, *, is_thread: bool = False) -> subprocess.CompletedProcess[str]:
    script = BROKEN.format(error=error, is_thread=is_thread)
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, env=dict(os.environ)
    )


def is_harmless(text: str) -> bool:
    return (
        all(one.isprintable() or one == "\n" for one in text)
        and not any(line.startswith("FORGED") for line in text.split("\n"))
        and "hunter2" not in text
    )


@pytest.mark.parametrize("is_thread", [False, True])
def test_an_uncaught_exception_is_printed_as_a_defect_that_can_be_reported(is_thread: bool) -> None:
    ended = told(f"RuntimeError({POISON!r})", is_thread=is_thread)
    assert is_harmless(ended.stderr)
    assert "tare: this is a defect of Tare" in ended.stderr
    assert "RuntimeError: ␛]52;c" in ended.stderr
    assert "FORGED: all done" in ended.stderr
    assert 'File "<string>", line 5, in fail' in ended.stderr
    assert "Please report this" in ended.stderr
    assert "no secrets" in ended.stderr
    assert ended.returncode == (0 if is_thread else 1)


def test_an_exception_that_cannot_be_printed_is_reported_too() -> None:
    ended = told("Broken()")
    assert "Broken" in ended.stderr
    assert "tare: this is a defect of Tare" in ended.stderr


def test_an_interrupt_is_no_defect() -> None:
    ended = told("KeyboardInterrupt()")
    assert "defect" not in ended.stderr
    assert "Traceback" not in ended.stderr


def test_causes_notes_and_groups_are_harmless_and_stay() -> None:
    def chained() -> BaseException:
        error = ExceptionGroup(f"group {POISON}", [ValueError(f"one {POISON}"), OSError(2, POISON)])
        error.add_note(f"note {POISON}")
        error.__cause__ = KeyError(f"cause {POISON}")
        return error

    text = traceback_of(raised(chained))
    assert is_harmless(text)
    for part in ("group", "one", "note", "cause", "direct cause"):
        assert part in text
    assert all(line.startswith("  ") for line in text.split("\n"))


def test_a_long_traceback_is_cut_short_at_both_ends_of_nothing_that_matters() -> None:
    def deep(n: int) -> None:
        if n:
            deep(n - 1)
        else:
            raise ValueError("x" * 10_000_000 + "\n" * 100_000 + "the end")

    try:
        deep(500)
    except ValueError as error:
        text = report_of(error, ["compare"])
    assert "deep(500)" in text
    assert "the end" in text
    assert "lines left out" in text
    assert len(text) < 1_000_000


def test_a_traceback_in_the_log_of_the_live_page_is_harmless() -> None:
    error = raised(lambda: ValueError(POISON))
    record = logging.LogRecord("x", logging.ERROR, "", 1, "it broke", (), (type(error), error, None))
    assert RateLimit().filter(record)
    line = logging.Formatter().format(record)
    assert is_harmless(line)
    assert "ValueError" in line
