"""Limits on connections: how long each may take, and how many may be open.

uvicorn can limit connections too (`limit_concurrency`), but it refuses the newest one. Then the half-sent
requests of a stranger would keep the owner out. It also has no time-out for a request that never becomes
complete, or for a response that nobody reads. Here, if there are too many connections, a new one displaces
an older one: first one whose client has not shown the right to read.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import resource
import time

import msgspec
from uvicorn.protocols.http.h11_impl import H11Protocol

from tare.core.bug_report import traceback_of
from tare.core.counting import count

ACCEPTED_AT_ONCE = 32
"""Connections that the event loop accepts before it serves any of them; the kernel queues the others."""

_SPARE_FILES = 48  # for journals, logs, and the files that Python itself has open
_LOGGERS = ("uvicorn.error", "asyncio")


class Limits(msgspec.Struct, frozen=True):
    """The limits on connections.

    At most `total` are open, and at most `a_client` from one address. A request must be complete `request_s`
    seconds after the connection or the previous response. A client must read a response at `least_rate`
    bytes a second or faster, which is checked every `slow_s` seconds.
    """

    total: int = 256
    a_client: int = 128
    request_s: float = 10.0
    slow_s: float = 30.0
    least_rate: float = 1024.0

    @classmethod
    def of_this_process(cls) -> Limits:
        """Return limits that fit this process' limit of open files, with some files to spare."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        total = max(8, min(256, (soft - _SPARE_FILES - 2 * ACCEPTED_AT_ONCE) // 2))
        return cls(total=total, a_client=max(4, total * 3 // 4))


class Connections:
    """The connections of one server, oldest first."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._open: dict[Connection, None] = {}

    def add(self, new: Connection) -> None:
        """Add `new`; if there are too many connections, close another one first.

        Connections that have not shown the right to read are closed first, then idle ones. Among equals, the
        oldest is closed.
        """
        mine = [one for one in self._open if one.host == new.host]
        if len(mine) >= self.limits.a_client:
            self._end_one(mine)
        elif len(self._open) >= self.limits.total:
            self._end_one(list(self._open))
        self._open[new] = None

    def remove(self, one: Connection) -> None:
        """Forget a connection that has ended."""
        self._open.pop(one, None)

    def _end_one(self, candidates: list[Connection]) -> None:
        one = min(candidates, key=lambda one: (one.is_admitted, one.is_busy))  # the oldest, among equals
        self.remove(one)
        one.end()


class Connection(H11Protocol):
    """An HTTP connection that is closed if its request takes too long or its response is read too slowly."""

    guard: Connections
    """The server's connections, of which this is one; `guarded` sets it."""

    _was_admitted = False
    _waiting: asyncio.TimerHandle | None = None
    _slow: asyncio.TimerHandle | None = None

    @property
    def host(self) -> str:
        """Return the client's address."""
        return self.client[0] if self.client else ""

    @property
    def is_admitted(self) -> bool:
        """Return whether a request on this connection was admitted (live.access)."""
        self._was_admitted |= bool(self.scope and self.scope.get("is_admitted"))
        return self._was_admitted

    @property
    def is_busy(self) -> bool:
        """Return whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def end(self) -> None:
        """Close the connection at once, without sending the rest."""
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Register the connection, and start the time-out for the first request."""
        super().connection_made(transport)
        self.guard.add(self)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection from the list, and stop its time-out."""
        self.guard.remove(self)
        self._stop_waiting()
        super().connection_lost(exc)  # which resumes writing

    def data_received(self, data: bytes) -> None:
        """Read data; if the request is complete, stop the time-out."""
        super().data_received(data)
        if self.is_busy:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Start the time-out for the next request, unless it has already arrived."""
        self._was_admitted = self.is_admitted
        super().on_response_complete()
        if not self.is_busy and not self.transport.is_closing():
            self._wait()

    def pause_writing(self) -> None:
        """Start to check how fast the client reads the response."""
        super().pause_writing()
        self._watch(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Stop checking: the client has read enough."""
        super().resume_writing()
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None

    def _wait(self) -> None:
        self._stop_waiting()
        self._waiting = self.loop.call_later(self.guard.limits.request_s, self.end)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _watch(self, n_before: int) -> None:
        self._slow = self.loop.call_later(self.guard.limits.slow_s, self._look, n_before)

    def _look(self, n_before: int) -> None:
        left, limits = self.transport.get_write_buffer_size(), self.guard.limits
        if n_before - left < limits.least_rate * limits.slow_s:
            self.end()
        else:
            self._watch(left)


def guarded(connections: Connections) -> type[Connection]:
    """Return a protocol class for uvicorn whose instances register with `connections`."""
    return type("Guarded", (Connection,), {"guard": connections})


class RateLimit(logging.Filter):
    """A filter that passes at most `most` records a minute, so that invalid requests cannot fill a log.

    The first record of the next minute says how many were left out. Control characters in tracebacks are made
    harmless, so that a request cannot control a terminal.
    """

    def __init__(self, most: int = 10) -> None:
        super().__init__()
        self._most = most
        self._until = 0.0
        self._counter = itertools.count()
        self._n_left_out = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether `record` passes."""
        now = time.monotonic()
        if now >= self._until:
            if self._n_left_out:
                left_out = count(self._n_left_out, "such message was", "such messages were")
                record.msg = f"{record.getMessage()} ({left_out} left out)"
                record.args = ()
            self._until, self._counter, self._n_left_out = now + 60, itertools.count(), 0
        is_let_through = next(self._counter) < self._most
        self._n_left_out += not is_let_through
        if is_let_through and record.exc_info and record.exc_info[1] is not None:
            record.exc_text = traceback_of(record.exc_info[1])
        return is_let_through


_rate_limit = RateLimit()


def limit_logs() -> None:
    """Limit what uvicorn and asyncio log about invalid requests."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_rate_limit)
