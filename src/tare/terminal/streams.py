"""Prepare the standard streams and the encoding of the process, before a command does anything else.

A closed standard stream would give its descriptor to the next file that is opened, such as the journal, and
what is printed would go there. In a locale that is not UTF-8, such as Latin-1 on older clusters, Python could
neither print all that Tare prints nor pass every argument to a program.
"""

from __future__ import annotations

import codecs
import io
import locale
import os
import sys
from typing import TextIO

from tare.terminal.descriptors import with_failures

_PLAIN = "tare.plain"
"""The name of the error handler that prints plain text for what an encoding does not have."""

_PLAIN_TEXT = {
    "−": "-",
    "–": "-",
    "—": "-",
    "‑": "-",
    "…": "...",
    "×": "x",
    "±": "+/-",
    "·": "*",
    "≥": ">=",
    "≤": "<=",
    "≈": "~",
    "→": "->",
    "▲": "^",
    "▼": "v",
    "■": "#",
    "●": "o",
    "✓": "ok",
    "µ": "u",
    "μ": "u",
    "’": "'",
    "‘": "'",
    "“": '"',
    "”": '"',
    "\u00a0": " ",
    "\u202f": " ",
    "\u2009": " ",
    "\u2007": " ",
}


def prepare() -> None:
    """Open closed standard streams on /dev/null, and continue in Python's UTF-8 mode where that is not on."""
    _open_closed()
    _require_utf8()
    codecs.register_error(_PLAIN, _in_plain_text)
    sys.stdout = _in_the_terminals_encoding(sys.stdout, 1)
    sys.stderr = _in_the_terminals_encoding(sys.stderr, 2)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # until the process ends


def _open_closed() -> None:
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)  # the lowest free descriptor: this one
            os.set_inheritable(nowhere, True)


def _require_utf8() -> None:
    """Start this program anew in UTF-8 mode (PEP 540), with the same pid, unless file names are UTF-8.

    An option of Python does that; a variable would also change the Python programs that are measured.
    """
    if sys.getfilesystemencoding() != "utf-8" and not sys.flags.utf8_mode and sys.executable:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606  # itself


def _in_the_terminals_encoding(stream: TextIO | None, descriptor: int) -> TextIO:
    """Return `stream`, so that it writes the locale's encoding, and plain text for what that lacks."""
    if stream is None:
        stream = open(descriptor, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  # until the process ends
    if isinstance(stream, io.TextIOWrapper):
        is_chosen = "PYTHONIOENCODING" in os.environ
        encoding = stream.encoding if is_chosen else _encoding()
        if codecs.lookup(encoding).name != "utf-8":
            stream.reconfigure(encoding=encoding, errors=_PLAIN)
        if _leads_to(stream, descriptor):  # a caller in the same process may have put another file there
            return with_failures(stream, descriptor)
    return stream


def _leads_to(stream: TextIO, descriptor: int) -> bool:
    try:
        return stream.fileno() == descriptor
    except OSError:  # it is in memory
        return False


def _encoding() -> str:
    """Return the encoding of the locale; as Python does (PEP 538), take UTF-8 for the C locale's ASCII."""
    found = locale.getencoding()
    try:
        return "utf-8" if codecs.lookup(found).name == "ascii" else found
    except LookupError:
        return "utf-8"


def _in_plain_text(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    plain = (_PLAIN_TEXT.get(one) or one.encode("ascii", "backslashreplace").decode() for one in lost)
    return "".join(plain), error.end
