"""netperf's parser on real output (corpus/INDEX.tsv names the origin of each file) and on damaged output."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.outputs import reader_of_any
from tare.core.values import Scalar
from tare.core.workload import Parsed
from tare.plugins.workloads.netperf import WORKLOADS
from workloads.cases import case_of

NETPERF = {workload.test: workload for workload in WORKLOADS}

STREAM = """\
MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET : demo
Interim result: 35344.39 10^6bits/s over 1.002 seconds ending at 1559149724.219
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    10^6bits/sec

131072  16384  16384    10.00     941.42
"""
UDP_STREAM = """\
MIGRATED UDP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET
Socket  Message  Elapsed      Messages
Size    Size     Time         Okay Errors   Throughput
bytes   bytes    secs            #      #   10^6bits/sec

212992   65507   10.00       12345      0     646.97
212992           10.00       12300            644.61

"""
RR = """\
MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 () port 0 AF_INET to n1 () port 0 AF_INET : first burst 0
Local /Remote
Socket Size   Request  Resp.   Elapsed  Trans.
Send   Recv   Size     Size    Time     Rate
bytes  Bytes  bytes    bytes   secs.    per sec

16384  87380  1        1       10.00    12345.67
16384  87380
"""
OMNI = """\
MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 () port 0 AF_INET to 10.0.0.2 () port 0 AF_INET : demo
Mean         99th         Transaction Throughput
Latency      Percentile   Rate        Units
Microseconds Latency      Tran/s
             Microseconds
