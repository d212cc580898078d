"""Interrupts that wait until what they would tear apart is whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""The signals that ask a program to end: Ctrl-C, kill(1), a terminal that closes, Ctrl-\\."""


def heeded() -> list[signal.Signals]:
    """Return those of `ENDING` that are not ignored, as nohup(1) and a shell's ``&`` have some of them."""
    return [one for one in ENDING if signal.getsignal(one) is not signal.SIG_IGN]


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Hold the signals that end a program back until the end of the block, then take the first that came.

    For what must be short, and done or not done. Only the main thread takes signals (signal.signal).
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        came.append(number)

    before = {number: signal.signal(number, hold) for number in heeded()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])
