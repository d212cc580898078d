"""Report what tasks wait for when it changes, but not each time that only a number in it changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

_AGAIN_S = 30.0


class PendingReasons:
    """Remembers the last report of each task."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._reported: dict[str, tuple[str, float]] = {}

    def changes(self, waiting: Mapping[str, str]) -> Iterator[tuple[list[str], str]]:
        """Yield tasks and what they wait for, if that has changed; ``""`` means that they no longer wait.

        `waiting` has all tasks that exist.
        """
        now = self._clock()
        self._reported = {name: report for name, report in self._reported.items() if name in waiting}
        found: dict[str, list[str]] = {}
        for name, reason in waiting.items():
            before, at = self._reported.get(name, ("", now - _AGAIN_S))
            if reason != before and (not reason or not before or now - at >= _AGAIN_S):
                self._reported[name] = reason, now
                found.setdefault(reason, []).append(name)
        for reason, names in found.items():
            yield names, reason

    def forget(self) -> None:
        """Forget the last reports, because another message was printed for all tasks since."""
        self._reported.clear()
