"""Write a command as one line that every login shell reads alike, csh too. Pure.

ssh and its like pass a line to the user's login shell. Within single quotes, csh ends a word at a newline,
and replaces ``!word`` by a command of its history (csh(1), "History substitution"). POSIX shells do neither.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

_DECODE = 'eval "$(printf %b "$0")"'
_UNLIKE = re.compile(r"\n|!(?![ \t=(])")
_ESCAPES = {ord(sign): f"\\0{ord(sign):03o}" for sign in "\\'\n!"}


def for_login_shell(argv: Sequence[str]) -> str:
    """Return the line. Where shells would differ, a shell of POSIX decodes what they must not see."""
    text = shlex.join(argv)
    if not _UNLIKE.search(text):
        return text
    return shlex.join(["sh", "-c", _DECODE, f"exec {text}".translate(_ESCAPES)])
