"""Try a target on input, and keep what it should not have done."""

from __future__ import annotations

import random
import signal
import traceback
from collections.abc import Iterator
from types import FrameType

from fuzzing.changes import changed
from fuzzing.target import Target

MOST_S, MOST_WALL_S = 10, 120
"""Seconds of the processor that one input may take, and by the clock; a page of output takes milliseconds."""


class TookTooLong(BaseException):
    """A target took longer than it may: no handler of errors catches it."""


def fault_of(target: Target, data: bytes) -> str:
    """Return what `target` does wrong with `data`, and where; empty where it reads or refuses it."""
    before = {number: signal.signal(number, _expired) for number in (signal.SIGALRM, signal.SIGVTALRM)}
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_S)
    signal.setitimer(signal.ITIMER_REAL, MOST_WALL_S)
    try:
        target.read(data)
    except target.refusals:
        return ""
    except (Exception, TookTooLong) as error:
        frames = [one for one in traceback.extract_tb(error.__traceback__) if "/tare/" in one.filename]
        place = f"{frames[-1].filename.rpartition('/tare/')[2]}:{frames[-1].lineno}" if frames else "?"
        return f"{type(error).__name__} in {place}: {str(error)[:200]}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
    return ""


def inputs(target: Target, seed: int) -> Iterator[bytes]:
    """Yield the target's examples, and then changes to them without end, the same for the same `seed`."""
    yield from target.seeds
    chance = random.Random(f"{target.name}:{seed}")
    while True:
        yield changed(chance.choice(target.seeds), chance, target.seeds)


def _expired(number: int, frame: FrameType | None) -> None:
    raise TookTooLong(f"more than {MOST_S} s of the processor, or {MOST_WALL_S} s")
