"""The interface of a report section that consists of sentences and tables.

Every format of the report can show such a section. To add one, define `SECTION` in a module in
`report/sections/`. Other packages can register such a module under the entry point group
``tare.report_sections``. No other code has to change.

Example::

    SECTION = Section(name="energy", title="What did it take from the socket?", after="charts", make=energy)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tare.core.campaign import Campaign
from tare.core.entry_points import installed, modules
from tare.core.errors import UsageError
from tare.report.report_answers import ReportAnswers
from tare.report.variants import Variant, Variants
from tare.report.words.numbers import visible

PLACES = (
    "overview",
    "scaling",
    "charts",
    "curves",
    "why",
    "trust",
    "missing",
    "methods",
    "environment",
    "verdicts",
)
"""The parts of the page after which a section can be placed."""

_FOLDER, _GROUP = "tare.report.sections", "tare.report_sections"


class SectionFacts(NamedTuple):
    """The data from which a section is made."""

    campaign: Campaign
    sides: Variants
    answers: ReportAnswers


class Sentence(NamedTuple):
    """A sentence without its full stop, with the case whose runs it is based on; `label` names that case."""

    text: str
    case: str = ""
    label: str = ""


class Cell(NamedTuple):
    """A cell of a table; it has the colour of its `side`, if any, and a number is aligned right."""

    text: str
    side: Variant | None = None
    is_number: bool = False


class SectionTable(NamedTuple):
    """A table; `summary` is the text of the control that opens it, `label` its name for screen readers."""

    summary: str
    label: str
    caption: str
    head: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]


class SectionText(NamedTuple):
    """The sentences and tables of a section."""

    sentences: tuple[Sentence, ...] = ()
    tables: tuple[SectionTable, ...] = ()


class Section(NamedTuple):
    """A section of the report.

    `name` is its id on the page, and `title` its heading, which is a question. It is placed after the part
    `after`; sections after the same part are sorted by `order`. `make` returns the section's text, or None if
    there is nothing to say. If `is_summarised`, the Markdown summary and the LaTeX tables have it too.
    """

    name: str
    title: str
    after: str
    make: Callable[[SectionFacts], SectionText | None]
    order: int = 500
    is_summarised: bool = False


class MadeSection(NamedTuple):
    """A section and its text for one campaign."""

    section: Section
    text: SectionText


@functools.cache
def sections() -> tuple[Section, ...]:
    """Return all sections in their order.

    Raises UsageError if a package's module has no SECTION, or if a section's `after` is not one of PLACES.
    """
    found = {name: getattr(one, "SECTION", None) for name, one in modules(_FOLDER, _GROUP).items()}
    for name in installed(_GROUP):
        if not isinstance(found[name], Section):
            raise UsageError(
                f"report section {name} has no SECTION; mend or uninstall the package that it comes from"
            )
    known = [one for one in found.values() if isinstance(one, Section)]
    for one in known:
        if one.after not in PLACES:
            raise UsageError(f"report section {one.name}: no {one.after!r}; use one of {', '.join(PLACES)}")
    return tuple(sorted(known, key=lambda one: (one.order, one.name)))


def made_sections(facts: SectionFacts) -> Iterator[MadeSection]:
    """Yield each section that has a text; the text of a section that fails is its error message."""
    for section in sections():
        try:
            text = section.make(facts)
        except Exception as error:  # a plug-in may raise anything
            why = visible(f"{type(error).__name__}: {error}")
            text = SectionText((Sentence(f"This section could not be made: {why}"),))
        if text is not None:
            yield MadeSection(section, text)
