"""Charts in Python are safe to show and complete to save, whatever a campaign calls its levels."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import altair
import pytest

import tare
from support.synthetic import make_campaign, make_case, write_campaign
from tare.api.campaign import Campaign
from tare.report.charts.kind import chart_kinds

HOSTILE = "</script><script>alert(1)</script><!--<script>"


@pytest.fixture
def hostile(tmp_path: Path) -> Campaign:
    made = make_campaign([make_case("host"), make_case(HOSTILE)], ratio=1.3)
    return tare.open_campaign(write_campaign(made, tmp_path / "c"))


def test_no_name_ends_the_script_of_a_page_or_a_notebook(hostile: Campaign) -> None:
    charts = hostile.charts()
    assert any("alert(1)" in one.to_json() for one in charts.values())
    for chart in charts.values():
        shown = chart._repr_mimebundle_()
        for page in (chart.to_html(), str(shown)):
            assert not re.search(r"</script>\s*<script>alert|<!--<script", page)


def test_names_look_as_they_are(hostile: Campaign) -> None:
    texts = [json.dumps(json.loads(one.to_json()), ensure_ascii=False) for one in hostile.charts().values()]
    assert any(HOSTILE in text.replace("\u2060", "") for text in texts)


def test_a_page_saved_inline_needs_no_network(hostile: Campaign, tmp_path: Path) -> None:
    chart = next(iter(hostile.charts().values()))
    chart.save(tmp_path / "chart.html", inline=True)
    assert not re.search(r"<script[^>]* src=|\bimport\(|cdn\.", (tmp_path / "chart.html").read_text())
    with altair.renderers.enable("svg"):
        assert "<svg" in str(chart._repr_mimebundle_())


def test_a_campaign_that_measured_nothing_or_one_value_has_charts_or_none(tmp_path: Path) -> None:
    import msgspec

    made = make_campaign([make_case("host"), make_case("overlay")], ratio=1.3)
    for n_attempts in (0, 1):
        part = msgspec.structs.replace(made, attempts=made.attempts[:n_attempts])
        charts = tare.open_campaign(write_campaign(part, tmp_path / str(n_attempts))).charts()
        assert bool(charts) == bool(n_attempts)
        for chart in charts.values():
            assert chart.to_dict()["title"]


def test_a_chart_that_could_not_be_made_is_left_out_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_campaign(make_campaign(), tmp_path / "c")
    names = [*tare.open_campaign(folder).charts()]

    def fail(facts: object) -> None:
        raise ValueError("no such figure")

    broken = [kind._replace(make=fail) if kind.name == "ratio" else kind for kind in chart_kinds()]
    monkeypatch.setattr("tare.report.charts.figures.chart_kinds", lambda: broken)
    why = "The chart “ratio” could not be made: ValueError: no such figure"
    with pytest.warns(UserWarning, match=why) as said:
        found = tare.open_campaign(folder).charts()
    assert [*found] == [name for name in names if name != "ratio"]
    assert said[0].filename == __file__


def test_python_itself_prints_no_line_of_the_log() -> None:
    code = "import logging, tare.core.log as log; log.of('charts').warning('a chart could not be made')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
