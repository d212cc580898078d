"""Jobs over ssh that have ended, while what they left behind holds their outputs open.

sshd(8) ends a session when nobody has its outputs any more, not when its command has ended. So a process that
a job leaves behind with these outputs would hold ssh up for as long as it lives. The job itself has told its
end (see remote): a while later what it has left is ended, and named.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tare.plugins.backends.remote import began_up_s, has_ended
from tare.plugins.backends.stray_processes import SweepResult

_GRACE_S = 2.0  # for sshd to see that the outputs are closed
_DRAIN_S = 20.0  # for a slow link to bring the last of the outputs, where nothing is found that holds them


class OpenOutputs:
    """Waits for the end of ssh as `wait` does, and ends what holds it up once its job has ended.

    `stderr` is what the job's end is told in; None where nothing holds the agent up. `sweep` ends what a job
    has left that began at this uptime of its host, and `give_up` ends ssh, where what cannot be ended
    holds it up. `found` names what did.
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
        """Wait for so many seconds; return whether ssh has ended."""
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
