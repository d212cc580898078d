"""IMB's parser on real output (corpus/INDEX.tsv names the origin of each file) and on damaged output."""

from __future__ import annotations

import io
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.outputs import figures, only, reader_of_any
from tare.core.case import Binding, Layout
from tare.plugins.workloads.imb import WORKLOADS
from tare.plugins.workloads.imb_benchmark import ImbBenchmark
from workloads.cases import case_of

IMB = {workload.benchmark: workload for workload in WORKLOADS}
FOOTER = "# All processes entering MPI_Finalize"

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


parse = reader_of_any(IMB)


# Real output


@pytest.mark.parametrize(
    ("name", "at_8", "at_4194304"),
    [
        ("03-pingpong-impi193-peta4.out", (0.39, 20.26), (1030.47, 4070.30)),
        ("07-pingpong-ompi4-ucx.out", (1.05, 7.63), (352.68, 11892.60)),
    ],
)
def test_pingpong_is_read(
    corpus: Path, name: str, at_8: tuple[float, float], at_4194304: tuple[float, float]
) -> None:
    parsed = parse("PingPong", (corpus / "imb" / name).read_text())
    assert parsed.is_complete
    assert parsed.problems == ()
    assert len(figures(parsed, "latency")) == 24
    for size, expected in ((8, at_8), (4194304, at_4194304)):
        assert (only(parsed, "latency", bytes=size), only(parsed, "bandwidth", bytes=size)) == expected


def test_a_collective_is_read(corpus: Path) -> None:
    parsed = parse("Alltoall", (corpus / "imb/04-alltoall-cirrus-mpt218.out").read_text())
    assert parsed.is_complete
    assert len(figures(parsed, "time_avg")) == 24
    assert only(parsed, "time_avg", bytes=8) == 42.99
    assert only(parsed, "time_min", bytes=8) == 17.61
    assert only(parsed, "time_max", bytes=8) == 77.14
    assert only(parsed, "time_avg", bytes=4194304) == 893642.91


def test_times_and_bandwidth_of_sendrecv_are_read(corpus: Path) -> None:
    parsed = parse("Sendrecv", (corpus / "imb/05-sendrecv-32nodes-archer-cray774.out").read_text())
    assert parsed.is_complete
    assert (only(parsed, "time_avg", bytes=8), only(parsed, "bandwidth", bytes=8)) == (7.10, 1.66)
    assert only(parsed, "time_avg", bytes=4194304) == 3068.99
    assert only(parsed, "bandwidth", bytes=4194304) == 2551.83


def test_several_groups_of_ranks_are_distinguished(corpus: Path) -> None:
    parsed = parse("Uniband", (corpus / "imb/08-uniband-multi-nproc-groups.out").read_text())
    assert parsed.is_complete
    assert len(figures(parsed, "message_rate")) == 7 * 24
    assert only(parsed, "bandwidth", bytes=8, ranks=2) == 29.60
    assert only(parsed, "message_rate", bytes=8, ranks=2) == 3699661
    assert only(parsed, "bandwidth", bytes=4194304, ranks=64) == 23141.09
    assert only(parsed, "bandwidth", bytes=8, ranks=112) == 473.48
    assert only(parsed, "bandwidth", bytes=4194304, ranks=112) == 5786.16
    assert only(parsed, "message_rate", bytes=4194304, ranks=112) == 1380


def test_biband_is_read(corpus: Path) -> None:
    parsed = parse("Biband", (corpus / "imb/09-biband-ompi4-multi-groups.out").read_text())
    assert parsed.is_complete
    assert only(parsed, "bandwidth", bytes=8, ranks=2) == 80.52
    assert [only(parsed, "bandwidth", bytes=4194304, ranks=n) for n in (2, 8, 16)] == [
        17237.89,
        55574.69,
        20544.33,
    ]


