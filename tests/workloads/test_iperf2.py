"""iperf 2's parser on real output (corpus/INDEX.tsv names the origin of each file) and on damaged output."""

from __future__ import annotations

import io
import re
from math import isclose
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.outputs import figures, reader
from tare.core.values import Scalar
from tare.plugins.workloads.iperf2 import WORKLOADS
from workloads.cases import case_of

(IPERF2,) = WORKLOADS

CLIENT = """\
------------------------------------------------------------
Client connecting to 127.0.0.1, TCP port 6001
TCP window size: 16.0 KByte (default)
------------------------------------------------------------
[  1] local 127.0.0.1 port 52244 connected with 127.0.0.1 port 6001 (icwnd/mss/irtt=319/32741/18)
[  2] local 127.0.0.1 port 52260 connected with 127.0.0.1 port 6001 (icwnd/mss/irtt=319/32741/13)
[ ID] Interval       Transfer     Bandwidth
[  2] 0.0000-1.0000 sec  6.04 GBytes  51.9 Gbits/sec
[  1] 0.0000-1.0000 sec  5.49 GBytes  47.1 Gbits/sec
[SUM] 0.0000-1.0000 sec  11.5 GBytes  99.0 Gbits/sec
[  2] 1.0000-2.0000 sec  4.36 GBytes  37.4 Gbits/sec
[  1] 1.0000-2.0000 sec  5.18 GBytes  44.5 Gbits/sec
[SUM] 1.0000-2.0000 sec  9.53 GBytes  81.9 Gbits/sec
[  2] 0.0000-2.0117 sec  10.4 GBytes  44.4 Gbits/sec
[  1] 0.0000-2.0117 sec  10.7 GBytes  45.5 Gbits/sec
[SUM] 0.0000-2.0004 sec  21.1 GBytes  90.4 Gbits/sec
"""
UDP = """\
------------------------------------------------------------
Client connecting to 127.0.0.1, UDP port 6002
------------------------------------------------------------
[  1] local 127.0.0.1 port 60541 connected with 127.0.0.1 port 6002
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-1.0016 sec  1.25 MBytes  10.5 Mbits/sec
[  1] Sent 896 datagrams
[  1] Server Report:
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[  1] 0.0000-1.0016 sec  1.00 MBytes  8.40 Mbits/sec   0.012 ms 179/895 (20%)
"""
BOTH_WAYS = """\
------------------------------------------------------------
Server listening on TCP port 5002
TCP window size:  128 KByte (default)
------------------------------------------------------------
------------------------------------------------------------
Client connecting to n1.macvlan, TCP port 5001
TCP window size: 16.0 KByte (default)
------------------------------------------------------------
[  1] local 10.77.201.2 port 47746 connected with 10.77.201.1 port 5001 (icwnd/mss/irtt=14/1448/92)
[  2] local 10.77.201.2 port 5002 connected with 10.77.201.1 port 60024
[ ID] Interval       Transfer     Bandwidth
[  2] 0.0000-3.0004 sec  5.15 GBytes  14.7 Gbits/sec
[  1] 0.0000-3.0082 sec  5.80 GBytes  16.6 Gbits/sec
"""
"""What iperf 2.1.8 printed with -d between two containers of the lab."""
CSV = "20171119160019,10.0.0.2,43729,10.0.0.1,5001,4,0.0-10.1,49283072000,39065747923\n"


parse = reader(IPERF2)


REAL: dict[str, tuple[bool, int, dict[int, float]]] = {
    "01-p3-sum-with-perfstat-and-error.txt": (True, 1, {0: 35.6}),
    "02-tcp-389s-mostly-zero-unfinished.txt": (False, 0, {}),
    "03-tcp-server-side.txt": (False, 0, {}),
    "04-csv-yC-with-loadavg-appended.txt": (True, 61, {0: 39.065747923}),
    "05-csv-tests-2.txt": (True, 74, {0: 39.064733790}),
}
"""By file: whether it is complete, how many throughputs it has, and some of them."""


@pytest.mark.parametrize("name", REAL)
def test_real_output_is_read(corpus: Path, name: str) -> None:
    is_complete, n_runs, some = REAL[name]
    parsed = parse((corpus / "iperf2" / name).read_text())
    assert (parsed.is_complete, parsed.problems == ()) == (is_complete, is_complete)
    assert len(figures(parsed, "throughput")) == n_runs == len(parsed.measurements)
    assert {run: figures(parsed, "throughput")[run] for run in some} == some


