r"""Records: the format in which a shell script on a node prints several named texts on one output. Pure.

A record is ASCII's record separator, the name, the separator again, and the text up to the next record::

    \x1e/proc/net/dev\x1eeth0: 1 2 3\x1e/proc/loadavg\x1e0.00 0.01

No text file of /proc and /sys holds the separator.
"""

from __future__ import annotations

import shlex

SEPARATOR = "\x1e"

BEGIN_RECORD = "record() { printf '\\036%s\\036' \"$1\"; }\n"
"""The shell function that begins the record of a name."""


def print_file(path: str) -> str:
    """Return a shell command that prints a file as a record, empty if the file cannot be read."""
    return f"printf '\\036%s\\036' {shlex.quote(path)}; cat {shlex.quote(path)} 2>/dev/null;"


def read_records(text: str) -> dict[str, str]:
    """Return the texts of the records that a script printed, by name; empty records are left out.

    Text before the first record is ignored, and so is a last record that was cut inside its name.
    """
    parts = text.split(SEPARATOR)[1:]
    return {name: content for name, content in zip(parts[::2], parts[1::2], strict=False) if content}
