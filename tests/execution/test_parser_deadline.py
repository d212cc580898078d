"""A parser in a thread runs in a process of its own, and ends there as it would here."""

from __future__ import annotations

import errno
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import NoReturn

import pytest

from tare.execution.parser_deadline import OutOfTime, ParserDied, within


def in_a_thread(work: Callable[[], object], limit_s: float = 60.0) -> list[object]:
    """Return what the work returned in a thread, or what it raised."""
    found: list[object] = []

    def keep() -> None:
        try:
            found.append(within(limit_s, work))
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=keep)
    thread.start()
    thread.join()
    return found


def test_what_the_parser_returns_comes_back() -> None:
    assert in_a_thread(lambda: [1, 2]) == [[1, 2]]


def test_an_error_of_the_disk_is_not_taken_for_a_parser_without_an_end() -> None:
    def fail() -> NoReturn:
        raise OSError(errno.EIO, "Input/output error", "stdout")

    [error] = in_a_thread(fail)
    assert isinstance(error, OSError)
    assert (error.errno, error.filename) == (errno.EIO, "stdout")


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "its process ended by signal 9"),
        (lambda: os._exit(7), "its process ended with exit code 7"),
        (lambda: threading.Lock(), "its process ended with exit code 1"),  # no process can hand that over
    ],
)
def test_a_parser_whose_process_ends_is_not_taken_for_one_without_an_end(
    end: Callable[[], object], words: str
) -> None:
    [error] = in_a_thread(end)
    assert isinstance(error, ParserDied)
    assert str(error) == words


def test_a_parser_without_an_end_is_ended() -> None:
    [error] = in_a_thread(lambda: time.sleep(600), limit_s=0.05)
    assert isinstance(error, OutOfTime)
