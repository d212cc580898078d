"""Handle the signals that end a program as Ctrl-C, and delay them until a critical step is complete."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

TERMINATION_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""The signals that ask a program to end: Ctrl-C, kill(1), a closed terminal, and Ctrl-\\."""


class _Held:
    """The signals that came since they are held back; `came` is None when they are not."""

    came: list[int] | None = None
    is_ready = False  # whether the handlers below are installed


def not_ignored() -> list[signal.Signals]:
    """Return the termination signals that are not ignored. nohup(1) and a shell's ``&`` make some ignored."""
    return [one for one in TERMINATION_SIGNALS if signal.getsignal(one) is not signal.SIG_IGN]


@contextmanager
def handled_as_interrupts() -> Iterator[None]:
    """Have each of these signals raise KeyboardInterrupt, in the main thread; those ignored stay ignored.

    Meanwhile `interrupts_deferred` needs no system call.
    """
    before = {number: signal.signal(number, _interrupt) for number in not_ignored()}
    outer, _Held.is_ready = _Held.is_ready, True
    try:
        yield
    finally:
        _Held.is_ready = outer
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    if _Held.came is None:
        raise KeyboardInterrupt
    _Held.came.append(number)


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Hold back the signals that end a program until the end of the block, then deliver the first of them.

    Use it for short steps that must be done completely or not at all. Only the main thread receives signals
    (signal.signal).
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {} if _Held.is_ready else {number: signal.signal(number, _interrupt) for number in not_ignored()}
    came: list[int] = []
    outer, _Held.came = _Held.came, came
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _Held.came = outer
        if came:
            signal.raise_signal(came[0])