def test_every_file_of_the_collection_is_expected(corpus: Path) -> None:
    assert set(REAL) == {path.name for path in (corpus / "iperf2").iterdir()}


@pytest.mark.parametrize("name", REAL)
def test_output_cut_anywhere_has_no_other_figures(corpus: Path, name: str) -> None:
    text = (corpus / "iperf2" / name).read_text()
    whole = figures(parse(text), "throughput")
    for cut in range(0, len(text), len(text) // 40):
        parsed = parse(text[:cut])
        found = figures(parsed, "throughput")
        assert found == whole[: len(found)]
        assert not parsed.is_complete or len(whole) > 1 or found == whole


def test_the_sum_of_the_whole_test_is_read_not_that_of_an_interval() -> None:
    parsed = parse(CLIENT)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert [(one.fom, one.value, one.at) for one in parsed.measurements] == [("throughput", 90.4, {})]
    assert parsed.payload_bytes is not None
    assert 21.0 * 2**30 < parsed.payload_bytes < 21.1 * 2**30


@pytest.mark.parametrize("n_lines", range(8, 16))
def test_a_test_cut_short_is_not_complete(n_lines: int) -> None:
    parsed = parse("".join(CLIENT.splitlines(keepends=True)[:n_lines]))
    assert (parsed.is_complete, parsed.measurements) == (False, ())


def test_a_lone_row_of_a_second_may_be_an_interval() -> None:
    text = "\n".join(line for line in CLIENT.splitlines() if "[  2]" not in line and "[SUM]" not in line)
    first = text[: text.index("[  1] 1.0000")]
    assert not parse(first).is_complete
    longer = first.replace("0.0000-1.0000 sec  5.49 GBytes", "0.0000-5.0000 sec  27.4 GBytes")
    assert parse(longer).is_complete


def test_a_case_knows_how_long_its_test_is() -> None:
    for time_s, is_complete in ((2.0, True), (10.0, False)):
        workload = IPERF2.expecting(case_of(IPERF2, time_s=time_s))
        assert workload.parse(io.StringIO(CLIENT)).is_complete == is_complete


def test_what_arrived_and_what_was_sent_are_distinguished() -> None:
    parsed = parse(UDP)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert {one.fom: one.value for one in parsed.measurements} == {
        "throughput": 0.0084,
        "throughput_sent": 0.0105,
        "jitter": 0.012,
        "lost": 179,
        "loss": 20,
    }


def test_datagrams_without_the_servers_report_are_not_complete() -> None:
    unheard = UDP[: UDP.index("[  1] Server")]
    assert parse(unheard).problems == ("the server's report of what arrived is missing",)
    warned = parse(unheard + "[  3] WARNING: did not receive ack of last datagram after 10 tries.\n")
    assert "WARNING: did not receive ack of last datagram" in warned.problems[0]


def test_reports_of_several_streams_of_datagrams_need_their_sum() -> None:
    rows = UDP[UDP.index("[  1] 0.0000") :]
    total = "[SUM] 0.0000-1.0016 sec  2.50 MBytes  21.0 Mbits/sec\n[SUM] Sent 1792 datagrams\n"
    streams = UDP + rows.replace("[  1]", "[  2]") + total
    parsed = parse(streams)
    assert parsed.problems == ("the server's reports of 2 streams have no sum",)
    assert figures(parsed, "throughput_sent") == [0.021]
    assert figures(parsed, "throughput") == []


def test_a_server_of_several_tests_distinguishes_them() -> None:
    test = """\
[  4] local 10.0.0.2 port 5001 connected with 10.0.0.1 port 56591
[ ID] Interval       Transfer     Bandwidth
[  4]  0.0-10.0 sec  1.10 GBytes   944 Mbits/sec
"""
    head = "------\nServer listening on TCP port 5001\n------\n"
    parsed = parse(head + test + test.replace("944", "900"))
    assert [(one.value, one.at) for one in parsed.measurements] == [(0.944, {"run": 1}), (0.9, {"run": 2})]


def test_a_failed_test_is_a_problem_unless_it_was_tried_again() -> None:
    failure = CLIENT[: CLIENT.index("[  1]")] + "tcp connect failed: Connection refused\n"
    parsed = parse(failure)
    assert parsed.problems[0] == "iperf printed: tcp connect failed: Connection refused"
    assert parse(failure + CLIENT) == parse(CLIENT)


def test_rows_of_csv_one_after_the_other_are_several_tests() -> None:
    later = CSV.replace("20171119160019", "20171119160031").replace("43729", "48920")
    parsed = parse(CSV + later)
    assert [one.at for one in parsed.measurements] == [{"run": 1}, {"run": 2}]
    assert parse(CSV + later.replace(",0.0-", ",5.0-")).problems == (
        "run 2: the row of the whole test is missing",
    )


def test_rows_of_csv_side_by_side_need_their_sum() -> None:
    streams = CSV + CSV.replace("43729", "43730")
    assert parse(streams).problems == ("2 streams have no sum",)
    total = CSV.replace("43729", "0").replace(",4,", ",-1,").replace("39065747923", "78131495846")
    assert figures(parse(streams + total), "throughput") == [78.131495846]


def test_datagrams_in_csv_are_read() -> None:
    text = "20260101000010,10.0.0.1,5001,10.0.0.2,4000,3,0.0-10.0,1315650,1050779,0.031,7,895,0.782,0\n"
    assert {one.fom: one.value for one in parse(text).measurements} == {
        "throughput": 0.001050779,
        "jitter": 0.031,
        "lost": 7,
        "loss": 0.782,
    }


@pytest.mark.parametrize("broken", ["nan", "-nan", "inf", "9.0.4", "٩٠"])
def test_a_broken_rate_is_no_figure(broken: str) -> None:
    parsed = parse(CLIENT.replace("90.4", broken))
    assert (parsed.is_complete, parsed.measurements) == (False, ())


def test_nothing_is_no_result() -> None:
    for text in ("", "\n", "1,2,3\n", "some noise\n"):
        assert parse(text).problems == ("the output holds no result of iperf 2",)


@given(st.data())
@settings(max_examples=150)
def test_damage_never_crashes_and_never_makes_up_a_number(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from([CLIENT, UDP, CSV]))
    text = whole
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 40)))
        text = text[:start] + data.draw(st.text(max_size=12) | st.just(whole[-90:])) + text[end:]
    for lines in (io.StringIO(text), text.splitlines()):
        printed = [float(word) for word in re.findall(r"[0-9]+(?:\.[0-9]+)?", text)]
        for one in IPERF2.parse(lines).measurements:
            assert any(isclose(one.value * 1000**power, number) for power in range(4) for number in printed)


