"""A cache of what was derived from a value that does not change."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar, cast

T = TypeVar("T")
_UNKNOWN = object()


class Memo:
    """Results by question; a question begins with the function that asks it, so that no two are alike."""

    def __init__(self) -> None:
        self._found: dict[Hashable, object] = {}

    def get(self, question: Hashable, find: Callable[[], T]) -> T:
        """Return the result of `find`, which is called once for each `question`."""
        found = self._found.get(question, _UNKNOWN)
        if found is _UNKNOWN:
            found = self._found[question] = find()
        return cast("T", found)
