"""Write a command as text for sh(1) that runs exactly this command.

Characters that are not printable become octal codes of printf(1). So the text hides nothing from its reader,
and cannot steer a terminal.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from tare.core.launch import Invocation

_PLAIN = re.compile(r"[A-Za-z0-9 .,:/_=+-]")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NEW_LINES = re.compile(r"(\n+)")

_OF_SHELLS = (
    "! . : [ [[ alias bg bind break builtin caller case cd chdir command compgen complete continue "
    "coproc declare dirs disown do done echo elif else enable esac eval exec exit export false fc fg "
    "fi for function getopts hash help history if in jobs kill let local logout mapfile popd printf "
    "pushd pwd read readarray readonly return select set shift shopt source suspend test then time "
    "times trap true type typeset ulimit umask unalias unset until wait while { }"
)
"""Words that sh(1), dash or bash, interprets itself instead of starting a program."""

_KEPT_BY_SHELLS = (
    "BASHOPTS BASHPID BASH_ENV BASH_VERSINFO ENV EUID FUNCNAME GROUPS HISTCMD IFS LINENO OLDPWD "
    "OPTIND PATH PPID PWD RANDOM SECONDS SHELLOPTS SHLVL UID _"
)
"""Variables that shells set, check or protect themselves; env(1) passes them on unchanged."""


def comment(text: str) -> str:
    """Return `text` as a comment line of a shell script."""
    return f"# {_escaped(text)}"


def command(invocation: Invocation) -> str:
    """Return text that runs `invocation`, with one line for each variable. Raises ValueError for a NUL."""
    first, *others = invocation.argv
    words = [f"{_name(name)}={quote(value)}" for name, value in invocation.env.items()]
    is_plain = all(
        _VARIABLE.fullmatch(name) and name not in _KEPT_BY_SHELLS.split() for name in invocation.env
    )
    if "=" in first or first.startswith("-"):  # env(1) would take it for a variable or an option
        called = ["sh", "-c", quote('"$0" "$@"'), quote(first)]
    else:
        called = [quote(first)]
    if words and not (is_plain and first not in _OF_SHELLS.split()):
        words.insert(0, "env")
    elif first in _OF_SHELLS.split():
        called.insert(0, "env")
    return " \\\n  ".join([*words, " ".join([*called, *map(quote, others)])])


def copies(sources: Mapping[str, str]) -> Iterator[str]:
    """Yield text that copies files and folders into the working folder, by their names there."""
    for name, source in sources.items():
        path = posixpath.normpath(name)
        folder = posixpath.dirname(path)
        if folder:
            yield f"mkdir -p -- {quote(folder)}"
        yield f"cp -rLT -- {quote(source)} {quote(path)}"


def files(contents: Mapping[str, str]) -> Iterator[str]:
    """Yield text that writes files into the working folder, byte for byte, and makes their folders."""
    for name, content in contents.items():
        path = posixpath.normpath(name)
        folder = posixpath.dirname(path)
        if folder:
            yield f"mkdir -p -- {quote(folder)}"
        lines = content.split("\n")
        if content.endswith("\n") and not any(_hides(line) for line in lines):
            end = _unlike("END", lines)
            yield f"cat > {quote(path)} <<'{end}'\n{content}{end}"
        else:
            yield f"printf %s {quote(content)} > {quote(path)}"


def quote(text: str) -> str:
    """Return `text` as one word of the shell. Raises ValueError for a NUL, which no argument can contain."""
    if "\0" in text:
        raise ValueError("no argument can hold a NUL character")
    if not _hides(text):
        return shlex.quote(text)
    return "".join(map(_line, filter(None, _NEW_LINES.split(text))))


def _line(text: str) -> str:
    if text.startswith("\n"):
        return f"'{text}'"
    if not _hides(text):
        return shlex.quote(text)
    codes = "".join(one if _PLAIN.fullmatch(one) else _codes(one) for one in text)
    return f"\"$(printf %b '{codes}')\""


def _codes(text: str) -> str:
    return "".join(f"\\0{byte:03o}" for byte in text.encode(errors="surrogateescape"))


def _hides(text: str) -> bool:
    """Return whether `text` has characters, other than newlines, that are not printable."""
    return not text.replace("\n", "").isprintable()


def _escaped(text: str) -> str:
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def _unlike(word: str, lines: Sequence[str]) -> str:
    """Return `word`, with a number appended if one of `lines` equals it."""
    taken, number, end = frozenset(lines), 1, word
    while end in taken:
        number += 1
        end = f"{word}{number}"
    return end


def _name(name: str) -> str:
    if not name or "=" in name or "\0" in name:
        raise ValueError(f"no environment can hold a variable called {name!r}")
    return quote(name)
