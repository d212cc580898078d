"""Bound what a parser may take: the time-out of a run covers its programs alone.

A regular expression may need time that grows exponentially with a line, as ``(a+)+$`` does. Python's engine
looks for signals while it matches, so that an interval timer ends it (setitimer(2)); as signals come to the
main thread only, other threads let a forked child parse.
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
    """What was to end within its limit did not; no Exception, which a parser may catch."""


def within(limit_s: float, work: Callable[[], Result]) -> Result:
    """Return what `work` returns. Raises OutOfTime when it takes longer than `limit_s` seconds."""
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
    """Let a child do the work, which cannot hold this process up, and take its result from a pipe."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reader)
            with os.fdopen(writer, "wb") as pipe:
                pickle.dump(_timed(limit_s, work), pipe)
        finally:
            os._exit(0)
    os.close(writer)
    try:
        with os.fdopen(reader, "rb") as pipe:
            data = _read_all(pipe.fileno(), time.monotonic() + 2 * limit_s)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if not data:
        raise OutOfTime
    result: Result = pickle.loads(data)  # noqa: S301  # of our own child
    return result


def _read_all(descriptor: int, deadline: float) -> bytes:
    """Return all that comes before the end of a pipe; nothing where that is not there by the deadline."""
    poll, pieces = select.poll(), list[bytes]()
    poll.register(descriptor, select.POLLIN)
    while poll.poll(max(deadline - time.monotonic(), 0) * 1000):
        piece = os.read(descriptor, 1 << 20)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
    return b""
