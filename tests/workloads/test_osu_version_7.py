"""Programs and options of OMB 7.4: persistent, neighbourhood and fan-in benchmarks, as it printed them."""

from __future__ import annotations

import pytest

from support.outputs import figures
from tare.core.case import Layout
from workloads.cases import case_of
from workloads.osu_output import OSU, SIZES, parse, table

PAIR = dict.fromkeys(SIZES[1:], "1.25")
ALL = dict.fromkeys(SIZES[1:22], "1.25")
LATENCIES = "# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)"
RATES = "# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)"
OVERLAP = (
    "# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n# Datatype: MPI_CHAR.\n"
    "# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)"
)
OVERLAPS = dict.fromkeys(SIZES[1:22], f"4.03{'2.25':>18}{'1.56':>18}{'52.00':>18}")
GRAPH = "Dimensions size = 4 \nTime took to create topology graph:89.80 us.\n\n"
"""What benchmarks of neighbours print before their title."""


@pytest.mark.parametrize(
    ("name", "title", "heads", "rows", "figure"),
    [
        ("latency_persistent", "Latency Persistent", LATENCIES, PAIR, "latency"),
        ("bw_persistent", "Bandwidth Persistent", RATES, PAIR, "bandwidth"),
        ("bibw_persistent", "Bi-Directional Bandwidth Persistent", RATES, PAIR, "bandwidth"),
        ("bw_fan_in", "Bandwidth", LATENCIES, PAIR, "bandwidth"),
        ("bw_fan_out", "Bandwidth", LATENCIES, PAIR, "bandwidth"),
        ("allgather_persistent", "Allgather Persistent Latency", LATENCIES, ALL, "latency"),
        ("bcast_persistent", "Broadcast Persistent Latency", LATENCIES, ALL, "latency"),
        ("allreduce_persistent", "Allreduce Persistent Latency", LATENCIES, ALL, "latency"),
        (
            "alltoallw_persistent",
            "All-to-Allw Personalized Exchange Persistent Latency",
            LATENCIES,
            ALL,
            "latency",
        ),
        ("reduce_scatter_block", "Reduce_scatter_block Latency", LATENCIES, ALL, "latency"),
        ("allreduce", "Allreduce Latency", LATENCIES, ALL, "latency"),
        ("ireduce_scatter_block", "Non-blocking Reduce_scatter_block Latency", OVERLAP, OVERLAPS, "overlap"),
    ],
)
def test_a_benchmark_is_read_under_its_title(
    name: str, title: str, heads: str, rows: dict[int, str], figure: str
) -> None:
    parsed = parse(name, table(f"{title} Test v7.4", heads, rows))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert len(figures(parsed, figure)) == len(rows)


@pytest.mark.parametrize(
    ("name", "title", "heads", "rows", "figure"),
    [
        ("neighbor_allgather", "Neighborhood Allgather Latency", LATENCIES, ALL, "latency"),
        ("neighbor_alltoall", "Neighborhood Alltoall Latency", LATENCIES, ALL, "latency"),
        ("neighbor_alltoallv", "Neighborhood All-to-Allv Latency", LATENCIES, ALL, "latency"),
        ("neighbor_alltoallw", "All-to-Allw Personalized Exchange Latency", LATENCIES, ALL, "latency"),
        (
            "ineighbor_allgatherv",
            "Non-blocking Neighborhood Allgatherv Latency",
            OVERLAP,
            OVERLAPS,
            "overlap",
        ),
        ("ineighbor_alltoallw", "Non-blocking Neighborhood Alltoallw Latency", OVERLAP, OVERLAPS, "overlap"),
    ],
)
def test_a_benchmark_of_neighbours_is_read(
    name: str, title: str, heads: str, rows: dict[int, str], figure: str
) -> None:
    parsed = parse(name, GRAPH + table(f"{title} Test v7.4", heads, rows))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert len(figures(parsed, figure)) == len(rows)


def test_a_table_of_neighbours_with_the_title_of_all_ranks_is_not_read_as_theirs() -> None:
    """osu_neighbor_alltoallw prints the title of osu_alltoallw; only the line of its graph shows it."""
    own = table("All-to-Allw Personalized Exchange Latency Test v7.4", LATENCIES, ALL)
    assert parse("alltoallw", GRAPH + own).measurements == ()
    assert parse("neighbor_alltoallw", own).measurements == ()
    assert parse("alltoallw", own).is_complete
    both = parse("alltoallw", GRAPH + own + own.replace("1.25", "7.50"))
    assert set(figures(both, "latency")) == {7.5}


def test_persistent_and_ordinary_messages_are_not_taken_for_each_other() -> None:
    persistent = table("Bandwidth Persistent Test v7.4", RATES, PAIR)
    ordinary = table("Bandwidth Test v7.4", RATES, PAIR)
    assert parse("bw", persistent).measurements == ()
    assert parse("bw_persistent", ordinary).measurements == ()


def test_the_rates_of_a_fan_are_not_taken_for_those_of_a_pair_or_for_latencies() -> None:
    """osu_bw_fan_in and osu_bw_fan_out print rates below the title of osu_bw, and call them latencies."""
    fan = table("Bandwidth Test v7.4", LATENCIES, PAIR)
    (problem, *_) = parse("bw", fan).problems
    assert "osu_bw_fan_in" in problem
    assert parse("bw", fan).measurements == parse("latency", fan).measurements == ()
    heads = f"{LATENCIES}  P50 Tail Lat(us)"
    tails = parse(
        "bw_fan_out", table("Bandwidth Test v7.4", heads, dict.fromkeys(PAIR, f"6.70{'10.88':>18}"))
    )
    assert figures(tails, "bandwidth_tail", bytes=8, percentile=50) == [10.88]


