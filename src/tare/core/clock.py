"""The clock of the head, against which runs and samples are laid, and what became of clocks during a run."""

from __future__ import annotations

import time
from typing import NamedTuple

LEAST_JUMP_S = 0.01
"""Two clocks that part by less than this may only have been read one after the other."""

_TRIES = 3


class SteadyClock:
    """Seconds since the epoch of time(2) as they were known when this was made, and have passed since.

    Unlike time.time() it does not jump where somebody, or NTP, sets the clock meanwhile; and unlike a
    monotonic clock it goes on while the machine is suspended.
    """

    def __init__(self) -> None:
        self._ahead_s = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)

    def __call__(self) -> float:
        """Return the time."""
        return self._ahead_s + time.clock_gettime(time.CLOCK_BOOTTIME)


class Clocks(NamedTuple):
    """What the clocks of clock_gettime(2) show at one moment, in seconds.

    `wall` is CLOCK_REALTIME, which is set; `boot` CLOCK_BOOTTIME, which only passes; and `awake`
    CLOCK_MONOTONIC, which stands while the machine is suspended.
    """

    wall: float
    boot: float
    awake: float


def read_clocks() -> Clocks:
    """Return what the clocks show; of a few readings the quickest one, since they follow one another."""
    found, least = Clocks(0.0, 0.0, 0.0), float("inf")
    for _ in range(_TRIES):
        began = time.clock_gettime(time.CLOCK_BOOTTIME)
        awake, wall = time.clock_gettime(time.CLOCK_MONOTONIC), time.clock_gettime(time.CLOCK_REALTIME)
        ended = time.clock_gettime(time.CLOCK_BOOTTIME)
        if ended - began < least:
            found, least = Clocks(wall, (began + ended) / 2, awake), ended - began
    return found


def suspended_s(before: Clocks, after: Clocks) -> float:
    """Return for how long the machine was suspended between two readings; 0 for what is no suspension."""
    return _jump((after.boot - before.boot) - (after.awake - before.awake))


def set_by_s(before: Clocks, after: Clocks) -> float:
    """Return by how much the wall clock was set between two readings, forward above 0; 0 where it was not.

    What NTP slews is not told: all clocks pass more quickly or slowly then, by 0.05 % at the most.
    """
    return _jump((after.wall - before.wall) - (after.boot - before.boot))


def _jump(by_s: float) -> float:
    return by_s if abs(by_s) >= LEAST_JUMP_S else 0.0
