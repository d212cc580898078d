"""Load the templates of the report; a user's own files can replace them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tare.core.errors import UsageError
from tare.core.verdict import verdicts
from tare.report.section import sections
from tare.report.words.changes import sign_legend

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = ("template.html", "glossary.html", "style.css", "page.js", "summary.md", "tables.tex")
"""The template files of the report. A user's template folder can replace any of them, and any of sections."""


class Plain(str):
    """Text that is already in the language of its template, and is not escaped."""

    __slots__ = ()


def html_environment(folder: Path | None) -> Environment:
    """Return the Jinja environment for HTML, in which every inserted value is escaped.

    Files in `folder` replace those of the same name in TEMPLATES, and those of sections. Raises UsageError if
    it has none of them.
    """
    return _environment(folder, is_html=True)


def text_environment(
    folder: Path | None, escape: Callable[[str], str], *, marks: str = "{%{{"
) -> Environment:
    """Return the Jinja environment for another text language; every inserted value goes through `escape`.

    `marks` are the characters that begin statements and insertions. They can be changed for languages in
    which braces have a meaning.
    """
    found = _environment(folder, is_html=False)
    found.finalize = lambda value: value if isinstance(value, Plain) else escape(str(value))
    statement, insertion = marks[:2], marks[2:]
    if statement != "{%":
        found = found.overlay(
            block_start_string=statement,
            block_end_string=statement[::-1].replace("<", ">"),
            variable_start_string=insertion,
            variable_end_string=insertion[::-1].replace("<", ">"),
            comment_start_string="<#",
            comment_end_string="#>",
        )
    return found


def _environment(folder: Path | None, *, is_html: bool) -> Environment:
    from jinja2 import (
        ChoiceLoader,
        Environment,
        FileSystemLoader,
        PackageLoader,
        StrictUndefined,
        select_autoescape,
    )

    own = [one.template for one in sections() if one.template]
    folders = dict.fromkeys(one.parent for one in own)
    loaders: list[FileSystemLoader | PackageLoader] = [
        PackageLoader("tare.report.formats", ""),
        *map(FileSystemLoader, folders),
    ]
    if folder is not None:
        names = (*TEMPLATES, *(one.name for one in own))
        if not any((folder / name).is_file() for name in names):
            raise UsageError(f"template {folder}: no file there is called {', '.join(names)}")
        loaders.insert(0, FileSystemLoader(folder))
    environment = Environment(
        loader=ChoiceLoader(loaders),
        autoescape=select_autoescape(["html"]) if is_html else False,  # noqa: S701  # escaped by `finalize`
        undefined=StrictUndefined,
        keep_trailing_newline=not is_html,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"verdicts": verdicts(), "sign_legend": sign_legend()}
    return environment