def test_percentiles_that_multi_lat_names_and_does_not_print_are_not_missed() -> None:
    heads = f"{LATENCIES}  P50 Tail Lat(us)  P90 Tail Lat(us)  P99 Tail Lat(us)"
    parsed = parse("multi_lat", table("Multi Latency Test v7.4", heads, PAIR))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed, "latency", bytes=8) == [1.25]
    assert figures(parsed, "latency_tail") == []
    assert not parse("latency", table("Latency Test v7.4", heads, PAIR)).is_complete
    whole = dict.fromkeys(PAIR, f"1.25{'1.00':>18}{'2.00':>18}{'3.00':>18}")
    tails = parse("multi_lat", table("Multi Latency Test v7.4", heads, whole))
    assert figures(tails, "latency_tail", bytes=8) == [1.0, 2.0, 3.0]


def test_percentiles_that_have_one_name_are_refused() -> None:
    """With -z50,99,99.9, OMB calls two columns P99."""
    heads = f"{LATENCIES}  P50 Tail Lat(us)  P99 Tail Lat(us)  P99 Tail Lat(us)"
    rows = dict.fromkeys(PAIR, f"1.25{'1.00':>18}{'2.00':>18}{'3.00':>18}")
    (problem,) = parse("latency", table("Latency Test v7.4", heads, rows)).problems
    assert "two columns of one name" in problem
    assert "whole percentiles" in problem


WINDOWS = (1, 2, 4, 8, 16, 32, 64, 128)
HEAD = "#      " + "".join(f"  {window:10d}" for window in WINDOWS) + "\n"


def profile(unit: float) -> str:
    """Return the rows of one profile of osu_mbw_mr -V: value is `unit` × size × window."""
    return HEAD + "".join(
        f"{size:<7d}" + "".join(f"  {unit * size * window:10.2f}" for window in WINDOWS) + "\n"
        for size in SIZES[1:]
    )


VARIED = (
    "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n# [ pairs: 1 ] [ window size: varied ]\n\n"
    f"# Uni-directional Bandwidth (MB/sec)\n# Datatype: MPI_CHAR.\n{profile(0.5)}\n"
    f"# Message Rate Profile\n{profile(3.0)}"
)


def test_windows_that_vary_are_a_coordinate_of_rates_and_messages() -> None:
    parsed = parse("mbw_mr", VARIED)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed, "bandwidth", bytes=8, window_size=32) == [0.5 * 8 * 32]
    assert figures(parsed, "message_rate", bytes=8, window_size=32) == [3.0 * 8 * 32]
    assert len(parsed.measurements) == 2 * len(WINDOWS) * 23
    assert parsed.printed["pairs"] == (1,)


def test_a_table_of_windows_cut_anywhere_is_not_complete() -> None:
    for cut in range(0, len(VARIED) - 1, 97):
        assert not parse("mbw_mr", VARIED[:cut]).is_complete
    (problem,) = parse("mbw_mr", VARIED.partition("# Message")[0]).problems
    assert problem.endswith("has the message rates of 0 of 23 sizes")
    lines = VARIED.splitlines(keepends=True)
    assert not parse("mbw_mr", "".join(lines[:-1])).is_complete
    assert not parse("mbw_mr", "".join([*lines[:-5], *lines[-4:]])).is_complete


def test_neighbours_need_three_ranks_and_fans_two_nodes() -> None:
    pair = case_of(OSU["neighbor_allgather"], Layout(nodes=2, ranks=2, ranks_per_node=1))
    (fault,) = OSU["neighbor_allgather"].faults(pair)
    assert fault.endswith("needs 3 ranks or more, and the case has 2; set ranks: 3")
    one = case_of(OSU["bw_fan_in"], Layout(nodes=1, ranks=4, ranks_per_node=4))
    (fault,) = OSU["bw_fan_in"].faults(one)
    assert fault.endswith("needs 2 nodes or more, and the case has 1; set nodes: 2")
    two = case_of(OSU["bw_fan_in"], Layout(nodes=2, ranks=2, ranks_per_node=1))
    assert list(OSU["bw_fan_in"].faults(two)) == []
    (stage,) = OSU["bw_fan_in"].stages(two)
    assert stage.argv == ("osu_bw_fan_in",)


@pytest.mark.parametrize(
    ("name", "title", "heads", "figure"),
    [
        ("bw", "Bandwidth", RATES, "bandwidth"),
        ("latency", "Latency", LATENCIES, "latency"),
        ("bcast", "Broadcast Latency", LATENCIES, "latency"),
    ],
)
def test_a_figure_that_two_decimals_cannot_show_is_no_measurement_of_zero(
    name: str, title: str, heads: str, figure: str
) -> None:
    rows = (PAIR if name != "bcast" else ALL) | {1: "0.00"}
    parsed = parse(name, table(f"{title} Test v7.4", heads, rows))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed, figure, bytes=1) == []
    assert figures(parsed, figure, bytes=2) == [1.25]
    assert figures(parsed, "latency_small_mean") == [], "it would be a mean with a zero"


def test_no_overlap_is_a_figure() -> None:
    rows = OVERLAPS | {1: f"4.03{'2.25':>18}{'1.56':>18}{'0.00':>18}"}
    parsed = parse("iallgather", table("Non-blocking Allgather Latency Test v7.4", OVERLAP, rows))
    assert figures(parsed, "overlap", bytes=1) == [0.0]
