"""The interface of a report section.

To add one, define `SECTION` in a module in `report/sections/`. A section of sentences and tables needs no
more: every format of the report can show it. Another one brings an HTML template beside its module. Other
packages can register such a module under the entry point group ``tare.report_sections``. No other code has to
change.

Example::

    SECTION = Section(name="energy", title="What did it take from the socket?", after="charts", make=energy)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tare.core.campaign import Campaign
from tare.core.entry_points import installed, modules
from tare.core.errors import UsageError
from tare.report.charts.figures import Figure
from tare.report.charts.packets import PacketSizes
from tare.report.charts.scaling import Problems
from tare.report.report_statistics import ReportStatistics
from tare.report.value_tables import ValueTable
from tare.report.variants import Variant, Variants
from tare.report.words.accounting import Account
from tare.report.words.bounds import BoundRow
from tare.report.words.failures import failure_words

_LAST = 1000
"""The `order` of Tare's own sections: each comes after all others that stand after the same section."""

_FIRST = "answer"
_FOLDER, _GROUP = "tare.report.sections", "tare.report_sections"


class SectionFacts(NamedTuple):
    """The data from which a section is made; what several sections show is computed once.

    `account` counts the planned runs by state. `figures` are the drawn figures; there are none in the summary
    and in the LaTeX tables. `foms` are the figures of merit that a user chose; if empty, those that the
    workloads declare as primary are shown. `values` are the measured values of these, or of all figures.
    `chart_faults` are sentences on charts that could not be drawn.
    """

    campaign: Campaign
    variants: Variants
    statistics: ReportStatistics
    account: Account
    bounds: tuple[BoundRow, ...]
    scaling: Problems
    packet_sizes: tuple[PacketSizes, ...]
    figures: tuple[Figure, ...]
    values: tuple[ValueTable, ...] = ()
    foms: tuple[str, ...] = ()
    chart_faults: tuple[str, ...] = ()


class Sentence(NamedTuple):
    """A sentence without its full stop, with the case whose runs it is based on; `label` names that case.

    It may be based on runs of `more_cases`, too.
    """

    text: str
    case: str = ""
    label: str = ""
    more_cases: tuple[str, ...] = ()

    @property
    def cases(self) -> tuple[str, ...]:
        """Return all cases whose runs it is based on."""
        return (self.case, *self.more_cases) if self.case else ()


class Cell(NamedTuple):
    """A cell of a table; it has the colour of its `variant`, if any, and a number is aligned right.

    A cell that `is_best` is set in bold, with a star before it.
    """

    text: str
    variant: Variant | None = None
    is_number: bool = False
    is_best: bool = False


class SectionTable(NamedTuple):
    """A table; `summary` is the text of the control that opens it, `label` its name for screen readers.

    If `is_open`, the page shows it at once. If not `is_summarised`, only the page has it: it is too long for
    the Markdown summary and for paper.
    """

    summary: str
    label: str
    caption: str
    head: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    is_open: bool = False
    is_summarised: bool = True


class SectionText(NamedTuple):
    """The sentences and tables of a section."""

    sentences: tuple[Sentence, ...] = ()
    tables: tuple[SectionTable, ...] = ()

    @property
    def summarised_tables(self) -> tuple[SectionTable, ...]:
        """Return the tables that the Markdown summary and the LaTeX tables have."""
        return tuple(one for one in self.tables if one.is_summarised)


class Section(NamedTuple):
    """A section of the report.

    `name` is its id on the page, and `title` its heading, which is a question. It stands after the section
    `after`; of several after the same section, by `order`. The first one stands after ``answer``.

    `make` returns the content, or None if there is nothing to show. The content is a SectionText, which every
    format can show, unless the section has a `template`: an HTML file in which it is ``part``. If the content
    has a `heading`, that replaces `title`. If `is_summarised`, the Markdown summary and the LaTeX tables have
    the section's text too.
    """

    name: str
    title: str
    after: str
    make: Callable[[SectionFacts], object | None]
    order: int = 500
    is_summarised: bool = False
    template: Path | None = None


def own_section(
    module: str, title: str, after: str, make: Callable[[SectionFacts], object | None]
) -> Section:
    """Return a section of Tare: its name and its template are those of its `module`, a file name."""
    path = Path(module)
    return Section(path.stem, title, after, make, order=_LAST, template=path.with_suffix(".html"))


class MadeSection(NamedTuple):
    """A section, its heading, and its content for one campaign."""

    section: Section
    heading: str
    part: object


@functools.cache
def sections() -> tuple[Section, ...]:
    """Return all sections in their order.

    Raises UsageError if a package's module has no SECTION, or if a section stands after one that is unknown.
    """
    found = {name: getattr(one, "SECTION", None) for name, one in modules(_FOLDER, _GROUP).items()}
    for name in installed(_GROUP):
        if not isinstance(found[name], Section):
            raise UsageError(
                f"report section {name} has no SECTION; mend or uninstall the package that it comes from"
            )
    known = [one for one in found.values() if isinstance(one, Section)]
    ordered = tuple(_after(_FIRST, sorted(known, key=lambda one: (one.order, one.name))))
    for one in known:
        if one not in ordered:
            names = ", ".join([_FIRST, *(other.name for other in ordered)])
            raise UsageError(f"report section {one.name}: no {one.after!r}; use one of {names}")
    return ordered


def _after(name: str, known: Sequence[Section]) -> Iterator[Section]:
    """Yield the sections that stand after `name`, each followed by those after it."""
    for one in known:
        if one.after == name:
            yield one
            yield from _after(one.name, known)


def made_sections(facts: SectionFacts) -> Iterator[MadeSection]:
    """Yield each section that has a content; that of a section that fails is its error message."""
    for section in sections():
        try:
            part = section.make(facts)
        except Exception as error:  # a plug-in may raise anything
            why = failure_words(error)
            part = SectionText((Sentence(f"This section could not be made: {why}"),))
            section = section._replace(template=None)
        if part is not None:
            yield MadeSection(section, getattr(part, "heading", section.title), part)
