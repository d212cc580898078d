"""Charts: what is drawn is what was estimated, on scales that compare."""

from __future__ import annotations

import itertools
import json
import math
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.studies import answers_of, content_of, part_of, three_networks
from support.synthetic import SIZES, make_campaign, make_case
from tare.report.charts import palette
from tare.report.charts.axes import Domain, x_axis
from tare.report.charts.labels import end_labels, shortened
from tare.report.charts.panels import Panel
from tare.report.content import Content
from tare.report.sections.charts import Charts
from tare.report.sections.overview import Overview


@pytest.fixture(scope="module")
def found() -> Content:
    return content_of(three_networks())


def specs(found: Content, name: str) -> list[dict[str, Any]]:
    (figure,) = [figure for figure in found.figures if figure.name == name]
    return [json.loads(text) for text in figure.specs]


def rows(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for values in spec["datasets"].values() for row in values if "side" in row]


def y_domain(spec: dict[str, Any]) -> list[float]:
    domain: list[float] = spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
    return domain


def test_there_is_a_panel_for_each_configuration_and_a_line_for_each_variant(found: Content) -> None:
    panels = specs(found, "time")
    assert [panel["title"]["text"].replace("\u202f", " ") for panel in panels] == [
        "synthetic.pingpong · 2 nodes",
        "synthetic.pingpong · 4 nodes",
    ]
    assert all({row["side"] for row in rows(panel)} == {"host", "overlay", "macvlan"} for panel in panels)


def test_points_are_the_estimates(found: Content) -> None:
    estimates = [one for one in answers_of(three_networks()).estimates if one.fom == "latency"]
    drawn = sorted({row["y"] for panel in specs(found, "time") for row in rows(panel)})
    assert drawn == pytest.approx(sorted(one.value for one in estimates), rel=1e-5)


def test_panels_of_one_unit_share_their_scale(found: Content) -> None:
    for name in ("time", "rate", "ratio", "blocks"):
        domains = [y_domain(panel) for panel in specs(found, name)]
        assert len(domains) >= 2
        assert all(domain == domains[0] for domain in domains)


def test_the_reference_is_the_strongest_line_in_ink(found: Content) -> None:
    drawn = rows(specs(found, "time")[0])
    strongest = max(drawn, key=lambda row: float(row["width"]))
    assert (strongest["side"], strongest["colour"]) == ("host", palette.INK.light)
    assert all(row["side"] == "host" for row in drawn if row["width"] == strongest["width"])
    assert len({row["colour"] for row in drawn}) == 3


def test_ratios_are_held_against_a_line_at_one_and_the_margin_about_it(found: Content) -> None:
    layers = specs(found, "ratio")[0]["layer"]
    (band,) = [layer for layer in layers if layer["mark"]["type"] == "rect"]
    (row,) = specs(found, "ratio")[0]["datasets"][band["data"]["name"]]
    assert (row["low"], row["one"], row["high"]) == pytest.approx((1 / 1.02, 1, 1.02))


def test_every_measured_run_is_a_point_in_its_block(found: Content) -> None:
    points = [row for panel in specs(found, "blocks") for row in rows(panel)]
    assert len(points) == len(three_networks().measured())
    logs = [math.log(row["y"]) for row in points if row["side"] == "overlay"]
    assert sum(logs) == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (65536, 262144, [65536, 131072, 262144]),
        (1, 1024, [1, 8, 64, 512]),
        (1, 65536, [1, 16, 256, 4096, 65536]),
        (1, 4194304, [1, 64, 4096, 262144]),
        (8, 8, [8]),
        (0.1, 0.6, [0.5]),
    ],
)
def test_an_axis_of_sizes_names_as_many_as_stand_apart(low: float, high: float, ticks: list[float]) -> None:
    panel = Panel(title="ping-pong", subtitle="", lines=(), x="bytes")
    axis = x_axis(panel, Domain(low * 0.9, high * 1.1, is_log=True))["axis"]
    assert isinstance(axis, dict)
    assert axis["values"] == ticks


def test_a_message_of_no_bytes_has_a_place_on_the_logarithmic_axis() -> None:
    campaign = make_campaign(sizes=(0, *SIZES), blocks=3)
    (panel,) = specs(content_of(campaign), "time")
    assert min(row["x"] for row in rows(panel)) == 0.5
    assert panel["layer"][0]["encoding"]["x"]["scale"]["domain"][0] > 0


def test_overall_ratios_are_drawn_against_nodes_only_where_there_are_several(found: Content) -> None:
    assert {row["x"] for row in rows(specs(found, "nodes")[0])} == {2, 4}
    alone = content_of(make_campaign([make_case("host"), make_case("overlay")], blocks=3))
    assert "nodes" not in {figure.name for figure in alone.figures}


def test_every_colour_of_the_charts_has_a_dark_counterpart(found: Content) -> None:
    used = {
        colour
        for figure in found.figures
        for text in figure.specs
        for colour in re.findall("#[0-9a-f]{6}", text)
    }
    assert used <= set(palette.dark_by_light())


