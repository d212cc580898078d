"""Count packets on hosts while a run goes on."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple

from tare.core import log
from tare.core.log import fields
from tare.plugins.backends import process_labels

_LOG = log.of("packets")

_READY_S = 10.0
_ANSWER_S = 10.0
_LOOK_S = 0.01


class _Counter(NamedTuple):
    """One that was started, and the file into which it speaks: a pipe that nobody reads would stop it."""

    process: subprocess.Popen[bytes]
    said: BinaryIO

    def has_begun(self) -> bool:
        """Return whether it has said something, or will not any more."""
        return os.fstat(self.said.fileno()).st_size > 0 or self.process.poll() is not None

    def end_input(self) -> None:
        """Tell it that it is over."""
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()

    def answer(self, deadline: float) -> str:
        """Return what it has said, when it has ended or the deadline has come."""
        with self.said:
            try:
                self.process.wait(max(deadline - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.said.seek(0)
            return self.said.read().decode(errors="replace")


class PacketCounters:
    """Starts a counter on each host through an agent (see model.Site).

    `label` marks their processes, which also end with their standard input; `on_start` is called with the pid
    of each.
    """

    def __init__(
        self,
        *,
        label: str,
        agent: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        on_start: Callable[[int], None] = lambda pid: None,
    ) -> None:
        self._agent = list(agent)
        self._env = {**os.environ, **(env or {}), process_labels.VARIABLE: label}
        self._on_start = on_start

    @contextmanager
    def count(self, commands: Mapping[str | None, str]) -> Iterator[dict[str | None, str]]:
        """Run the command of each host while entered; what it said is in the mapping at the end."""
        running: dict[str | None, _Counter] = {}
        said: dict[str | None, str] = {}
        try:
            for host, command in commands.items():
                try:
                    running[host] = self._start(host, command)
                except OSError as error:
                    said[host] = f"the counter could not be started: {error.strerror}"
            deadline = time.monotonic() + _READY_S
            while not all(one.has_begun() for one in running.values()) and time.monotonic() < deadline:
                time.sleep(_LOOK_S)
            yield said
        finally:
            for one in running.values():  # all of them, before any is waited for
                one.end_input()
            deadline = time.monotonic() + _ANSWER_S
            for host, one in running.items():
                said[host] = one.answer(deadline)

    def _start(self, host: str | None, command: str) -> _Counter:
        argv = ["/bin/sh", "-c", command] if host is None else [*self._agent, host, command]
        _LOG.debug("command", extra=fields(argv=argv))
        said = tempfile.TemporaryFile()  # noqa: SIM115  # closed when its answer is read
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=subprocess.STDOUT,
            env=self._env,
            start_new_session=True,
        )
        self._on_start(process.pid)
        return _Counter(process, said)
