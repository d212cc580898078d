"""Replace by pseudonyms what others must not read: names of hosts, projects and people, and paths.

Such names have no common form, so a user gives them: as words, or as patterns between slashes. The same word
has the same pseudonym in the whole campaign, so that a report stays readable. Patterns are matched in linear
time (Rust's regex), for any pattern and text::

    Pseudonyms(("acme", "/node[0-9]+/"), key).text("acme on node12")
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from tare.core.redaction import redact_text, redact_variables, redact_words

MOST_ENTRIES, LONGEST_ENTRY = 1000, 500
_SHORTEST_WORD = 2
_FIRST_MARK, _LAST_MARK = 0xF0000, 0xFFFFD
"""Private characters (plane 15) that stand for pseudonyms until all is replaced.

So no entry matches a part of a pseudonym.
"""

_MARKS = re.compile(f"[{chr(_FIRST_MARK)}-{chr(_LAST_MARK)}]")
_BETWEEN = re.compile("\ue000(.*?)\ue001", re.DOTALL)
_WHY = re.compile(r"^error: (.*)", re.MULTILINE)


class Pseudonyms(msgspec.Struct, frozen=True):
    """What to replace: `entries` are words, in upper or lower case, or patterns such as ``/node[0-9]+/``.

    The pseudonym of a word has the number of its place among the entries. Each text that a pattern matches
    gets a pseudonym of its own, a hash with `key`: without the key, nobody can try names until one fits.
    """

    entries: tuple[str, ...] = ()
    key: str = ""

    def text(self, text: str) -> str:
        """Return `text` with pseudonyms, and without what looks like a secret."""
        return redact_text(self.only(text))

    def argv(self, words: Sequence[str]) -> list[str]:
        """Return the words of a command with pseudonyms, and without what looks like a secret."""
        return redact_words([self.only(word) for word in words])

    def variables(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return environment variables with pseudonyms, and without what looks like a secret."""
        return redact_variables({self.only(name): self.only(value) for name, value in env.items()})

    def only(self, text: str) -> str:
        """Return `text` with pseudonyms; what looks like a secret stays."""
        if not self.entries or not text:
            return text
        found: list[str] = []

        def mark(pseudonym: str) -> str:
            if pseudonym not in found:
                found.append(pseudonym)
            return chr(_FIRST_MARK + found.index(pseudonym))

        text = _MARKS.sub("\ufffd", text.replace("\ue000", "\ufffd").replace("\ue001", "\ufffd"))
        for pattern in _patterns(self.entries):
            text = _replaced(pattern, text, lambda match: mark(self._pseudonym_of(match)))
        if (known := _words(self.entries)) is not None:
            words, number_of = known
            text = words.sub(lambda one: mark(_pseudonym(number_of(one[0]))), text)
        return _MARKS.sub(lambda one: found[ord(one[0]) - _FIRST_MARK], text)

    def _pseudonym_of(self, match: str) -> str:
        return _pseudonym(
            hashlib.blake2b(match.encode(), key=self.key.encode()[:64], digest_size=4).hexdigest()
        )


NO_PSEUDONYMS = Pseudonyms()


def fault_of_all(entries: Sequence[str]) -> str | None:
    """Return what is wrong with the first wrong one of `entries`, or with all; None if they are valid."""
    if len(entries) > MOST_ENTRIES:
        return f"more than {MOST_ENTRIES}; use patterns"
    faults = ((entry, fault_of(entry)) for entry in entries)
    return next((f"{entry[:100]!r} {fault}" for entry, fault in faults if fault), None)


def fault_of(entry: str) -> str | None:
    """Return what is wrong with an entry, with the cure; None for a valid one."""
    if len(entry) > LONGEST_ENTRY:
        return f"is longer than {LONGEST_ENTRY} characters; give several shorter ones"
    if is_pattern(entry):
        return _fault_of_pattern(entry[1:-1])
    if len(entry.strip()) < _SHORTEST_WORD or not entry.isprintable():
        return f"is no word to redact; give {_SHORTEST_WORD} or more printable characters, or /REGEX/"
    return None


def is_pattern(entry: str) -> bool:
    """Return whether an entry is a pattern: it stands between slashes."""
    return len(entry) > _SHORTEST_WORD and entry.startswith("/") and entry.endswith("/")


def merged(*lists: Iterable[str]) -> tuple[str, ...]:
    """Return entries in their order, each once, so that earlier entries keep their numbers."""
    return tuple(dict.fromkeys(entry for entries in lists for entry in entries))


def _fault_of_pattern(pattern: str) -> str | None:
    from polars.exceptions import PolarsError

    try:
        is_empty_matched = _replaced(pattern, "", lambda match: "x") != ""
    except PolarsError as error:
        why = _WHY.search(str(error))
        problem = why[1] if why else "not one that can be read"
        return (
            f"is no pattern: {problem}; write one of Rust's regex, which has no look-around or back-reference"
        )
    return "matches where nothing is; have it match at least one character" if is_empty_matched else None


def _pseudonym(number: object) -> str:
    return f"‹redacted-{number}›"


def _replaced(pattern: str, text: str, pseudonym_of: Callable[[str], str]) -> str:
    import polars as pl

    marked = pl.Series([text]).str.replace_all(f"(?m){pattern}", "\ue000${0}\ue001")[0]
    return _BETWEEN.sub(lambda one: pseudonym_of(one[1]), marked)


@functools.lru_cache(maxsize=64)
def _patterns(entries: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(entry[1:-1] for entry in entries if is_pattern(entry))


@functools.lru_cache(maxsize=64)
def _words(entries: tuple[str, ...]) -> tuple[re.Pattern[str], Callable[[str], int]] | None:
    """Return a pattern that matches any word, and a function for a word's number; None without words."""
    numbers = {entry.casefold(): at for at, entry in enumerate(entries, 1) if not is_pattern(entry)}
    if not numbers:
        return None
    longest = sorted((one for one in entries if not is_pattern(one)), key=len, reverse=True)
    found = re.compile("|".join(map(_whole, longest)), re.IGNORECASE)

    def number_of(word: str) -> int:
        return numbers.get(word.casefold()) or next(
            numbers[one.casefold()] for one in longest if re.fullmatch(re.escape(one), word, re.IGNORECASE)
        )

    return found, number_of


def _whole(word: str) -> str:
    """Return a pattern of a word that is not part of a longer one: ``n1`` is not in ``n10`` or ``bin1``."""
    return f"{_edge(word[0], '<!')}{re.escape(word)}{_edge(word[-1], '!')}"


def _edge(character: str, look: str) -> str:
    if character.isalpha():
        return rf"(?{look}[^\W\d_])"
    return rf"(?{look}\d)" if character.isdigit() else ""