@pytest.mark.parametrize(
    ("parameters", "server", "client"),
    [
        ({}, "tcp:5001 iperf -s -p 5001", "iperf -c {address0} -p 5001 -t 10"),
        (
            {"streams": 4, "time_s": 2.5, "message_bytes": 65536},
            "tcp:5001 iperf -s -p 5001",
            "iperf -c {address0} -p 5001 -t 2.5 -P 4 -l 65536",
        ),
        (
            {"protocol": "udp", "port": 99},
            "udp:99 iperf -u -s -p 99",
            "iperf -u -c {address0} -p 99 -t 10 -b 1000M",
        ),
    ],
)
def test_server_and_client_get_the_settings_of_the_case(
    parameters: dict[str, Scalar], server: str, client: str
) -> None:
    (stage,) = IPERF2.stages(case_of(IPERF2, None, **parameters))
    assert " ".join(stage.argv) == f"sh {{work}}/peer.sh {server} -- {client}"


def test_datagrams_of_several_streams_are_refused() -> None:
    assert list(IPERF2.faults(case_of(IPERF2, streams=4))) == []
    (fault,) = IPERF2.faults(case_of(IPERF2, streams=4, protocol="udp"))
    assert fault.endswith("set streams: 1, or use iperf3")


def test_both_directions_at_once_have_a_figure_each_and_no_sum() -> None:
    parsed = parse(BOTH_WAYS)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert [(one.fom, one.value, one.at) for one in parsed.measurements] == [
        ("throughput", 14.7, {"direction": "server to client"}),  # the server's own connection: (reverse)
        ("throughput", 16.6, {"direction": "client to server"}),
    ]


