"""Find the exception at the end of a Python traceback: of one rank, a chain, a group, or a thread."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_BEGIN = re.compile(r"^[\s+]*(Exception Group )?Traceback \(most recent call last\):$")
_NESTED = re.compile(r"^(?:\s*[|+](?:-[-+ \d]*$)?)+ ?")
"""The prefix that Python puts before the lines of an exception group."""
_IGNORED = "Exception ignored in"
_IN_THREAD = re.compile(r"^Exception in thread .*:$")


def is_traceback(line: str) -> bool:
    """Return whether a traceback begins with this line."""
    return _BEGIN.match(line) is not None


def exception_of(lines: Sequence[str], begin: int) -> str:
    """Return the exception at the end of the traceback that starts at line `begin`.

    Of a chain of exceptions, return the last; of a group, all.
    """
    match = _BEGIN.match(lines[begin])
    if match is not None and match[1]:
        return "; ".join(_group(lines[begin + 1 :])) or lines[begin].strip()
    last = ""
    is_inside = True
    is_chained = False
    for line in lines[begin + 1 :]:
        if is_traceback(line):
            if last and not is_chained:
                break  # the traceback of another rank
            is_inside, is_chained = True, False
        elif is_inside and line.strip() and not line[0].isspace():
            last, is_inside = line.strip(), False
        elif "direct cause of the following" in line or "another exception occurred" in line:
            is_chained = True
    return last or lines[begin].strip()


def _group(below: Sequence[str]) -> Iterator[str]:
    """Yield an exception group and each exception in it."""
    for line in below:
        if not (match := _NESTED.match(line)):
            return
        text = line[match.end() :]
        if text.strip() and not text[0].isspace() and not is_traceback(text):
            yield text.strip()


def without_ignored(lines: Sequence[str]) -> list[str]:
    """Return the lines without ignored exceptions and without the heads of tracebacks of threads."""
    kept: list[str] = []
    is_ignored = False
    for line in lines:
        if line.startswith(_IGNORED):
            is_ignored = True
        elif not is_ignored:
            if not _IN_THREAD.match(line):
                kept.append(line)
        elif line.strip() and not line[0].isspace() and not is_traceback(line):
            is_ignored = False  # this is the last line of the ignored exception
    return kept