62.50        90           16000.500   Trans/s
"""
KEYVAL = """\
MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 () port 0 AF_INET to n1 () port 0 AF_INET : first burst 0
MEAN_LATENCY=71.20
P99_LATENCY=90
STDDEV_LATENCY=-1.00
THROUGHPUT=14012.50
THROUGHPUT_UNITS=Trans/s
"""


parse = reader_of_any(NETPERF)


def figures(parsed: Parsed) -> dict[tuple[str, Scalar | None], float]:
    return {(one.fom, one.at.get("percentile")): one.value for one in parsed.measurements}


REAL = {
    "01-udp_rr-omni-histogram-wrapped.txt": (
        "UDP_RR",
        {
            ("transactions", None): 2217.06,
            ("latency_percentile", 50.0): 442,
            ("latency_percentile", 90.0): 487,
            ("latency_percentile", 99.0): 589,
            ("latency_stddev", None): 81.26,
            ("latency_min", None): 361,
            ("latency_max", None): 9688,
        },
    ),
    "02-tcp_rr-omni-csv.txt": (
        "TCP_RR",
        {
            ("transactions", None): 1405.50,
            ("latency_stddev", None): 783.80,
            ("latency_percentile", 50.0): 683,
            ("latency_percentile", 90.0): 735,
            ("latency_percentile", 99.0): 841,
            ("latency_min", None): 600,
            ("latency_max", None): 900,
            ("retransmits", None): 0,
        },
    ),
}


def test_real_output_is_read(corpus: Path) -> None:
    assert set(REAL) == {path.name for path in (corpus / "netperf").iterdir()}
    for name, (test, expected) in REAL.items():
        parsed = parse(test, (corpus / "netperf" / name).read_text())
        assert (parsed.is_complete, parsed.problems, figures(parsed)) == (True, (), expected)


@pytest.mark.parametrize("name", REAL)
def test_output_cut_anywhere_is_not_complete_with_fewer_figures(corpus: Path, name: str) -> None:
    test, expected = REAL[name]
    text = (corpus / "netperf" / name).read_text()
    for cut in range(0, len(text), 7):
        for lines in (io.StringIO(text[:cut]), text[:cut].splitlines()):
            parsed = NETPERF[test].parse(lines)
            if isinstance(lines, io.StringIO):
                assert figures(parsed) in ({}, expected)
            assert not parsed.is_complete or len(parsed.measurements) == len(expected)


@pytest.mark.parametrize(
    ("test", "text", "expected"),
    [
        ("TCP_STREAM", STREAM, {"throughput": 941.42}),
        ("TCP_STREAM", STREAM.replace("10^6bits/sec\n", "10^9bits/sec\n"), {"throughput": 941420}),
        ("TCP_STREAM", STREAM.replace("10^6bits/sec\n", "MBytes  /sec\n"), {"throughput": 941.42 * 8.388608}),
        (
            "TCP_STREAM",
            STREAM.replace("941.42", "941.42   5.50  6.50  1.100   1.200"),
            {"throughput": 941.42, "cpu_local": 5.5, "cpu_remote": 6.5},
        ),
        ("UDP_STREAM", UDP_STREAM, {"throughput": 644.61, "throughput_sent": 646.97}),
        (
            "UDP_STREAM",
            UDP_STREAM.replace("MIGRATED UDP STREAM", "UDP UNIDIRECTIONAL SEND"),
            {"throughput": 644.61, "throughput_sent": 646.97},
        ),
        ("TCP_RR", RR, {"transactions": 12345.67}),
        ("TCP_RR", RR.replace("bytes  Bytes", "bytes  bytes"), {"transactions": 12345.67}),
        ("TCP_RR", OMNI, {"transactions": 16000.5, "latency": 62.5, "latency_percentile": 90}),
        ("TCP_RR", KEYVAL, {"transactions": 14012.5, "latency": 71.2, "latency_percentile": 90}),
        (
            "TCP_RR",
            KEYVAL.partition("\n")[2],
            {"transactions": 14012.5, "latency": 71.2, "latency_percentile": 90},
        ),
    ],
)
def test_tables_and_keyval_are_read(test: str, text: str, expected: dict[str, float]) -> None:
    for given_text in (text, text.replace("\n", "\r\n"), "noise: 3 things\n" + text):
        parsed = parse(test, given_text)
        assert (parsed.is_complete, parsed.problems) == (True, ())
        assert {one.fom: one.value for one in parsed.measurements} == pytest.approx(expected)


def test_a_table_may_begin_with_a_percentile() -> None:
    rows = [line.split(maxsplit=1) for line in ("50th 99th", "Percentile Percentile", "Latency Latency")]
    table = "".join(f"{left:13}{right}\n" for left, right in [*rows, ("Microseconds", "Microseconds")])
    parsed = parse("TCP_RR", OMNI.splitlines()[0] + "\n" + table + "40           90\n")
    assert figures(parsed) == {("latency_percentile", 50.0): 40, ("latency_percentile", 99.0): 90}


def test_the_error_message_of_netperf_is_reported() -> None:
    words = "netperf: send_omni: send_data failed: Network is unreachable"
    parsed = parse("TCP_STREAM", STREAM.splitlines()[0] + f"\n{words}\n")
    assert parsed.problems == (f"netperf printed: {words}",)


def test_a_test_of_another_kind_is_not_taken() -> None:
    assert parse("TCP_STREAM", RR).problems == ("the output holds no result of TCP_STREAM",)
    untitled = KEYVAL.partition("\n")[2]
    assert parse("TCP_STREAM", untitled).problems == ("the output is that of another kind of test",)


def test_a_stream_of_datagrams_needs_what_arrived() -> None:
    sent = "\n".join(UDP_STREAM.splitlines()[:6]) + "\n"
    assert parse("UDP_STREAM", sent).problems == ("netperf's result is missing",)


def test_several_tests_in_one_log_are_numbered() -> None:
    parsed = parse("TCP_STREAM", STREAM + STREAM.replace("941", "900"))
    assert [(one.value, one.at) for one in parsed.measurements] == [
        (941.42, {"run": 1}),
        (900.42, {"run": 2}),
    ]
    rows = parse("TCP_STREAM", STREAM + "131072  16384  16384    10.00     900.00\n")
    assert [one.at for one in rows.measurements] == [{"run": 1}, {"run": 2}]
    assert (
        parse("TCP_STREAM", STREAM + STREAM[:90] + "\n").problems == ("netperf's result is missing",)
        or not parse("TCP_STREAM", STREAM + STREAM[:120] + "\n").is_complete
    )


def test_a_row_with_values_missing_is_a_problem() -> None:
    names = "Throughput,Throughput Units,Mean Latency Microseconds\n"
    parsed = parse("TCP_RR", RR.partition("\n")[0] + "\n" + names + "1405.50,Trans/s\n")
    assert parsed.problems == ("netperf's row has 2 values instead of 3",)


def test_a_throughput_without_its_unit_is_refused_unless_the_rate_is_reported_too() -> None:
    bare = KEYVAL.replace("THROUGHPUT_UNITS=Trans/s\n", "")
    assert parse("TCP_RR", bare).problems == (
        "netperf does not print the unit of its throughput (THROUGHPUT_UNITS)",
    )
    parsed = parse("TCP_RR", bare + "TRANSACTION_RATE=14012.50\n")
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed)["transactions", None] == 14012.5


def test_nothing_is_no_result() -> None:
    complaint = "establish control: are you sure there is a netserver listening on n1 at port 12865?\n"
    for text in ("", complaint):
        assert parse("TCP_RR", text).problems == ("the output holds no result of TCP_RR",)


@pytest.mark.parametrize("broken", ["nan", "-nan", "inf", "9.4.1"])
def test_what_is_not_a_number_is_no_figure(broken: str) -> None:
    assert not parse("TCP_STREAM", STREAM.replace("941.42", broken)).is_complete
    parsed = parse("TCP_RR", KEYVAL.replace("14012.50", broken))
    assert "transactions" not in {one.fom for one in parsed.measurements}
    assert not parsed.is_complete


@given(st.data())
@settings(max_examples=100)
def test_damage_never_crashes_and_never_makes_up_a_number(data: st.DataObject) -> None:
    test, whole = data.draw(
        st.sampled_from([("TCP_STREAM", STREAM), ("UDP_STREAM", UDP_STREAM), ("TCP_RR", KEYVAL)])
    )
    text = whole
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 40)))
        text = text[:start] + data.draw(st.text(max_size=12) | st.just(whole[-90:])) + text[end:]
    printed = {float(word) for word in re.findall(r"[0-9]+(?:\.[0-9]+)?", text)}
    factors = (1, 1e-3, 1e3, *(1024.0**power * 8e-6 for power in range(4)))
    for one in parse(test, text).measurements:
        assert any(one.value == pytest.approx(number * factor) for number in printed for factor in factors)


@pytest.mark.parametrize(
    ("test", "parameters", "options"),
    [
        ("TCP_STREAM", {}, "-l 10 --"),
        ("UDP_STREAM", {"message_bytes": 1400, "time_s": 2.5}, "-l 2.5 -- -m 1400"),
        ("TCP_RR", {"message_bytes": 64}, "-l 10 -- -r 64,64 -k MEAN_LATENCY,"),
    ],
)
def test_the_client_gets_the_settings_of_the_case(
    test: str, parameters: dict[str, Scalar], options: str
) -> None:
    (stage,) = NETPERF[test].stages(case_of(NETPERF[test], None, **parameters))
    server, client = "netserver -D -p 12865", f"netperf -H {{address0}} -p 12865 -t {test} "
    assert " ".join(stage.argv).startswith(f"sh {{work}}/peer.sh tcp:12865 {server} -- {client}{options}")


def test_heads_of_any_width_are_read_at_once() -> None:
    wide = "a " * 100_000  # once it took the square of that, for each of the lines above a table
    for workload in NETPERF.values():
        assert not workload.parse(io.StringIO(f"{OMNI.partition(chr(10))[0]}\n{wide}\n1 2\n")).is_complete


@pytest.mark.parametrize("blank", ["\x1c", "\x1e", "\x1f"])
def test_a_figure_beside_a_blank_that_is_none_does_not_break_the_parser(blank: str) -> None:
    for number in re.findall("[0-9]+", OMNI):
        for workload in NETPERF.values():
            workload.parse(io.StringIO(OMNI.replace(number, f"{blank}{number}", 1)))


# Shortened output of netperf 2.7 over the loopback interface, built with --enable-histogram


VERBOSE_STREAM = """\
MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 () port 0 AF_INET : histogram
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    10^6bits/sec

