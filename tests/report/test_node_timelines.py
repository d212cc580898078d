"""What nodes did against time: stacked, each run in its epoch, and small however many nodes and runs."""

from __future__ import annotations

import msgspec
import pytest

from support.synthetic import make_campaign, make_case
from tare.core.attempt import Attempt
from tare.core.campaign import Campaign
from tare.core.telemetry import Epoch, Timeline, Track
from tare.report.charts.drawing import chart_spec
from tare.report.charts.node_timelines import node_timeline_charts
from tare.report.charts.painting import Painter
from tare.report.charts.telemetry import (
    MOST_CASES,
    MOST_LAYERS,
    NodeTimeline,
    NodeTimelines,
    describe_node_timeline,
    node_timelines,
)
from tare.report.content import content
from tare.report.report_statistics import ReportStatistics
from tare.report.sections.reasons import watched_words
from tare.report.variants import lay_out


def watched(campaign: Campaign) -> Campaign:
    attempts = [msgspec.structs.replace(one, telemetry={"cpu_system": 1.0}) for one in campaign.attempts]
    return msgspec.structs.replace(campaign, attempts=tuple(attempts))


def track(host: str, value: float, *, shift_s: float = 0.0, n: int = 10, period_s: float = 1.0) -> Track:
    since = tuple(100 + shift_s + period_s * number for number in range(n))
    at = tuple(begin + period_s for begin in since)
    return Track(host=host, since=since, at=at, values={"cpu_busy": (value,) * n})


def drawn(campaign: Campaign, timeline: Timeline) -> NodeTimelines:
    variants = lay_out(campaign, ReportStatistics.of(campaign).comparisons)
    return node_timelines(watched(campaign), variants, frozenset(campaign.cases), lambda attempt: timeline)


def first(
    campaign: Campaign, *tracks: Track, epochs: tuple[Epoch, ...] = (Epoch("run", 100, 110),)
) -> NodeTimeline:
    return drawn(campaign, Timeline(tracks=tracks, epochs=epochs)).shown[0]


def area(timeline: NodeTimeline) -> float:
    return sum((bar.high - bar.low) * (bar.end - bar.begin) for bar in timeline.bars)


def test_the_top_of_a_stack_is_the_sum_of_nodes_that_are_sampled_at_other_instants() -> None:
    timeline = first(make_campaign(blocks=3), track("n1", 30), track("n2", 50, shift_s=0.4))
    tops = [bar.high for bar in timeline.bars if bar.host == "n2"]
    assert tops == pytest.approx([80.0] * len(tops))
    assert len(tops) == 30
    assert {bar.low for bar in timeline.bars if bar.host == "n1"} == {0.0}


def test_of_a_long_run_on_many_nodes_nothing_is_left_out_and_the_chart_stays_small() -> None:
    tracks = [track(f"n{number}", number, n=1000, period_s=0.01) for number in range(1, 65)]
    timeline = first(make_campaign(blocks=40), *tracks)
    assert area(timeline) == pytest.approx(8 * 10 * sum(range(1, 65)))
    assert timeline.hosts == ("n60", "n61", "n62", "n63", "n64", "the other 59 nodes")
    assert len(timeline.hosts) == MOST_LAYERS
    assert len(timeline.bars) <= 300
    assert len(chart_spec(node_timeline_charts([timeline])[0])) < 50_000


def test_a_step_between_samples_is_shared_out_by_time() -> None:
    one = Track(host="n1", since=(100.0, 104.0), at=(104.0, 110.0), values={"cpu_busy": (10.0, 20.0)})
    timeline = first(make_campaign(blocks=1), one)
    assert [(bar.begin, bar.end, bar.high) for bar in timeline.bars] == [(0, 5, 12), (5, 10, 20)]


def test_a_node_that_was_not_sampled_for_a_while_is_not_drawn_there() -> None:
    one = Track(host="n1", since=(100.0, 108.0), at=(102.0, 110.0), values={"cpu_busy": (10.0, 20.0)})
    other = track("n2", 5)
    timeline = first(make_campaign(blocks=1), one, other)
    assert [bar.begin for bar in timeline.bars if bar.host == "n1"] == pytest.approx([0, 1, 8, 9])
    assert len([bar for bar in timeline.bars if bar.host == "n2"]) == 10


def test_stages_are_epochs_of_their_own_and_the_last_is_the_measured_one() -> None:
    epochs = (Epoch("prepare", 100, 104), Epoch("solve", 104, 110))
    timeline = first(make_campaign(blocks=2), track("n1", 30), epochs=epochs)
    assert [(one.stage, one.block, one.is_measured) for one in timeline.epochs] == [
        ("prepare", 1, False),
        ("solve", 1, True),
        ("prepare", 2, False),
        ("solve", 2, True),
    ]
    assert len(timeline.runs) == 2
    assert timeline.runs[1].begin > timeline.runs[0].end


