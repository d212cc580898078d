"""Text that means nothing but itself, in Markdown and in LaTeX."""

from __future__ import annotations

import re

from tare.report.words.numbers import NARROW, SPACE, visible

_MARKDOWN = re.compile(r"([\\`*_\[\]#|<>~&@$])")
_BLANKS = re.compile(r"\s+")
_LIVE = re.compile(r"@(?=\w)|#(?=\d)|:(?=//)|www(?=\.)")
"""What GitHub turns into a mention, an issue or a link, even where it is escaped."""

_DASHES = re.compile(r"-(?=-)")
"""Two hyphens would be a dash."""

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
    "[": "{[}",  # after a row's end, a bracket would be its argument
    "]": "{]}",
    "*": "{*}",  # and a star its variant
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
    """Return `text` as GitHub-flavoured Markdown that shows just that, on one line, also in a table."""
    line = _BLANKS.sub(" ", visible(text).replace(NARROW, SPACE).replace(SPACE, "\0")).strip()
    escaped = _MARKDOWN.sub(r"\\\1", line.replace("\0", SPACE))
    return _LIVE.sub(r"\g<0><!-- -->", escaped)


def latex(text: str) -> str:
    """Return `text` as LaTeX that shows just that, with no package beyond the kernel and UTF-8 input.

    Letters beyond Latin ones, for which a document may have no font, are shown as their code points.
    """
    return _DASHES.sub("-{}", "".join(map(_latex, visible(text))))


def _latex(character: str) -> str:
    if character in _LATEX:
        return _LATEX[character]
    if character in "\n\t":
        return " "
    is_latin = character.isascii() or (character.isalpha() and "\u00c0" <= character <= "\u017f")
    return character if is_latin else rf"\texttt{{U+{ord(character):04X}}}"
