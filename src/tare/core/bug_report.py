"""Report an unexpected exception, whose text may come from another person's campaign or program.

Python prints a traceback unchanged, with all that the exception holds. Here, nothing in it controls a
terminal, forges a line, or shows what looks like a secret.
"""

from __future__ import annotations

import platform
import sys
import traceback
from types import TracebackType

import tare
from tare.core.counting import count
from tare.core.redaction import redact_text
from tare.core.visible_text import visible, visible_line

_MOST_SIGNS, _MOST_LINES = 2000, 400
"""Limits on one line and on a traceback: an exception may hold a whole file, or come from deep recursion."""


def traceback_of(error: BaseException) -> str:
    """Return the traceback of `error`, indented, so that no line of it looks like one of Tare's."""
    text = "".join(traceback.TracebackException.from_exception(error, compact=True).format())
    lines = visible(redact_text(text)).rstrip("\n").split("\n")
    if len(lines) > _MOST_LINES:
        half = _MOST_LINES // 2
        lines[half:-half] = [f"[ … {count(len(lines) - 2 * half, 'line')} left out … ]"]
    return "\n".join(f"  {_short(line)}" for line in lines)


def report_of(error: BaseException, words: list[str]) -> str:
    """Return the message about `error`, raised in the command `words`: what happened, and what to do."""
    name = visible_line(_short(words[0])) if words else ""
    return (
        f"tare: this is a defect of Tare, not of what you asked for: 'tare {name}' met a "
        f"{type(error).__name__} that it does not handle\n"
        f"{traceback_of(error)}\n"
        "tare: what is recorded stays as it is. Please report this: the lines above, "
        f"tare {tare.__version__}, Python {platform.python_version()}, {platform.system()} "
        f"{platform.machine()}, and the command.\n"
        "tare: read the lines first: no secrets, nor names of hosts and projects that others must not know. "
        "What looks like a secret was hidden; Tare cannot know all of them. See SECURITY.md for weaknesses."
    )


def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Write what `report_of` returns to standard error; it replaces `sys.excepthook`."""
    text = "tare: interrupted" if isinstance(error, KeyboardInterrupt) else _guarded_report(error)
    if sys.stderr is not None:
        sys.stderr.write(f"{text}\n")


def _guarded_report(error: BaseException) -> str:
    try:
        return report_of(error, sys.argv[1:])
    except Exception as second:  # otherwise Python would print all of it unchanged
        names = f"{type(error).__name__}, and {type(second).__name__} while reporting it"
        return f"tare: this is a defect of Tare: {names}"


def _short(line: str) -> str:
    return line if len(line) <= _MOST_SIGNS else f"{line[:_MOST_SIGNS]}…"
