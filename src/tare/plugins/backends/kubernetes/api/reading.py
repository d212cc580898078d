"""Limit how long an answer may take as a whole; the client's own time-out begins anew with each part."""

from __future__ import annotations

import time
from collections.abc import Iterator

import httpx2

LONGEST_S = 300.0
"""A page of 500 large pods arrives in that time over 300 kbit/s."""


class _InTime(httpx2.SyncByteStream):
    """The body of an answer, which has to end before the time `until` of the monotonic clock."""

    def __init__(self, stream: httpx2.SyncByteStream, until: float) -> None:
        self._stream, self._until = stream, until

    def __iter__(self) -> Iterator[bytes]:
        for part in self._stream:
            if time.monotonic() > self._until:
                raise httpx2.ReadTimeout(f"its answer takes longer than {LONGEST_S:g} s")
            yield part

    def close(self) -> None:
        self._stream.close()


def read_in_time(answer: httpx2.Response) -> httpx2.Response:
    """Return an answer of a stream after its body was read. Raises ReadTimeout if that takes too long."""
    if isinstance(answer.stream, httpx2.SyncByteStream):
        answer.stream = _InTime(answer.stream, time.monotonic() + LONGEST_S)
    answer.read()
    return answer
