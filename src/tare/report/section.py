"""A section of the report that says all of itself in sentences and tables, for every format.

A module in `report/sections/` that has a `SECTION` is one, and so is what another package names under the
entry point group ``tare.report_sections``. The page, the summary and the LaTeX tables show it without a line
elsewhere:

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
"""The parts of the page after which a section may stand."""

_FOLDER, _GROUP = "tare.report.sections", "tare.report_sections"


class SectionFacts(NamedTuple):
    """What a section is made of."""

    campaign: Campaign
    sides: Variants
    answers: ReportAnswers


class Sentence(NamedTuple):
    """A sentence without its full stop, and the case whose runs are behind it, called `label`."""

    text: str
    case: str = ""
    label: str = ""


class Cell(NamedTuple):
    """A cell of a table; one of a `side` has its colour, a number stands right."""

    text: str
    side: Variant | None = None
    is_number: bool = False


class SectionTable(NamedTuple):
    """A table. `summary` is what opens it, `label` what it is called where it is heard."""

    summary: str
    label: str
    caption: str
    head: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]


class SectionText(NamedTuple):
    """What a section says."""

    sentences: tuple[Sentence, ...] = ()
    tables: tuple[SectionTable, ...] = ()


class Section(NamedTuple):
    """A section: its id on the page, its heading, which is a question, and where it stands.

    `make` returns what it says, None where that is nothing. One that `is_summarised` is also in the summary
    and among the tables of a paper. Of several at one place the lower `order` comes first.
    """

    name: str
    title: str
    after: str
    make: Callable[[SectionFacts], SectionText | None]
    order: int = 500
    is_summarised: bool = False


class MadeSection(NamedTuple):
    """A section and what it says of one campaign."""

    section: Section
    text: SectionText


@functools.cache
def sections() -> tuple[Section, ...]:
    """Return all sections that are made of sentences and tables, in their order.

    Raises UsageError where a package's is none, or stands nowhere.
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
    """Yield each section that has something to say; one that fails says so, and stops no other."""
    for section in sections():
        try:
            text = section.make(facts)
        except Exception as error:  # a plug-in may raise anything
            why = visible(f"{type(error).__name__}: {error}")
            text = SectionText((Sentence(f"This section could not be made: {why}"),))
        if text is not None:
            yield MadeSection(section, text)
