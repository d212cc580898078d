"""Count packets on hosts during a run."""

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
from tare.plugins.backends.ownership import process_labels

_LOG = log.of("packets")

_READY_S = 10.0
_ANSWER_S = 10.0
_LOOK_S = 0.01


class _Counter(NamedTuple):
    """A counter process and the file of its output.

    A file is used because a pipe that nobody reads would block it.
    """

    process: subprocess.Popen[bytes]
    output: BinaryIO

    def has_begun(self) -> bool:
        """Return whether it has printed something or has ended."""
        return os.fstat(self.output.fileno()).st_size > 0 or self.process.poll() is not None

    def end_input(self) -> None:
        """Close its input, which tells it to end."""
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()

    def answer(self, deadline: float) -> str:
        """Return its output once it has ended. Kill it at the deadline."""
        with self.output:
            try:
                self.process.wait(max(deadline - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.output.seek(0)
            return self.output.read().decode(errors="replace")


class PacketCounters:
    """Starts a packet counter on each host through an agent (see core.site.Site).

    `label` is the label of its processes, which also end when their standard input closes. `on_start` is
    called with the pid of each counter.
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
        """Run the command of each host while entered. At the end, the mapping holds each host's output."""
        running: dict[str | None, _Counter] = {}
        output: dict[str | None, str] = {}
        try:
            for host, command in commands.items():
                try:
                    running[host] = self._start(host, command)
                except OSError as error:
                    output[host] = f"the counter could not be started: {error.strerror}"
            deadline = time.monotonic() + _READY_S
            while not all(one.has_begun() for one in running.values()) and time.monotonic() < deadline:
                time.sleep(_LOOK_S)
            yield output
        finally:
            for one in running.values():  # close all inputs before waiting for any
                one.end_input()
            deadline = time.monotonic() + _ANSWER_S
            for host, one in running.items():
                output[host] = one.answer(deadline)

    def _start(self, host: str | None, command: str) -> _Counter:
        argv = ["/bin/sh", "-c", command] if host is None else [*self._agent, host, command]
        _LOG.debug("command", extra=fields(argv=argv))
        output = tempfile.TemporaryFile()  # noqa: SIM115  # closed when its answer is read
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=self._env,
            start_new_session=True,
        )
        self._on_start(process.pid)
        return _Counter(process, output)
