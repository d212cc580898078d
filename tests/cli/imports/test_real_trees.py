"""Trees of real output become the comparisons that they hold, worked out by hand here, or are refused."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.imports.imported_logs import put
from tare.cli.commands import compare
from tare.cli.commands.import_ import command

CORPUS = Path(__file__).parents[4] / "shared" / "corpus"


def imported(*arguments: str | Path) -> str:
    done = CliRunner().invoke(command, [*map(str, arguments)], catch_exceptions=False)
    return done.stdout + done.stderr


def rows(folder: Path) -> list[dict[str, object]]:
    done = CliRunner().invoke(compare.command, [str(folder), "--json"], catch_exceptions=False)
    found: list[dict[str, object]] = json.loads(done.stdout)["comparisons"]
    return found


def changes(folder: Path, fom: str) -> dict[tuple[object, ...], float]:
    """Return the change of each point, by its coordinates but for the workload."""
    found = {}
    for row in rows(folder):
        at = row["at"]
        assert isinstance(at, dict)
        if row["fom"] == fom and isinstance(row["change"], float):
            found[tuple(value for name, value in at.items() if name != "workload")] = row["change"]
    return found


# IMB-MPI1 2021.11, on 2 of 4 ranks and on all

_IMB = """\
#----------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part
#----------------------------------------------------------------
# Calling sequence was:

# IMB-MPI1 -msglog 0:1 -iter 20 Sendrecv

# Minimum message length in bytes:   0
# Maximum message length in bytes:   2
#
# List of Benchmarks to run:

# Sendrecv
"""
_SENDRECV = """
#-----------------------------------------------------------------------------
# Benchmarking Sendrecv
# #processes = {ranks}
{others}#-----------------------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
            0           20  {zero:10.2f}   {zero:10.2f}   {zero:10.2f}         0.00
            1           20  {one:10.2f}   {one:10.2f}   {one:10.2f}         0.18
            2           20  {two:10.2f}   {two:10.2f}   {two:10.2f}         0.42
