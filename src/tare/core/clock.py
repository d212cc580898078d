"""Clocks: a steady one, on which runs and samples are placed, and how clocks changed during a run."""

from __future__ import annotations

import time
from typing import NamedTuple

LEAST_JUMP_S = 0.01
"""A smaller difference between two clocks may only mean that one was read after the other."""

_TRIES = 3


class SteadyClock:
    """A clock that counts seconds since the epoch (time(2)) steadily from the moment it is made.

    Unlike time.time(), it does not jump when a person or NTP sets the clock. Unlike CLOCK_MONOTONIC, it
    continues while the machine is suspended.
    """

    def __init__(self) -> None:
        self._ahead_s = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)

    def __call__(self) -> float:
        """Return the present time."""
        return self._ahead_s + time.clock_gettime(time.CLOCK_BOOTTIME)


class Clocks(NamedTuple):
    """The readings of the clocks of clock_gettime(2) at one moment, in seconds.

    `wall` is CLOCK_REALTIME, which can be set. `boot` is CLOCK_BOOTTIME, which cannot. `awake` is
    CLOCK_MONOTONIC, which stops while the machine is suspended.
    """

    wall: float
    boot: float
    awake: float


def read_clocks() -> Clocks:
    """Return a reading of the clocks: the quickest of a few, because one clock is read after another."""
    found, least = Clocks(0.0, 0.0, 0.0), float("inf")
    for _ in range(_TRIES):
        began = time.clock_gettime(time.CLOCK_BOOTTIME)
        awake, wall = time.clock_gettime(time.CLOCK_MONOTONIC), time.clock_gettime(time.CLOCK_REALTIME)
        ended = time.clock_gettime(time.CLOCK_BOOTTIME)
        if ended - began < least:
            found, least = Clocks(wall, (began + ended) / 2, awake), ended - began
    return found


def suspended_s(before: Clocks, after: Clocks) -> float:
    """Return for how long the machine was suspended between two readings; 0 if it was not."""
    return _jump((after.boot - before.boot) - (after.awake - before.awake))


def set_by_s(before: Clocks, after: Clocks) -> float:
    """Return by how much the wall clock was set between two readings, forward above 0; 0 if it was not.

    Slewing by NTP is not detected: all clocks then run faster or slower, by 0.05 % at most.
    """
    return _jump((after.wall - before.wall) - (after.boot - before.boot))


def _jump(by_s: float) -> float:
    return by_s if abs(by_s) >= LEAST_JUMP_S else 0.0
