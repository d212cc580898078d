"""What was derived from a value that does not change, kept beside it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar, cast

T = TypeVar("T")


class Memo:
    """Results by question; a question begins with the function that asks it, so that none are alike."""

    def __init__(self) -> None:
        self._found: dict[Hashable, object] = {}

    def get(self, question: Hashable, find: Callable[[], T]) -> T:
        """Return what `find` finds; it is called once for each `question`."""
        if question not in self._found:
            self._found[question] = find()
        return cast("T", self._found[question])
