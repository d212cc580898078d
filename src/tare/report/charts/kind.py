"""The interface of a kind of chart.

To add one, define `CHARTS` in a module in `report/charts/kinds/`: the kinds of chart that it makes. Other
packages can register such a module under the entry point group ``tare.report_charts``. No other code has to
change: the page, its files and the tables behind its charts have it.

Example::

    CHARTS = (ChartKind("energy", Style("energy"), make=energy),)
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from tare.analysis.answering_figures import with_shown
from tare.core.campaign import Campaign
from tare.core.case import Pass
from tare.core.comparison import Estimate
from tare.core.entry_points import modules
from tare.core.errors import UsageError
from tare.core.values import Settings
from tare.report.charts.drawing import Style
from tare.report.charts.grammar import Chart
from tare.report.charts.packets import PacketSizes
from tare.report.charts.panels import Panel
from tare.report.charts.scaling import Problems
from tare.report.charts.telemetry import ReadTimeline
from tare.report.report_statistics import ReportStatistics
from tare.report.variants import Variants

MOST_PANELS = 12
"""The most panels of one figure: readers do not look at more, and a printed page has no room for more."""

_FOLDER, _GROUP = "tare.report.charts.kinds", "tare.report_charts"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class ChartFacts(NamedTuple):
    """The data from which a chart is made.

    `cases` are the cases that charts show. `base` are the settings of the side to which charts over one
    common base refer; empty if there is none. `foms` are the figures of merit that a user chose; if empty,
    charts show those that are primary or answer the question. `requested` are the names of the kinds of chart
    that a user asks for. `odd_runs` are the outliers, each as its case and its pass.
    """

    campaign: Campaign
    variants: Variants
    statistics: ReportStatistics
    cases: frozenset[str]
    base: Settings
    foms: tuple[str, ...]
    requested: frozenset[str]
    scaling: Problems
    packet_sizes: tuple[PacketSizes, ...]
    odd_runs: Collection[tuple[str, Pass]]
    read_timeline: ReadTimeline

    @property
    def shown_campaign(self) -> Campaign:
        """Return the campaign with the chosen figures, if any, as the only ones that charts show."""
        return with_shown(self.campaign, self.foms) if self.foms else self.campaign

    @property
    def estimates(self) -> list[Estimate]:
        """Return the estimates of the cases that charts show."""
        return self.statistics.estimates.of_cases(self.cases)

    @property
    def reference(self) -> str:
        """Return the name of the reference."""
        return self.variants.reference.name if self.variants.reference else "the reference"

    @property
    def margin(self) -> float:
        """Return the margin in which a difference counts as none, as a share."""
        return self.campaign.plan.margin


class Drawing(NamedTuple):
    """Charts that are not points and lines on two axes, one for each panel, with their descriptions."""

    charts: Sequence[Chart]
    descriptions: Sequence[str]


class ChartPart(NamedTuple):
    """The title, the text and the panels of a chart.

    `style` replaces that of the kind. If there is a `drawing`, that is shown; the panels hold its numbers.
    If it `is_continued`, more than MOST_PANELS are drawn, in several figures.
    """

    title: str
    text: str
    panels: Sequence[Panel]
    style: Style | None = None
    drawing: Drawing | None = None
    is_continued: bool = False


class ChartKind(NamedTuple):
    """A kind of chart.

    `name` is that of its files; a chart whose name begins with ``speedup`` or ``efficiency`` stands in the
    section on scaling. `make` returns the chart, or None if there is nothing to draw. Charts stand in the
    order of `order`; those with the same one, in that of their modules' names.
    """

    name: str
    style: Style
    make: Callable[[ChartFacts], ChartPart | None]
    order: int = 500


@functools.cache
def chart_kinds() -> tuple[ChartKind, ...]:
    """Return all kinds of chart, in their order.

    Raises UsageError if what a package registers is no kind of chart, or if two have the same name.
    """
    found = modules(_FOLDER, _GROUP, ("CHARTS",))
    kinds = [(name, kind) for name, module in sorted(found.items()) for kind in module.CHARTS]
    names = Counter(kind.name for _, kind in kinds if isinstance(kind, ChartKind))
    for module, kind in kinds:
        fault = ""
        if not isinstance(kind, ChartKind):
            fault = f"its CHARTS hold a {type(kind).__name__}, not a ChartKind"
        elif not _NAME.fullmatch(kind.name):
            fault = f"{kind.name!r} cannot be the name of a file; use letters, digits, '.', '_' and '-'"
        elif names[kind.name] > 1:
            fault = f"another chart is called {kind.name!r} too"
        if fault:
            raise UsageError(f"chart {module}: {fault}; mend or uninstall the package that it comes from")
    return tuple(sorted((kind for _, kind in kinds), key=lambda kind: kind.order))
