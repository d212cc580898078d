"""How `tare init` asks and tells its user."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol


class Dialogue(Protocol):
    """How the user is asked and told. With `--yes` or without a terminal, the default is the answer."""

    def choose(self, question: str, options: Sequence[str], default: str) -> str:
        """Return one of `options`."""
        ...

    def ask(self, question: str, default: str) -> str:
        """Return a text."""
        ...

    def confirm(self, question: str) -> bool:
        """Return whether the user agrees; without a terminal, only if `--yes` says so."""
        ...

    def say(self, *lines: str) -> None:
        """Print lines."""
        ...

    def busy(self, what: str) -> AbstractContextManager[None]:
        """Show that something takes a while."""
        ...
