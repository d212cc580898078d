"""A package that is installed beside Tare, for as long as a test takes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tare.core import entry_points, telemetry_sources, transport_reports, verdict
from tare.plugins.collectors import facts
from tare.plugins.collectors.sampler import bundle
from tare.report import section
from tare.report.charts import kind

STRANGER = Path(__file__).parent / "stranger"
_READ_ONCE: tuple[Callable[[], None], ...] = (
    entry_points._by_group.cache_clear,
    verdict.verdicts.cache_clear,
    telemetry_sources.sources.cache_clear,
    telemetry_sources.figures.cache_clear,
    telemetry_sources.time_series.cache_clear,
    bundle.program.cache_clear,
    transport_reports.libraries.cache_clear,
    facts.sources.cache_clear,
    section.sections.cache_clear,
    kind.chart_kinds.cache_clear,
)


@pytest.fixture
def stranger(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Put the package on the path, where importlib.metadata finds its entry points."""
    monkeypatch.syspath_prepend(STRANGER)
    _forget()
    yield STRANGER
    monkeypatch.undo()
    _forget()


def _forget() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "stranger_tare"]:
        del sys.modules[name]
    for forget in _READ_ONCE:
        forget()
