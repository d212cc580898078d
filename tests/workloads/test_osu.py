"""OMB's parser on damaged output, and what its commands are."""

from __future__ import annotations

import io
import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.outputs import figures
from tare.core.case import Layout
from workloads.cases import case_of
from workloads.osu_output import BCAST, LATENCY, OSU, SIZES, parse, table

# Damaged output


def test_the_examples_are_complete() -> None:
    for benchmark, text in (("latency", LATENCY), ("bcast", BCAST)):
        assert (parse(benchmark, text).is_complete, parse(benchmark, text).problems) == (True, ())


def test_the_fastest_and_slowest_rank_are_read() -> None:
    parsed = parse("bcast", BCAST)
    assert [figures(parsed, fom, bytes=8) for fom in ("latency", "latency_min", "latency_max")] == [
        [10],
        [9],
        [11],
    ]


def test_bandwidths_of_version_2_have_six_decimals() -> None:
    heads = "# Size\t\tBandwidth (MB/s) "
    text = table("Bandwidth Test (Version 2.1)", heads, {size: f"{size * 0.4:.6f}" for size in SIZES[1:]})
    parsed = parse("bw", text)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed, "bandwidth", bytes=8) == [3.2]
    assert not parse("bw", text.replace("3.200000", "3.2000")).is_complete


def test_the_title_of_an_alltoall_may_go_without_hyphens() -> None:
    text = BCAST.replace("Broadcast Latency Test v5.8", "Alltoallv Latency Test v5.3.2")
    assert parse("alltoallv", text).is_complete


@pytest.mark.parametrize("n_rows", [0, 1, 5, 23])
def test_a_table_that_ends_early_is_not_complete(n_rows: int) -> None:
    text = "".join(LATENCY.splitlines(keepends=True)[: 2 + n_rows])
    parsed = parse("latency", text)
    assert (parsed.is_complete, len(figures(parsed, "latency"))) == (False, n_rows)


def test_the_small_mean_needs_all_its_sizes() -> None:
    assert figures(parse("latency", LATENCY), "latency_small_mean") == [
        pytest.approx(sum(round(1 + size / 100, 2) for size in (1, 2, 4, 8, 16, 32, 64)) / 7, abs=1e-6)
    ]
    without = "".join(line for line in LATENCY.splitlines(keepends=True) if not line.startswith("64 "))
    assert figures(parse("latency", without), "latency_small_mean") == []


@pytest.mark.parametrize("last", ["41944.0", "41944.", "41944", "4", ""])
def test_a_row_cut_short_is_no_row(last: str) -> None:
    text = LATENCY[: LATENCY.rindex("41944.04")]
    for lines in (io.StringIO(text + last), (text + last).splitlines()):
        parsed = OSU["latency"].parse(lines)
        assert (parsed.is_complete, len(figures(parsed, "latency"))) == (False, 23)


def test_a_last_row_without_a_line_end_is_whole_when_it_has_both_decimals() -> None:
    assert parse("latency", LATENCY.rstrip("\n")) == parse("latency", LATENCY)


def test_a_last_row_that_ends_in_a_whole_number_may_be_cut() -> None:
    parsed = parse("bcast", BCAST.rstrip("\n"))
    assert (parsed.is_complete, len(figures(parsed, "latency"))) == (False, 20)


@pytest.mark.parametrize("broken", ["nan", "-nan", "inf", "****", "1.9.3", "1e400", "٣.٣٤"])
def test_what_is_not_a_number_is_no_figure(broken: str) -> None:
    parsed = parse("latency", LATENCY.replace("1.08", broken))
    assert figures(parsed, "latency", bytes=8) == []
    assert not parsed.is_complete
    assert "the table of latency goes on from 4 bytes to 16 instead of 8" in parsed.problems


def test_a_lost_row_keeps_the_run_from_being_complete() -> None:
    for lost in range(len(SIZES)):
        lines = LATENCY.splitlines(keepends=True)
        assert not parse("latency", "".join(lines[: lost + 2] + lines[lost + 3 :])).is_complete


