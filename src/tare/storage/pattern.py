"""Read settings from the path of a file: ``results/{platform}/{mpi}/{started}/osu_alltoall.out``."""

from __future__ import annotations

import re

import msgspec

from tare.core.errors import UsageError

_TOKEN = re.compile(r"\{([^{}]*)\}|(\*\*/?)|(\*)|(\?)|([^{}*?]+)|([{}])")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


class Pattern(msgspec.Struct, frozen=True):
    """A pattern for paths. Each of `names` matches a part of the path, or a piece of a part."""

    text: str
    names: tuple[str, ...]
    regex: re.Pattern[str]

    def match(self, path: str) -> dict[str, str] | None:
        """Return the text of each name in `path`, None where the path does not match.

        The pattern may begin at any part of the path; of several matches, the one that begins last is used.
        Each name matches as little text as possible.
        """
        found = self.regex.fullmatch(path)
        return found and {name: found[f"n{index}"] for index, name in enumerate(self.names)}


def read_pattern(text: str) -> Pattern:
    """Return the pattern that `text` describes; ``*`` matches within one part, ``**`` across parts.

    A name that occurs twice must match the same text both times. Raises UsageError with the cure.
    """
    names: list[str] = []
    parts: list[str] = []
    for name, deep, star, one, plain, stray in _TOKEN.findall(text.removeprefix("./")):
        if plain:
            parts.append(re.escape(plain))
        elif deep:
            parts.append(r"(?:.*/)?" if deep.endswith("/") else ".*")
        elif star or one:
            parts.append("[^/]*" if star else "[^/]")
        elif stray:
            raise UsageError(
                f"--pattern {text}: a stray {stray!r}; write names in braces, such as {{platform}}"
            )
        elif name in names:
            parts.append(f"(?P=n{names.index(name)})")
        else:
            _require_name(name, text)
            parts.append(f"(?P<n{len(names)}>[^/]+?)")
            names.append(name)
    start = "" if text.startswith("/") else "(?:.*/)?"
    return Pattern(text, tuple(names), re.compile(start + "".join(parts), re.DOTALL))


def _require_name(name: str, text: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"--pattern {text}: {name!r} is no name; write letters, digits and _ in braces: {{nodes}}"
        )
