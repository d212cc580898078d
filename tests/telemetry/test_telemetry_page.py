"""The page on telemetry against what it describes."""

from __future__ import annotations

from pathlib import Path

from tare.core.telemetry_sources import figures as telemetry_figures
from tare.plugins.collectors.sampler.bundle import source_texts

PAGE = (Path(__file__).parents[2] / "docs/telemetry.md").read_text()


def test_every_figure_is_on_the_page_with_its_unit_direction_and_meaning() -> None:
    for name, figure in telemetry_figures().items():
        assert f"| {name} | {figure.unit} | {figure.better or ''} | {figure.summary} |" in PAGE


def test_every_source_is_on_the_page() -> None:
    table = PAGE.partition("## Sources")[2].partition("## Figures")[0]
    for name in source_texts():
        assert name in table