@pytest.mark.parametrize("label", ["0: ", "[0] ", "[1,0]<stdout>:", "[prterun-n1-99@1,0]<stdout>: ", "    "])
def test_labels_of_ranks_are_taken_off(label: str) -> None:
    labelled = "".join(label + line for line in LATENCY.splitlines(keepends=True))
    assert parse("latency", labelled) == parse("latency", LATENCY)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("OSU MPI Latency", "OSU MPI-CUDA Latency"),
        ("OSU MPI Latency", "OSU MPI-CUDA MANAGED Latency"),
        ("OSU MPI Latency", "OSU MPI-ROCM Latency"),
        ("# OSU MPI Latency Test v5.8", "OSU MPI Latency Test v5.9"),
        ("# Size  ", "  Size  "),
        ("# Size          Latency (us)", "# Size\t\tLatency (us)"),
        ("\n# Size", "\n# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)\n# Size"),
        ("Test v5.8", "Test v3.1.1"),
        ("\n", "\r\n"),
    ],
)
def test_titles_and_heads_of_other_builds_are_known(old: str, new: str) -> None:
    found, known = parse("latency", LATENCY.replace(old, new)), parse("latency", LATENCY)
    assert msgspec.structs.replace(found, printed=known.printed) == known
    assert found.printed.keys() - {"buffers"} == known.printed.keys()


def test_tables_of_version_7_start_at_one_byte() -> None:
    rows = {size: f"{1 + size / 100:.2f}" for size in SIZES[1:]}
    for heads in (
        "# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)",
        "# Size    Latency (us)\n# Datatype: MPI_CHAR.",
    ):
        assert parse("latency", table("Latency Test v7.5", heads, rows)).is_complete
    assert not parse("latency", table("Latency Test v5.8", "# Size      Latency (us)", rows)).is_complete


def test_tables_of_several_data_types_are_distinguished() -> None:
    chars = table("Latency Test v7.5", "# Size   Avg Latency(us)", dict.fromkeys(SIZES[1:], "1.00"))
    ints = table("", "# Size   Avg Latency(us)", dict.fromkeys(SIZES[3:], "2.00")).partition("\n")[2]
    parsed = parse("latency", chars + "# Datatype: MPI_INT.\n" + ints)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed, "latency", bytes=8) == [1.0, 2.0]
    assert figures(parsed, "latency", bytes=8, datatype="MPI_INT") == [2.0]


def test_a_failed_validation_is_a_problem() -> None:
    heads = "# Size      Bandwidth (MB/s)        Validation"
    rows = {size: f"{size / 10:.2f}{'Pass':>18}" for size in SIZES[1:]}
    assert parse("bw", table("Bandwidth Test v7.5", heads, rows)).problems == ()
    rows[8] = f"{0.8:.2f}{'Fail':>18}"
    (problem,) = parse("bw", table("Bandwidth Test v7.5", heads, rows)).problems
    assert "failed its validation: 8 " in problem


def test_percentiles_of_version_7_are_read() -> None:
    heads = "# Size   Avg Latency(us)   P50 Tail Lat(us)   P99 Tail Lat(us)"
    rows = dict.fromkeys(SIZES[1:], f"1.00{'0.90':>18}{'7.00':>18}")
    parsed = parse("latency", table("Latency Test v7.5", heads, rows))
    assert parsed.is_complete
    assert figures(parsed, "latency_tail", bytes=8, percentile=99) == [7.0]


@pytest.mark.parametrize("damaged", ["7.0.0", "7.", "+7.00"])
def test_a_damaged_percentile_is_a_broken_row(damaged: str) -> None:
    heads = "# Size   Avg Latency(us)   P99 Tail Lat(us)"
    rows = dict.fromkeys(SIZES[1:], f"1.00{'7.00':>18}") | {8: f"1.00{damaged:>18}"}
    parsed = parse("latency", table("Latency Test v7.5", heads, rows))
    assert f"the table of latency has a broken row: 8 1.00 {damaged}" in parsed.problems
    assert figures(parsed, "latency_tail", bytes=8) == []


