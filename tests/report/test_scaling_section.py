"""How does it scale, and where do curves cross: what the page says, draws and leaves out."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from report.html_reader import Page, unpacked
from report.studies import content_of, page_of, part_of, three_networks
from support.scales import make_application, usl
from support.synthetic import make_campaign, make_case
from tare.analysis.scales.curves import Curves
from tare.analysis.scales.scaling import scalings
from tare.analysis.verdicts.compare import aggregates
from tare.core.campaign import Campaign
from tare.core.curves import Saturation
from tare.core.interval import Bounded
from tare.core.workload import Better
from tare.published import as_campaign, read_publication
from tare.report.content import Content
from tare.report.sections.curves import CurveTables, curve_tables
from tare.report.sections.scaling import Scaling
from tare.report.variants import lay_out
from tare.report.words.scaling import sentences, share

SPACES = str.maketrans("\u202f\u00a0", "  ")


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    """Return one in which host scales well, and overlay peaks at 7 nodes; overlay lacks 4 nodes."""
    laws = {"host": usl(6, 0.02, 0.0001), "overlay": usl(6, 0.02, 0.02)}
    return make_application(laws, missing=[("overlay", 4)])


@pytest.fixture(scope="module")
def found(campaign: Campaign) -> Content:
    return content_of(campaign)


def sentence(found: Content, variant: str) -> str:
    (text,) = [text for one, text in part_of(found, Scaling).blocks[0].sentences if one.name == variant]
    return text.translate(SPACES)


def spec(found: Content, name: str) -> dict[str, Any]:
    (figure,) = [figure for figure in found.figures if figure.name == name]
    decoded: dict[str, Any] = json.loads(figure.specs[0])
    return decoded


def datasets(found: Content, name: str) -> dict[str, list[dict[str, Any]]]:
    sets: dict[str, list[dict[str, Any]]] = spec(found, name)["datasets"]
    return sets


def test_a_knee_is_named_and_separated_from_what_was_not_measured(found: Content) -> None:
    assert re.search(
        r"The USL puts the peak of throughput at (6\.9|7\.0)\d nodes \[", sentence(found, "overlay")
    )
    assert "beyond the 16 that were measured" in sentence(found, "host")
    assert "beyond" not in sentence(found, "overlay")


def test_negative_scaling_is_named_where_it_begins(found: Content) -> None:
    assert "Scaling is negative from 8 to 16 nodes: throughput × 0.7" in sentence(found, "overlay")
    assert "negative" not in sentence(found, "host")


def test_what_is_missing_is_stated_in_words_and_in_the_table(found: Content) -> None:
    assert sentence(found, "overlay").endswith("Not measured: 4 nodes.")
    (row,) = [row for row in part_of(found, Scaling).blocks[0].rows if row.value == "–"]
    assert (row.variant.name, row.value, row.speedup, row.remark) == (
        "overlay",
        "–",
        "–",
        "not measured: no run counts (5 failed)",
    )


@pytest.mark.parametrize("name", ["speedup", "efficiency", "nodes", "rate"])
def test_no_line_is_drawn_over_a_missing_scale(found: Content, name: str) -> None:
    segments = {
        row["x"]: row["segment"] for row in datasets(found, name)["panel0-points"] if row["side"] == "overlay"
    }
    assert set(segments) == {1, 2, 8, 16}
    assert segments[1] == segments[2] != segments[8] == segments[16]
    lines = [layer for layer in spec(found, name)["layer"] if layer["mark"]["type"] == "line"]
    assert any(
        {"field": "segment", "type": "nominal"} in layer["encoding"].get("detail", []) for layer in lines
    )


def test_speedup_is_drawn_beside_the_ideal(found: Content) -> None:
    assert datasets(found, "speedup")["panel0-guide"] == [{"x": 1, "y": 1}, {"x": 16, "y": 16}]
    assert "ideal" in {row["name"] for row in datasets(found, "speedup")["panel0-names"]}


def test_efficiency_is_drawn_in_percent_from_nothing(found: Content) -> None:
    axis = spec(found, "efficiency")["layer"][0]["encoding"]["y"]
    assert axis["axis"]["format"] == ".0%"
    assert axis["scale"]["domain"][0] == 0


def test_charts_of_scale_stand_in_the_section_of_scale(campaign: Campaign) -> None:
    page = Page(page_of(campaign))
    ids = [
        one.attributes["id"]
        for one in page.elements
        if one.tag in ("section", "figure") and "id" in one.attributes
    ]
    inside = ids[ids.index("scaling") + 1 : ids.index("charts")]
    assert inside == [
        "figure-rate",
        "figure-speedup",
        "figure-efficiency",
        "figure-nodes",
        "figure-speedup-common",
        "figure-efficiency-common",
    ]


def test_each_chart_on_the_page_finds_its_own_spec(campaign: Campaign) -> None:
    page = Page(page_of(campaign))
    specs = unpacked(json.loads(page.one("specs").text))
    panels = page.all("div", "panel")
    labels = [one.attributes["aria-label"] for one in panels]
    told = [
        json.loads(specs[int(one.attributes["data-figure"])][int(one.attributes["data-panel"])])[
            "description"
        ]
        for one in panels
    ]
    assert labels == told


def test_a_campaign_of_messages_has_no_section_of_scale() -> None:
    page = Page(page_of(three_networks()))
    assert not [one for one in page.all("section") if one.attributes.get("id") == "scaling"]
    assert [one for one in page.all("section") if one.attributes.get("id") == "curves"]


@pytest.mark.parametrize(("blocks", "is_said"), [(5, True), (20, False)])
def test_intervals_of_few_blocks_state_what_they_assume_without_a_reference_too(
    blocks: int, is_said: bool
) -> None:
    text = page_of(make_application({"host": usl()}, blocks=blocks))
    assumed = f"Intervals hold if the blocks of a side are independent of each other, which {blocks} blocks"
    assert (assumed in text) is is_said


def test_a_campaign_of_one_scale_has_neither_section() -> None:
    page = Page(page_of(make_application({"host": usl(), "overlay": usl()}, (4,))))
    ids = {one.attributes.get("id") for one in page.all("section")}
    assert not ids & {"scaling", "curves"}


def test_fits_of_latency_and_bandwidth_are_reported_by_variant() -> None:
    found = content_of(make_campaign([make_case("host"), make_case("overlay")], noise=0.001))
    rows = part_of(found, CurveTables).hockney
    assert [row.variant.name for row in rows] == ["host", "overlay"]
    assert rows[0].latency.translate(SPACES).startswith("20.0 µs [")
    assert rows[0].bandwidth.translate(SPACES).startswith("1 000 MB/s [")


@pytest.mark.parametrize(("reference", "variant"), [({"jobs": 1}, None), ({"network": "host"}, "host")])
def test_a_saturation_along_what_distinguishes_variants_is_of_no_variant(
    reference: dict[str, str | int], variant: str | None
) -> None:
    cases = [make_case(network, parameters={"jobs": n}) for network in ("host", "lan") for n in (1, 2)]
    campaign = make_campaign(cases, reference=reference)
    found = Saturation(
        workload=cases[0].workload,
        fom="latency",
        unit="us",
        better=Better.LOWER,
        along="jobs",
        settings={},
        at={},
        cases=(cases[0].id, cases[1].id),
        n_points=2,
        n_blocks=5,
        margin=0.05,
        x=1.0,
        certain_x=None,
        possible_x=1.0,
        best_x=1.0,
        is_open=False,
        plateau=Bounded(1.0, None, None),
        share=Bounded(1.0, None, None),
    )
    variants = lay_out(campaign, aggregates(campaign))
    (row,) = curve_tables(Curves(saturations=(found,)), variants).saturations
    assert (row.variant.name if row.variant else None) == variant


def test_a_published_single_run_seems_negative_and_states_why_it_is_not_sure() -> None:
    found = content_of(as_campaign(read_publication("openfoam-fabrics")))
    text = sentence(found, "tcp-25g")
    assert (
        "Scaling seems negative from 4 to 8 nodes: throughput × 0.62 (without interval: single run)." in text
    )


def test_of_many_workloads_a_few_are_reported_in_the_open_and_the_others_behind_a_click() -> None:
    cases = [
        make_case(network, workload=f"w{index}", nodes=nodes)
        for index in range(6)
        for network in ("host", "overlay")
        for nodes in (1, 2, 4)
    ]
    page = page_of(make_application({"host": usl(), "overlay": usl()}, cases=cases))
    section = page[page.index('id="scaling"') : page.index("Every scale, with intervals")]
    in_the_open, behind = section.split("<summary>The other 2 of 6</summary>")
    assert (in_the_open.count("strong scaling</h3>"), behind.count("strong scaling</h3>")) == (4, 2)


def test_an_interval_has_two_ends_and_what_it_holds_is_not_stated_surely() -> None:
    narrow = Bounded(0.1674, 0.1669, 0.1679)
    assert share(narrow).translate(SPACES) == "16.7 % [16.7, 16.8]"
    assert share(Bounded(0.41, 0.40, 0.43)).translate(SPACES) == "41 % [40, 43]"
    found = 0
    for seed in range(6):
        flat = make_application({"host": lambda case: 6.0}, (1, 2), noise=0.02, blocks=8, seed=seed)
        (curve,) = scalings(flat)
        efficiency = curve.points[1].efficiency
        assert efficiency is not None
        assert efficiency.high is not None
        text = " ".join(sentences(curve))
        if "below 50" in text:
            found += 1
            assert ("is below" in text) == (efficiency.high < 0.5)
    assert found


def with_efficiencies(efficiencies: dict[int, float], *, blocks: int = 5, noise: float = 0.001) -> str:
    """Return the sentences on an application with these efficiencies at its scales."""
    laws = {"host": lambda case: case.layout.nodes * efficiencies[case.layout.nodes]}
    [curve] = scalings(make_application(laws, tuple(efficiencies), noise=noise, blocks=blocks))
    return " ".join(sentences(curve)).translate(SPACES)


def test_efficiency_that_recovers_is_not_below_from_there_on() -> None:
    text = with_efficiencies({1: 1.0, 2: 0.6, 4: 0.95, 8: 0.4, 16: 0.85})
    assert "Efficiency is below 70 % at 2 nodes but not at 4 and 16 nodes, and stays at 50 % or more" in text
    assert "from 2 nodes on" not in text


def test_efficiency_that_stays_below_is_below_from_there_on() -> None:
    assert "is below 70 % from 2 nodes on" in with_efficiencies({1: 1.0, 2: 0.6, 4: 0.55, 8: 0.4})


def test_efficiency_is_surely_below_only_where_each_scale_is() -> None:
    text = with_efficiencies({1: 1.0, 2: 0.6, 4: 0.698}, noise=0.02)
    assert "seems below 70 % from 2 nodes on" in text


@pytest.mark.parametrize(
    ("blocks", "text"), [(2, "an efficiency of 0.3 %"), (5, "an efficiency of 0.3000 % [")]
)
def test_an_efficiency_is_not_rounded_to_nothing(blocks: int, text: str) -> None:
    assert text in with_efficiencies({1: 1.0, 256: 0.003}, blocks=blocks)


def test_a_peak_without_interval_is_followed_by_a_full_stop() -> None:
    laws = {"host": usl(6, 0.02, 0.02)}
    [curve] = scalings(make_application(laws, (1, 2, 4, 8, 16), blocks=2))
    text = " ".join(sentences(curve)).translate(SPACES)
    assert re.search(r"puts the peak of throughput at [\d.]+ nodes\.", text)
