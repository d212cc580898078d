"""Speedup of all sides over one base: a side that is slower on one node starts below 1."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from report.html_reader import Page
from report.studies import answers_of, content_of, page_of, three_networks
from support.scales import SECONDS, make_application, usl
from support.synthetic import make_case
from tare.analysis.scales.common_base import common_base, scalings_over
from tare.analysis.scales.scaling import scalings
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.study import Scaling
from tare.report.charts.figures import Figure
from tare.report.charts.painting import Painter
from tare.report.charts.requested import Selection
from tare.report.content import content

SCALES = (1, 2, 4, 8)


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    """Return one in which both sides scale alike, and overlay is 20 % slower at each scale."""
    return make_application({"host": usl(6, 0, 0), "overlay": usl(4.8, 0, 0)}, SCALES, noise=0.001)


def drawn(campaign: Campaign, name: str, **base: str) -> Figure:
    found = content(campaign, answers_of(campaign), painter=Painter(), selection=Selection(base=base or None))
    (figure,) = [one for one in found.figures if one.name == name]
    return figure


def heights(figure: Figure, variant: str) -> dict[float, float]:
    return {point.x: point.y for _, line, point in figure.points if line.variant.name == variant}


def test_a_slower_side_starts_below_one(campaign: Campaign) -> None:
    own = next(one for one in content_of(campaign).figures if one.name == "speedup")
    assert heights(own, "overlay")[1] == 1
    common = drawn(campaign, "speedup-common")
    assert heights(common, "host") == pytest.approx({1: 1, 2: 2, 4: 4, 8: 8}, rel=0.01)
    assert heights(common, "overlay") == pytest.approx({1: 0.8, 2: 1.6, 4: 3.2, 8: 6.4}, rel=0.01)


def test_its_efficiency_is_below_one_from_the_start(campaign: Campaign) -> None:
    common = drawn(campaign, "efficiency-common")
    assert heights(common, "overlay") == pytest.approx(dict.fromkeys((1, 2, 4, 8), 0.8), rel=0.01)


def test_every_point_but_the_base_has_an_interval(campaign: Campaign) -> None:
    points = {
        (line.variant.name, point.x): point for _, line, point in drawn(campaign, "speedup-common").points
    }
    assert not points["host", 1].interval
    assert all(point.interval for key, point in points.items() if key != ("host", 1))
    low, high = points["overlay", 1].low, points["overlay", 1].high
    assert low is not None
    assert high is not None
    assert low < 0.8 < high


def test_another_side_may_be_the_base(campaign: Campaign) -> None:
    common = drawn(campaign, "speedup-common", network="overlay")
    assert common.title == "Speedup of all over overlay"
    assert heights(common, "host")[1] == pytest.approx(1.25, rel=0.01)
    assert heights(common, "overlay")[1] == pytest.approx(1)


def test_the_base_of_a_side_that_lacks_the_smallest_scale_is_its_smallest() -> None:
    laws = {"host": usl(6, 0, 0), "overlay": usl(4.8, 0, 0)}
    campaign = make_application(laws, SCALES, noise=0.001, missing=[("host", 1)])
    common = drawn(campaign, "efficiency-common")
    assert heights(common, "host") == pytest.approx(dict.fromkeys((2, 4, 8), 1), rel=0.01)
    assert heights(common, "overlay") == pytest.approx(dict.fromkeys(SCALES, 0.8), rel=0.01)


def test_times_of_a_weak_scaling_count_the_work_that_grows() -> None:
    def seconds(slower: float) -> Callable[[Case], float]:
        return lambda case: 10 * slower

    cases = [
        make_case(name, workload="synthetic.application", nodes=nodes, parameters={"size": nodes})
        for name in ("host", "overlay")
        for nodes in SCALES
    ]
    campaign = make_application(
        {"host": seconds(1), "overlay": seconds(1.25)},
        cases=cases,
        fom=SECONDS,
        scaling=Scaling(weak=("nodes", "size")),
        noise=0.001,
    )
    assert heights(drawn(campaign, "efficiency-common"), "overlay") == pytest.approx(
        dict.fromkeys(SCALES, 0.8), rel=0.01
    )


def storage_paths() -> Campaign:
    """Return one in which the gateway costs a tenth and heavy I/O a half, on each path, at all scales."""
    names = [(storage, io) for storage in ("direct", "gateway") for io in ("none", "heavy")]
    cases = [
        msgspec.structs.replace(
            make_case("host", workload="synthetic.application", nodes=nodes),
            id=f"{storage}-{io}-{nodes}",
            storage=storage,
            io=io,
        )
        for storage, io in names
        for nodes in SCALES
    ]

    def rate(case: Case) -> float:
        slower = (0.9 if case.storage == "gateway" else 1) * (0.5 if case.io == "heavy" else 1)
        return 6 * case.layout.nodes * slower

    campaign = make_application({"host": rate}, cases=cases, noise=0.001)
    plan = msgspec.structs.replace(
        campaign.plan, reference={"storage": "direct"}, varied=("nodes", "storage", "io")
    )
    return msgspec.structs.replace(campaign, plan=plan)


def test_io_and_storage_are_held_against_one_ideal_line() -> None:
    common = drawn(storage_paths(), "speedup-common")
    (panel,) = common.panels
    assert common.title == "Speedup of all over direct · none"
    assert "; 1 is direct · none at 1" in panel.subtitle
    assert "colours of their own" in common.text
    firsts = {line.variant.name: line.points[0].y for line in panel.lines}
    expected = {"direct · none": 1, "direct · heavy": 0.5, "gateway · none": 0.9, "gateway · heavy": 0.45}
    assert firsts == pytest.approx(expected, rel=0.01)
    assert panel.guide is not None
    assert panel.guide.ends == ((1, 1), (8, 8))


def test_the_base_without_injected_io_is_the_default() -> None:
    assert common_base(storage_paths().plan) == {"storage": "direct", "io": "none"}
    assert common_base(storage_paths().plan, {"io": "heavy"}) == {"io": "heavy", "storage": "direct"}


def test_without_a_reference_there_is_no_common_base(campaign: Campaign) -> None:
    plan = msgspec.structs.replace(campaign.plan, reference={})
    assert common_base(plan) == {}
    alone = msgspec.structs.replace(campaign, plan=plan)
    assert not [one for one in content_of(alone).figures if one.name.endswith("-common")]


def test_a_side_over_its_own_base_has_the_speedups_of_its_own_curve(campaign: Campaign) -> None:
    own = next(one for one in scalings(campaign) if one.settings.get("network") == "host")
    common = next(
        one for one in scalings_over(campaign, {"network": "host"}) if one.settings.get("network") == "host"
    )
    assert [point.speedup for point in common.points] == [point.speedup for point in own.points]


def test_the_charts_stand_in_the_section_of_scale(campaign: Campaign) -> None:
    page = Page(page_of(campaign))
    ids = [
        one.attributes["id"]
        for one in page.elements
        if one.tag in ("section", "figure") and "id" in one.attributes
    ]
    inside = ids[ids.index("scaling") + 1 : ids.index("charts")]
    assert {"figure-speedup-common", "figure-efficiency-common"} <= set(inside)


def test_a_campaign_of_messages_has_none() -> None:
    assert not [one for one in content_of(three_networks()).figures if one.name.endswith("-common")]
