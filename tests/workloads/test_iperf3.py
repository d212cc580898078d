"""iperf3's parser on real output (corpus/INDEX.tsv names the origin of each file) and on damaged output."""

from __future__ import annotations

import io
import json
import re
from math import isclose
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.outputs import figures, reader
from tare.core.case import Layout
from tare.core.values import Scalar
from tare.core.workload import Parsed
from tare.plugins.workloads.iperf3 import WORKLOADS
from workloads.cases import case_of

(IPERF3,) = WORKLOADS

TEXT = """\
Connecting to host 10.0.0.2, port 5201
[  5] local 10.0.0.1 port 60864 connected to 10.0.0.2 port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec  6.06 GBytes  52.1 Gbits/sec    0    595 KBytes
[  5]   1.00-2.00   sec  6.50 GBytes  55.8 Gbits/sec    7   1.44 MBytes
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-2.00   sec  12.6 GBytes  54.3 Gbits/sec    7             sender
[  5]   0.00-2.04   sec  12.5 GBytes  54.1 Gbits/sec                  receiver

iperf Done.
"""
DOCUMENT = {
    "start": {"version": "iperf 3.9"},
    "intervals": [{"sum": {"bits_per_second": 1.5}}],
    "end": {
        "sum_sent": {"bytes": 2000, "bits_per_second": 2.5e9, "retransmits": 3},
        "sum_received": {"bytes": 1990, "bits_per_second": 2.25e9},
        "cpu_utilization_percent": {"host_total": 12.5, "remote_total": 25.5},
    },
}
FIGURES = {
    "throughput": 2.25,
    "throughput_sent": 2.5,
    "retransmits": 3,
    "cpu_local": 12.5,
    "cpu_remote": 25.5,
}


def document(**changes: object) -> str:
    return json.dumps({**DOCUMENT, **changes}, indent="\t") + "\n"


parse = reader(IPERF3)


def by_fom(parsed: Parsed) -> dict[str, float]:
    return {one.fom: one.value for one in parsed.measurements}


# Real output


REAL: dict[str, dict[str, list[float]]] = {
    "01-json-3.0.11-tcp.json": {"throughput_sent": [0.935992], "throughput": [0.934268], "retransmits": [0]},
    "02-json-3.9-tcp-bbr.json": {
        "throughput_sent": [0.29559901485],
        "throughput": [0.29551531291],
        "retransmits": [0],
    },
    "03-json-3.9-udp.json": {
        "throughput_sent": [0.29999905809],
        "throughput": [],
        "jitter": [0.01924240902503052],
        "lost": [36891],
        "loss": [0.3318560188720116],
    },
    # A receiver's own record: that it sent nothing is no measurement.
    "04-json-greepz.json": {"throughput_sent": [], "throughput": [0.04196332447], "retransmits": []},
    "06-text-retr-cwnd.txt": {"throughput_sent": [54.3], "throughput": [54.1], "retransmits": [0]},
    "07-text-multi-worker.txt": {
        "throughput_sent": [122, 121, 120, 118],
        "throughput": [122, 121, 120, 118],
        "retransmits": [1, 2, 2, 1],
    },
    "08-text-udp-server-side.txt": {"throughput": [0.00105], "jitter": [0.066], "lost": [0], "loss": [0]},
    "09-text-udp-client-side.txt": {
        "throughput_sent": [0.00105],
        "throughput": [0.00105],
        "jitter": [0.015],
        "lost": [0],
    },
    "10-text-verbose-truncated-by-author.log": {
        "throughput_sent": [0.005, 0.005],
        "throughput": [0.005, 0.005],
        "retransmits": [5928, 1946],
    },
    "11-text-100-streams-huge.txt": {
        "throughput_sent": [14.4],
        "throughput": [14.3],
        "retransmits": [541749],
    },
    "12-text-windows-udp-3.1-in-notes.txt": {
        "throughput_sent": [0.0199, 0.0399, 0.0595, 0.0998],
        "loss": [100 * 4 / 6077, 0, 100 * 1160 / 9070, 100 * 10803 / 15230],
        "lost": [4, 0, 1160, 10803],
    },
    "13-text-udp-loss-summaries-only.log": {
        "throughput_sent": [0.0181, 0.0224, 0.0176, 0.0342, 0.0185, 0.0453],
        "throughput": [0.018, 0.0223, 0.0175, 0.00799, 0.00485, 0.0124],
        "loss": [0, 0, 0, 100 * 22694 / 29594, 100 * 6908 / 11100, 100 * 27892 / 38559],
        "lost": [0, 0, 0, 22694, 6908, 27892],
    },
}


