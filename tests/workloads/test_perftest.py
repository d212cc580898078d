"""perftest's parser on real output (corpus/INDEX.tsv names the origin of each file) and on damaged output."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.outputs import figures, reader_of_any
from tare.core.values import Scalar
from tare.plugins.workloads.perftest import WORKLOADS
from workloads.cases import case_of

PERFTEST = {workload.name.removeprefix("perftest."): workload for workload in WORKLOADS}
MIB_GBIT = 8 * 2**20 / 1e9

RULE = "-" * 87 + "\n"
HEADS = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
ROWS = """\
 2          5000           0.045444            0.045291            2.830684
 4          5000           0.090887            0.090863            2.839461
 8          5000             0.18               0.17               2.690814
"""
TEXT = f"{RULE}                    RDMA_Write BW Test\n Mtu  : 4096[B]\n{RULE}{HEADS}{ROWS}{RULE}"
DURATION = f"""{RULE}                    Send Latency Test
{RULE} #bytes        #iterations       t_avg[usec]    tps average
Conflicting CPU frequency values detected: 1293.811000 != 1200.024000. CPU Frequency is not max.
 2             1289984            3.88           128993.46
{RULE}"""


parse = reader_of_any(PERFTEST)


REAL: dict[str, tuple[str, int, dict[tuple[str, int], float]]] = {
    "01-superbench-8M.log": (
        "write_bw",
        1,
        {
            ("bandwidth_peak", 8388608): 24056.74 * MIB_GBIT,
            ("bandwidth", 8388608): 24056.72 * MIB_GBIT,
            ("message_rate", 8388608): 0.003007,
        },
    ),
    "02-superbench-all-sizes.log": (
        "write_bw",
        23,
        {
            ("bandwidth", 8): 21.27 * MIB_GBIT,
            ("bandwidth_peak", 8): 21.30 * MIB_GBIT,
            ("bandwidth", 8388608): 23240.68 * MIB_GBIT,
        },
    ),
    "04-ib_read_lat-worker.extract.txt": (
        "read_lat",
        1,
        {
            ("latency", 2): 5.50,
            ("latency_typical", 2): 5.49,
            ("latency_min", 2): 5.35,
            ("latency_max", 2): 11.78,
            ("latency_stddev", 2): 0.18,
        },
    ),
    "05-ib_read_bw-gbits-all-sizes.extract.txt": (
        "read_bw",
        23,
        {("bandwidth", 8): 0.18, ("bandwidth", 8388608): 197.48},
    ),
    "06-ib_write_bw-gbits-all-sizes.extract.txt": (
        "write_bw",
        23,
        {("bandwidth", 8): 0.18, ("bandwidth", 8388608): 196.55, ("bandwidth_peak", 8388608): 196.56},
    ),
}
"""By file: its program, how many sizes it has, and some figures by name and size."""
ENDLESS = "03-susinths-ib_send_bw-24h-run_infinitely.txt"


@pytest.mark.parametrize("name", REAL)
def test_real_output_is_read(corpus: Path, name: str) -> None:
    program, n_sizes, some = REAL[name]
    parsed = parse(program, (corpus / "perftest" / name).read_text())
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert len(figures(parsed, PERFTEST[program].foms[0].name)) == n_sizes
    for (fom, size), value in some.items():
        assert figures(parsed, fom, bytes=size) == [pytest.approx(value, rel=1e-12)]


def test_percentiles_are_read(corpus: Path) -> None:
    parsed = parse("read_lat", (corpus / "perftest/04-ib_read_lat-worker.extract.txt").read_text())
    assert figures(parsed, "latency_percentile", percentile=99) == [5.74]
    assert figures(parsed, "latency_percentile", percentile=99.9) == [11.78]


def test_a_report_without_end_is_read_but_not_complete(corpus: Path) -> None:
    parsed = parse("send_bw", (corpus / "perftest" / ENDLESS).read_text())
    assert (parsed.is_complete, parsed.problems) == (
        False,
        ("the table is a report that went on until it was ended",),
    )
    assert figures(parsed, "bandwidth", report=2)[0] == 39.19
    assert figures(parsed, "message_rate", report=2)[0] == 0.074746
    assert figures(parsed, "bandwidth_peak") == []


def test_every_file_of_the_collection_is_expected(corpus: Path) -> None:
    assert {*REAL, ENDLESS} == {path.name for path in (corpus / "perftest").iterdir()}


@pytest.mark.parametrize("name", REAL)
def test_output_cut_anywhere_is_not_complete_with_fewer_figures(corpus: Path, name: str) -> None:
    program = REAL[name][0]
    text = (corpus / "perftest" / name).read_text()
    whole = [(one.fom, one.value) for one in parse(program, text).measurements]
    for cut in range(0, len(text), max(len(text) // 40, 1)):
        parsed = parse(program, text[:cut])
        found = [(one.fom, one.value) for one in parsed.measurements]
        assert found == whole[: len(found)]
        assert not parsed.is_complete or found == whole


def test_the_example_is_complete() -> None:
    parsed = parse("write_bw", TEXT)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed, "bandwidth") == [0.045291, 0.090863, 0.17]


def test_a_test_of_another_kind_is_not_taken() -> None:
    for other in ("read_bw", "send_bw", "write_lat"):
        assert parse(other, TEXT).problems == ("the output holds no such table of perftest",)


def test_a_table_of_imb_is_not_taken() -> None:
    table = """\