def test_killed_runs_are_not_complete_but_their_rows_are_read(corpus: Path) -> None:
    one = parse("Alltoallv", (corpus / "imb/01-alltoallv-128nodes-cray-truncated.out").read_text())
    assert (one.is_complete, only(one, "time_avg", bytes=0)) == (False, 96591.34)
    two = parse("Alltoall", (corpus / "imb/02-alltoall-128nodes-cray-truncated.out").read_text())
    assert not two.is_complete
    assert len(figures(two, "time_avg")) == 16
    assert only(two, "time_avg", bytes=8) == 7431.03
    assert only(two, "time_avg", bytes=16384) == 4309284.27
    assert "the table of Alltoall on 16384 ranks stops at 16384 of 4194304 bytes" in two.problems


def test_a_run_out_of_time_is_not_complete_though_it_came_to_its_end(corpus: Path) -> None:
    parsed = parse("Alltoallv", (corpus / "imb/06-alltoallv-32nodes-cray8-short.out").read_text())
    assert not parsed.is_complete
    assert len(figures(parsed, "time_avg")) == 6
    assert only(parsed, "time_avg", bytes=8) == 56174.82
    assert any("gave up at 32 time-out.;" in problem for problem in parsed.problems)


def real_outputs(corpus: Path) -> Iterator[tuple[str, str]]:
    for path in sorted((corpus / "imb").iterdir()):
        text = path.read_text()
        (benchmark,) = set(re.findall(r"# Benchmarking (\S+)", text))
        yield benchmark, text


def test_output_cut_anywhere_is_complete_only_once_the_closing_line_is_in(corpus: Path) -> None:
    for benchmark, text in real_outputs(corpus):
        whole = {(one.fom, one.at["bytes"], one.value) for one in parse(benchmark, text).measurements}
        for cut in range(0, len(text), 50):
            for lines in (io.StringIO(text[:cut]), text[:cut].splitlines()):
                parsed = IMB[benchmark].parse(lines)
                assert not parsed.is_complete or FOOTER in text[:cut]
                assert {(one.fom, one.at["bytes"], one.value) for one in parsed.measurements} <= whole


# Damaged output


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
    assert "the table of PingPong on 2 ranks goes on from 1 bytes to 4 instead of 2" in parsed.problems


def test_lost_first_rows_keep_the_run_from_being_complete() -> None:
    first = "            0         1000         0.31         0.00\n"
    parsed = parse("PingPong", PINGPONG.replace(first, ""))
    assert not parsed.is_complete
    assert parsed.problems == ("the table of PingPong on 2 ranks starts at 1 bytes instead of 0",)


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


def test_output_without_the_table_is_reported() -> None:
    parsed = parse("Alltoall", PINGPONG)
    assert (parsed.is_complete, parsed.measurements) == (False, ())
    assert parsed.problems == ("the output holds no table of Alltoall",)


def test_a_run_cut_off_and_started_again_counts_once() -> None:
    cut = PINGPONG[: PINGPONG.index(LAST_ROW)].replace("0.31", "7.31")
    assert parse("PingPong", cut + PINGPONG) == parse("PingPong", PINGPONG)


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


# Commands and faults


def test_the_command_names_exactly_one_group_of_ranks_and_all_sizes() -> None:
    workload = IMB["Alltoall"]
    (stage,) = workload.stages(case_of(workload, Layout(nodes=2, ranks=8, ranks_per_node=4)))
    command = "IMB-MPI1 -npmin 8 -msglog 0:22 -zero_size off -iter 1000 -time 10 Alltoall"
    assert " ".join(stage.argv) == command
    assert stage.layout == Layout(nodes=2, ranks=8, ranks_per_node=4)


def test_a_collective_starts_with_its_smallest_message_that_moves_data() -> None:
    workload = IMB["Allreduce"]
    (stage,) = workload.stages(case_of(workload, max_bytes=65536))
    assert "-msglog 2:16 -zero_size off" in " ".join(stage.argv)