@pytest.mark.parametrize("name", REAL)
def test_real_output_is_read(corpus: Path, name: str) -> None:
    parsed = parse((corpus / "iperf3" / name).read_text())
    assert (parsed.is_complete, parsed.problems) == (True, ())
    for fom, expected in REAL[name].items():
        assert figures(parsed, fom) == pytest.approx(expected, rel=1e-9)
        if len(expected) > 1:
            positions = [tuple(one.at.items()) for one in parsed.measurements if one.fom == fom]
            # Facts distinguish the runs, and numbers where the facts repeat.
            assert len(set(positions)) == len(expected)


def test_every_file_of_the_collection_is_expected(corpus: Path) -> None:
    assert set(REAL) == {path.name for path in (corpus / "iperf3").iterdir()}


@pytest.mark.parametrize("name", REAL)
def test_output_cut_anywhere_is_not_complete_with_fewer_figures(corpus: Path, name: str) -> None:
    text = (corpus / "iperf3" / name).read_text()
    whole = [(one.fom, one.value) for one in parse(text).measurements]
    n_runs = max(len(values) for values in REAL[name].values())
    for cut in range(0, len(text), len(text) // 40):
        parsed = parse(text[:cut])
        found = [(one.fom, one.value) for one in parsed.measurements]
        assert set(found) <= set(whole)
        assert not parsed.is_complete or n_runs > 1 or len(found) == len(whole)


def test_the_payload_is_what_arrived(corpus: Path) -> None:
    read = {path.name[:2]: parse(path.read_text()).payload_bytes for path in (corpus / "iperf3").iterdir()}
    assert read["02"] == 11083716788
    assert read["03"] == pytest.approx(11249966816 * (1 - 36891 / 11116568), abs=1e3)
    assert read["06"] is not None
    assert 63.1 * 2**30 < read["06"] < 63.2 * 2**30


# Documents


def test_a_document_is_found_between_other_lines() -> None:
    for text in (
        document(),
        "Starting…\n" + document() + "real 0m1.0s\n",
        document().rstrip("\n"),
        json.dumps(DOCUMENT) + "\n",
        document().replace("\n", "\r\n"),
        "\ufeff" + document(),
        "".join(f"    {line}\n" for line in document().splitlines()),
        document().replace('\t"end"', 'UCX  WARN  something else\n\t"end"'),
    ):
        parsed = parse(text)
        assert (parsed.is_complete, by_fom(parsed)) == (True, FIGURES), text


def test_events_of_a_stream_are_read() -> None:
    events = [{"event": "start", "data": {}}, {"event": "interval", "data": {}}]
    text = "".join(json.dumps(event) + "\n" for event in [*events, {"event": "end", "data": DOCUMENT["end"]}])
    assert by_fom(parse(text)) == FIGURES
    assert not parse(text[: text.index('{"event": "end"')]).is_complete
    assert parse(text + document()).measurements == parse(text).measurements, "--json-stream-full-output"
    assert len(parse(text + text).measurements) == 2 * len(FIGURES)
    failed = parse(json.dumps({"event": "error", "data": "control socket has closed"}) + "\n")
    assert failed.problems == ("iperf3 failed: control socket has closed",)


SERVER_OUTPUT = """\
Server output:
Accepted connection from 10.0.0.1, port 57580
[  5] local 10.0.0.2 port 5201 connected to 10.0.0.1 port 60864
[ ID] Interval           Transfer     Bitrate
[  5]   0.00-2.04   sec  12.5 GBytes  52.7 Gbits/sec
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate
[  5]   0.00-2.04   sec  12.5 GBytes  52.7 Gbits/sec                  receiver


"""


def test_what_a_client_prints_of_its_server_is_no_test_of_its_own() -> None:
    text = TEXT.replace("iperf Done", SERVER_OUTPUT + "iperf Done")
    assert parse(text) == parse(TEXT)
    assert parse(text + text) == parse(TEXT + TEXT)
    assert not parse(text[: text.index("iperf Done")]).is_complete
    json_text = TEXT.replace("iperf Done", "Server JSON output:\n" + document() + "\n\niperf Done")
    assert (parse(json_text).measurements, parse(json_text).problems) == (parse(TEXT).measurements, ())


@pytest.mark.parametrize("lost", ["TX-C", "RX-C"])
@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_each_way_of_a_test_both_ways_needs_both_ends(lost: str, end: str) -> None:
    sent, received = (line for line in TEXT.splitlines() if line.endswith(("sender", "receiver")))
    rows = [row.replace("]  ", f"][{way}]", 1) for way in ("TX-C", "RX-C") for row in (sent, received)]
    text = TEXT.replace(f"{sent}\n{received}", "\n".join(rows))
    assert parse(text).is_complete
    (row,) = (row for row in rows if lost in row and row.endswith(end))
    parsed = parse(text.replace(f"{row}\n", ""))
    assert (parsed.is_complete, parsed.problems) == (False, (f"the {end}'s row is missing",))


def test_with_both_ways_at_once_the_servers_output_stands_between_the_clients_rows() -> None:
    sent, received = (TEXT.splitlines()[number] for number in (7, 8))
    there = "\n".join(row.replace("]  ", "][TX-C]", 1) for row in (sent, received))
    back = "\n".join(row.replace("[  5]  ", "[  7][RX-C]", 1) for row in (sent, received))
    text = TEXT.replace(f"{sent}\n{received}", f"{there}\n{back}")
    between = TEXT.replace(f"{sent}\n{received}", f"{there}\n\n{SERVER_OUTPUT}{back}")
    assert parse(text).is_complete
    assert parse(between) == parse(text)


def test_a_failed_test_is_a_problem() -> None:
    parsed = parse(document(end={}, error="unable to connect to server: Connection refused"))
    assert (parsed.is_complete, parsed.measurements) == (False, ())
    assert parsed.problems == ("iperf3 failed: unable to connect to server: Connection refused",)
    partly = parse(document(error="interrupt - the client has terminated"))
    assert (partly.is_complete, by_fom(partly)) == (False, FIGURES)


def test_both_directions_are_distinguished() -> None:
    ways = {
        **DOCUMENT["end"],  # type: ignore[dict-item]  # a member of a document is any object
        "sum_sent_bidir_reverse": {"bytes": 1, "bits_per_second": 3e9, "retransmits": 1},
        "sum_received_bidir_reverse": {"bytes": 1, "bits_per_second": 1e9},
    }
    parsed = parse(document(end=ways))
    assert figures(parsed, "throughput", direction="client to server") == [2.25]
    assert figures(parsed, "throughput", direction="server to client") == [1.0]


@pytest.mark.parametrize("end", [{}, [], None, "x", {"sum_sent": 3}, {"sum_sent": {"bits_per_second": "1"}}])
def test_a_document_without_sums_is_no_result(end: object) -> None:
    parsed = parse(document(end=end))
    assert (parsed.is_complete, parsed.measurements) == (False, ())
    assert parsed.problems == ("iperf3's JSON has no sum of the whole test",)


def test_a_number_that_is_none_is_a_problem() -> None:
    parsed = parse(document().replace("2250000000.0", "NaN"))
    assert parsed.problems == ("throughput is nan, which is no measurement",)


@pytest.mark.parametrize("indent", [2, "\t"])
def test_intervals_of_a_document_are_passed_by(indent: int | str) -> None:
    whole = document()
    long = json.dumps(json.loads(whole) | {"intervals": [{"sum": {"seconds": 1.0}}] * 50}, indent=indent)
    assert parse(long + "\n").is_complete
    assert parse(long + "\n").measurements == parse(whole).measurements
    noisy = long.replace('"seconds": 1.0', '"seconds": srun: job 7 is done')
    assert parse(noisy + "\n").measurements == parse(whole).measurements


def test_a_document_that_begins_while_another_is_open_is_a_run_of_its_own() -> None:
    whole = json.dumps(json.loads(document()), indent=2) + "\n"
    for n_lines in range(2, whole.count("\n")):
        parsed = parse("".join(whole.splitlines(keepends=True)[:n_lines]) + whole)
        assert parsed.problems == ("run 1: iperf3's JSON breaks off",)
        assert [one.value for one in parsed.measurements] == [one.value for one in parse(whole).measurements]


# Text


def test_the_example_is_complete() -> None:
    parsed = parse(TEXT)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert by_fom(parsed) == {"throughput_sent": 54.3, "throughput": 54.1, "retransmits": 7}


@pytest.mark.parametrize(
    ("lost", "problem"),
    [
        ("iperf Done.\n", "the client's closing line 'iperf Done.' is missing"),
        (TEXT[TEXT.index("- - -") :], "the test has no summary"),
    ],
)
def test_a_client_that_did_not_come_to_its_end_is_not_complete(lost: str, problem: str) -> None:
    parsed = parse(TEXT.replace(lost, ""))
    assert (parsed.is_complete, parsed.problems) == (False, (problem,))


def test_an_interrupted_test_is_a_problem() -> None:
    parsed = parse(TEXT.replace("\niperf Done.", "iperf3: interrupt - the client has terminated"))
    assert not parsed.is_complete
    assert "iperf3: interrupt - the client has terminated" in parsed.problems


def test_a_client_that_cannot_connect_is_a_problem() -> None:
    parsed = parse("iperf3: error - unable to connect to server: Connection refused\n")
    assert parsed.problems == ("iperf3: error - unable to connect to server: Connection refused",)


def test_parallel_streams_need_their_sum() -> None:
    rows = [line for line in TEXT.splitlines() if line.endswith(("sender", "receiver"))]
    second = "".join(row.replace("[  5]", "[  7]") + "\n" for row in rows)
    streams = TEXT.replace("\niperf Done", second + "\niperf Done")
    assert parse(streams).problems == ("the summary of 2 streams has no sum",)
    sums = "".join(row.replace("[  5]", "[SUM]").replace("54.", "99.") + "\n" for row in rows)
    parsed = parse(streams.replace("\niperf Done", sums + "\niperf Done"))
    assert by_fom(parsed) == {"throughput_sent": 99.3, "throughput": 99.1, "retransmits": 7}


def test_a_server_that_saw_several_streams_needs_their_sum() -> None:
    lines = TEXT.replace(
        "Connecting to host 10.0.0.2, port", "Accepted connection from 10.0.0.1, port"
    ).splitlines()
    server = [line for line in lines if not line.endswith("sender") and "Done" not in line]
    assert parse("\n".join(server) + "\n").is_complete
    assert parse("\n".join([server[0], server[1].replace("5]", "7]"), *server[1:]]) + "\n").problems == (
        "the summary of 2 streams has no sum",
    )


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("54.1 Gbits/sec", 54.1),
        ("54.1 Mbits/sec", 0.0541),
        ("541 bits/sec", 5.41e-7),
        ("1.00 GBytes/sec", 8.589934592),
    ],
)
def test_rates_are_converted(printed: str, expected: float) -> None:
    (value,) = figures(parse(TEXT.replace("54.1 Gbits/sec", printed)), "throughput")
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("broken", ["nan", "-nan", "inf", "5.4.1", "٥٤"])
def test_a_broken_rate_is_no_figure(broken: str) -> None:
    parsed = parse(TEXT.replace("54.1", broken))
    assert figures(parsed, "throughput") == []


