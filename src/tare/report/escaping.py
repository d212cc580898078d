"""Escape text for Markdown and for LaTeX, so that none of its characters acts as markup."""

from __future__ import annotations

import re

from tare.report.words.numbers import NARROW, SPACE, visible

_MARKDOWN = re.compile(r"([\\`*_\[\]#|<>~&@$])")
_BLANKS = re.compile(r"\s+")
_LIVE = re.compile(r"@(?=\w)|#(?=\d)|:(?=//)|www(?=\.)")
"""Characters that GitHub turns into a mention, an issue or a link, even if they are escaped."""

_DASHES = re.compile(r"-(?=-)")
"""Hyphens before a hyphen: LaTeX would make a dash of the two."""

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\char34}",
    "`": r"{\char96}",
    "[": "{[}",  # at the start of a row, LaTeX takes a bracket as an argument of the row's end before it
    "]": "{]}",
    "*": "{*}",  # and a star as its starred form
    SPACE: "~",
    NARROW: r"\,",
    "–": r"\textendash{}",
    "−": r"\ensuremath{-}",
    "×": r"\ensuremath{\times}",
    "±": r"\ensuremath{\pm}",
    "≈": r"\ensuremath{\approx}",
    "∞": r"\ensuremath{\infty}",
    "µ": r"\ensuremath{\mu}",
    "·": r"\textperiodcentered{}",
    "†": r"\dag{}",
    "▲": r"\ensuremath{\uparrow}",
    "▼": r"\ensuremath{\downarrow}",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "…": r"\ldots{}",
}


def markdown(text: str) -> str:
    """Return `text` escaped for GitHub-flavoured Markdown, on one line, also for a table."""
    line = _BLANKS.sub(" ", visible(text).replace(NARROW, SPACE).replace(SPACE, "\0")).strip()
    escaped = _MARKDOWN.sub(r"\\\1", line.replace("\0", SPACE))
    return _LIVE.sub(r"\g<0><!-- -->", escaped)


def latex(text: str) -> str:
    """Return `text` escaped for LaTeX; it needs no package except UTF-8 input.

    Letters that are not Latin are shown as their code points, since a document may have no font for them.
    """
    return _DASHES.sub("-{}", "".join(map(_latex, visible(text))))


def _latex(character: str) -> str:
    if character in _LATEX:
        return _LATEX[character]
    if character in "\n\t":
        return " "
    is_latin = character.isascii() or (character.isalpha() and "\u00c0" <= character <= "\u017f")
    return character if is_latin else rf"\texttt{{U+{ord(character):04X}}}"
