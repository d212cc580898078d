"""A chart of the report is one file: the page, its pictures and its numbers have it at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from report.studies import answers_of, content_of, page_of, three_networks
from support.synthetic import make_campaign
from tare.core.errors import UsageError
from tare.report.charts import kind
from tare.report.charts.drawing import Style
from tare.report.charts.kind import ChartFacts, ChartKind
from tare.report.writing import Format, write_report


def test_the_page_and_the_files_have_the_chart_of_another_package(stranger: Path, tmp_path: Path) -> None:
    campaign = three_networks(blocks=3)
    page = page_of(campaign)
    assert '<figure id="figure-stranger-time">' in page
    assert "<h3>Time taken</h3>" in page
    write_report(campaign, answers_of(campaign), tmp_path, formats=[Format.CSV])
    text = (tmp_path / "charts" / "stranger-time.csv").read_text()
    assert 'all,"time, s",host,nodes,2,2 nodes,3.0,,,s,1' in text


def test_a_chart_that_fails_names_itself_and_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(facts: ChartFacts) -> None:
        raise OSError("no socket")

    monkeypatch.setattr(kind, "chart_kinds", lambda: (ChartKind("energy", Style("energy"), broken),))
    with pytest.raises(UsageError, match="chart energy: OSError: no socket; mend or uninstall the package"):
        content_of(make_campaign())


def test_without_that_package_the_report_has_none_of_it() -> None:
    assert "figure-stranger-time" not in page_of(make_campaign())