def test_a_smallest_size_leaves_the_empty_message_out() -> None:
    workload = IMB["PingPong"]
    (stage,) = workload.stages(case_of(workload, min_bytes=8, max_bytes=65536, iterations=50, time_s=0.5))
    command = "IMB-MPI1 -npmin 2 -msglog 3:16 -zero_size off -iter 50 -time 0.5 PingPong"
    assert " ".join(stage.argv) == command


def test_pairs_at_once_are_asked_for_by_an_option() -> None:
    workload = IMB["Multi-PingPing"]
    (stage,) = workload.stages(case_of(workload, Layout(nodes=2, ranks=8, ranks_per_node=4)))
    assert stage.argv[-3:] == ("-multi", "0", "PingPing")
    assert stage.layout == Layout(nodes=2, ranks=8, ranks_per_node=4)


def test_a_barrier_is_given_no_sizes() -> None:
    workload = IMB["Barrier"]
    (stage,) = workload.stages(case_of(workload))
    assert " ".join(stage.argv) == "IMB-MPI1 -npmin 2 -iter 1000 -time 10 Barrier"


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        (Layout(nodes=4, ranks=16, ranks_per_node=4), Layout(nodes=2, ranks=2, ranks_per_node=1)),
        (Layout(nodes=1, ranks=4, ranks_per_node=4), Layout(nodes=1, ranks=2, ranks_per_node=2)),
        (
            Layout(nodes=2, ranks=2, ranks_per_node=1, threads=4, bind=Binding.CORE),
            Layout(nodes=2, ranks=2, ranks_per_node=1, bind=Binding.CORE),
        ),
    ],
)
def test_two_ranks_meet_over_the_network_where_there_is_one(layout: Layout, expected: Layout) -> None:
    workload = IMB["PingPong"]
    assert workload.stages(case_of(workload, layout))[0].layout == expected


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_defaults_have_no_fault(workload: ImbBenchmark) -> None:
    assert list(workload.faults(case_of(workload))) == []


@pytest.mark.parametrize(
    ("benchmark", "layout", "parameters", "fault"),
    [
        ("PingPong", Layout(), {}, "needs 2 ranks or more, and the case has 1; set ranks: 2"),
        ("Alltoall", Layout(), {}, "needs 2 ranks or more"),
        ("Uniband", Layout(ranks=3, ranks_per_node=3), {}, "3 is odd; set ranks: 4"),
        ("PingPong", None, {"max_bytes": 1000}, "max_bytes is 1000, but .* set max_bytes: 512"),
        ("PingPong", None, {"min_bytes": 3}, "min_bytes is 3, but .* set min_bytes: 2"),
        ("Allreduce", None, {"max_bytes": 2}, "powers of two from 4 on; set max_bytes: 4"),
        ("PingPong", None, {"min_bytes": 16, "max_bytes": 8}, "min_bytes 16 is more than max_bytes 8"),
    ],
)
def test_faults_are_found_before_the_run_and_name_the_cure(
    benchmark: str, layout: Layout | None, parameters: dict[str, int], fault: str
) -> None:
    workload = IMB[benchmark]
    (found,) = workload.faults(case_of(workload, layout, **parameters))
    assert re.search(fault, found)


def test_figures_of_merit_know_their_units_and_directions() -> None:
    described = {
        workload.name: [(fom.name, fom.unit, str(fom.better), fom.is_primary) for fom in workload.foms]
        for workload in WORKLOADS
    }
    assert described["imb.pingpong"] == [
        ("latency", "us", "lower", True),
        ("bandwidth", "MB/s", "higher", True),
    ]
    assert ("time_avg", "us", "lower", True) in described["imb.alltoall"]
    assert ("time_max", "us", "lower", False) in described["imb.alltoall"]
    assert [fom.by for fom in IMB["Barrier"].foms] == [(), (), ()]
