"""IOR's parser on real output (corpus/INDEX.tsv names the origin of each file) and on damaged output."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings

from support.outputs import only
from tare.core.case import Layout
from workloads.cases import case_of
from workloads.damage import MESSES, cuts, damaged, made_up
from workloads.ior_output import IOR, OUTPUT, parse

IO500 = "".join(
    line.replace("ior -a", "./ior --dataPacketType=timestamp -a").replace(" : 2", " : 1").replace(" -r ", " ")
    for line in OUTPUT[: OUTPUT.index("read      8020")].splitlines(keepends=True)
)


# Real output

EXPECTED = {
    "05-io500-4.1.0dev-stonewall-warnings.txt": ("write", 361270, 361270, 386.61),
    "06-io500-daos-read-2023.txt": ("read", 12413821, 12413821, 547.70),
    "07-io500-3.1.0-cern-2019.txt": ("write", 5053.67, 5054, 376.88),
    "08-io500-3.3alpha1-ime.txt": ("write", 85707.09, 85707, 320.32),
    "09-io500-openfabrics-warnings.txt": ("read", 30300.95, 30301, 545.04),
    "10-io500-gekkofs-fsync-failed-interleaved.txt": ("write", 69443.31, 69443, 390.00),
    "11-io500-weka-partial-read-warnings.txt": ("read", 33325.81, 33326, 517.55),
    "12-io500-inconsistent-file-size.txt": ("write", 9621, 9621, 634.36),
    "13-io500-ERROR-csiro.txt": ("read", 60899.54, 60900, 17.67),
    "14-io500-CRLF-ssh-warnings-oracle.txt": ("write", 341867.05, 341867, 591.57),
    "15-io500-CRLF-pgs-gcp.txt": ("read", 323.85, 323.85, 456.81),
    "16-cgpu-direct-32threads.out": ("write", 7019.75, 7020, 45.61),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_test_is_read(corpus: Path, name: str) -> None:
    operation, bandwidth, row, time = EXPECTED[name]
    parsed = parse((corpus / "ior" / name).read_text())
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert only(parsed, "bandwidth", operation=operation) == bandwidth
    assert only(parsed, "row_bandwidth", operation=operation) == row
    assert only(parsed, "total_time", operation=operation) == time


def test_every_file_has_its_expectation_above(corpus: Path) -> None:
    assert {path.name for path in (corpus / "ior").iterdir()} == EXPECTED.keys()


def test_the_columns_of_a_row_are_read(corpus: Path) -> None:
    parsed = parse((corpus / "ior/05-io500-4.1.0dev-stonewall-warnings.txt").read_text())
    assert only(parsed, "iops") == 180641
    assert only(parsed, "open_time") == 0.007004
    assert only(parsed, "latency") == 0.000071


def test_output_cut_anywhere_is_complete_only_at_its_end(corpus: Path) -> None:
    for path in sorted((corpus / "ior").iterdir()):
        text = path.read_text()
        whole = parse(text)
        for cut in cuts(text):
            for lines in (io.StringIO(cut), cut.splitlines()):
                parsed = IOR.parse(lines)
                assert not parsed.is_complete or parsed == whole
                assert made_up(parsed, cut) == []


# Damaged output


def test_the_example_is_complete() -> None:
    parsed = parse(OUTPUT)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    for operation, rate in (("write", 7069.75), ("read", 8069.75)):
        assert only(parsed, "bandwidth", operation=operation) == rate
        assert only(parsed, "bandwidth_max", operation=operation) == rate + 50
        assert only(parsed, "bandwidth_min", operation=operation) == rate - 50
        assert only(parsed, "iops", operation=operation) == rate
    rows = [one for one in parsed.measurements if one.fom == "row_bandwidth"]
    assert {(one.at["operation"], one.at["iteration"]): one.value for one in rows} == {
        ("write", 0): 7020,
        ("write", 1): 7120,
        ("read", 0): 8020,
        ("read", 1): 8120,
    }
    assert only(parsed, "total_time", operation="remove") == 0.120998


VERSION_2 = """\
IOR-2.10.3: MPI Coordinated Test of Parallel I/O

Run began: Mon Feb  6 09:00:00 2012
Command line used: IOR -v -w -r -f tests
Machine: Linux one

Summary:
	api                = POSIX
	repetitions        = 1

access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ---------- ---------  --------   --------   --------   --------   ----
write     510.25     1024.00    64.00      0.001000   1.900000   0.000100   2.010000   0
read      620.50     1024.00    64.00      0.001000   1.600000   0.000100   1.650000   0

