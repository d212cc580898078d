"""How long jobs that try platforms wait in a queue, and who is told that they wait, and why."""

from __future__ import annotations

import time
from collections.abc import Callable

from tare.core.attempt import Attempt
from tare.core.backend_options import BackendOptions


class Patience:
    """Gives up a job that has waited for `wait_s` seconds (None: never), and jobs that ask for the same.

    `say` is called with a line when a job begins to wait, and when its reason changes.
    """

    def __init__(
        self,
        wait_s: float | None = None,
        say: Callable[[str], None] = lambda line: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.wait_s, self.say, self.clock = wait_s, say, clock
        self._given_up: list[BackendOptions] = []

    @property
    def limit(self) -> str:
        """Return how long a job may wait, for people; empty without a limit."""
        return "" if self.wait_s is None else f"{self.wait_s:g} s"

    def has_given_up(self, options: BackendOptions) -> bool:
        """Return whether a job that asked for the same nodes was given up."""
        return any(one.asks_like(options) for one in self._given_up)

    def give_up(self, options: BackendOptions) -> None:
        """Remember that a job with these options did not start in time."""
        self._given_up.append(options)


class Wait:
    """The wait of the job that tries the platform `name`."""

    def __init__(self, name: str, patience: Patience) -> None:
        self._name, self._patience = name, patience
        self._began = patience.clock()
        self.reason = ""

    def begin(self) -> None:
        """Note that the job is submitted."""
        self._began, self.reason = self._patience.clock(), ""

    def hear(self, attempt: Attempt, reason: str) -> None:
        """Note why the job waits, or with an empty reason that it goes on (see executors.OnWait)."""
        self.reason = reason
        if reason:
            limit = self._patience.limit
            more = f"; given up after {limit} (--wait)" if limit else "; Ctrl-C cancels its job"
            self._patience.say(f"waits    {self._name}: {reason}{more}")

    @property
    def waited_s(self) -> float:
        """Return how long ago the job was submitted."""
        return self._patience.clock() - self._began

    @property
    def is_too_long(self) -> bool:
        """Return whether the job waits, and has waited for as long as it may."""
        most = self._patience.wait_s
        return bool(self.reason) and most is not None and self.waited_s >= most
