"""Damaged and unusual tables of the Intel MPI Benchmarks: rows that are cut, lost, refused or mixed."""

from __future__ import annotations

import io
import re
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.outputs import figures, only, without_left_out
from workloads.imb_examples import FOOTER, IMB, parse

PINGPONG = """\
#------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part
#------------------------------------------------------------
# Minimum message length in bytes:   0
# Maximum message length in bytes:   4
#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         0.31         0.00
            1         1000         0.32         3.12
            2         1000         0.33         6.06
            4         1000         0.34        11.76


# All processes entering MPI_Finalize

"""


LAST_ROW = "            4         1000         0.34        11.76\n"


def test_the_example_is_complete() -> None:
    parsed = parse("PingPong", PINGPONG)
    assert (parsed.is_complete, parsed.problems, parsed.payload_bytes) == (True, (), 14000)
    assert parsed.n_messages == 8000
    assert figures(parsed, "latency") == [0.31, 0.32, 0.33, 0.34]


def test_an_empty_message_has_no_bandwidth() -> None:
    assert figures(parse("PingPong", PINGPONG), "bandwidth") == [3.12, 6.06, 11.76]


@pytest.mark.parametrize("last", ["11.7", "11.", "11", "1", ""])
@pytest.mark.parametrize("has_line_ends", [True, False])
def test_a_row_cut_short_is_no_row(last: str, has_line_ends: bool) -> None:
    text = PINGPONG[: PINGPONG.index("11.76")] + last
    parsed = IMB["PingPong"].parse(io.StringIO(text) if has_line_ends else text.splitlines())
    assert figures(parsed, "latency") == [0.31, 0.32, 0.33]
    assert not parsed.is_complete


def test_a_whole_number_cut_short_is_no_number() -> None:
    head = PINGPONG[: PINGPONG.index("# Benchmarking")] + "# Benchmarking Uniband\n# #processes = 2\n"
    columns = "       #bytes #repetitions   Mbytes/sec      Msg/sec\n"
    row = "            0         1000         0.00      3735374"
    assert figures(parse("Uniband", head + columns + row + "\n"), "message_rate") == [3735374]
    cut = parse("Uniband", head + columns + row[:-3] + "\nmpirun: killed\n")
    assert figures(cut, "message_rate") == []


@pytest.mark.parametrize("broken", ["nan", "-nan", "inf", "********", "0.3.4", "1e400", "٣.٣٤"])
def test_what_is_not_a_number_is_a_problem(broken: str) -> None:
    parsed = parse("PingPong", PINGPONG.replace("0.33", broken))
    assert figures(parsed, "latency") == [0.31, 0.32, 0.34]
    assert not parsed.is_complete
    assert any("broken row: 2 1000" in problem for problem in parsed.problems)


REFUSALS = (
    'out-of-mem.; needed X=   1.001 GB; use flag "-mem X" or MAX_MEM_USAGE>=X (IMB_mem_info.h)',
    "int-overflow; The production rank*size caused int overflow;",
)


@pytest.mark.parametrize("refusal", REFUSALS)
def test_sizes_that_imb_refuses_for_their_memory_end_the_table(refusal: str) -> None:
    parsed = parse("PingPong", PINGPONG.replace(LAST_ROW, f"            4 {refusal}\n"))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed, "latency") == [0.31, 0.32, 0.33]


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refused_size_does_not_hide_a_lost_row(refusal: str) -> None:
    lines = PINGPONG.replace(LAST_ROW, f"            4 {refusal}\n").splitlines(keepends=True)
    lost = next(number for number, line in enumerate(lines) if " 0.33 " in line)
    parsed = parse("PingPong", "".join(lines[:lost] + lines[lost + 1 :]))
    assert not parsed.is_complete
    assert "the table of PingPong on 2 ranks stops at 1 of 4 bytes" in parsed.problems


def test_a_table_without_any_size_that_has_memory_is_not_complete() -> None:
    head = PINGPONG[: PINGPONG.index("            0 ")]
    tail = PINGPONG[PINGPONG.index(LAST_ROW) + len(LAST_ROW) :]
    assert not parse("PingPong", f"{head}            0 {REFUSALS[0]}\n{tail}").is_complete


