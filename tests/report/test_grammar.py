"""Charts are Vega-Lite: each kind holds against its schema, which Altair carries."""

from __future__ import annotations

import json

import altair
import jsonschema
import pytest
import vl_convert

from report.studies import content_of, three_networks
from support.scales import make_application, usl
from support.synthetic import make_campaign
from tare.report.charts.drawing import Style, chart_spec, panel_charts
from tare.report.charts.node_timelines import node_timeline_charts
from tare.report.charts.painting import to_svg
from tare.report.charts.panels import Line, Panel, Point
from tare.report.charts.scripts import VEGALITE
from tare.report.charts.telemetry import Bar, Epoch, NodeTimeline
from tare.report.content import Content
from tare.report.variants import Variant

KINDS = ("figures", "time", "rate", "ratio", "nodes", "speedup", "efficiency", "blocks", "telemetry")


@pytest.fixture(scope="module")
def by_kind() -> dict[str, str]:
    """Return a chart of each kind."""
    scaled = make_application({"host": usl(6, 0.02, 0.0001), "overlay": usl(6, 0.02, 0.02)})
    numbers = make_campaign(ratio=1.5, noise=0.001, sizes=(65536,))
    contents: list[Content] = [content_of(one) for one in (three_networks(), scaled, numbers)]
    drawn = {figure.name: figure.specs[0] for found in contents for figure in found.figures}
    return drawn | {"telemetry": chart_spec(node_timeline_charts([timeline()])[0])}


def timeline() -> NodeTimeline:
    variant = Variant("host", is_reference=True, index=0)
    point = Point(x=0, y=50, low=None, high=None, at="0 s", value="50 %", interval="", n_blocks=1)
    panel = Panel("pingpong · 2 nodes", "CPU", (Line(variant, (point,)),), "time", "%")
    return NodeTimeline(panel, (Epoch(0, 2, 1),), (Bar(0, 1, 0, 50, "n1"),), ("n1",))


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_chart_is_valid(by_kind: dict[str, str], kind: str) -> None:
    altair.LayerChart.from_dict(json.loads(by_kind[kind]))


def test_a_misspelt_channel_is_not() -> None:
    chart = json.loads(chart_spec(node_timeline_charts([timeline()])[0]))
    chart["layer"][0]["encoding"]["x"]["scales"] = {}
    with pytest.raises(jsonschema.ValidationError, match="scales"):
        altair.LayerChart.from_dict(chart)


def test_the_schema_is_of_the_version_that_charts_are_drawn_with() -> None:
    assert altair.SCHEMA_VERSION.removeprefix("v").startswith(VEGALITE.split(".")[0] + ".")


@pytest.mark.parametrize("name", ["two\nlines", "a backslash at its end\\", 'a backslash before a quote\\"'])
def test_a_coordinate_of_any_name_is_drawn(name: str) -> None:
    point = Point(x=1, y=50, low=None, high=None, at="1", value="50 s", interval="", n_blocks=1)
    line = Line(Variant("host", is_reference=True, index=0), (point,))
    drawn = panel_charts([Panel("pingpong", "", (line,), name, "s")], Style("time"))
    assert to_svg(chart_spec(drawn[0])).startswith("<svg")
    compiled = json.dumps(vl_convert.vegalite_to_vega(chart_spec(drawn[0]), vl_version=VEGALITE))
    assert json.dumps(json.dumps(name))[1:-1] in compiled
