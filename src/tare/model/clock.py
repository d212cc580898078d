"""The clock of the head, against which runs and samples are laid."""

from __future__ import annotations

import time


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
