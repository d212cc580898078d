"""From logs to an answer at the command line: what is compared is what the programs say that they measured.

These tests know nothing of the code within, so that they can be run on another version (TARE_PROGRAM).
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from cli.conftest import Tare
from cli.imports.imported_logs import IMB_TREE, elbencho, hpcg, imb, put, qperf
from workloads.test_mixed import LOGS, interleaved, openfoam
from workloads.test_printed import IPERF2, fio_json, perftest

DECIDED = {"worse", "better"}


def compared(tare: Tare) -> list[dict[str, object]]:
    """Return every row of `tare compare c --json`, of figures and of points."""
    said = tare("compare", "c", "--json")
    assert said.returncode == 0, said.stderr
    body = json.loads(said.stdout)
    return [*body["comparisons"], *body.get("figures", [])]


def exported(tare: Tare) -> list[dict[str, str]]:
    said = tare("export", "c")
    assert said.returncode == 0, said.stderr
    return list(csv.DictReader(io.StringIO(said.stdout)))


def test_a_log_that_lacks_its_first_sizes_shows_no_difference(tare_here: Tare, tmp_path: Path) -> None:
    sizes = (1, 2, 300, 500, 700, 900)
    for repeat in (1, 2, 3):
        put(tmp_path / f"r/a/{repeat}.txt", qperf(sizes))
        put(tmp_path / f"r/b/{repeat}.txt", qperf(sizes[2:]))
    named = ("--pattern", "{platform}/{block}.txt", "--reference", "platform=a", "--keep-equal")
    assert tare_here("import", "qperf", "r", "--out", "c", *named).returncode == 0
    told = [one["ratio"] for one in compared(tare_here) if one["ratio"] is not None]
    assert told
    assert set(told) == {1}


def test_ranks_of_an_imported_tree_are_those_that_its_logs_print(tare_here: Tare, tmp_path: Path) -> None:
    for platform, ranks, factor in (("archer", 48, 1.0), ("cirrus", 72, 1.5), ("peta4", 128, 2.0)):
        put(tmp_path / f"r/{platform}/IMB_Alltoall_2nodes_MPI_201905310200.out", imb(ranks, factor))
    named = ("--pattern", IMB_TREE, "--reference", "platform=archer")
    tare_here("import", "imb.alltoall", "r", "--out", "c", *named)
    found = {(one["platform"], one["ranks"]) for one in exported(tare_here)}
    assert found == {("archer", "48"), ("cirrus", "72"), ("peta4", "128")}
    assert compared(tare_here) == [], "no two of them have the same ranks"


HPL = """\
HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
WR11C2R4       20000   192     {p}     {q}              25.20             {rate}
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   2.28020000e-03 ...... PASSED
Finished      1 tests with the following results:
              1 tests completed and passed residual checks,
