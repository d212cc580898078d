"""BabelStream's parser on shortened output of versions 5.0 and 3.4, and on damaged output."""

from __future__ import annotations

import io

import pytest

from support.outputs import only, reader
from tare.core.case import Layout
from tare.plugins.workloads.babelstream import WORKLOADS
from workloads.cases import case_of

(BABELSTREAM,) = WORKLOADS
parse = reader(BABELSTREAM)

TABLE = """\
BabelStream
Version: 5.0
Implementation: OpenMP
Running  Classic kernels 5 times in  Classic order
Number of elements: 1048576
Precision: double
Array size: 8.4 MB
Total size: 25.2 MB
Function    MB/s        Min (sec)   Max         Average
Copy        8571.200    0.00196     0.47602     0.15527
Mul         60353.606   0.00028     0.07198     0.04072
Add         65081.110   0.00039     0.87730     0.25044
Triad       82882.920   0.00030     0.53199     0.15712
Dot         39174.847   0.00043     0.48800     0.20449
"""
CSV = """\
function,num_times,n_elements,sizeof,max_MB_per_sec,min_runtime,max_runtime,avg_runtime
Copy,5,1048576,8,112311,0.000149382,0.57922,0.161858
Mul,5,1048576,8,113291,0.000148089,0.420701,0.11624
Add,5,1048576,8,87543.7,0.000287466,0.564145,0.150148
Triad,5,1048576,8,135661,0.000185505,0.104308,0.0410474
Dot,5,1048576,8,39115.3,0.000428917,0.0880627,0.0313119
"""
TRIAD_ONLY = """\
BabelStream
Version: 3.4
Implementation: OpenMP
Running triad 5 times
Number of elements: 1048576
Precision: double
Array size: 8388.6 KB (=8.4 MB)
--------------------------------
Runtime (seconds): 0.40664
Bandwidth (GB/s):  0.309
"""


def test_gpu_stream_before_version_3_has_no_dot() -> None:
    old = TABLE.replace("BabelStream\nVersion: 5.0", "GPU-STREAM\nVersion: 2.0")
    old = old.replace("MB/s    ", "MBytes/sec")
    old = old.replace("Running  Classic kernels 5 times in  Classic order", "Running kernels 5 times")
    old = "".join(line for line in old.splitlines(keepends=True) if not line.startswith(("Dot", "Number of")))
    parsed = parse(old)
    assert (parsed.is_complete, parsed.is_end_known, parsed.problems) == (True, True, ())
    assert {one.fom: one.value for one in parsed.measurements}["triad"] == 82882.920
    cut = parse(old[: old.index("Triad")])
    assert (cut.is_complete, cut.problems) == (False, ("BabelStream's table lacks triad",))


def test_two_runs_of_gpu_stream_are_distinguished() -> None:
    old = TABLE.replace("BabelStream\nVersion: 5.0", "GPU-STREAM\nVersion: 2.0")
    old = "".join(line for line in old.splitlines(keepends=True) if not line.startswith("Dot"))
    parsed = parse(old + old)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert {one.at["run"] for one in parsed.measurements} == {1, 2}


def test_a_table_is_read() -> None:
    parsed = parse(TABLE)
    assert (parsed.is_complete, parsed.is_end_known, parsed.problems) == (True, True, ())
    rates = {one.fom: (one.value, one.unit) for one in parsed.measurements}
    assert rates["copy"] == (8571.2, "MB/s")
    assert rates["dot"] == (39174.847, "MB/s")
    assert len(rates) == 5
    assert parsed.printed == {"program_version": ("5.0",), "elements": (1048576,), "single": (False,)}


def test_csv_is_read() -> None:
    parsed = parse(CSV)
    assert (parsed.is_complete, parsed.is_end_known, parsed.problems) == (True, True, ())
    assert only(parsed, "triad") == 135661


@pytest.mark.parametrize(
    ("unit", "factor"),
    [
        ("MiB/s", 1.048576),
        ("GB/s", 1e3),
        ("GiB/s", 1073.741824),
        ("MBytes/sec", 1.0),
        ("MiBytes/sec", 1.048576),
    ],
)
def test_the_unit_of_a_table_is_converted(unit: str, factor: float) -> None:
    parsed = parse(TABLE.replace("MB/s", unit))
    assert only(parsed, "copy") == pytest.approx(8571.2 * factor)


@pytest.mark.parametrize(
    ("unit", "factor"), [("MiB", 1.048576), ("GB", 1e3), ("mbytes", 1.0), ("mibytes", 1.048576)]
)
def test_the_unit_of_csv_is_converted(unit: str, factor: float) -> None:
    parsed = parse(CSV.replace("max_MB_per_sec", f"max_{unit}_per_sec"))
    assert only(parsed, "copy") == pytest.approx(112311 * factor)


