"""Say why a part of a report could not be made: a part may be another package's, and raise anything."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor

from tare.core.visible_text import visible


def failure_words(error: Exception) -> str:
    """Return why a part failed with `error`, without a full stop."""
    if isinstance(error, MemoryError):
        return "too little memory; free some, or raise its limit (ulimit -v, or of its job)"
    if isinstance(error, BrokenExecutor):
        return "the process that draws it was ended, as for lack of memory (ulimit -v, or of its job)"
    return visible(": ".join(filter(None, (type(error).__name__, str(error)))))