End of Tests.
"""


@pytest.mark.parametrize(
    ("workload", "log"),
    [("hpcg", hpcg(4, 10.0)), ("hpl", HPL.format(p=2, q=2, rate="2.1168e+02"))],
)
def test_stated_ranks_that_differ_from_the_printed_ones_are_refused(
    workload: str, log: str, tare_here: Tare, tmp_path: Path
) -> None:
    put(tmp_path / "r/a/1.txt", log)
    named = ("--pattern", "{platform}/{block}.txt", "--set")
    ended = tare_here("import", workload, "r", "--out", "c", *named, "ranks=512")
    assert ended.returncode != 0
    assert "printed 4 ranks, and 512 were stated" in ended.stderr
    assert tare_here("import", workload, "r", "--out", "d", *named, "ranks=4").returncode == 0


@pytest.mark.parametrize("workload", LOGS)
def test_logs_whose_lines_are_mixed_are_not_complete(workload: str, tare_here: Tare, tmp_path: Path) -> None:
    one, other = LOGS[workload](), LOGS[workload](1.7)
    put(tmp_path / "1.log", interleaved(one, other, 2))
    ended = tare_here("parse", workload, "1.log", "--json")
    assert ended.returncode == 1, ended.stdout
    assert "mixed, doubled or out of order" in ended.stdout + ended.stderr


def test_ranks_that_each_solve_the_whole_alone_are_no_parallel_run(tare_here: Tare, tmp_path: Path) -> None:
    log = put(tmp_path / "1.log", interleaved(openfoam(), openfoam(1.01), 2))
    assert tare_here("parse", "openfoam.motorbike", log).returncode == 1
    put(tmp_path / "r/1.log", openfoam())
    told = tare_here("import", "openfoam.motorbike", "r", "--out", "c", "--set", "ranks=2")
    assert told.returncode != 0, "it prints nProcs : 1"
    assert "printed 1 rank, and 2 were stated" in told.stderr


def test_doubled_lines_are_refused_with_their_reason(tare_here: Tare, tmp_path: Path) -> None:
    put(tmp_path / "1.log", "".join(2 * line for line in LOGS["wrf.conus-12km"]().splitlines(keepends=True)))
    ended = tare_here("parse", "wrf.conus-12km", "1.log")
    assert ended.returncode == 1
    assert "mixed, doubled or out of order" in ended.stdout + ended.stderr


def test_sizes_of_a_block_are_not_the_numbers_of_repeats(tare_here: Tare, tmp_path: Path) -> None:
    for storage, factor in (("lustre", 1), ("nfs", 2)):
        for index, block in enumerate(("4KiB", "64KiB", "1MiB"), 1):
            put(tmp_path / f"r/{storage}/{block}/2024-01-01/out.txt", elbencho(index * 100 // factor))
    named = ("--pattern", "{storage}/{block}/{started}/out.txt", "--reference", "storage=lustre")
    tare_here("import", "elbencho.write", "r", "--out", "c", *named)
    rows = compared(tare_here)
    assert {one["n_blocks"] for one in rows} == {1}
    assert not DECIDED & {one["verdict"] for one in rows}
    again = tare_here("import", "elbencho.write", "r/nfs/4KiB", "--out", "d", "--set", "block=512KiB")
    assert "block" not in again.stderr, again.stderr


def test_one_direction_is_not_held_against_the_sum_of_both(tare_here: Tare, tmp_path: Path) -> None:
    for block in (1, 2, 3):
        put(tmp_path / f"r/a/{block}.txt", perftest("", 90.0 + block))
        put(tmp_path / f"r/b/{block}.txt", perftest("Bidirectional ", 170.0 + block))
    named = ("--pattern", "{platform}/{block}.txt", "--reference", "platform=a")
    tare_here("import", "perftest.write_bw", "r", "--out", "c", *named)
    assert not DECIDED & {one["verdict"] for one in compared(tare_here)}


def test_iperf2_can_be_asked_for_both_directions_and_its_log_is_read(tare_here: Tare, tmp_path: Path) -> None:
    log = put(tmp_path / "1.txt", IPERF2)
    parsed = tare_here("parse", "iperf2", log, "--set", "bidirectional=true", "--json")
    assert parsed.returncode == 0, parsed.stderr
    assert '"client to server"' in parsed.stdout
    assert '"server to client"' in parsed.stdout


def test_cumulative_snapshots_of_fio_are_one_run(tare_here: Tare, tmp_path: Path) -> None:
    shots = "".join(fio_json(1_000_000 + after, after, 100.0 + after) for after in (5000, 10_000, 15_000))
    put(tmp_path / "r/a/1.json", shots)
    tare_here("import", "fio.read", "r", "--out", "c", "--pattern", "{platform}/*.json")
    iops = [float(one["value"]) for one in exported(tare_here) if one["fom"] == "iops"]
    assert iops == [15_100.0]


def test_iperf2_in_one_direction_is_not_held_against_a_publication_in_both(
    tare_here: Tare, tmp_path: Path
) -> None:
    log = put(
        tmp_path / "1.txt",
        "Client connecting to 10.0.0.2, TCP port 5001\n"
        "[  3] local 10.0.0.1 port 40000 connected with 10.0.0.2 port 5001\n"
        "[  3]  0.0-10.0 sec  1.09 GBytes  0.94 Gbits/sec\n",
    )
    tare_here("import", "iperf2", log, "--out", "c", "--set", "nodes=2", "--set", "ranks=2")
    said = tare_here("compare", "c", "--against", "published:network-containers/ethernet+bare", "--json")
    assert json.loads(said.stdout)["comparisons"] == []
