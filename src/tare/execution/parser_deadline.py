"""Limit the time of a parser; the time-out of a run covers only its programs.

The time of a regular expression can grow exponentially with the length of a line, as that of ``(a+)+$`` does.
Python's engine checks for signals while it matches, so an interval timer can end it (setitimer(2)). Signals
reach only the main thread. In other threads, a forked child runs the parser.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

Result = TypeVar("Result")


class OutOfTime(BaseException):
    """The parser exceeded its time limit. Not an Exception, because a parser may catch those."""


class ParserDied(Exception):
    """The process of the parser ended without a result, for example killed for want of memory."""


def within(limit_s: float, work: Callable[[], Result]) -> Result:
    """Return what `work` returns, or raise what it raises.

    Raises OutOfTime when it takes longer than `limit_s` seconds, and ParserDied where its process ended.
    """
    if threading.current_thread() is threading.main_thread():
        return _timed(limit_s, work)
    return _in_child(limit_s, work)


def _timed(limit_s: float, work: Callable[[], Result]) -> Result:
    def ring(number: int, frame: FrameType | None) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        return work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _in_child(limit_s: float, work: Callable[[], Result]) -> Result:
    """Do the work in a child process, which cannot block this one, and read its result from a pipe."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            os.close(reader)
            with os.fdopen(writer, "wb") as pipe:
                pipe.write(pickle.dumps(_end_of(limit_s, work)))
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    try:
        with os.fdopen(reader, "rb") as pipe:
            data = _read_all(pipe.fileno(), time.monotonic() + 2 * limit_s)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        _, status = os.waitpid(child, 0)
    if not data:
        raise ParserDied(_how_it_ended(status))
    result, error = pickle.loads(data)  # noqa: S301  # of our own child
    if error is not None:
        raise error
    found: Result = result
    return found


def _end_of(limit_s: float, work: Callable[[], Result]) -> tuple[Result | None, BaseException | None]:
    """Return what the work returned, or what it raised."""
    try:
        return _timed(limit_s, work), None
    except BaseException as error:  # it is raised again in the process that asked
        return None, error


def _how_it_ended(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"its process ended by signal {-code}" if code < 0 else f"its process ended with exit code {code}"


def _read_all(descriptor: int, deadline: float) -> bytes:
    """Return the bytes of a pipe up to its end. Raises OutOfTime if the deadline comes first."""
    poll, pieces = select.poll(), list[bytes]()
    poll.register(descriptor, select.POLLIN)
    while poll.poll(max(deadline - time.monotonic(), 0) * 1000):
        piece = os.read(descriptor, 1 << 20)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
    raise OutOfTime
