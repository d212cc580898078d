"""Charts on demand, and the charts of scatter and of packets a second."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from report.studies import HOSTILE, answers_of, content_of, hostile, three_networks
from support.scales import make_application, usl
from support.synthetic import make_campaign, make_case, write_campaign
from tare.analysis.trust.case_scatter import case_scatters
from tare.cli.commands.report import command
from tare.core.attempt import Attempt
from tare.core.campaign import Campaign
from tare.core.errors import UsageError
from tare.report.charts.figures import Figure
from tare.report.charts.painting import Painter
from tare.report.charts.requested import ChartRequest, Selection, read_request, requested_kind
from tare.report.content import content
from tare.report.formats.page import render
from tare.report.report_statistics import ReportStatistics


def drawn(campaign: Campaign, *texts: str) -> dict[str, Figure]:
    requests = tuple(read_request(text, campaign) for text in texts)
    found = content(campaign, answers_of(campaign), painter=Painter(), selection=Selection(requests=requests))
    return {one.name: one for one in found.figures}


def with_blocks(campaign: Campaign, factor: dict[str, float]) -> Campaign:
    """Return `campaign` with odd blocks of each network's cases slower by a factor, and even ones faster."""

    def scaled(one: Attempt) -> Attempt:
        by = factor[campaign.cases[one.case].network or ""] ** (1 if one.block % 2 else -1)
        series = [
            msgspec.structs.replace(each, values=[value * by for value in each.values]) for each in one.series
        ]
        return msgspec.structs.replace(one, series=series)

    return msgspec.structs.replace(campaign, attempts=tuple(map(scaled, campaign.attempts)))


def test_a_figure_may_be_drawn_against_any_number() -> None:
    campaign = three_networks(blocks=3)
    figure = drawn(campaign, "latency:nodes")["latency-by-nodes"]
    assert figure.title == "Latency against nodes"
    assert {point.x for _, _, point in figure.points} == {2, 4}
    assert {line.variant.name for _, line, _ in figure.points} == {"host", "overlay", "macvlan"}
    assert all(point.low is not None for _, _, point in figure.points)
    assert figure.panels[0].title == "synthetic.pingpong · 1\u202fB"


