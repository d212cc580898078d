"""The time steps of a solver of OpenFOAM: their mean execution time, and whether some are missing."""

from __future__ import annotations

from tare.plugins.workloads.common.rounded import Rounded, rounded

_SAME = 1e-6
"""Relative difference up to which time steps count as equal; times are printed with six digits."""
_MOST_STEPS = 1e15  # larger numbers of steps may not be exact in a float


class Steps:
    """The mean execution time of a step, from the first printed time to the last.

    If all steps have the same length, they are counted by the simulated time, so that lost lines do no harm.
    If the solver adapts the length of steps, they are counted by lines.
    """

    def __init__(self) -> None:
        """Create it for a run without steps so far."""
        self._first: tuple[float, float] | None = None
        self._step: float | None = None
        self.is_even = True
        self.is_in_order = True
        self._last_execution = 0.0
        self._last_time = 0.0
        self._count = 0

    @property
    def is_new(self) -> bool:
        """Whether no step has ended yet."""
        return self._first is None

    @property
    def starts_late(self) -> bool:
        """Whether the first step does not begin at time 0, as that of a run that goes on from another."""
        return self._first is not None and self._first[0] > 1.5 * (self._step or self._first[0])

    def take(self, time: float, execution: float) -> float | None:
        """Record the end of a step; return the mean so far, or None after the first step."""
        self.is_in_order &= execution >= self._last_execution
        self._last_execution = execution
        if self._first is None:
            self._first = (time, execution)
            self._last_time = time
            return None
        first_time, first_execution = self._first
        width = time - self._last_time
        self.is_in_order &= width > 0
        self._last_time = time
        self._count += 1
        if self._step is None:
            self._step = width
        if self._step > 0:
            steps = width / self._step
            self.is_even &= 0.5 < steps < _MOST_STEPS and abs(steps - round(steps)) < _SAME * max(
                1.0, abs(time / self._step)
            )
        else:
            self.is_even = False
        count = round((time - first_time) / self._step) if self.is_even else self._count
        return (execution - first_execution) / count


_TOLERANCE = 0.05
"""Less than the share by which a missing step makes the difference of two times too long.

Solvers lengthen a step by a fifth at most, so the step before is nearly as long, or longer.
"""
_FEWEST = 2
"""How many lengths it takes to know that each step has one."""


class Lengths:
    """Checks the lengths of steps that a solver prints where it adapts them (setDeltaT.H).

    ``deltaT = 0.00012`` stands before each ``Time = 0.00036``, which is that much later than the one before.
    """

    def __init__(self) -> None:
        """Create it for a run without steps so far."""
        self._length: Rounded | None = None
        self._last: Rounded | None = None
        self._n_announced = 0

    def announce(self, printed: str) -> None:
        """Take the length of the next step."""
        self._length = rounded(printed)

    def take(self, printed: str) -> bool:
        """Take the time of a step; return whether it follows on the step before, as far as is known."""
        time, last, length = rounded(printed), self._last, self._length
        self._last, self._length = time, None
        if length is None:
            return self._n_announced < _FEWEST
        self._n_announced += 1
        if time is None or last is None:
            return True
        least, most = time.least - last.most, time.most - last.least
        return least <= length.most * (1 + _TOLERANCE) and length.least * (1 - _TOLERANCE) <= most