def test_nothing_is_no_result() -> None:
    for text in ("", "\n", "#include <x>\n", "-----\nServer listening on 5201 (test #1)\n-----\n"):
        assert parse(text).problems == ("the output holds no result of iperf3",)


@given(st.data())
@settings(max_examples=150)
def test_damage_never_crashes_and_never_makes_up_a_number(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from([TEXT, document()]))
    text = whole
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 40)))
        text = text[:start] + data.draw(st.text(max_size=12) | st.just(whole[100:300])) + text[end:]
    for lines in (io.StringIO(text), text.splitlines()):
        parsed = IPERF3.parse(lines)
        if whole is TEXT:
            printed = {float(word) for word in re.findall(r"[0-9]+(?:\.[0-9]+)?", text)}
            rates = [one for one in parsed.measurements if one.unit == "Gbit/s"]
            for one in rates:
                assert any(
                    isclose(one.value * 1000**power, number) for power in range(4) for number in printed
                )


# Commands


@pytest.mark.parametrize(
    ("parameters", "options"),
    [
        ({}, "-J -t 10"),
        ({"streams": 4, "time_s": 2.5, "omit_s": 1.0, "reverse": True}, "-J -t 2.5 -O 1 -P 4 -R"),
        ({"protocol": "udp"}, "-J -t 10 -u -b 0"),
        ({"protocol": "udp", "rate_mbit_s": 500, "message_bytes": 1400}, "-J -t 10 -u -b 500M -l 1400"),
        ({"bidirectional": True, "rate_mbit_s": 100.5}, "-J -t 10 -b 100.5M --bidir"),
    ],
)
def test_the_client_gets_the_settings_of_the_case(parameters: dict[str, Scalar], options: str) -> None:
    (stage,) = IPERF3.stages(case_of(IPERF3, None, **parameters))
    server, client = "iperf3 -s -1 -p 5201", "iperf3 -c {address0} -p 5201 "
    assert " ".join(stage.argv) == f"sh {{work}}/peer.sh tcp:5201 {server} -- {client}{options}"