def test_a_last_row_that_ends_in_a_percentile_of_two_decimals_is_whole() -> None:
    heads = "# Size   Avg Latency(us)   P99 Tail Lat(us)"
    text = table("Latency Test v7.5", heads, dict.fromkeys(SIZES[1:], f"1.00{'7.00':>18}")).rstrip("\n")
    assert figures(parse("latency", text), "latency_tail", bytes=SIZES[-1]) == [7.0]
    assert figures(parse("latency", text.removesuffix("0")), "latency_tail", bytes=SIZES[-1]) == []


def test_overlap_is_read() -> None:
    heads = "# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)"
    rows = dict.fromkeys(SIZES[3:22], f"8.77{5.32:>18}{4.43:>18}{22.08:>18}")
    text = table(
        "Non-blocking Allreduce Latency Test v5.6.3", "# Overall = Coll. Init + Compute\n\n" + heads, rows
    )
    parsed = parse("iallreduce", text)
    assert parsed.is_complete
    assert {one.fom: one.value for one in parsed.measurements if one.at["bytes"] == 8} == {
        "overall": 8.77,
        "compute": 5.32,
        "communication": 4.43,
        "overlap": 22.08,
    }


def test_a_barrier_has_no_sizes() -> None:
    text = "\n# OSU MPI Barrier Latency Test v5.8\n# Avg Latency(us)\n             8.63\n\nreal\t0m7.832s\n"
    parsed = parse("barrier", text)
    assert (parsed.is_complete, parsed.problems, parsed.payload_bytes) == (True, (), None)
    assert [(one.fom, one.value, one.at) for one in parsed.measurements] == [("latency", 8.63, {})]
    assert not parse("barrier", text.replace("             8.63", "")).is_complete


@pytest.mark.parametrize(
    ("head", "row"),
    [
        ("       Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)", (8.77, 5.32, 22.08)),
        ("# Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)", (8.77, 5.32, 22.08)),
    ],
    ids=["versions 4 to 6", "version 7"],
)
def test_a_non_blocking_barrier_has_no_sizes(head: str, row: tuple[float, ...]) -> None:
    overall, compute, overlap = row
    text = (
        "\n# OSU MPI Non-blocking Barrier Latency Test v5.8\n"
        f"# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n{head}\n"
        f"{overall:>18}{compute:>18}{4.43:>18}{overlap:>18}\n"
    )
    parsed = parse("ibarrier", text)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert {one.fom: one.value for one in parsed.measurements} == {
        "overall": overall,
        "compute": compute,
        "communication": 4.43,
        "overlap": overlap,
    }
    assert not parse("ibarrier", text.replace("8.77", "")).is_complete


def test_only_the_settings_show_where_a_table_should_end() -> None:
    assert not parse("latency", LATENCY).is_end_known
    assert parse("latency", f"+ ./osu_latency -m 4194304\n{LATENCY}").is_end_known
    asked = OSU["latency"].expecting(case_of(OSU["latency"]))
    assert asked.parse(io.StringIO(LATENCY)).is_end_known
    assert parse("barrier", "# OSU MPI Barrier Latency Test v5.8\n# Avg Latency(us)\n 8.63\n").is_end_known


def test_a_size_that_the_log_announces_is_the_end() -> None:
    short = "".join(LATENCY.splitlines(keepends=True)[:6])
    assert not parse("latency", short).is_complete
    assert parse("latency", "+ mpirun -n 2 ./osu_latency -i 100 -m 0:4\n" + short).is_complete
    assert not parse("latency", "+ mpirun -n 2 ./osu_latency -m 0:8\n" + short).is_complete


def test_a_size_that_the_memory_limits_is_the_end() -> None:
    text = "".join(BCAST.splitlines(keepends=True)[:-1]).replace(
        "Broadcast", "All-to-All Personalized Exchange"
    )
    assert not parse("alltoall", text).is_complete
    assert parse(
        "alltoall", "Warning! Limiting max message size to: 524288. Increase -M.\n" + text
    ).is_complete


def test_an_abort_after_the_table_is_a_problem() -> None:
    parsed = parse("latency", LATENCY + "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\n")
    assert parsed.problems == (
        "the run was aborted: MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD",
    )


def test_prose_that_names_a_benchmark_is_no_table() -> None:
    assert parse("latency", "Running the OSU MPI Latency Test now\n" + LATENCY) == parse("latency", LATENCY)