131072  16384  16384    1.03      897.08

Alignment      Offset         Bytes    Bytes       Sends   Bytes    Recvs
Local  Remote  Local  Remote  Xfered   Per                 Per
Send   Recv    Send   Recv             Send (avg)          Recv (avg)
    8       8      0       0 115769344  16384.00      7066   112725.75   1027

Maximum
Segment
Size (bytes)
 65483


Histogram of time spent in send() call.
UNIT_USEC     :    0:  326: 3292: 1917:  125:  112:  278:   93:   19:   14
>100_SECS: 0
HIST_TOTAL:      7066
"""


def test_the_bytes_of_a_verbose_stream_are_not_its_rate() -> None:
    parsed = parse("TCP_STREAM", VERBOSE_STREAM)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert [(one.fom, one.value) for one in parsed.measurements] == [("throughput", 897.08)]


VERBOSE_TRANSACTIONS = """\
MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 () port 0 AF_INET
Local /Remote
Socket Size   Request  Resp.   Elapsed  Trans.
Send   Recv   Size     Size    Time     Rate
bytes  Bytes  bytes    bytes   secs.    per sec

16384  131072 1        1       1.00      453.94
16384  131072
Alignment      Offset         RoundTrip  Trans    Throughput
Local  Remote  Local  Remote  Latency    Rate     10^6bits/s
Send   Recv    Send   Recv    usec/Tran  per sec  Outbound   Inbound
    8      0       0      0   2202.951   453.936 0.004     0.004

