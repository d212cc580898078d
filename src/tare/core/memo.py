"""Caches of what was derived from a value that does not change."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar, cast

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


class Latest(Generic[T]):
    """The result for one subject, such as the case that runs now; that for another one replaces it."""

    def __init__(self) -> None:
        self._known: tuple[object, T] | None = None

    def get(self, subject: object, find: Callable[[], T]) -> T:
        """Return the result of `find`, which is called unless the same object was asked about before."""
        known = self._known
        if known is None or known[0] is not subject:
            known = self._known = (subject, find())
        return known[1]