def test_a_size_out_of_time_is_a_problem() -> None:
    parsed = parse("PingPong", PINGPONG.replace(LAST_ROW, "            4 time-out.; Time limit\n"))
    assert not parsed.is_complete
    assert "the table of PingPong on 2 ranks gave up at 4 time-out.; Time limit" in parsed.problems


def test_a_lost_row_keeps_the_run_from_being_complete() -> None:
    lines = PINGPONG.splitlines(keepends=True)
    lost = next(number for number, line in enumerate(lines) if " 0.33 " in line)
    parsed = parse("PingPong", "".join(lines[:lost] + lines[lost + 1 :]))
    assert not parsed.is_complete
    assert "the table of PingPong on 2 ranks goes on from 1 byte to 4 instead of 2" in parsed.problems


def test_lost_first_rows_keep_the_run_from_being_complete() -> None:
    first = "            0         1000         0.31         0.00\n"
    parsed = parse("PingPong", PINGPONG.replace(first, ""))
    assert not parsed.is_complete
    assert parsed.problems == ("the table of PingPong on 2 ranks starts at 1 byte instead of 0",)


def test_a_reduction_may_start_at_its_first_whole_number() -> None:
    text = PINGPONG.replace("Minimum message length in bytes:   0", "Minimum message length in bytes:   2")
    rows = text.index("            0 "), text.index("            4 ")
    assert parse("PingPong", text[: rows[0]] + text[rows[1] :]).is_complete


def test_a_missing_closing_line_keeps_the_run_from_being_complete() -> None:
    parsed = parse("PingPong", PINGPONG.replace(FOOTER, ""))
    assert not parsed.is_complete
    assert parsed.problems == ("the output lacks IMB's closing line; the run did not come to its end",)
    assert len(figures(parsed, "latency")) == 4


@pytest.mark.parametrize(
    "noise",
    [
        "[n1:00042] UCX  WARN  transport 'tcp' is not configured\n",
        "\n",
        "2 more processes have sent help message help-mpi-btl-tcp.txt / dropped inbound connection\n",
        "slurmstepd: error: *** STEP 12.0 ON n1 CANCELLED ***\n",
        "# note\n",
        "12\n",
        "\0\x07\ufffd\n",
    ],
)
def test_noise_between_rows_changes_nothing(noise: str) -> None:
    noisy = "".join(line + noise for line in PINGPONG.splitlines(keepends=True))
    assert parse("PingPong", noise + noisy) == parse("PingPong", PINGPONG)


@pytest.mark.parametrize(
    "disguise",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: "".join(f"\x1b[32m{line}\x1b[0m\n" for line in text.splitlines()),
    ],
    ids=["CRLF", "BOM", "colours"],
)
def test_encodings_change_nothing(disguise: object) -> None:
    assert callable(disguise)
    assert parse("PingPong", disguise(PINGPONG)) == parse("PingPong", PINGPONG)


def test_tables_of_other_benchmarks_are_left_alone() -> None:
    table = PINGPONG[PINGPONG.index("# Benchmarking") : PINGPONG.index("\n\n")]
    other = table.replace("PingPong", "PingPing").replace("0.3", "9.3")
    text = PINGPONG.replace(table, table + "\n" + other)
    assert figures(parse("PingPong", text), "latency") == [0.31, 0.32, 0.33, 0.34]
    assert figures(parse("PingPing", text), "latency") == [9.31, 9.32, 9.33, 9.34]
    assert parse("PingPing", text).is_complete


def test_pairs_at_once_are_a_benchmark_of_their_own() -> None:
    def table(groups: int) -> str:
        return f"""\
# Benchmarking Multi-PingPong
# ( {groups} groups of 2 processes each running simultaneous )
# Group  0:     0    1
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
            8         1000         1.10         1.50         1.20        {groups}.25
"""

    text = f"# Intel(R) MPI Benchmarks 2019, MPI-1 part\n{table(2)}{table(4)}{FOOTER}\n"
    parsed = parse("Multi-PingPong", text)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert only(parsed, "bandwidth", bytes=8, ranks=8) == 4.25
    assert parse("PingPong", text).problems[0] == "the output holds no table of PingPong"


