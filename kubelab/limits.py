"""Limit the rate of an operator's requests, and queue the jobs that it must reconcile.

Both work as in client-go (golang.org/x/time/rate; client-go, util/workqueue).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

Key = tuple[str, str]
_FLAGS = (
    "--kube-api-qps", "--kube-api-burst", "--controller-queue-rate-limit", "--controller-queue-burst",
)  # fmt: skip
_FIRST_RETRY_S, _LAST_RETRY_S = 0.005, 1000.0


class Limits(NamedTuple):
    """The limits of an operator: requests to the API server, and jobs taken from the queue.

    Each has a rate per second and a burst.
    """

    qps: int = 5
    burst: int = 10
    queue_rate: int = 10
    queue_burst: int = 100

    def flags(self) -> dict[str, int]:
        """Return the limits by the names of the real operator's flags."""
        return dict(zip(_FLAGS, self, strict=True))

    def options(self) -> list[str]:
        """Return the flags as words of a command."""
        return [f"{flag}={value}" for flag, value in self.flags().items()]


DEFAULT = Limits()
"""The defaults of v0.8.2."""


class TokenBucket:
    """A rate limit: `burst` tokens at once, then `rate` tokens a second. Threads may share it."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._n_tokens, self._counted_at = float(burst), clock()
        self._lock = threading.Lock()

    def reserve(self) -> float:
        """Take a token, perhaps a future one; return after how many seconds it may be used."""
        with self._lock:
            now = self._clock()
            gained = (now - self._counted_at) * self._rate
            self._n_tokens = min(self._burst, self._n_tokens + gained) - 1
            self._counted_at = now
            return max(0.0, -self._n_tokens / self._rate)

    def wait(self) -> None:
        """Take a token, and wait until it may be used."""
        time.sleep(self.reserve())


class WorkQueue:
    """Keys of jobs to reconcile, each when it is due, and by one thread at a time.

    Every change of a job takes a token, even if the job is in the queue already, so the queue is late after
    many changes. A job that failed is queued again, with a longer delay each time.
    """

    def __init__(self, bucket: TokenBucket, clock: Callable[[], float] = time.monotonic) -> None:
        self._bucket, self._clock = bucket, clock
        self._due: dict[Key, float] = {}
        self._taken: set[Key] = set()
        self._n_adds: dict[Key, int] = {}  # since its last success
        self._changed = threading.Condition()

    def add(self, key: Key) -> None:
        """Queue a job, as soon as the limits allow."""
        with self._changed:
            n_before = self._n_adds.get(key, 0)
            self._n_adds[key] = n_before + 1
            retry_s = min(_FIRST_RETRY_S * 2 ** min(n_before, 30), _LAST_RETRY_S)
            due = self._clock() + max(retry_s, self._bucket.reserve())
            self._due[key] = min(due, self._due.get(key, due))
            self._changed.notify()

    def take(self, patience_s: float) -> Key | None:
        """Return the key that is due first, or None after `patience_s`.

        The key is not returned again until `done`.
        """
        end = self._clock() + patience_s
        with self._changed:
            while True:
                free = [(due, key) for key, due in self._due.items() if key not in self._taken]
                due, key = min(free, default=(end, None))
                now = self._clock()
                if key is not None and due <= now:
                    del self._due[key]
                    self._taken.add(key)
                    return key
                if now >= end:
                    return None
                self._changed.wait(min(due, end) - now)

    def done(self, key: Key, *, is_well: bool) -> None:
        """Give a key back after its job was reconciled; if that failed, the job is queued again."""
        with self._changed:
            self._taken.discard(key)
            if is_well:
                self._n_adds.pop(key, None)
            self._changed.notify()
        if not is_well:
            self.add(key)
