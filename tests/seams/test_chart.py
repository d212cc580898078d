"""A chart of the report is one file: the page, its pictures and its numbers have it at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from report.studies import answers_of, page_of, three_networks
from support.synthetic import make_campaign
from tare.core.errors import UsageError
from tare.report.charts import figures, kind
from tare.report.charts.drawing import Style
from tare.report.charts.kind import ChartFacts, ChartKind, ChartPart
from tare.report.charts.painting import Painter
from tare.report.charts.panels import Line, Panel
from tare.report.content import content
from tare.report.formats.page import render
from tare.report.writing import Format, write_report


def test_the_page_and_the_files_have_the_chart_of_another_package(stranger: Path, tmp_path: Path) -> None:
    campaign = three_networks(blocks=3)
    page = page_of(campaign)
    assert '<figure id="figure-stranger-time">' in page
    assert "<h3>Time taken</h3>" in page
    write_report(campaign, answers_of(campaign), tmp_path, formats=[Format.CSV])
    text = (tmp_path / "charts" / "stranger-time.csv").read_text()
    assert 'all,"time, s",host,nodes,2,2 nodes,3.0,,,s,1' in text


def broken(facts: ChartFacts) -> ChartPart | None:
    raise OSError("no socket")


def hollow(facts: ChartFacts) -> ChartPart | None:
    """Return a chart that only fails when it is drawn: a line without points."""
    variant = facts.variants.all[0]
    return ChartPart("Energy", "", [Panel("all", "energy, J", (Line(variant, ()),), "nodes", "J")])


@pytest.mark.parametrize(
    ("make", "why"), [(broken, "OSError: no socket"), (hollow, "ValueError:")], ids=["made", "drawn"]
)
def test_a_chart_that_fails_leaves_a_sentence_and_the_rest_of_the_report(
    make: Callable[[ChartFacts], ChartPart | None], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = (*kind.chart_kinds(), ChartKind("energy", Style("energy"), make, 0))
    monkeypatch.setattr(figures, "chart_kinds", lambda: kinds)
    campaign = three_networks(blocks=3)
    found = content(campaign, answers_of(campaign), painter=Painter())
    assert [one.name for one in found.figures] == ["time", "rate", "ratio", "nodes", "blocks"]
    assert f"The chart “energy” could not be made: {why}" in render(campaign, found)


def test_the_page_says_so_where_every_chart_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "chart_kinds", lambda: (ChartKind("energy", Style("energy"), broken),))
    campaign = three_networks(blocks=3)
    page = render(campaign, content(campaign, answers_of(campaign), painter=Painter()))
    assert "Which charts are missing?" in page
    assert "The chart “energy” could not be made: OSError: no socket." in page


@pytest.mark.parametrize(
    ("charts", "fault"),
    [
        (["energy"], "its CHARTS hold a str, not a ChartKind"),
        ([ChartKind("../energy", Style("energy"), broken)], "cannot be the name of a file"),
        ([ChartKind("time", Style("energy"), broken)], "another chart is called 'time' too"),
    ],
)
def test_what_is_no_chart_is_an_error_with_the_cure(
    charts: list[object], fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = SimpleNamespace(CHARTS=[ChartKind("time", Style("time"), broken)])
    both = {"own": own, "stranger": SimpleNamespace(CHARTS=charts)}
    monkeypatch.setattr(kind, "modules", lambda *_: both)
    kind.chart_kinds.cache_clear()
    with pytest.raises(UsageError, match=f"{fault}.*mend or uninstall the package"):
        kind.chart_kinds()


def test_without_that_package_the_report_has_none_of_it() -> None:
    assert "figure-stranger-time" not in page_of(make_campaign())
