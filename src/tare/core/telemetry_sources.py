"""The sources of telemetry, and the figures and charts that each of them gives.

A source is one module (see tare.plugins.collectors.sampler.sources): what it reads on a node, and which
figures follow from that. The figures of all sources are listed here, for all code that computes, compares,
explains or prints them::

    >>> figures()["cpu_system"].unit
    '%'

A new file in that folder is a new source. Another package registers a module under the entry point group
``tare.telemetry_sources``.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import NamedTuple, Protocol, cast

import msgspec

from tare.core.entry_points import modules
from tare.core.workload import Better

_FOLDER, _GROUP = "tare.plugins.collectors.sampler.sources", "tare.telemetry_sources"
_NEEDED = ("HAS_PATHS", "ORDER", "FIGURES", "paths", "shorten", "counters", "figures")


class TelemetryFigure(msgspec.Struct, frozen=True):
    """A figure of telemetry. `better` is None where neither more nor less of it is good in itself."""

    unit: str
    better: Better | None
    summary: str


class TimeSeries(NamedTuple):
    """A quantity of nodes that is drawn against time: its title and unit.

    Those of a machine (cores, disks and memory) are taken from the first of its hosts; those of a network,
    from the hosts where ranks are.
    """

    title: str
    unit: str
    is_of_machine: bool


class Source(Protocol):
    """The interface of a source; see tare.plugins.collectors.sampler.sources for all of it."""

    HAS_PATHS: bool
    ORDER: int
    FIGURES: Mapping[str, tuple[str, str | None, str]]
    __file__: str

    def paths(self, root: str) -> list[str]:
        """Return the files to read on the node whose root is `root`."""
        ...

    def shorten(self, lines: list[str]) -> list[str]:
        """Return the parts of the files' lines that are worth keeping."""
        ...

    def counters(self, lines: list[str]) -> dict[str, float]:
        """Return named numbers from the lines that came back from a node."""
        ...

    def figures(self, stage: object) -> Mapping[str, float | None]:
        """Return the figures of a run, None for those that are not known."""
        ...


class DrawnSource(Source, Protocol):
    """A source that is also drawn against time."""

    TIME_SERIES: Mapping[str, tuple[str, str, bool]]

    def over_time(self, counted: dict[str, float], seconds: float, interface: str | None) -> dict[str, float]:
        """Return the values of one step of time."""
        ...


@functools.cache
def sources() -> dict[str, Source]:
    """Return all sources by name, in their order. Raises UsageError if a package's module is not a source."""
    known = cast("dict[str, Source]", modules(_FOLDER, _GROUP, _NEEDED))
    return dict(sorted(known.items(), key=lambda item: (item[1].ORDER, item[0])))


@functools.cache
def figures() -> dict[str, TelemetryFigure]:
    """Return every figure of telemetry, by its name without the prefix."""
    return {
        name: TelemetryFigure(unit, None if better is None else Better(better), summary)
        for source in sources().values()
        for name, (unit, better, summary) in source.FIGURES.items()
    }


@functools.cache
def time_series() -> dict[str, TimeSeries]:
    """Return the quantities that can be drawn against time, by name."""
    return {
        name: TimeSeries(*declared)
        for source in sources().values()
        for name, declared in getattr(source, "TIME_SERIES", {}).items()
    }


def drawn_against_time() -> dict[str, DrawnSource]:
    """Return the sources that give something to draw against time, by name."""
    found = {name: one for name, one in sources().items() if hasattr(one, "TIME_SERIES")}
    return cast("dict[str, DrawnSource]", found)
