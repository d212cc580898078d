"""How fast an operator goes: a limit of its requests, and the queue of what it has to look at.

As client-go does both (golang.org/x/time/rate; client-go, util/workqueue).
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
    """How much an operator asks of the API server, a second and at once, and how often it looks at jobs."""

    qps: int = 5
    burst: int = 10
    queue_rate: int = 10
    queue_burst: int = 100

    def flags(self) -> dict[str, int]:
        """Return the real operator's options for it."""
        return dict(zip(_FLAGS, self, strict=True))

    def options(self) -> list[str]:
        """Return them as words of a command."""
        return [f"{flag}={value}" for flag, value in self.flags().items()]


DEFAULT = Limits()
"""Those of v0.8.2, where nobody changes them."""


class TokenBucket:
    """`burst` tokens at once, then `rate` a second. Threads may share it."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._n_tokens, self._counted_at = float(burst), clock()
        self._lock = threading.Lock()

    def reserve(self) -> float:
        """Take a token, which may be one of the future; return after how many seconds it may be used."""
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
    """Keys of jobs to look at, each when it is due, and by one thread at a time.

    Whatever happens to a job takes a token, even where the job is waiting already: after many changes the
    queue is late. What failed comes again, each time later.
    """

    def __init__(self, bucket: TokenBucket, clock: Callable[[], float] = time.monotonic) -> None:
        self._bucket, self._clock = bucket, clock
        self._due: dict[Key, float] = {}
        self._taken: set[Key] = set()
        self._n_adds: dict[Key, int] = {}  # since it was last done well
        self._changed = threading.Condition()

    def add(self, key: Key) -> None:
        """Let a job be looked at: as soon as limits allow."""
        with self._changed:
            n_before = self._n_adds.get(key, 0)
            self._n_adds[key] = n_before + 1
            retry_s = min(_FIRST_RETRY_S * 2 ** min(n_before, 30), _LAST_RETRY_S)
            due = self._clock() + max(retry_s, self._bucket.reserve())
            self._due[key] = min(due, self._due.get(key, due))
            self._changed.notify()

    def take(self, patience_s: float) -> Key | None:
        """Return the key that is due first, which is not given out again until `done`; None if none is."""
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
        """Give a key back; where it is not well, it comes again."""
        with self._changed:
            self._taken.discard(key)
            if is_well:
                self._n_adds.pop(key, None)
            self._changed.notify()
        if not is_well:
            self.add(key)