def test_the_payload_is_at_least_one_message_of_each_size() -> None:
    """To and fro in a ping-pong, 64 times in a bandwidth test, and as often as the case asks."""
    assert parse("latency", LATENCY).payload_bytes == 2 * sum(SIZES)
    case = case_of(OSU["latency"])
    case = msgspec.structs.replace(case, parameters={**case.parameters, "iterations": 500})
    asked = OSU["latency"].expecting(case).parse(io.StringIO(LATENCY))
    assert (asked.payload_bytes, asked.n_messages) == (500 * 2 * sum(SIZES), 500 * 2 * len(SIZES))


@given(st.data())
@settings(max_examples=150)
def test_damage_never_crashes_and_never_makes_up_a_number(data: st.DataObject) -> None:
    text = BCAST
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 40)))
        text = text[:start] + data.draw(st.text(max_size=12) | st.just(BCAST[300:600])) + text[end:]
    for lines in (io.StringIO(text), text.splitlines()):
        parsed = OSU["bcast"].parse(lines)
        printed = [float(word) for word in re.findall(r"[0-9]+(?:\.[0-9]+)?", text)]
        rows = [one for one in parsed.measurements if one.fom != "latency_small_mean"]
        assert all(one.value in printed for one in rows)
        assert not parsed.is_complete or parsed.left_out or len(figures(parsed, "latency")) >= 21


# Commands and faults


def test_a_default_case_is_plain_omb() -> None:
    (stage,) = OSU["latency"].stages(case_of(OSU["latency"], Layout(nodes=4, ranks=16, ranks_per_node=4)))
    assert stage.argv == ("osu_latency",)
    assert stage.layout == Layout(nodes=2, ranks=2, ranks_per_node=1)


def test_options_are_given_where_a_case_departs_from_the_defaults() -> None:
    case = case_of(OSU["bw"], max_bytes=65536, iterations=50, device="cuda", buffers="D D")
    assert " ".join(OSU["bw"].stages(case)[0].argv) == "osu_bw -m 1:65536 -i 50 -d cuda D D"
    case = case_of(OSU["iallreduce"], min_bytes=8, full=True, device="rocm")
    assert " ".join(OSU["iallreduce"].stages(case)[0].argv) == "osu_iallreduce -m 8:1048576 -f -d rocm"
    case = case_of(OSU["barrier"], Layout(nodes=2, ranks=8, ranks_per_node=4))
    assert (OSU["barrier"].stages(case)[0].argv, OSU["barrier"].stages(case)[0].layout) == (
        ("osu_barrier",),
        case.layout,
    )


def test_a_case_knows_where_its_tables_end() -> None:
    short = "".join(LATENCY.splitlines(keepends=True)[:6])
    workload = OSU["latency"]
    for largest, is_complete in ((2, False), (4, True), (7, True), (8, False), (4 << 20, False)):
        parsed = workload.expecting(case_of(workload, max_bytes=largest)).parse(io.StringIO(short))
        assert parsed.is_complete == is_complete
    assert OSU["barrier"].expecting(case_of(OSU["barrier"])) == OSU["barrier"]


@pytest.mark.parametrize(
    ("benchmark", "ranks", "parameters", "cure"),
    [
        ("latency", 1, {}, "set ranks: 2"),
        ("mbw_mr", 3, {}, "set ranks: 4"),
        ("bw", 2, {"min_bytes": 64, "max_bytes": 32}, "set min_bytes: 32"),
        ("allreduce", 2, {"min_bytes": 1}, "set min_bytes: 4"),
        ("alltoall", 1024, {}, "set max_bytes: 524288"),
        ("iallgather", 1000, {}, "set max_bytes: 524288"),
    ],
)
def test_what_omb_would_refuse_is_refused_with_the_cure(
    benchmark: str, ranks: int, parameters: dict[str, int], cure: str
) -> None:
    case = case_of(OSU[benchmark], Layout(nodes=1, ranks=ranks, ranks_per_node=ranks), **parameters)
    (fault,) = OSU[benchmark].faults(case)
    assert fault.endswith(cure) or f"{cure}," in fault
