"""Count packets on hosts while a run goes on."""

from __future__ import annotations

import os
import select
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from tare.backends import marks

_READY_S = 10.0
_ANSWER_S = 10.0


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
        self._env = {**os.environ, **(env or {}), marks.VARIABLE: label}
        self._on_start = on_start

    @contextmanager
    def count(self, commands: Mapping[str | None, str]) -> Iterator[dict[str | None, str]]:
        """Run the command of each host while entered; what it said is in the mapping at the end."""
        running = {host: self._start(host, command) for host, command in commands.items()}
        said: dict[str | None, str] = {}
        try:
            for process in running.values():
                if process.stdout is not None:
                    select.select([process.stdout], [], [], _READY_S)
            yield said
        finally:
            for host, process in running.items():
                said[host] = _answer(process)

    def _start(self, host: str | None, command: str) -> subprocess.Popen[bytes]:
        argv = ["/bin/sh", "-c", command] if host is None else [*self._agent, host, command]
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._env,
            start_new_session=True,
        )
        self._on_start(process.pid)
        return process


def _answer(process: subprocess.Popen[bytes]) -> str:
    """End a counter with its input, and return what it said."""
    try:
        out, _ = process.communicate(timeout=_ANSWER_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, _ = process.communicate()
    return out.decode(errors="replace")