@given(st.lists(st.floats(0, 1), max_size=7), st.floats(0.01, 0.12))
def test_end_labels_stand_apart_and_in_the_order_of_their_lines(wanted: list[float], least: float) -> None:
    placed = end_labels(wanted, least)
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    heights = [placed[index] for index in order]
    assert all(b - a >= least - 1e-9 for a, b in itertools.pairwise(heights))
    assert min(heights, default=0) >= -1e-9
    if (len(wanted) - 1) * least <= 1:
        assert max(heights, default=0) <= 1 + 1e-9
    if all(b - a > least for a, b in itertools.pairwise(sorted(wanted))):
        assert placed == pytest.approx(wanted)


def test_a_long_name_beside_a_line_keeps_both_of_its_ends() -> None:
    assert shortened("overlay") == "overlay"
    shown = {shortened(f"kubernetes-1.31.4-calico-{mode}") for mode in ("vxlan", "ipip", "direct")}
    assert shown == {"kubernet…co-vxlan", "kubernet…ico-ipip", "kubernet…o-direct"}


@pytest.mark.parametrize("n", [2, 3, 6, 13, 40])
def test_runs_of_many_contenders_are_drawn_nearer_to_their_block_than_to_the_next(n: int) -> None:
    """The points of the eighth contender stood at the next block."""
    cases = [make_case(name) for name in ("host", *(f"net-{number}" for number in range(1, n)))]
    for spec in specs(content_of(make_campaign(cases, blocks=3, sizes=(8,))), "blocks"):
        for row in rows(spec):
            block = float(row["at"].split()[-1])
            assert abs(row["x"] - block) < 0.5
        assert len({row["x"] for row in rows(spec)}) == 3 * n


@given(st.floats(1e-3, 1e3), st.floats(1.01, 1e3), st.booleans(), st.floats(0, 1))
def test_a_share_of_a_domain_is_found_again(low: float, factor: float, is_log: bool, share: float) -> None:
    domain = Domain(low, low * factor, is_log)
    assert domain.share(domain.at(share)) == pytest.approx(share, abs=1e-6)


def luminance(colour: str) -> float:
    """Return the relative luminance of an sRGB colour (WCAG 2.2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("tone", [palette.INK, palette.MUTED, *palette.CONTENDERS])
def test_text_in_every_colour_has_the_contrast_of_wcag_aa(tone: palette.Tone) -> None:
    assert contrast(tone.light, "#fdfdfc") >= 4.5
    assert contrast(tone.dark, "#14171a") >= 4.5


def test_figures_that_are_one_number_a_run_lie_at_contender_over_reference() -> None:
    campaign = make_campaign(ratio=1.5, noise=0.001, sizes=(65536,))
    (panel,) = specs(content_of(campaign), "figures")
    drawn = {row["fom"]: row for row in rows(panel)}
    assert drawn["latency (lower is better)"]["y"] == pytest.approx(1.5, rel=0.01)
    assert drawn["bandwidth (higher is better)"]["y"] == pytest.approx(1 / 1.5, rel=0.01)
    assert all(row["low"] < row["y"] < row["high"] for row in drawn.values())


def test_many_blocks_are_gathered_with_their_extremes() -> None:
    campaign = make_campaign(blocks=150, noise=0.01)
    drawn = [row for panel in specs(content_of(campaign), "blocks") for row in rows(panel)]
    assert len(drawn) == 2 * 50
    assert sum(row["n"] for row in drawn) == len(campaign.measured())
    assert all(row["low"] <= row["y"] <= row["high"] for row in drawn)


def test_of_many_configurations_those_farthest_from_the_reference_have_panels() -> None:
    cases = [
        make_case(network, workload=f"w{number:02}")
        for number in range(20)
        for network in ("host", f"n{number:02}")
    ]
    ratio = {f"n{number:02}": 1 + number / 10 for number in range(20)}
    found = content_of(make_campaign(cases, ratio=ratio, noise=0.001, blocks=3))
    titles = [panel["title"]["text"] for panel in specs(found, "ratio")]
    assert sorted({title[:3] for title in titles}) == [f"w{number:02}" for number in range(14, 20)]
    assert part_of(found, Charts).left_out.startswith("6 of 20 workloads and scales are shown")


def test_figures_without_coordinates_are_drawn_along_the_number_that_varies_most() -> None:
    cases = [
        make_case(network, parameters={"jobs": jobs, "block": block})
        for network in ("host", "overlay")
        for jobs in (1, 2, 4)
        for block in (16384, 524288)
    ]
    campaign = make_campaign(cases, blocks=3, noise=0.001)
    attempts = tuple(
        msgspec.structs.replace(
            one,
            series=[msgspec.structs.replace(old, at={}, values=old.values[:1]) for old in one.series],
        )
        for one in campaign.attempts
    )
    plan = msgspec.structs.replace(campaign.plan, sizes=("block",))
    found = content_of(msgspec.structs.replace(campaign, attempts=attempts, plan=plan))
    panels = specs(found, "time")
    assert [panel["title"]["text"].replace("\u202f", " ") for panel in panels] == [
        f"synthetic.pingpong · block {size} KiB" for size in (16, 512)
    ]
    assert all({row["x"] for row in rows(panel)} == {1, 2, 4} for panel in panels)
    columns = part_of(found, Overview).maps[0].columns
    assert [column.configuration.step for column in columns][:3] == ["jobs 1", "jobs 2", "jobs 4"]
