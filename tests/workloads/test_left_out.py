"""A figure that a program printed without a value, such as a time of 0.00, is named with the reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.outputs import parse
from tare.plugins.workloads.common.benchmark import Findings

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"

BARRIER = """\
#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part
# Benchmarking Barrier
# #processes = 4
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000         0.00         0.36         0.34

# All processes entering MPI_Finalize
"""
TOO_SMALL = "it is printed as 0.00, which only says that it is too small for its decimals"


def test_a_time_that_is_printed_as_zero_is_named_with_its_place_and_the_reason() -> None:
    parsed = parse("imb.barrier", BARRIER)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert parsed.left_out == (f"time_min is left out: {TOO_SMALL}",)
    assert [one.fom for one in parsed.measurements] == ["time_max", "time_avg"]


def test_many_zeros_of_one_figure_are_one_sentence_that_counts_them() -> None:
    findings = Findings(())
    for size in (1, 2, 4):
        findings.leave_out("latency", "it is 0.00", {"bytes": size})
    findings.leave_out("wall_time", "it is 0:00:00", {})
    findings.leave_out("rate", "it is 0.000", {"operation": "File stat"})
    findings.leave_out("rate", "it is 0.000", {"operation": "File read"})
    assert findings.parsed(is_complete=True).left_out == (
        "latency is left out at bytes 1 and 2 further places: it is 0.00",
        "wall_time is left out: it is 0:00:00",
        "rate is left out at operation File stat and 1 further place: it is 0.000",
    )


PING_PONG = """\
#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part
# Benchmarking PingPong
# #processes = 2
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         0.31         0.00

# All processes entering MPI_Finalize
"""


def test_nothing_is_said_of_the_rate_of_empty_messages() -> None:
    parsed = parse("imb.pingpong", PING_PONG)
    assert (parsed.left_out, [one.value for one in parsed.measurements]) == ((), [0.31])


def test_the_mean_over_small_messages_says_why_it_is_missing() -> None:
    rows = "".join(f"{size:<10}{1.5:>18.2f}\n" for size in (0, *(1 << power for power in range(23))))
    rows = rows.replace("\n2  " + rows.partition("\n2  ")[2].partition("\n")[0], f"\n{2:<10}{0:>18.2f}")
    parsed = parse("osu.latency", f"# OSU MPI Latency Test v5.8\n# Size          Latency (us)\n{rows}")
    assert parsed.problems == ()
    assert parsed.left_out == (
        f"latency is left out at bytes 2: {TOO_SMALL}",
        "latency_small_mean is left out: one of the latencies of its mean is printed as 0.00",
    )


def test_a_wall_time_of_no_second_is_named_in_real_output() -> None:
    if not CORPUS.is_dir():
        pytest.skip(f"no collection of real benchmark output at {CORPUS}")
    parsed = parse("lammps.script", (CORPUS / "lammps/12-bjarni-log.lammps").read_text())
    why = "it is printed as 0:00:00, which only says that it is less than a second"
    assert parsed.left_out == (f"wall_time is left out: {why}",)


def test_figures_of_a_run_that_another_one_replaces_are_named() -> None:
    if not CORPUS.is_dir():
        pytest.skip(f"no collection of real benchmark output at {CORPUS}")
    text = (CORPUS / "lammps/10-nersc-baremetal-snap.o").read_text()
    parsed = parse("lammps.script", text.replace("Total wall time: 0:03:09\n", "", 1))
    why = "its run did not come to its end, and another one follows in the output"
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert f"loop_time is left out: {why}" in parsed.left_out


REAL: list[tuple[str, str, str, str, str]] = [
    ("hpcc", "hpcc/05-buaa-5node-complete.txt", r"^(StarSTREAM_Add=).*", r"\g<1>-1", "not run"),
    ("hpcc", "hpcc/05-buaa-5node-complete.txt", r"^(StarSTREAM_Add=).*", r"\g<1>0", "prints 0 for it"),
    (
        "ior",
        "ior/16-cgpu-direct-32threads.out",
        r"^(write +\S+ +\S+ +\S+ +\S+ +\S+ +)\S+",
        r"\g<1>0",
        "small",
    ),
    ("ior", "ior/16-cgpu-direct-32threads.out", r"^(write +\S+ +\S+ +)\S+", r"\g<1>-", "IOR prints -"),
]


@pytest.mark.parametrize(("workload", "name", "pattern", "replacement", "reason"), REAL)
def test_a_figure_without_a_value_in_real_output_is_named(
    workload: str, name: str, pattern: str, replacement: str, reason: str
) -> None:
    if not CORPUS.is_dir():
        pytest.skip(f"no collection of real benchmark output at {CORPUS}")
    text = (CORPUS / name).read_text(errors="replace")
    whole = parse(workload, text)
    parsed = parse(workload, re.sub(pattern, replacement, text, count=1, flags=re.MULTILINE))
    assert len(parsed.measurements) < len(whole.measurements)
    new = set(parsed.left_out) - set(whole.left_out)
    assert any(reason in one for one in new), parsed.left_out
