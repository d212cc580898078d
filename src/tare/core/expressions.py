"""The common base of Tare's conditions and rules: a text read from left to right, and its logic.

    or  = and {"or" and}
    and = not {"and" not}
    not = "not" not | term

Each language defines its terms: ``nodes > 2`` in the `where` and `exclude` of a study (config.expression),
``overhead(network=overlay) > 5 %`` in a rule of `tare check` (analysis.rule_parser).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
_R = TypeVar("_R")

_SPACE = re.compile(r"\s*")


class ExpressionError(ValueError):
    """A fault in a text, and its column, counted from 1."""

    def __init__(self, column: int, message: str) -> None:
        super().__init__(message)
        self.column = column
        self.message = message


class Logic(Generic[T]):
    """Reads `text`, from left to right, as terms that are joined by ``or``, ``and`` and ``not``.

    `at` is the current position, counted from 0. `too_deep` is the cure in the fault for brackets, ``not``
    and signs that are nested too deep.
    """

    too_deep = "split it"
    _DEEPEST = 50

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._depth = 0

    def whole(self) -> T:
        """Return the meaning of the whole text. Raises ExpressionError at its first fault."""
        found = self.either()
        self.skip_space()
        if self.at < len(self.text):
            raise self.stray()
        return found

    def either(self) -> T:
        """Return the next terms with the logic that joins them."""
        return self._joined("or", self._both)

    def nested(self, read: Callable[[], _R]) -> _R:
        """Return what `read` returns, one level deeper. Raises ExpressionError where that is too deep."""
        self._depth += 1
        if self._depth > self._DEEPEST:
            raise self.fault(f"nested too deep; {self.too_deep}", self.at)
        try:
            return read()
        finally:
            self._depth -= 1

    def term(self) -> T:
        """Return the next term."""
        raise NotImplementedError

    def joined(self, parts: list[T], *, is_all: bool) -> T:
        """Return two or more parts as one: all of them, or any."""
        raise NotImplementedError

    def negated(self, part: T) -> T:
        """Return the opposite of a part."""
        raise NotImplementedError

    def stray(self) -> ExpressionError:
        """Return the fault of text at a place where nothing more may follow."""
        return self.fault("expected 'and', 'or' or the end of the rule")

    @property
    def column(self) -> int:
        """Return the current column, counted from 1."""
        return self.at + 1

    def skip_space(self) -> None:
        """Move to the next character that is not space."""
        self.match(_SPACE)

    def match(self, pattern: re.Pattern[str]) -> str:
        """Return what `pattern` matches here, and move past it; empty where it does not match."""
        found = pattern.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found[0]

    def take(self, sign: str) -> bool:
        """Move past `sign` if it comes next, after space; return whether it does."""
        self.skip_space()
        if self.text.startswith(sign, self.at):
            self.at += len(sign)
            return True
        return False

    def take_word(self, word: str) -> bool:
        """Move past `word` if it comes next as a whole word; return whether it does."""
        self.skip_space()
        return bool(self.match(re.compile(rf"{word}\b")))

    def require(self, sign: str, message: str) -> None:
        """Move past `sign`. Raises ExpressionError with `message` where it does not come next."""
        if not self.take(sign):
            raise self.fault(message)

    def fault(self, message: str, column: int | None = None) -> ExpressionError:
        """Return the error to raise for the text at `column`, or at the current position."""
        return ExpressionError(self.column if column is None else column, message)

    def _both(self) -> T:
        return self._joined("and", self._negation)

    def _joined(self, word: str, part: Callable[[], T]) -> T:
        parts = [part()]
        while self.take_word(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else self.joined(parts, is_all=word == "and")

    def _negation(self) -> T:
        return self.negated(self.nested(self._negation)) if self.take_word("not") else self.term()