@pytest.mark.parametrize("row", ["[  1] 0.0000", "[  2] 0.0000"])
def test_one_direction_of_two_is_not_complete(row: str) -> None:
    lines = BOTH_WAYS.splitlines(keepends=True)
    parsed = parse("".join(line for line in lines if not line.startswith(row)))
    assert parsed.problems == ("the rows of both directions, a stream each, are not all there",)
    assert parsed.measurements == ()


def test_both_directions_are_asked_for_by_d() -> None:
    (stage,) = IPERF2.stages(case_of(IPERF2, None, bidirectional=True))
    assert " ".join(stage.argv).endswith("-- iperf -c {address0} -p 5001 -t 10 -d -L 5002")


FULL_DUPLEX = """\
------------------------------------------------------------
Client connecting to 127.0.0.1, TCP port 5001
------------------------------------------------------------
[  1] local 127.0.0.1 port 58302 connected with 127.0.0.1 port 5001 (full-duplex)
[ ID] Interval       Transfer     Bandwidth
[ *1] 0.0000-2.0000 sec  15.8 MBytes  66.3 Mbits/sec
[  1] 0.0000-2.0000 sec  30.9 MBytes   130 Mbits/sec
[SUM] 0.0000-2.0000 sec  46.6 MBytes   196 Mbits/sec
"""


def test_both_directions_of_a_full_duplex_test_are_told_apart() -> None:
    """A star marks what the server sends."""
    parsed = parse(FULL_DUPLEX)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert [(one.fom, one.value, one.at) for one in parsed.measurements] == [
        ("throughput", 0.0663, {"direction": "server to client"}),
        ("throughput", 0.13, {"direction": "client to server"}),
    ]
    assert parsed.printed["bidirectional"] == (True,)


@pytest.mark.parametrize("lost", ["[ *1] 0", "[  1] 0"])
def test_a_full_duplex_test_without_one_of_its_directions_is_not_complete(lost: str) -> None:
    text = "".join(line for line in FULL_DUPLEX.splitlines(keepends=True) if not line.startswith(lost))
    parsed = parse(text)
    assert (parsed.is_complete, parsed.measurements) == (False, ())


def test_a_full_duplex_test_without_its_connection_is_told_by_its_star() -> None:
    text = "".join(line for line in FULL_DUPLEX.splitlines(keepends=True) if "duplex" not in line)
    assert parse(text).measurements == parse(FULL_DUPLEX).measurements


def test_the_only_row_of_sum_only_is_the_sum() -> None:
    text = FULL_DUPLEX.replace(" (full-duplex)", "").replace("[SUM]", "[SUM-2]")
    text = "".join(line for line in text.splitlines(keepends=True) if "1] " not in line)
    parsed = parse(text)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert [(one.fom, one.value, one.at) for one in parsed.measurements] == [("throughput", 0.196, {})]


@pytest.mark.parametrize("text", [CLIENT, UDP, FULL_DUPLEX])
def test_a_rate_that_rounds_to_nothing_is_no_rate(text: str) -> None:
    rounded = re.sub(r"[0-9.]+ [MG]Bytes +[0-9.]+ [MG]bits/sec", "0.000 TBytes  0.000 TBytes/sec", text)
    parsed = parse(rounded)
    assert not [one for one in parsed.measurements if one.fom.startswith("throughput")]
    (problem,) = parsed.problems
    assert "printed as 0.000 TBytes/sec" in problem


def test_the_loss_is_that_of_the_datagrams_not_its_two_printed_digits() -> None:
    text = re.sub(r"[0-9]+/ *[0-9]+ \([^)]*%\)", "40/  381 (10%)", UDP)
    assert figures(parse(text), "loss") == [100 * 40 / 381]
    assert figures(parse(text.replace("(10%)", "(90%)")), "loss") == [90]


def test_round_trips_are_no_throughput() -> None:
    head, _, rows = CLIENT.partition("TCP window size")
    text = f"{head}Bounce-back test (size= 100 Byte) (server hold req=0 usecs & tcp_quickack)\n{rows}"
    assert not parse(text).is_complete
    assert "round trips" in parse(text).problems[0]