@pytest.mark.parametrize("unit", ["MiB/s", "GB/s"])
def test_a_unit_that_is_not_that_of_the_rates_is_refused(unit: str) -> None:
    for text in (TABLE.replace("MB/s", unit), CSV.replace("MB", unit.removesuffix("/s"))):
        assert "whose rate and time are not of its arrays" in "".join(parse(text).problems)


def test_rates_in_binary_megabytes_fit_their_times() -> None:
    binary = CSV.replace("MB", "MiB")
    for rate in ("112311", "113291", "87543.7", "135661", "39115.3"):
        binary = binary.replace(rate, f"{float(rate) / 1.048576:.6g}")
    assert parse(binary).problems == ()


def test_a_row_that_lost_digits_is_refused() -> None:
    assert "not of its arrays" in "".join(parse(TABLE.replace("8571.200", "871.200")).problems)
    unknown = TABLE.replace("Number of elements: 1048576\n", "").replace("8571.200", "871.200")
    assert "not of its arrays" in "".join(parse(unknown).problems)


def test_an_unknown_unit_is_refused() -> None:
    parsed = parse(TABLE.replace("MB/s", "furlongs"))
    assert (parsed.is_complete, parsed.measurements) == (False, ())


def test_the_mean_of_triad_only_is_not_taken_for_the_best_rate() -> None:
    parsed = parse(TRIAD_ONLY)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert [(one.fom, one.value) for one in parsed.measurements] == [("triad_mean", 309.0)]
    csv = "function,num_times,n_elements,sizeof,gbytes_per_sec,runtime\nTriad,5,1048576,4,0.0590634,2.13041\n"
    parsed = parse(csv)
    assert only(parsed, "triad_mean") == pytest.approx(59.0634)
    assert parsed.printed["single"] == (True,)


def test_one_kernel_is_complete_if_it_was_the_only_one_asked_for() -> None:
    table = TABLE.replace(" Classic kernels 5", "Running Dot 5").splitlines(keepends=True)
    parsed = parse("".join([*table[:9], table[-1]]))
    assert (parsed.is_complete, parsed.is_end_known, parsed.problems) == (True, True, ())


@pytest.mark.parametrize("text", [TABLE, CSV], ids=["table", "csv"])
def test_a_lost_row_keeps_the_run_from_being_complete(text: str) -> None:
    rows = text.splitlines(keepends=True)
    for lost in range(len(rows) - 5, len(rows)):
        parsed = parse("".join([*rows[:lost], *rows[lost + 1 :]]))
        assert not parsed.is_complete
        assert "lacks" in str(parsed.problems)


@pytest.mark.parametrize("text", [TABLE, CSV, TRIAD_ONLY], ids=["table", "csv", "triad only"])
def test_output_cut_anywhere_never_makes_up_a_number(text: str) -> None:
    whole = {(one.fom, one.value) for one in parse(text).measurements}
    for cut in range(len(text)):
        parsed = BABELSTREAM.parse(io.StringIO(text[:cut]))
        assert {(one.fom, one.value) for one in parsed.measurements} <= whole
        assert not (parsed.is_complete and parsed.is_end_known) or cut >= len(text) - 1


@pytest.mark.parametrize("broken", ["nan", "inf", "-5.0", "8571,200", "********"])
def test_what_is_no_rate_is_a_problem(broken: str) -> None:
    parsed = parse(TABLE.replace("8571.200", broken))
    assert parsed.problems
    assert "copy" not in {one.fom for one in parsed.measurements}


def test_two_runs_are_distinguished_by_what_they_print() -> None:
    parsed = parse(TABLE + TABLE.replace("Precision: double", "Precision: float").replace("8571.2", "9571.2"))
    assert parsed.is_complete
    assert only(parsed, "copy", single=True) == 9571.2
    assert only(parsed, "copy", single=False) == 8571.2


def test_a_wrong_result_is_a_problem() -> None:
    parsed = parse(TABLE + "FAILED validation of a[7]: 1 (is) != 2 (should)\n")
    assert parsed.problems == (
        "BabelStream's result is wrong: FAILED validation of a[7]: 1 (is) != 2 (should)",
    )


def test_the_command_names_elements_and_precision() -> None:
    (stage,) = BABELSTREAM.stages(case_of(BABELSTREAM, Layout(threads=4), elements=4096, single=True))
    assert " ".join(stage.argv) == "omp-stream -s 4096 -n 100 --float"
    assert stage.env["OMP_NUM_THREADS"] == "4"
    (fault,) = BABELSTREAM.faults(case_of(BABELSTREAM))
    assert fault == "babelstream runs on one rank, and the case has 2; set ranks: 1"
