"""What OMB prints of devices, buffers and windows, and the programs beside the common ones."""

from __future__ import annotations

import pytest

from support.outputs import figures
from tare.core.case import Layout
from workloads.cases import case_of
from workloads.osu_output import OSU, SIZES, parse, table


@pytest.mark.parametrize(
    ("title", "heads", "printed"),
    [
        (
            "MPI-CUDA Latency Test v5.8",
            "# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)",
            ("cuda", "D H"),
        ),
        (
            "MPI-ROCM Latency Test v7.0",
            "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)",
            ("rocm", "D D"),
        ),
        ("MPI-CUDA Latency Test v7.5", "# Datatype: MPI_CHAR.", ("cuda", None)),
        (
            "MPI-CUDA Latency Test v5.3",
            "# Send Buffer on HOST (H) and Receive Buffer on HOST (H)",
            (None, "H H"),
        ),
        ("MPI-CUDA Latency Test v5.3", "", (None, None)),
        ("MPI Latency Test v7.5", "# Datatype: MPI_CHAR.", (None, None)),
    ],
)
def test_the_device_and_its_buffers_are_settings(
    title: str, heads: str, printed: tuple[str | None, str | None]
) -> None:
    """Builds for a device name it in titles before version 7, even if both buffers are on the host."""
    rows = dict.fromkeys(SIZES[1 if "v7" in title else 0 :], "1.50")
    text = table("Latency", f"{heads}\n# Size  Latency (us)", rows).replace("MPI Latency", title)
    parsed = parse("latency", text)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    read = (parsed.printed.get("device"), parsed.printed.get("buffers"))
    assert read == tuple(None if one is None else (one,) for one in printed)


def test_tables_of_other_windows_are_distinguished() -> None:
    heads = "# Window creation: {}\n# Synchronization: {}\n# Size          Latency (us)"
    ways = (("MPI_Win_create", "MPI_Win_lock/unlock"), ("MPI_Win_allocate", "MPI_Win_flush"))
    texts = [table("Latency", heads.format(*way), dict.fromkeys(SIZES[1:], "1.50")) for way in ways]
    parsed = parse("put_latency", "".join(texts).replace("MPI Latency", "MPI_Put Latency Test v5.8"))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    points = {(one.at["window"], one.at["synchronization"]) for one in parsed.measurements}
    assert points == set(ways)
    assert not any("run" in one.at for one in parsed.measurements)


@pytest.mark.parametrize(("name", "title"), [("fop", "MPI_Fetch_and_op"), ("cas", "MPI_Compare_and_swap")])
def test_atomic_operations_have_one_size(name: str, title: str) -> None:
    text = table(f"{title} latency Test v5.8", "# Size          Latency (us)", {8: "0.45"})
    parsed = parse(f"{name}_latency", text)
    assert (parsed.is_complete, parsed.is_end_known, parsed.problems) == (True, True, ())
    assert [(one.value, one.at) for one in parsed.measurements] == [(0.45, {"bytes": 8})]
    assert not parse(f"{name}_latency", text.rpartition("8 ")[0]).is_complete
    case = case_of(OSU[f"{name}_latency"])
    assert OSU[f"{name}_latency"].stages(case)[0].argv == (f"osu_{name}_latency",)
    assert OSU[f"{name}_latency"].expecting(case).parse(text.splitlines()).problems == ()


@pytest.mark.parametrize(("datatype", "size"), [("MPI_CHAR", 1), ("MPI_INT", 4), ("MPI_DOUBLE", 8)])
def test_atomic_operations_of_version_7_are_on_a_data_type(datatype: str, size: int) -> None:
    heads = f"# Datatype: {datatype}.\n# Size          Latency (us)        Validation"
    text = table("", heads, {size: f"0.45{'passed':>18}"}).replace(
        "# OSU MPI ", "# OSU MPI_Fetch_and_op latency Test v7.4"
    )
    parsed = parse("fop_latency", text)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed, "latency", bytes=size) == [0.45]
    failed = "FAILED: MPI_SUM on MPI_INT had 1 of 1 tests fail data validation.\n"
    (problem,) = parse("fop_latency", text + failed).problems
    assert "MPI_SUM on MPI_INT" in problem
    assert not parse("fop_latency", text.replace(f"\n{size} ", "\n3 ")).is_complete


@pytest.mark.parametrize(
    ("name", "title", "heads", "row"),
    [
        ("bw", "Bandwidth Test", "# Size      Bandwidth (MB/s) P50 Tail BW(MB/s) P99 Tail BW(MB/s)", ""),
        (
            "mbw_mr",
            "Multiple Bandwidth / Message Rate Test",
            "# Size                  MB/s        Messages/s P50 Tail BW(MB/s) P99 Tail BW(MB/s)",
            "5.00",
        ),
        (
            "bw",
            "Bandwidth Test",
            "# Size      Bandwidth (MB/s)        Validation P50 Tail BW(MB/s) P99 Tail BW(MB/s)",
            "Pass",
        ),
    ],
)
def test_percentiles_of_bandwidths_fill_the_width_of_their_heads(
    name: str, title: str, heads: str, row: str
) -> None:
    rows = dict.fromkeys(SIZES[1:], f"1.00{row:>18}{'0.90':>18}{'7.00':>18}")
    parsed = parse(name, table(f"{title} v7.4", heads, rows))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed, "bandwidth", bytes=8) == [1.0]
    assert figures(parsed, "bandwidth_tail", bytes=8, percentile=50) == [0.9]
    assert figures(parsed, "bandwidth_tail", bytes=8, percentile=99) == [7.0]


@pytest.mark.parametrize(
    ("name", "title", "first"),
    [("get_acc_latency", "MPI_Get_accumulate latency", 1), ("latency_mp", "MPI Multi-process Latency", 0)],
)
def test_less_common_latencies_are_read(name: str, title: str, first: int) -> None:
    rows = dict.fromkeys(SIZES[first:], "1.50")
    text = table("Latency", "# Size          Latency (us)", rows).replace("MPI Latency", f"{title} Test v5.8")
    parsed = parse(name, text)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert len(figures(parsed, "latency")) == len(rows)
    assert figures(parsed, "latency_small_mean") == [1.5]


@pytest.mark.parametrize("benchmark", sorted(OSU))
def test_a_default_case_has_no_faults(benchmark: str) -> None:
    ranks = max(OSU[benchmark].least_ranks, 2)
    case = case_of(OSU[benchmark], Layout(nodes=ranks, ranks=ranks, ranks_per_node=1))
    assert list(OSU[benchmark].faults(case)) == []