Histogram of request/response times
UNIT_USEC     :    0:    0:    0:    0:    0:    0:    0:    0:    0:    0
TEN_USEC      :    0:  285:   18:   15:    6:    1:    4:    0:    1:    3
HIST_TOTAL:      454
"""


def test_verbose_transactions_are_one_result_with_its_round_trip() -> None:
    parsed = parse("TCP_RR", VERBOSE_TRANSACTIONS)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    found = [(one.fom, one.value, dict(one.at)) for one in parsed.measurements]
    assert found == [("transactions", 453.94, {}), ("latency", 2202.951, {})]


TITLE = "MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 () port 0 AF_INET to 127.0.0.1 () port 0 AF_INET\n"
WORDS_FIRST = (
    "Socket Type,Direction,Throughput,Throughput Units,Transaction Rate Tran/s,"
    "99th Percentile Latency Microseconds,Mean Latency Microseconds,Command Line\n"
)


def test_a_row_of_csv_that_begins_with_words_is_read() -> None:
    row = 'Stream,Send|Recv,67.99,Trans/s,67.992,210000,14706.09,"netperf -t TCP_RR -- -r 1,1 -o all"\n'
    parsed = parse("TCP_RR", TITLE + WORDS_FIRST + row)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    found = [(one.fom, one.value, dict(one.at)) for one in parsed.measurements]
    assert found == [
        ("transactions", 67.99, {}),
        ("latency_percentile", 210000.0, {"percentile": 99.0}),
        ("latency", 14706.09, {}),
    ]


def test_a_row_of_csv_with_a_figure_that_is_no_number_is_no_row() -> None:
    row = 'Stream,Send|Recv,67.99,Trans/s,nan,210000,14706.09,"netperf"\n'
    parsed = parse("TCP_RR", TITLE + WORDS_FIRST + row)
    assert not parsed.is_complete
    assert parsed.measurements == ()


def test_a_row_of_csv_without_names_is_refused_with_the_cure() -> None:
    parsed = parse("TCP_RR", "270000,97.11,Trans/s\n")
    assert not parsed.is_complete
    assert "a row of CSV has no names above it; run netperf without -P 0" in parsed.problems
