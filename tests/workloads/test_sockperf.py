"""sockperf's parser on real output (corpus/INDEX.tsv names the origin of each file) and on damaged output."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.outputs import reader_of_any
from tare.core.values import Scalar
from tare.core.workload import Parsed
from tare.plugins.workloads.sockperf import WORKLOADS
from workloads.cases import case_of

SOCKPERF = {workload.name.removeprefix("sockperf."): workload for workload in WORKLOADS}

PING_PONG = """\
sockperf: \x1b[2;35m== version #3.7-no.git == \x1b[0m
sockperf[CLIENT] send on:sockperf: using recvfrom() to block on socket(s)

[ 0] IP = 127.0.0.1       PORT = 11111 # TCP
sockperf: Warmup stage (sending a few dummy messages)...
sockperf: Starting test...
sockperf: Test end (interrupted by timer)
sockperf: Test ended
sockperf: [Total Run] RunTime=1.000 sec; Warm up time=400 msec; SentMessages=184730; ReceivedMessages=184729
sockperf: ========= Printing statistics for Server No: 0
sockperf: [Valid Duration] RunTime=0.550 sec; SentMessages=102588; ReceivedMessages=102588
sockperf: \x1b[2;35m====> avg-latency=2.671 (std-dev=21.890)\x1b[0m
sockperf: # dropped messages = 3; # duplicated messages = 0; # out-of-order messages = 0
sockperf: Summary: Latency is 2.671 usec
sockperf: ---> <MAX> observation = 2444.562
sockperf: ---> percentile 99.999 =  544.562
sockperf: ---> percentile 99.990 =   44.562
sockperf: ---> percentile 99.900 =   17.022
sockperf: ---> percentile 99.000 =    4.562
sockperf: ---> percentile 90.000 =    2.562
sockperf: ---> percentile 75.000 =    2.262
sockperf: ---> percentile 50.000 =    2.122
sockperf: ---> percentile 25.000 =    2.022
sockperf: ---> <MIN> observation =    1.917
"""


parse = reader_of_any(SOCKPERF)


def figures(parsed: Parsed) -> dict[tuple[str, Scalar | None], float]:
    return {(one.fom, one.at.get("percentile")): one.value for one in parsed.measurements}


def test_percentiles_flush_right_are_read() -> None:
    text = PING_PONG.replace("percentile 99.900", "percentile  99.90")
    assert figures(parse("ping_pong", text))["latency_percentile", 99.9] == 17.022


def test_gigabytes_are_a_thousand_of_sockperf_s_megabytes() -> None:
    summary = "sockperf: Summary: Message Rate is 9000 [msg/sec], Packet Rate is about 18000 [pkt/sec] (2 ip"
    summary += " frags / msg)\nsockperf: Summary: BandWidth is 1.125 GBps (9.000 Gbps)\n"
    parsed = parse("throughput", summary)
    assert (parsed.is_complete, figures(parsed)) == (
        True,
        {("message_rate", None): 9000, ("bandwidth", None): 1125},
    )


def test_a_ping_pong_is_read(corpus: Path) -> None:
    parsed = parse(
        "ping_pong", (corpus / "sockperf/01-pingpong-and-throughput-one-log.extract.txt").read_text()
    )
    assert (parsed.is_complete, parsed.problems, len(parsed.measurements)) == (True, (), 13)
    assert {
        ("latency", None): 83.147,
        ("latency_stddev", None): 8.246,
        ("latency_percentile", 50.0): 81.171,
        ("latency_percentile", 99.0): 98.909,
        ("latency_percentile", 99.9): 108.442,
        ("latency_max", None): 1245.549,
        ("latency_min", None): 67.035,
        ("dropped", None): 0,
    }.items() <= figures(parsed).items()
    assert parsed.payload_bytes == 57400 * 14


def test_a_throughput_in_the_same_log_is_read(corpus: Path) -> None:
    parsed = parse(
        "throughput", (corpus / "sockperf/01-pingpong-and-throughput-one-log.extract.txt").read_text()
    )
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed) == {("message_rate", None): 127096, ("bandwidth", None): 178.418}


def test_whole_round_trips_are_distinguished(corpus: Path) -> None:
    text = (corpus / "sockperf/02-virtualclient-pingpong-full-log.txt").read_text()
    parsed = parse("under_load", text)
    assert (parsed.is_complete, parsed.problems, len(parsed.measurements)) == (True, (), 13)
    assert {
        ("round_trip", None): 101.926,
        ("round_trip_stddev", None): 25.485,
        ("round_trip_percentile", 50.0): 104.528,
        ("round_trip_percentile", 99.0): 180.199,
        ("round_trip_max", None): 531.956,
        ("round_trip_min", None): 48.650,
    }.items() <= figures(parsed).items()
    assert parse("throughput", text).problems == ("the output holds no such summary of sockperf",)


@pytest.mark.parametrize(("number", "mode"), [(0, "ping_pong"), (0, "throughput"), (1, "ping_pong")])
def test_output_cut_anywhere_is_not_complete_with_fewer_figures(corpus: Path, number: int, mode: str) -> None:
    text = sorted((corpus / "sockperf").iterdir())[number].read_text()
    whole = figures(parse(mode, text))
    for cut in range(0, len(text), max(len(text) // 40, 1)):
        parsed = parse(mode, text[:cut])
        assert figures(parsed).items() <= whole.items()
        assert parsed.is_complete == (len(parsed.measurements) == len(whole))


def test_the_example_is_complete_with_or_without_its_line_end() -> None:
    parsed = parse("ping_pong", PING_PONG)
    assert (parsed.is_complete, parsed.problems, len(parsed.measurements)) == (True, (), 13)
    assert figures(parsed)["dropped", None] == 3
    assert parse("ping_pong", PING_PONG.rstrip("\n")) == parsed
    assert not parse("ping_pong", PING_PONG.rstrip("\n")[:-1]).is_complete


def test_a_summary_that_lacks_a_percentile_is_not_complete() -> None:
    parsed = parse("ping_pong", PING_PONG.replace("sockperf: ---> percentile 90.000 =    2.562\n", ""))
    assert (parsed.is_complete, parsed.problems) == (False, ("the summary lacks rows: 90 %",))


def test_a_summary_of_one_observation_has_no_lower_quartile() -> None:
    lone = "sockperf: \x1b[2;35mTotal 1 observations\x1b[0m; each percentile contains 0.01 observations\n"
    short = PING_PONG.replace("sockperf: ---> percentile 25.000 =    2.022\n", "")
    head = "sockperf: ---> <MAX>"
    parsed = parse("ping_pong", short.replace(head, lone + head))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert not parse("ping_pong", short + short.replace(head, lone + head)).is_complete
    assert parse("ping_pong", PING_PONG + short.replace(head, lone + head) + PING_PONG).is_complete
    two = lone.replace("Total 1", "Total 2")
    assert parse("ping_pong", short.replace(head, two + head)).problems == ("the summary lacks rows: 25 %",)
    without_median = short.replace("sockperf: ---> percentile 50.000 =    2.122\n", "")
    problems = parse("ping_pong", without_median.replace(head, lone + head)).problems
    assert problems == ("the summary lacks rows: 50 %",)


def test_summaries_of_several_runs_are_numbered() -> None:
    parsed = parse("ping_pong", PING_PONG + PING_PONG.replace("2.671", "3.671"))
    assert [(one.value, one.at) for one in parsed.measurements if one.fom == "latency"] == [
        (2.671, {"run": 1}),
        (3.671, {"run": 2}),
    ]


@pytest.mark.parametrize(
    "complaint",
    [
        "sockperf: ERROR: Can`t connect socket (errno=111 Connection refused)",
        "sockperf: No messages were received from the server. Is the server down?",
    ],
)
def test_what_sockperf_complains_about_is_a_problem(complaint: str) -> None:
    parsed = parse("ping_pong", f"sockperf: == version #3.7-no.git ==\n{complaint}\n")
    assert (parsed.is_complete, parsed.problems) == (False, (complaint,))


def test_words_of_older_versions_are_known() -> None:
    parsed = parse("ping_pong", PING_PONG.replace("avg-latency=2.671", "avg-lat=  2.671"))
    assert figures(parsed)["latency", None] == 2.671


@pytest.mark.parametrize("broken", ["nan", "-nan", "inf", "2.6.71"])
def test_a_broken_mean_is_no_figure(broken: str) -> None:
    parsed = parse("ping_pong", PING_PONG.replace("2.671", broken))
    assert (parsed.is_complete, parsed.measurements) == (False, ())


@given(st.data())
@settings(max_examples=100)
def test_damage_never_crashes_and_never_makes_up_a_number(data: st.DataObject) -> None:
    text = PING_PONG
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 40)))
        text = text[:start] + data.draw(st.text(max_size=12) | st.just(PING_PONG[-90:])) + text[end:]
    printed = {float(word) for word in re.findall(r"[0-9]+(?:\.[0-9]+)?", text)}
    assert {one.value for one in parse("ping_pong", text).measurements} <= printed


@pytest.mark.parametrize(
    ("mode", "parameters", "server", "client"),
    [
        ("ping_pong", {}, "udp:11111 sockperf server", "sockperf ping-pong{} -m 14 -t 10"),
        (
            "under_load",
            {"protocol": "tcp", "messages_per_s": 500},
            "tcp:11111 sockperf server",
            "sockperf under-load{} -m 14 -t 10 --mps 500",
        ),
        (
            "throughput",
            {"message_bytes": 1472},
            "udp:11111 sockperf server",
            "sockperf throughput{} -m 1472 -t 10",
        ),
    ],
)
def test_server_and_client_get_the_settings_of_the_case(
    mode: str, parameters: dict[str, Scalar], server: str, client: str
) -> None:
    (stage,) = SOCKPERF[mode].stages(case_of(SOCKPERF[mode], None, **parameters))
    tcp = " --tcp" if "tcp" in server else ""
    reported = client.replace("{}", f" -i numeric:{{address0}} -p 11111{tcp}")
    assert " ".join(stage.argv) == f"sh {{work}}/peer.sh {server} -p 11111{tcp} -- {reported}"


def test_a_line_that_stands_there_very_often_takes_no_more_than_its_share_of_time() -> None:
    line = next(line for line in PING_PONG.splitlines(keepends=True) if "dropped" in line)
    begun = time.process_time()
    parsed = parse("ping_pong", PING_PONG.replace(line, 45_000 * line))
    assert time.process_time() - begun < 5
    assert parsed.problems == ("the summary has dropped twice",)


def test_the_signal_that_ends_the_receiving_thread_after_the_timer_is_no_failure() -> None:
    timer, signal = (f"sockperf: Test end (interrupted by {by})\n" for by in ("timer", "signal 2"))
    ended = PING_PONG.replace(timer, timer + signal)
    assert ended != PING_PONG
    assert parse("ping_pong", ended) == parse("ping_pong", PING_PONG)
    assert not parse("ping_pong", PING_PONG.replace(timer, signal)).is_complete
    assert not parse("ping_pong", ended + PING_PONG.replace(timer, signal)).is_complete


@pytest.mark.parametrize("by", ["user", "signal 15"])
def test_a_test_that_was_interrupted_is_not_complete(by: str) -> None:
    line = f"sockperf: Test end (interrupted by {by})"
    assert "Test end (interrupted by timer)" in PING_PONG
    parsed = parse("ping_pong", PING_PONG.replace("sockperf: Test end (interrupted by timer)", line))
    assert (parsed.is_complete, parsed.problems) == (False, (line,))


def test_a_test_that_ends_when_its_time_is_over_is_complete() -> None:
    parsed = parse("ping_pong", PING_PONG)
    assert "Test end (interrupted by timer)" in PING_PONG
    assert (parsed.is_complete, parsed.problems) == (True, ())
