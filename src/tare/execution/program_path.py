"""Find a program in the folders that a platform names, before the host's PATH."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from tare.core.user_files import open_given

_WITH_PATH = ("/bin/sh", "-c", 'PATH="$0:$PATH"; exec "$@"')
"""A command prefix that prepends folders to the host's PATH, and then executes the command that follows."""


def on_path(argv: list[str], folders: Sequence[str]) -> list[str]:
    """Return `argv` with the full path of its program, if `folders` have it.

    If the program is a script, or starts another program of `folders` as env(1) does, `folders` are also
    prepended to its PATH.
    """
    path = ":".join(folders)
    found = shutil.which(argv[0], path=path) if folders else None
    starts_others = any(shutil.which(word, path=path) for word in argv[1:] if _is_name(word))
    if not folders or not (starts_others or (found and _is_script(found))):
        return [found or argv[0], *argv[1:]]
    return [*_WITH_PATH, path, found or argv[0], *argv[1:]]


def _is_name(word: str) -> bool:
    return bool(word) and "/" not in word and not word.startswith("-")


def _is_script(path: str) -> bool:
    """Return whether the file at `path` is a script (starts with ``#!``), which may call other programs."""
    try:
        with open_given(Path(path)) as file:
            return file.read(2) == b"#!"
    except OSError:
        return False
