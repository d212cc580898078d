"""Make text from other sources safe to show: nothing in it hides, reorders or controls other text."""

from __future__ import annotations

import re
import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_BEYOND = re.compile(r"[^\x00-\x7e]")
_SUSPECT = re.compile(r"[^\t\x20-\x7e]")
"""Characters that may hide; all others stay as they are."""


def visible(text: str) -> str:
    """Return `text` with each character that would hide or reorder others replaced by a visible one.

    Control characters become Unicode's control pictures (␛ for escape). Format characters (such as the
    overrides of the bidirectional algorithm, UAX 9), line separators and noncharacters become their code
    point. No XML may hold them, and the renderer of SVG aborts the whole process when it finds one.
    """
    if text.isprintable():
        return text
    return "\n".join(
        line if line.replace("\t", " ").isprintable() else _SUSPECT.sub(_picture, line)
        for line in text.split("\n")
    )


def visible_line(text: str) -> str:
    """Return `text` made visible on one line: line ends become signs, too, so that no line is forged."""
    return visible(text).replace("\n", "␊")


def said_line(text: str, most: int) -> str:
    """Return what a program said on one visible line, of at most `most` characters, of which … is the last
    where there were more.
    """
    shown = visible(" ".join(text.split()))
    return shown if len(shown) <= most else f"{shown[: most - 1].rstrip()}…"


def visible_json(text: str) -> str:
    """Return JSON of the same value, with what `visible` replaces written as escapes (RFC 8259, 7)."""
    return text if text.isascii() and "\x7f" not in text else _BEYOND.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if not _is_hidden(character):
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _picture(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return f"⟨U+{code:04X}⟩" if _is_hidden(character) else character


def _is_hidden(character: str) -> bool:
    code = ord(character)
    is_noncharacter = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    return is_noncharacter or unicodedata.category(character) in _HIDDEN