def test_a_reference_and_its_contender_are_adjacent_in_each_configuration() -> None:
    cases = [make_case(network, nodes=nodes) for network in ("host", "overlay") for nodes in (2, 4)]
    found = drawn(
        make_campaign(cases, blocks=3), Timeline(tracks=(track("n1", 3),), epochs=(Epoch("run", 100, 110),))
    )
    assert [timeline.panel.title for timeline in found.shown] == [
        "host · synthetic.pingpong · 2 nodes",
        "overlay · synthetic.pingpong · 2 nodes",
        "host · synthetic.pingpong · 4 nodes",
        "overlay · synthetic.pingpong · 4 nodes",
    ]
    assert found.left_out == ""


def test_what_is_left_out_is_stated() -> None:
    cases = [make_case(f"network-{number}") for number in range(12)]
    campaign = make_campaign(cases, blocks=10, reference={"network": "network-0"})
    found = drawn(campaign, Timeline(tracks=(track("n1", 3),), epochs=(Epoch("run", 100, 110),)))
    assert len(found.shown) == MOST_CASES
    assert found.left_out == f"Shown are {MOST_CASES} of 12 cases, 8 of up to 10 runs of each."
    assert [one.block for one in found.shown[0].runs] == [1, 2, 4, 5, 6, 7, 9, 10]


def test_a_run_whose_recording_is_gone_is_not_drawn() -> None:
    campaign = watched(make_campaign(blocks=3))
    variants = lay_out(campaign, ReportStatistics.of(campaign).comparisons)

    def read(attempt: Attempt) -> Timeline | None:
        return (
            None
            if attempt.block == 2
            else Timeline(tracks=(track("n1", 3),), epochs=(Epoch("run", 100, 110),))
        )

    found = node_timelines(campaign, variants, frozenset(campaign.cases), read)
    assert [one.block for one in found.shown[0].runs] == [1, 3]


def test_runs_that_others_watched_are_drawn_too() -> None:
    campaign = make_campaign(blocks=2)
    variants = lay_out(campaign, ReportStatistics.of(campaign).comparisons)
    told = Timeline(tracks=(track("n1", 3),), epochs=(Epoch("run", 100, 110),))
    found = node_timelines(campaign, variants, frozenset(campaign.cases), lambda attempt: told)
    assert {len(timeline.runs) for timeline in found.shown} == {2}
    assert node_timelines(
        campaign, variants, frozenset(campaign.cases), lambda attempt: None
    ) == NodeTimelines((), "")


def test_a_chart_is_reported_in_words_node_by_node() -> None:
    timeline = first(make_campaign(blocks=2), track("n1", 30), track("n2", 50))
    told = describe_node_timeline(timeline).replace("\u202f", " ")
    assert told.endswith("over 2 runs. n1: mean 30.0 %, at most 30.0 %; n2: mean 50.0 %, at most 50.0 %.")


def test_hostile_names_of_nodes_and_stages_turn_no_text() -> None:
    timeline = first(make_campaign(blocks=1), track("n\u202e1\x1b", 30), epochs=(Epoch("s\u202e", 100, 110),))
    text = chart_spec(node_timeline_charts([timeline])[0])
    assert "\u202e" not in text
    assert "\\u001b" not in text


def test_runs_that_were_not_watched_to_the_end_are_counted() -> None:
    campaign = watched(make_campaign(blocks=3))
    assert watched_words(campaign, has_reasons=True) == ""
    assert watched_words(campaign, has_reasons=False).startswith("Nothing that the nodes did")
    lost = msgspec.structs.replace(campaign.attempts[0], telemetry={})
    some = msgspec.structs.replace(campaign, attempts=(lost, *campaign.attempts[1:]))
    assert watched_words(some, has_reasons=True).startswith("1 of 6 runs has no part in this")
    assert watched_words(make_campaign(blocks=3), has_reasons=False) == ""


def test_more_charts_than_fit_on_a_page_of_paper_are_two_figures() -> None:
    cases = [make_case(f"network-{number}") for number in range(8)]
    campaign = make_campaign(cases, blocks=2, reference={"network": "network-0"})
    both = dict.fromkeys(("cpu_busy", "cpu_system", "network_rate"), (1.0,) * 10)
    told = Timeline(
        tracks=(msgspec.structs.replace(track("n1", 1), values=both),), epochs=(Epoch("run", 100, 110),)
    )
    watched = [msgspec.structs.replace(one, telemetry={"cpu_busy": 1.0}) for one in campaign.attempts]
    campaign = msgspec.structs.replace(campaign, attempts=tuple(watched))
    statistics = ReportStatistics.of(campaign)
    found = content(campaign, statistics, painter=Painter(), read_timeline=lambda attempt: told).figures
    found = tuple(one for one in found if one.name.startswith("telemetry"))
    assert [(one.name, len(one.specs)) for one in found] == [("telemetry", 12), ("telemetry-2", 12)]
    assert found[1].descriptions[-1].startswith("network-7")