def test_what_excludes_each_other_is_refused() -> None:
    assert list(IPERF3.faults(case_of(IPERF3))) == []
    (fault,) = IPERF3.faults(case_of(IPERF3, reverse=True, bidirectional=True))
    assert fault.endswith("set reverse: false")
    assert len(list(IPERF3.faults(case_of(IPERF3, Layout())))) == 1


def test_tests_of_several_versions_say_which_one_each_is_of(corpus: Path) -> None:
    parsed = parse((corpus / "iperf3/10-text-verbose-truncated-by-author.log").read_text())
    assert {
        one.at["program_version"]: one.value for one in parsed.measurements if one.fom == "retransmits"
    } == {
        "3.7": 5928,
        "3.0.11": 1946,
    }
    assert parsed.problems == ()


@pytest.mark.parametrize("percent", [".", "..", "1.2.3", "1e", "1e9999"])
def test_a_damaged_share_of_lost_datagrams_breaks_nothing(percent: str) -> None:
    row = "[  5]   0.00-2.04   sec  12.5 GBytes  54.1 Gbits/sec  0.015 ms  0/100 ({}%)  receiver"
    text = re.sub(r"(?m)^.*receiver$", row.format(percent), TEXT)
    assert "loss" not in {one.fom for one in parse(text).measurements}


@pytest.mark.parametrize(
    ("amount", "rate", "n_problems"),
    [
        ("904 MBytes", "0.00 TBytes/sec", 1),
        ("0.00 TBytes", "0.00 Tbits/sec", 1),
        ("0.00 Bytes", "0.00 Mbits/sec", 0),
        ("0.00 Bytes", "0.00 bits/sec", 0),
    ],
)
def test_a_rate_that_rounds_to_nothing_is_no_rate(amount: str, rate: str, n_problems: int) -> None:
    text = TEXT.replace("12.6 GBytes  54.3 Gbits/sec", f"{amount}  {rate}")
    text = text.replace("12.5 GBytes  54.1 Gbits/sec", f"{amount}  {rate}")
    parsed = parse(text)
    assert figures(parsed, "throughput") == [0.0] * (1 - n_problems)
    assert [rate in one and "use -f m" in one for one in parsed.problems] == [True] * n_problems


def test_a_parameter_that_iperf3_refuses_is_told() -> None:
    line = "iperf3: parameter error - only one test end condition (-t, -n, -k) may be specified"
    assert parse(f"{line}\n").problems == (line,)