"""
_WAITING = "# ( {count} additional processes waiting in MPI_Barrier)\n"


def imb(ranks: int, factor: float) -> str:
    tables = ""
    for count in {2: (2,), 4: (2, 4)}[ranks]:
        others = _WAITING.format(count=ranks - count) if count < ranks else ""
        one = 10.0 * count * factor
        tables += _SENDRECV.format(ranks=count, others=others, zero=9 * count, one=one, two=2 * one)
    return f"{_IMB}{tables}\n\n# All processes entering MPI_Finalize\n\n"


def test_a_tree_of_imb_is_compared_at_each_size_and_number_of_ranks(tmp_path: Path) -> None:
    for fabric, factor in (("shm", 1.0), ("tcp", 1.5)):
        for ranks in (2, 4):
            for repeat, drift in ((1, 1.0), (2, 1.1), (3, 1.3)):
                put(tmp_path / f"r/{fabric}/n{ranks}/r{repeat}/imb.out", imb(ranks, factor * drift))
    told = imported(
        *("imb.sendrecv", tmp_path / "r", "--out", tmp_path / "c", "--reference", "fabric=shm"),
        *("--pattern", "{fabric}/n{ranks}/r{repeat}/imb.out"),
    )
    assert "12 runs of 4 cases imported (12 done)" in told
    found = changes(tmp_path / "c", "time_avg")
    assert len(found) == 3 + 2 * 3
    for at, change in found.items():
        assert change == pytest.approx(0.0 if 0 in at else 0.5, abs=0.01)


def test_repeats_that_only_folders_distinguish_are_asked_about(tmp_path: Path) -> None:
    for fabric, factor in (("shm", 1.0), ("tcp", 1.5)):
        put(tmp_path / f"r/{fabric}/imb.out", imb(4, factor))
    told = imported("imb.sendrecv", tmp_path / "r", "--out", tmp_path / "c", "--dry-run")
    assert "2 runs of 1 case would be imported" in told
    assert "are taken as repeats of one case; if their paths hold settings, name those in --pattern" in told


def test_a_tree_whose_ranks_are_not_those_of_its_paths_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "r/n8/imb.out", imb(4, 1.0))
    done = CliRunner().invoke(
        command,
        ["imb.sendrecv", str(tmp_path / "r"), "--out", str(tmp_path / "c"), "--pattern", "n{ranks}/imb.out"],
    )
    assert "printed 4 ranks, and 8 were stated" in str(done.exception) + done.output


# elbencho


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("06-iops-direct.out", "97530      98300", "{first:5d}      {last:5d}"),
        ("07-perlmutter.csv", ",2611,2630,2611,2630,", ",{first},{last},2611,2630,"),
    ],
)
def test_a_tree_of_elbencho_is_compared_run_by_run(tmp_path: Path, name: str, old: str, new: str) -> None:
    if not CORPUS.is_dir():
        pytest.skip(f"no collection of real benchmark output at {CORPUS}")
    text = (CORPUS / "elbencho" / name).read_text()
    assert text.count(old) == 1
    for platform, factor in (("bare", 1.0), ("vast", 0.8)):
        for run, drift in ((1, 1.0), (2, 1.2), (3, 0.9)):
            rate = round(50000 * factor * drift)
            log = text.replace(old, new.format(first=rate, last=rate))
            put(tmp_path / f"r/{platform}/run{run}/{name}", log)
    told = imported(
        *("elbencho.write", tmp_path / "r", "--out", tmp_path / "c", "--reference", "platform=bare"),
        *("--pattern", f"{{platform}}/run{{repeat}}/{name}"),
    )
    assert "6 runs of 2 cases imported (6 done)" in told
    assert list(changes(tmp_path / "c", "iops").values()) == [pytest.approx(-0.2, abs=0.001)]


# qperf


def qperf(sizes: tuple[int, ...], factor: float, *, names_sizes: bool = True) -> str:
    """Return what qperf prints with -vvu, or without it."""
    told = "    msg_size  =  {size} bytes\n" if names_sizes else ""
    text = ""
    for size in sizes:
        text += (
            f"tcp_lat:\n    latency   =  {factor * (7 + math.log2(size)):.4g} us\n{told.format(size=size)}"
        )
    return text


def test_a_pair_of_qperf_with_other_sizes_is_compared_at_those_that_both_have(tmp_path: Path) -> None:
    for side, sizes, factor in (("bare", (1, 8, 64), 1.0), ("kvm", (8, 64, 512), 1.5)):
        for repeat in (1, 2, 3):
            put(tmp_path / f"r/{side}/{repeat}/qperf.out", qperf(sizes, factor * (1 + repeat / 100)))
    imported(
        *("qperf", tmp_path / "r", "--out", tmp_path / "c", "--reference", "platform=bare"),
        *("--pattern", "{platform}/{repeat}/qperf.out"),
    )
    found = changes(tmp_path / "c", "latency")
    assert len(found) == 2
    assert all(change == pytest.approx(0.5, abs=0.001) for change in found.values())


def test_a_pair_of_qperf_that_names_no_sizes_is_not_paired_by_their_order(tmp_path: Path) -> None:
    for side, sizes in (("bare", (1, 8, 64)), ("kvm", (1, 8, 64, 512))):
        for repeat in (1, 2, 3):
            put(tmp_path / f"r/{side}/{repeat}/qperf.out", qperf(sizes, 1.0, names_sizes=False))
    imported(
        *("qperf", tmp_path / "r", "--out", tmp_path / "c", "--reference", "platform=bare"),
        *("--pattern", "{platform}/{repeat}/qperf.out"),
    )
    assert changes(tmp_path / "c", "latency") == {}
    assert all("not measured on both sides" in str(row) for row in rows(tmp_path / "c"))
