"""The interface of a kind of chart.

To add one, define `CHARTS` in a module in `report/charts/kinds/`: the kinds of chart that it makes. Other
packages can register such a module under the entry point group ``tare.report_charts``. No other code has to
change: the page, its files and the tables behind its charts have it.

Example::

    CHARTS = (ChartKind("energy", Style("energy"), make=energy),)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tare.core.campaign import Campaign
from tare.core.entry_points import modules
from tare.core.errors import UsageError
from tare.core.values import Settings
from tare.report.charts.drawing import Style
from tare.report.charts.panels import Panel
from tare.report.report_statistics import ReportStatistics
from tare.report.variants import Variants

_FOLDER, _GROUP = "tare.report.charts.kinds", "tare.report_charts"


class ChartFacts(NamedTuple):
    """The data from which a chart is made.

    `base` are the settings of the side to which charts over one common base refer; empty if there is none.
    `foms` are the figures of merit that a user chose; if empty, those that charts show. `cases` are the
    cases that charts show. `requested` are the names of the kinds of chart that a user asks for.
    """

    campaign: Campaign
    variants: Variants
    statistics: ReportStatistics
    cases: frozenset[str]
    base: Settings
    foms: tuple[str, ...] = ()
    requested: frozenset[str] = frozenset()


class ChartPart(NamedTuple):
    """The title, the text and the panels of a chart."""

    title: str
    text: str
    panels: Sequence[Panel]


class ChartKind(NamedTuple):
    """A kind of chart.

    `name` is that of its files; a chart whose name begins with ``speedup`` or ``efficiency`` stands in the
    section on scaling. `make` returns the chart, or None if there is nothing to draw.
    """

    name: str
    style: Style
    make: Callable[[ChartFacts], ChartPart | None]


@functools.cache
def chart_kinds() -> tuple[ChartKind, ...]:
    """Return all kinds of chart, in the order of their modules' names."""
    found = modules(_FOLDER, _GROUP, ("CHARTS",))
    return tuple(kind for _, module in sorted(found.items()) for kind in module.CHARTS)


def made_charts(facts: ChartFacts) -> list[tuple[ChartKind, ChartPart]]:
    """Return each kind of chart that has panels, with them. Raises UsageError if one cannot be made."""
    made = ((kind, _part(kind, facts)) for kind in chart_kinds())
    return [(kind, part) for kind, part in made if part is not None and part.panels]


def _part(kind: ChartKind, facts: ChartFacts) -> ChartPart | None:
    try:
        return kind.make(facts)
    except Exception as error:  # a plug-in may raise anything
        why = f"{type(error).__name__}: {error}"
        raise UsageError(
            f"chart {kind.name}: {why}; mend or uninstall the package that it comes from"
        ) from error
