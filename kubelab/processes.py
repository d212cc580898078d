"""Run programs in the background, which end with the thread that started them."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

_TAIL = 15  # lines


class KubelabError(Exception):
    """The reason why the cluster does not start; the message has the cure if there is one."""


class Daemon:
    """One program and its log, which a restart continues.

    The kernel kills it when the thread that started it ends, for any reason (prctl(2), PR_SET_PDEATHSIG).
    `inside` is put before its command, such as an nsenter.
    """

    def __init__(self, name: str, argv: Sequence[str], log: Path, inside: Sequence[str] = ()) -> None:
        self.name = name
        self.argv = ["setpriv", "--pdeathsig", "KILL", "--", *inside, *argv]
        self.log = log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Return its process id; None while it does not run."""
        return None if self._process is None or self._process.poll() is not None else self._process.pid

    def start(self) -> None:
        """Start it, unless it is running."""
        if self.pid is not None:
            return
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def kill(self) -> None:
        """Kill it, as a crash would, and wait until it is gone."""
        self._end(signal.SIGKILL, 10)

    def stop(self, patience_s: float = 10) -> None:
        """Send SIGTERM; kill it after `patience_s`."""
        self._end(signal.SIGTERM, patience_s)

    def wait_until(self, is_so: Callable[[], bool], what: str, patience_s: float = 90) -> None:
        """Wait until `is_so` returns true.

        Raises KubelabError, with the end of the log, if the program ends before, and also if it takes too
        long.
        """
        end = time.monotonic() + patience_s
        while not is_so():
            if self.pid is None:
                raise KubelabError(f"{self.name} ended before {what}; {self.log} ends with:\n{self._tail()}")
            if time.monotonic() > end:
                raise KubelabError(f"{self.name}: not {what} after {patience_s:g} s; see {self.log}")
            time.sleep(0.1)

    def _end(self, sign: signal.Signals, patience_s: float) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(sign)
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-_TAIL:])