def test_one_pair_with_the_option_multi_has_the_columns_of_many() -> None:
    text = f"""\
# Intel(R) MPI Benchmarks 2021.8, MPI-1 part
# Benchmarking PingPong
# #processes = 2
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
            8         1000         1.10         1.50         1.20         5.33
{FOOTER}
"""
    parsed = parse("Multi-PingPong", text)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert only(parsed, "time_max", bytes=8) == 1.5
    assert (
        parse("PingPong", text)
        .problems[0]
        .endswith(" has the columns of IMB's option -multi; read it as imb.multi-pingpong")
    )


def test_a_table_of_one_pair_is_none_of_many() -> None:
    parsed = parse("Multi-PingPong", PINGPONG)
    assert parsed.problems == ("the output holds no table of Multi-PingPong",)


def test_output_without_the_table_is_reported() -> None:
    parsed = parse("Alltoall", PINGPONG)
    assert (parsed.is_complete, parsed.measurements) == (False, ())
    assert parsed.problems == ("the output holds no table of Alltoall",)


def test_a_run_cut_off_and_started_again_counts_once() -> None:
    cut = PINGPONG[: PINGPONG.index(LAST_ROW)].replace("0.31", "7.31")
    parsed = parse("PingPong", cut + PINGPONG)
    assert without_left_out(parsed) == parse("PingPong", PINGPONG)
    why = "its run did not come to its end, and another one follows in the output"
    assert parsed.left_out == tuple(
        f"{fom} is left out at ranks 2: {why}" for fom in ("latency", "bandwidth")
    )


def test_two_whole_runs_in_one_log_are_a_problem() -> None:
    parsed = parse("PingPong", PINGPONG + PINGPONG)
    assert parsed.problems == ("the table of PingPong on 2 ranks is there 2 times",)


def test_sizes_of_the_users_own_need_no_doubling() -> None:
    text = re.sub(r"# M\w+ message length.*\n", "# Message lengths were user defined\n", PINGPONG)
    assert parse("PingPong", text.replace("            2 ", "            3 ")).is_complete


def test_the_sizes_of_one_run_are_not_asked_of_the_next() -> None:
    second = re.sub(r"# M\w+ message length.*\n", "", PINGPONG).replace("            2 ", "            3 ")
    assert parse("PingPong", PINGPONG.replace("PingPong", "PingPing") + second).is_complete


def test_a_barrier_has_no_sizes() -> None:
    text = PINGPONG[: PINGPONG.index("# Benchmarking")] + (
        "# Benchmarking Barrier\n# #processes = 4\n"
        " #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
        "         1000         0.32         0.36         0.34\n\n" + FOOTER + "\n"
    )
    parsed = parse("Barrier", text)
    assert (parsed.is_complete, parsed.payload_bytes) == (True, 1000)
    assert [(one.fom, one.value, one.at) for one in parsed.measurements] == [
        ("time_min", 0.32, {}),
        ("time_max", 0.36, {}),
        ("time_avg", 0.34, {}),
    ]


@given(st.data())
@settings(max_examples=200)
def test_damage_never_crashes_and_never_makes_up_a_number(data: st.DataObject) -> None:
    text = PINGPONG
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 40)))
        text = text[:start] + data.draw(st.text(max_size=12) | st.just(PINGPONG[300:600])) + text[end:]
    for lines in (io.StringIO(text), text.splitlines()):
        parsed = IMB["PingPong"].parse(lines)
        printed = [float(word) for word in re.findall(r"[0-9]+(?:\.[0-9]+)?", text)]
        assert all(one.value in printed for one in parsed.measurements)


def test_a_long_log_takes_no_memory() -> None:
    noise = "[n1:00042] UCX  WARN  something is not configured, and this goes on for ever\n"
    head, tail = PINGPONG[: PINGPONG.index(LAST_ROW)], PINGPONG[PINGPONG.index(LAST_ROW) :]

    def lines() -> Iterator[str]:
        yield from io.StringIO(head)
        for _ in range(50_000):
            yield noise
        yield from io.StringIO(tail)

    tracemalloc.start()
    parsed = IMB["PingPong"].parse(lines())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert parsed.is_complete
    assert peak < 1_000_000
