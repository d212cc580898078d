"""Find jobs over ssh that have ended while processes that they left still hold their outputs open.

sshd(8) ends a session when no process holds its outputs any more, not when its command has ended. A process
that a job left with these outputs would delay the end of ssh while it lives. The job's outputs show its end
(see remote). A while later, the leftover processes are ended and named.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tare.plugins.backends.ownership.stray_processes import SweepResult
from tare.plugins.backends.process.remote import began_up_s, has_ended

_GRACE_S = 2.0  # for sshd to notice that the outputs are closed
_DRAIN_S = 20.0  # for a slow link to send the rest of the outputs, if no process is found that holds them


class OpenOutputs:
    """Waits for the end of ssh with `wait`, and ends processes that delay it after its job has ended.

    `stderr` is the file with the end marker of the job; it is None where no process can delay the agent.
    `sweep` takes the job's start by its host's uptime and ends the processes that the job left. `give_up`
    ends ssh itself, when the delaying processes cannot be ended. `found` names these processes.
    """

    def __init__(
        self,
        wait: Callable[[float], bool],
        stderr: Path | None,
        *,
        sweep: Callable[[float | None], SweepResult],
        give_up: Callable[[], None],
    ) -> None:
        self.found: tuple[str, ...] = ()
        self._wait = wait
        self._stderr = stderr
        self._sweep = sweep
        self._give_up = give_up
        self._due: float | None = None
        self._has_swept = False

    def __call__(self, timeout_s: float) -> bool:
        """Wait for so many seconds. Return whether ssh has ended."""
        if self._wait(timeout_s):
            return True
        if self._due is None:
            if self._stderr is not None and has_ended(self._stderr):
                self._due = time.monotonic() + _GRACE_S
        elif time.monotonic() >= self._due:
            self._end()
        return False

    def _end(self) -> None:
        if self._has_swept or self._stderr is None:
            self.found = self.found or ("something that is not to be seen there",)
            self._give_up()
        else:
            self.found = self._sweep(began_up_s(self._stderr)).found
            self._has_swept = True
        self._due = time.monotonic() + (_GRACE_S if self.found else _DRAIN_S)
