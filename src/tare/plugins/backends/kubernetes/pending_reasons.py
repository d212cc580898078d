"""Report what tasks wait for when it changes, but not each time that only a number in it changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

_AGAIN_S = 30.0


class PendingReasons:
    """Remembers the last report of each task."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._told: dict[str, tuple[str, float]] = {}

    def news(self, waiting: Mapping[str, str]) -> Iterator[tuple[list[str], str]]:
        """Yield tasks and what they wait for, if that has changed; ``""`` means that they no longer wait.

        `waiting` has all tasks that exist.
        """
        now = self._clock()
        self._told = {name: told for name, told in self._told.items() if name in waiting}
        found: dict[str, list[str]] = {}
        for name, words in waiting.items():
            before, at = self._told.get(name, ("", now - _AGAIN_S))
            if words != before and (not words or not before or now - at >= _AGAIN_S):
                self._told[name] = words, now
                found.setdefault(words, []).append(name)
        for words, names in found.items():
            yield names, words

    def forget(self) -> None:
        """Forget the last reports, because another message was printed for all tasks since."""
        self._told.clear()
