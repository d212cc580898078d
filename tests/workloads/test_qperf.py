"""qperf's parser on real output (corpus/INDEX.tsv names the origin of each file) and on damaged output."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.outputs import reader
from tare.core.values import Scalar
from tare.core.workload import Parsed
from tare.plugins.workloads.qperf import WORKLOADS
from workloads.cases import case_of

(QPERF,) = WORKLOADS

TEXT = """\
tcp_bw:
    bw              =  5.42 GB/sec
    msg_rate        =  82.7 K/sec
    time            =     1 sec
    send_cost       =   367 ms/GB
    recv_cpus_used  =   199 % cpus
tcp_lat:
    latency        =  2.68 us
udp_bw:
    send_bw  =  11.8 GB/sec
    recv_bw  =  4.62 GB/sec
"""


parse = reader(QPERF)


def figures(parsed: Parsed) -> list[tuple[str, Scalar, float]]:
    return [(one.fom, one.at["test"], one.value) for one in parsed.measurements]


REAL = {
    "03-rdma-bw.extract.txt": [
        ("bandwidth", "rc_bw", 4.67),
        ("bandwidth", "rc_rdma_write_bw", 4.67),
        ("bandwidth", "rc_rdma_read_bw", 4.62),
    ],
    "04-rdma-lat.extract.txt": [
        ("latency", "rc_lat", 12.2),
        ("latency", "rc_rdma_write_lat", 12.8),
        ("latency", "rc_rdma_read_lat", 21.4),
    ],
}


def test_real_output_is_read(corpus: Path) -> None:
    assert set(REAL) == {path.name for path in (corpus / "qperf").iterdir()}
    for name, expected in REAL.items():
        parsed = parse((corpus / "qperf" / name).read_text())
        assert (parsed.is_complete, parsed.problems, figures(parsed)) == (True, (), expected)


@pytest.mark.parametrize("name", REAL)
def test_output_cut_anywhere_gives_only_whole_values(corpus: Path, name: str) -> None:
    text = (corpus / "qperf" / name).read_text()
    for cut in range(len(text)):
        parsed = parse(text[:cut])
        assert figures(parsed) == REAL[name][: len(figures(parsed))]
        # Nothing tells how many tests there were; but none is cut off.
        assert parsed.is_complete == (text[:cut].rstrip("\n").endswith((" us", "/sec")))


def test_a_case_knows_which_tests_there_are() -> None:
    workload = QPERF.expecting(case_of(QPERF, tests="tcp_bw tcp_lat rc_bw"))
    assert workload.parse(io.StringIO(TEXT)).problems == ("rc_bw was asked for and is missing",)
    assert QPERF.expecting(case_of(QPERF)).parse(io.StringIO(TEXT)).is_complete


def test_what_arrived_and_what_was_sent_are_distinguished() -> None:
    parsed = parse(TEXT)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed) == [
        ("bandwidth", "tcp_bw", 5.42),
        ("message_rate", "tcp_bw", 82700),
        ("latency", "tcp_lat", 2.68),
        ("bandwidth_sent", "udp_bw", 11.8),
        ("bandwidth", "udp_bw", 4.62),
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("    bw  =  2.18 MB/sec", 0.00218),
        ("    bw  =  6784286720 bytes/sec", 6.78428672),
        ("    bw    =  54.9 Gb/sec", 6.8625),
        ("    latency  =  2331.019 ns", 2.331019),
        ("    latency  =  1.5 ms", 1500),
        ("    latency  =  2 sec", 2e6),
    ],
)
def test_units_are_converted(line: str, expected: float) -> None:
    test = "tcp_lat" if "latency" in line else "tcp_bw"
    ((_, _, value),) = figures(parse(f"{test}:\n{line}\n"))
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "line", ["    bw  =  nan GB/sec", "    bw  =  4.6.7 GB/sec", "    bw  =  4.67 widgets/sec"]
)
def test_what_is_no_bandwidth_is_no_figure(line: str) -> None:
    parsed = parse(f"tcp_bw:\n{line}\n")
    assert (parsed.is_complete, parsed.measurements) == (False, ())
    told, nothing = parsed.problems
    assert nothing == "tcp_bw: no result"
    assert line.split()[2] in told or line.split()[3] in told


def test_a_test_behind_a_blank_is_read() -> None:
    assert figures(parse(TEXT.replace("tcp_lat:", " tcp_lat:"))) == figures(parse(TEXT))


def test_a_failed_test_has_a_reason() -> None:
    parsed = parse("tcp_bw:\n127.0.0.1: failed to connect\n")
    assert parsed.problems == ("tcp_bw: 127.0.0.1: failed to connect",)
    assert parse("").problems == ("the output holds no test of qperf",)


def test_tests_of_a_loop_are_numbered() -> None:
    parsed = parse("".join(f"tcp_lat:\n    latency  =  2.1{number} us\n" for number in (3, 2)))
    assert [(one.value, one.at) for one in parsed.measurements] == [
        (2.13, {"test": "tcp_lat", "run": 1}),
        (2.12, {"test": "tcp_lat", "run": 2}),
    ]


@given(st.data())
@settings(max_examples=100)
def test_damage_never_crashes_and_never_makes_up_a_number(data: st.DataObject) -> None:
    text = TEXT
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 40)))
        text = text[:start] + data.draw(st.text(max_size=12) | st.just(TEXT[20:60])) + text[end:]
    printed = [float(word.replace(",", "")) for word in re.findall(r"[0-9][0-9,]*(?:\.[0-9]+)?", text)]
    for one in parse(text).measurements:
        assert any(
            one.value == pytest.approx(number * factor)
            for number in printed
            for factor in (10.0**power / bits for power in range(-12, 10) for bits in (1, 8))
        )


def test_the_client_gets_the_settings_of_the_case() -> None:
    (stage,) = QPERF.stages(case_of(QPERF, tests="tcp_bw udp_lat", message_bytes=1024, time_s=5.0))
    assert " ".join(stage.argv) == (
        "sh {work}/peer.sh tcp:19765 qperf -lp 19765 -- "
        "qperf -lp 19765 -t 5 -m 1024 {address0} tcp_bw udp_lat"
    )


@pytest.mark.parametrize("tests", ["", "bandwidth", "tcp_bw conf"])
def test_what_is_no_test_is_refused(tests: str) -> None:
    assert list(QPERF.faults(case_of(QPERF))) == []
    assert len(list(QPERF.faults(case_of(QPERF, tests=tests)))) == 1


@pytest.mark.parametrize("number", ["4,07", "40,7", "4,0700", "1234,567", "4,07.5"])
def test_a_decimal_comma_is_no_sign_between_thousands(number: str) -> None:
    parsed = QPERF.parse(io.StringIO(f"rc_bw:\n    bw  =  {number} GB/sec\n"))
    assert parsed.measurements == ()
    assert not parsed.is_complete or parsed.problems


def test_commas_between_thousands_are_read() -> None:
    parsed = QPERF.parse(io.StringIO("tcp_bw:\n    bw  =  1,234,567.5 KB/sec\n"))
    assert [one.value for one in parsed.measurements] == [1.2345675]


@pytest.mark.parametrize("test", ["tcp_lat", "udp_lat"])
def test_a_latency_below_the_head_of_a_bandwidth_is_of_a_lost_test(test: str) -> None:
    text = f"tcp_bw:\n    bw  =  373 MB/sec\n{test}:\n    latency  =  13.9 us\n"
    assert not parse(text).problems
    (problem,) = parse(text.replace(f"{test}:\n", "")).problems
    assert problem.endswith("tcp_bw has a latency")
    (problem,) = parse(f"{test}:\n    latency  =  13.9 us\n    bw  =  373 MB/sec\n").problems
    assert problem.endswith(f"{test} has a bandwidth")


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        ("11.8 GB/secrc_lat", "a value of qperf is broken: send_bw = 11.8 GB/sec[n1] UCX WARN"),
        ("11.8 GB/sec rc_lat:", "a value of qperf is broken: send_bw = 11.8 GB/sec rc_lat:"),
        (
            "11.8 GB/sec\n    send_cost  =  425 ms/GB rc_lat:",
            "a value of qperf is broken: send_cost = 425 ms/GB rc_lat:",
        ),
        ("11.8 furlongs", "send_bw of qperf is in furlongs, which is not known"),
    ],
)
def test_a_value_that_cannot_be_read_is_not_left_out_silently(broken: str, fault: str) -> None:
    text = TEXT.replace("11.8 GB/sec", "11.8 GB/sec[n1] UCX WARN" if broken.endswith("rc_lat") else broken)
    assert fault in parse(text).problems