# ( 2 processes in 1 groups )
#---------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
           64         1000         1.25         1.75         1.50
"""
    parsed = parse("write_lat", table)
    assert parsed.measurements == ()
    assert parsed.problems == ("the output holds no such table of perftest",)


def test_server_and_client_in_one_log_count_once() -> None:
    assert parse("write_bw", TEXT + TEXT) == parse("write_bw", TEXT)
    twice = "".join(line * 2 for line in TEXT.splitlines(keepends=True))
    assert parse("write_bw", twice) == parse("write_bw", TEXT)


def test_two_runs_in_one_log_are_distinguished() -> None:
    parsed = parse("write_bw", TEXT + TEXT.replace("0.17               2.69", "0.16               2.50"))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert [figures(parsed, "bandwidth", bytes=8, run=run) for run in (1, 2)] == [[0.17], [0.16]]


def test_a_test_of_a_fixed_time_is_read() -> None:
    parsed = parse("send_lat", DURATION)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert {one.fom: one.value for one in parsed.measurements} == {"latency": 3.88, "transactions": 128993.46}


def test_bandwidth_in_mib_is_read_as_that_in_mb_was() -> None:
    """Since 23.10 perftest calls its 2²⁰ bytes MiB."""
    heads = HEADS.replace("Gb/sec", "MiB/sec")
    found = parse(
        "write_bw",
        f"{RULE}{heads} 65536      5000             150.50             100.25        0.001604\n{RULE}",
    )
    assert found.is_complete
    assert not found.problems
    assert figures(found, "bandwidth", bytes=65536) == [100.25 * MIB_GBIT]
    assert figures(found, "bandwidth_peak", bytes=65536) == [150.50 * MIB_GBIT]


def test_a_table_whose_main_column_is_unknown_is_not_complete() -> None:
    found = parse("write_bw", TEXT.replace("Gb/sec", "parsec"))
    assert not found.is_complete
    assert "the table has an unknown column: BW average[parsec]" in found.problems


def test_columns_of_service_levels_and_ports_do_not_shift_the_others() -> None:
    heads = (
        HEADS.replace("#bytes", "#bytes    #sl").rstrip("\n") + "   BW Port1[Gb/sec]   MsgRate Port1[Mpps]\n"
    )
    row = " 64    3    5000    9.00    8.00    1.500000    4.00    0.700000\n"
    parsed = parse("write_bw", RULE + heads + row + RULE)
    assert {one.fom: one.value for one in parsed.measurements} == {
        "bandwidth_peak": 9.0,
        "bandwidth": 8.0,
        "message_rate": 1.5,
    }


@pytest.mark.parametrize("broken", ["nan", "-nan", "inf", "0.1.7", "****"])
def test_what_is_not_a_number_is_a_problem(broken: str) -> None:
    parsed = parse("write_bw", TEXT.replace("0.17 ", f"{broken} "))
    assert figures(parsed, "bandwidth") == [0.045291, 0.090863]
    assert not parsed.is_complete


def test_a_table_without_rows_or_end_is_not_complete() -> None:
    assert parse("write_bw", RULE + HEADS + RULE).problems == ("the table has no rows",)
    assert parse("write_bw", RULE + HEADS + ROWS).problems == ("the table lacks its closing line",)
    assert parse("write_bw", "Couldn't connect to n1:18515\n").problems == (
        "the output holds no such table of perftest",
    )


@given(st.data())
@settings(max_examples=100)
def test_damage_never_crashes_and_never_makes_up_a_number(data: st.DataObject) -> None:
    text = TEXT
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 40)))
        text = text[:start] + data.draw(st.text(max_size=12) | st.just(ROWS)) + text[end:]
    for lines in (io.StringIO(text), text.splitlines()):
        printed = {float(word) for word in re.findall(r"[0-9]+(?:\.[0-9]+)?", text)}
        found = PERFTEST["write_bw"].parse(lines).measurements
        assert "MB/sec" in text or {one.value for one in found} <= printed


@pytest.mark.parametrize(
    ("name", "parameters", "options"),
    [
        ("write_bw", {}, "ib_write_bw -p 18515 -n 5000 -s 65536 --report_gbits"),
        (
            "read_lat",
            {"all_sizes": True, "device": "mlx5_0", "connection_manager": True},
            "ib_read_lat -p 18515 -n 5000 -a -d mlx5_0 -R",
        ),
    ],
)
def test_both_sides_get_the_same_options(name: str, parameters: dict[str, Scalar], options: str) -> None:
    (stage,) = PERFTEST[name].stages(case_of(PERFTEST[name], None, **parameters))
    assert " ".join(stage.argv) == f"sh {{work}}/peer.sh tcp:18515 {options} -- {options} {{address0}}"
    assert not PERFTEST[name].needs_transport


def test_figures_of_another_of_its_programs_are_a_problem() -> None:
    parsed = parse("send_lat", DURATION.replace("tps average", "BW peak[Gb/sec]"))
    assert "a figure of another program" in "".join(parsed.problems)


def test_a_table_of_another_program_is_not_read_where_only_its_name_shows_it(corpus: Path) -> None:
    text = (corpus / "perftest/05-ib_read_bw-gbits-all-sizes.extract.txt").read_text()
    assert len(parse("read_bw", text).measurements) == 69
    assert parse("write_bw", text).measurements == ()
