"""Wait for the end of an outage of the API server; jobs go on meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tare.core.errors import BackendError
from tare.plugins.backends.kubernetes.api.connection import NotAnApiServer, Outage

_Answer = TypeVar("_Answer")

_OUTAGE_S = 600.0  # an API server that restarts, or fails over, is back within minutes
_RETRY_S = 2.0
_REQUESTS = "requests"


class OutageWait:
    """Waits up to ten minutes for the end of an outage.

    An API server may fail to serve one kind of object and serve all others. So the outage of each source,
    which is a watch or the single requests, has a limit of its own. `report` is called with the reason of the
    first, and with an empty text when all are over. Refused credentials count as an outage only if the server
    `has_answered` before: otherwise no job is running yet.
    """

    def __init__(
        self,
        has_answered: Callable[[], bool],
        report: Callable[[str], None],
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self._has_answered = has_answered
        self._report = report
        self._clock = clock
        self._sleep = sleep
        self._since: dict[str, float] = {}

    def retry(self, ask: Callable[[], _Answer]) -> _Answer:
        """Return the result of `ask`, once the API server answers. Raises Refusal, or Outage if it lasts."""
        while True:
            try:
                answer = ask()
            except Outage as outage:
                self.record(outage, _REQUESTS, is_final=False)
                self._sleep(max(_RETRY_S, outage.retry_after_s))
            else:
                self.end(_REQUESTS)
                return answer

    def end(self, source: str) -> None:
        """Record that the API server answers `source`."""
        if self._since.pop(source, None) is not None and not self._since:
            self._report("")

    def record(self, error: BackendError, source: str, *, is_final: bool) -> None:
        """Record an outage of `source`; raise `error` if it has lasted too long, or `is_final`."""
        now = self._clock()
        if not self._since:
            self._report(f"{error}; it is asked again for {_OUTAGE_S / 60:.0f} minutes")
        since = self._since.setdefault(source, now)
        is_first = isinstance(error, NotAnApiServer) and not self._has_answered()
        if is_final or is_first or now - since > _OUTAGE_S:
            raise error
