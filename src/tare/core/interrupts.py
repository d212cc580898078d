"""Delay interrupts until a critical step is complete."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

TERMINATION_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""The signals that ask a program to end: Ctrl-C, kill(1), a closed terminal, and Ctrl-\\."""


def not_ignored() -> list[signal.Signals]:
    """Return the termination signals that are not ignored. nohup(1) and a shell's ``&`` make some ignored."""
    return [one for one in TERMINATION_SIGNALS if signal.getsignal(one) is not signal.SIG_IGN]


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Hold back the signals that end a program until the end of the block, then deliver the first of them.

    Use it for short steps that must be done completely or not at all. Only the main thread receives signals
    (signal.signal).
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        came.append(number)

    before = {number: signal.signal(number, hold) for number in not_ignored()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])
