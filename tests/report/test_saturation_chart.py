"""The chart of saturation: its plateau, and a ring only where the plateau is known to be reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from report.studies import answers_of
from support.scales import Law, make_application
from support.synthetic import make_case
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.report.charts.figures import Figure
from tare.report.charts.painting import Painter
from tare.report.content import content

THREADS = (1, 2, 4, 8)


def of_threads(networks: Sequence[str], threads: Sequence[int] = THREADS) -> list[Case]:
    return [
        make_case(name, workload="synthetic.application", parameters={"readers": n})
        for name in networks
        for n in threads
    ]


def readers(case: Case) -> int:
    return int(case.settings["readers"])


def campaign(rates: Mapping[str, Sequence[float]]) -> Campaign:
    """Return one in which each network's rate with so many readers is that of `rates`."""

    def law(name: str) -> Law:
        return lambda case: rates[name][THREADS.index(readers(case))]

    return make_application({name: law(name) for name in rates}, cases=of_threads([*rates]), noise=0.002)


def drawn(found: Campaign) -> Figure | None:
    figures = content(found, answers_of(found), painter=Painter()).figures
    return next((one for one in figures if one.name == "saturation"), None)


def rings(figure: Figure) -> dict[str, list[float]]:
    return {
        line.variant.name: [point.x for point in line.points if point.is_odd] for _, line, _ in figure.points
    }


def test_the_ring_is_where_each_side_comes_near_its_own_plateau() -> None:
    figure = drawn(campaign({"host": (1, 2, 4, 4.02), "overlay": (1, 2, 2.01, 2)}))
    assert figure is not None
    assert rings(figure) == {"host": [4], "overlay": [2]}
    (panel,) = figure.panels
    assert panel.x == "readers"
    assert panel.guide is not None
    assert panel.guide.name == "plateau of host"
    assert [y for _, y in panel.guide.ends] == pytest.approx([4.02, 4.02], rel=0.1)
    assert "plateau of host" in figure.picture.svg


def test_a_side_that_still_rises_at_the_last_number_has_no_ring() -> None:
    figure = drawn(campaign({"host": (1, 2, 4, 8), "overlay": (1, 2, 2.01, 2)}))
    assert figure is not None
    assert rings(figure) == {"host": [], "overlay": [2]}


def test_what_has_too_few_numbers_to_saturate_has_no_chart() -> None:
    cases = of_threads(["host"], (1, 2))
    assert drawn(make_application({"host": readers}, cases=cases)) is None