Operation  Max (MiB)  Min (MiB)  Mean (MiB)   Std Dev  Max (OPs)  Min (OPs)  Mean (OPs)   Std Dev  Mean (s)  \
Op grep #Tasks tPN reps  fPP reord reordoff reordrand seed segcnt blksiz xsize aggsize

---------  ---------  ---------  ----------   -------  ---------  ---------  ----------   -------  --------
write         510.25     510.25      510.25      0.00    8164.00    8164.00     8164.00      0.00   2.01000 \
16 8 1 0 0 1 0 0 1 1048576 65536 1073741824 0 POSIX EXCEL
read          620.50     620.50      620.50      0.00    9928.00    9928.00     9928.00      0.00   1.65000 \
16 8 1 0 0 1 0 0 1 1048576 65536 1073741824 0 POSIX EXCEL

Max Write: 510.25 MiB/sec (535.04 MB/sec)
Max Read:  620.50 MiB/sec (650.64 MB/sec)

Run finished: Mon Feb  6 09:00:05 2012
"""


def test_version_2_is_read() -> None:
    parsed = parse(VERSION_2)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert only(parsed, "bandwidth", operation="write") == 510.25
    assert only(parsed, "iops", operation="read") == 9928
    assert not parse(VERSION_2[: VERSION_2.index("Run finished")]).is_complete


def test_tests_that_version_2_does_not_number_are_distinguished() -> None:
    first, last = VERSION_2.index("Summary:"), VERSION_2.index("Run finished")
    second = VERSION_2[first:last].replace("510.25", "512.00").replace("620.50", "640.00")
    parsed = parse(VERSION_2[:last] + second + VERSION_2[last:])
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert only(parsed, "bandwidth", operation="read", test=0) == 620.5
    assert only(parsed, "bandwidth", operation="read", test=1) == 640


def test_the_io500_application_prints_rows_only() -> None:
    parsed = parse(IO500)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert only(parsed, "bandwidth") == 7020
    assert only(parsed, "iops") == 7021


@pytest.mark.parametrize(
    "line",
    [
        "ior ERROR: open64() failed, errno 2, No such file or directory (aiori-POSIX.c:376)",
        'ERROR: open64("/scratch/a", 66, 0664) failed, (aiori-POSIX.c:434)',
        "** error **",
        "WARNING: Incorrect data on read (6640830 errors found).",
        "[3] FAILED comparison of buffer containing 8-byte ints:",
    ],
)
def test_what_ior_calls_an_error_is_a_problem(line: str) -> None:
    assert parse(OUTPUT.replace("WARNING", f"{line}\nWARNING", 1)).problems == (f"IOR printed: {line}",)


@pytest.mark.parametrize(
    "line",
    [
        "[bss022:10399] [[18045,0],0] ORTE_ERROR_LOG: Out of resource in file util/show_help.c at line 501",
        "ior WARNING: fsync() failed, errno 9, Bad file descriptor",
        "WARNING: inconsistent file size by different tasks.",
        "WARNING: Task 12, partial read(), 524288 of 1048576 bytes at offset 1",
        "write access was granted to the project",
    ],
)
def test_what_ior_only_warns_of_is_no_problem(line: str) -> None:
    assert parse(OUTPUT.replace("WARNING", f"{line}\nWARNING", 1)) == parse(OUTPUT)


def test_a_lost_repetition_keeps_the_run_from_being_complete() -> None:
    start = OUTPUT.index("write     7120")
    parsed = parse(OUTPUT[:start] + OUTPUT[OUTPUT.index("\n", start) + 1 :])
    assert (parsed.is_complete, parsed.problems) == (False, ("test 0 of IOR has 1 of 2 writes",))


def test_a_direction_that_was_asked_for_is_missed() -> None:
    kept = [line for line in OUTPUT.splitlines(keepends=True) if not line.startswith("read")]
    assert parse("".join(kept)).problems == ("test 0 of IOR has no result of its read",)


def test_a_missing_closing_line_keeps_the_run_from_being_complete() -> None:
    parsed = parse(OUTPUT[: OUTPUT.index("Finished")])
    assert parsed.problems == ("the output lacks IOR's closing line; the run did not come to its end",)


def test_a_missing_summary_keeps_the_run_from_being_complete() -> None:
    start = OUTPUT.index("read         8119.75")
    parsed = parse(OUTPUT[:start] + OUTPUT[OUTPUT.index("Finished") :])
    assert not parsed.is_complete


@pytest.mark.parametrize("broken", ["nan", "-nan", "****", "inf"])
def test_what_is_not_a_number_is_a_problem(broken: str) -> None:
    parsed = parse(OUTPUT.replace("   7069.75       0.00    7119.75", f"   {broken}       0.00    7119.75"))
    assert [one for one in parsed.measurements if one.fom == "bandwidth"] == [
        one for one in parsed.measurements if one.fom == "bandwidth" and one.at["operation"] == "read"
    ]
    assert len(parsed.problems) == 1


def test_a_row_cut_short_is_a_problem() -> None:
    parsed = parse(OUTPUT.replace("44.61      1   ", "44.6"))
    assert any("broken row: write 7120" in problem for problem in parsed.problems)


def test_two_runs_and_two_tests_are_distinguished() -> None:
    other = OUTPUT.replace("TestID              : 0", "TestID              : 1").replace(
        "     0\n", "     1\n"
    )
    second = other[other.index("TestID") : other.index("Max Write")] + other[other.index("Max Write") :]
    tests = OUTPUT[: OUTPUT.index("Max Write")] + second.replace("Operation", OUTPUT_SUMMARY + "Operation", 1)
    parsed = parse(tests)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert only(parsed, "bandwidth", operation="read", test=1) == 8069.75
    twice = parse(OUTPUT + OUTPUT)
    assert only(twice, "bandwidth", operation="read", run=2) == 8069.75


OUTPUT_SUMMARY = OUTPUT[OUTPUT.index("Operation ") : OUTPUT.index("Finished")]


@pytest.mark.parametrize("mess", MESSES)
def test_noise_and_encodings_change_nothing(mess: Callable[[str], str]) -> None:
    assert parse(mess(OUTPUT)) == parse(OUTPUT)


def test_an_abort_is_a_problem() -> None:
    parsed = parse(OUTPUT + "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD\n")
    assert parsed.problems == ("a rank called MPI_Abort",)


def test_other_output_holds_no_result() -> None:
    assert parse("write 1 2 3\n").problems == ("the output holds no result of IOR",)


@given(damaged(OUTPUT))
@settings(max_examples=150)
def test_damage_never_crashes_and_never_makes_up_a_number(text: str) -> None:
    assert made_up(parse(text), text) == []


# Commands and faults


def test_the_command_reads_what_another_node_wrote() -> None:
    (stage,) = IOR.stages(case_of(IOR))
    assert " ".join(stage.argv) == (
        "ior -a POSIX -w -r -e -g -t 1048576 -b 1073741824 -s 1 -i 1 -F -C -o {storage}/ior.data"
    )


def test_one_shared_file_in_random_order_without_cache() -> None:
    case = case_of(IOR, Layout(), file_per_process=False, random=True, direct=True, api="MPIIO")
    assert " ".join(IOR.stages(case)[0].argv) == (
        "ior -a MPIIO -w -r -e -g -t 1048576 -b 1073741824 -s 1 -i 1 -z --posix.odirect -o {storage}/ior.data"
    )


def test_a_block_of_broken_requests_is_a_fault() -> None:
    (fault,) = IOR.faults(case_of(IOR, block=1000, transfer=300))
    assert fault.endswith("set block: 900")
    assert list(IOR.faults(case_of(IOR))) == []


def test_a_csv_of_ior_is_refused_with_what_to_do() -> None:
    (problem,) = parse(
        "access,bw(MiB/s),IOPS,Latency,block(KiB)\nwrite,1613.1938,36393.0933,0.0,256.0\n"
    ).problems
    assert problem.endswith("its CSV has no settings and no end, so write JSON (-O summaryFormat=JSON)")


@pytest.mark.parametrize(
    ("lines", "settings"),
    [
        ("type                : independent\nordering inter file : no tasks offsets", (False, "none")),
        ("type                : collective\nordering inter file : constant task offset", (True, "constant")),
        ("\tordering inter file= constant task offsets = 1", (None, "constant")),
        ("type                : collective\nordering inter file : random task offset", (True, "random")),
    ],
)
def test_collective_access_and_whose_data_is_read_are_settings(
    lines: str, settings: tuple[bool | None, str]
) -> None:
    """A task that reads what it wrote reads from its node's cache, unlike one of a run with -C."""
    parsed = parse(OUTPUT.replace("xfersize ", f"{lines}\nxfersize ", 1))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    read = [parsed.printed.get(name, (None,))[0] for name in ("collective", "task_offset")]
    assert tuple(read) == settings


@pytest.mark.parametrize("broken", ["0,044952", "1.2.3", "0.04x"])
def test_a_cell_that_is_no_number_is_not_left_out_silently(broken: str) -> None:
    """Decimal commas, for example, hid a latency, and the rest of the row counted."""
    parsed = parse(OUTPUT.replace("0.043952", broken))
    assert not parsed.is_complete or parsed.problems
    assert any(f"has a broken row: write 7020 7021 {broken}" in one for one in parsed.problems)