def test_a_figure_may_be_drawn_against_names() -> None:
    campaign = make_application({"host": usl(), "overlay": usl()}, (1, 2))
    figure = drawn(campaign, "ns_per_day:network")["ns_per_day-by-network"]
    assert [panel.title for panel in figure.panels] == [
        "synthetic.application · 1\u202fnode",
        "synthetic.application · 2\u202fnodes",
    ]
    spec = json.loads(figure.specs[0])
    axis = spec["layer"][0]["encoding"]["x"]["axis"]
    assert axis["values"] == [1, 2]
    assert axis["labelExpr"] == '["host","overlay"][datum.value - 1]'


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("speed:nodes", "no figure of merit 'speed'; choose from bandwidth, latency"),
        ("latency:colour", "latency does not vary with 'colour'; choose from bytes, network, nodes"),
        ("latency", "write FOM:FACTOR, or one of figures, time, rate, .*, scatter, telemetry"),
    ],
)
def test_a_chart_of_what_is_not_there_is_an_error_with_a_choice(text: str, fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        read_request(text, three_networks(blocks=3))


def test_the_command_draws_the_chart_and_writes_its_numbers(tmp_path: Path) -> None:
    folder = write_campaign(three_networks(blocks=3), tmp_path / "campaign")
    arguments = [str(folder), "--format", "csv", "--chart", "latency:nodes", "--fom", "latency"]
    CliRunner().invoke(command, arguments, catch_exceptions=False)
    charts = {path.name for path in (folder / "report" / "charts").iterdir()}
    assert "latency-by-nodes.csv" in charts
    assert "rate.csv" not in charts


def test_the_command_says_that_a_chart_has_nothing_to_draw(tmp_path: Path) -> None:
    folder = write_campaign(three_networks(blocks=3), tmp_path / "campaign")
    arguments = [str(folder), "--format", "csv", "--chart", "saturation"]
    done = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    assert "tare: The chart “saturation” was asked for, and there is nothing to draw." in done.stderr
    assert "saturation" not in done.stdout


def test_a_hostile_name_of_a_level_stays_a_string(tmp_path: Path) -> None:
    figure = drawn(hostile(tmp_path), "latency:network")["latency-by-network"]
    expression = json.loads(figure.specs[0])["layer"][0]["encoding"]["x"]["axis"]["labelExpr"]
    names = json.loads(expression.removesuffix("[datum.value - 1]"))
    assert len(names) == 2
    assert figure.picture.svg.startswith("<svg")
    assert HOSTILE not in figure.picture.svg


def isolation() -> Campaign:
    """Return one in which overlay is as fast as host on average, and scatters ten times as much."""
    cases = [make_case(name) for name in ("host", "overlay")]
    campaign = make_campaign(cases, ratio=1.0, noise=0.002, blocks=20, sizes=(1024,))
    return with_blocks(campaign, {"host": 1.01, "overlay": 1.1})


def test_mean_and_scatter_stand_side_by_side_where_the_scatters_differ() -> None:
    figure = drawn(isolation())["scatter"]
    assert [panel.subtitle.split(" of ")[0] for panel in figure.panels] == ["mean", "scatter"] * 2
    scatter = {line.variant.name: point for _, line, point in figure.points if line in figure.panels[1].lines}
    assert scatter["host"].y == pytest.approx(1, rel=0.2)
    assert scatter["overlay"].y == pytest.approx(10, rel=0.2)
    low, high = scatter["overlay"].low, scatter["overlay"].high
    assert low is not None
    assert high is not None
    assert low < 10 < high


def test_scatter_is_drawn_only_where_it_differs_or_is_asked_for() -> None:
    campaign = three_networks()
    assert "scatter" not in drawn(campaign)
    assert "scatter" in drawn(campaign, "scatter")


def test_a_case_with_one_run_has_no_scatter() -> None:
    assert case_scatters(make_campaign(blocks=1), ("latency",)) == []


def test_packets_a_second_are_drawn_against_nodes_where_they_were_counted() -> None:
    campaign = make_application({"host": usl(), "overlay": usl()}, (1, 2, 4))
    counted = [
        msgspec.structs.replace(
            one,
            telemetry={"network_packet_rate": 1000.0 * campaign.cases[one.case].layout.nodes + one.block},
        )
        for one in campaign.attempts
    ]
    assert "packets-rate" not in drawn(campaign)
    figure = drawn(msgspec.structs.replace(campaign, attempts=tuple(counted)))["packets-rate"]
    (panel,) = figure.panels
    heights = {point.x: point.y for point in panel.lines[0].points}
    assert heights == pytest.approx({1: 1003, 2: 2003, 4: 4003}, rel=0.001)
    assert figure.is_of_activity


def test_a_figure_of_telemetry_may_be_chosen_like_any_other() -> None:
    fom = "telemetry.network_packet_rate"
    campaign = make_application({"host": usl(), "overlay": usl()}, (1, 2))
    counted = tuple(
        msgspec.structs.replace(one, telemetry={"network_packet_rate": 100.0 + one.block})
        for one in campaign.attempts
    )
    campaign = msgspec.structs.replace(campaign, attempts=counted)
    statistics = ReportStatistics.of(campaign, foms=(fom,))
    found = content(campaign, statistics, painter=Painter(), selection=Selection(foms=(fom,)))
    (figure,) = [one for one in found.figures if one.name == "value"]
    assert all(102.9 < point.y < 103.1 for _, _, point in figure.points)
    (table,) = found.values
    assert {row.fom for row in table.rows} == {fom}
    assert not any(row.best for row in table.rows)


def test_a_request_without_any_value_draws_nothing_and_says_so() -> None:
    campaign = make_campaign(blocks=2)
    nothing = msgspec.structs.replace(campaign, attempts=())
    found = content(
        nothing,
        answers_of(nothing),
        painter=Painter(),
        selection=Selection(requests=(ChartRequest("latency", "network"),)),
    )
    assert not found.figures
    text = "The chart “latency-by-network” was asked for, and there is nothing to draw."
    assert text in render(nothing, found)


def test_a_factor_with_a_path_in_its_name_stays_in_the_folder_of_charts() -> None:
    kind = requested_kind(ChartRequest("../../etc/x", "a b"))
    assert kind.name == "etc-x-by-a-b"


def test_the_ordinary_charts_are_as_before() -> None:
    names = [one.name for one in content_of(three_networks()).figures]
    assert names == ["time", "rate", "ratio", "nodes", "blocks"]
