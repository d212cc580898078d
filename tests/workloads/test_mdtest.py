"""mdtest's parser on real output (corpus/INDEX.tsv names the origin of each file) and on damaged output."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings

from support.outputs import reader
from tare.core.case import Layout
from tare.core.workload import Parsed
from tare.plugins.workloads.mdtest import WORKLOADS
from workloads.cases import case_of
from workloads.damage import MESSES, cuts, damaged, made_up

(MDTEST,) = WORKLOADS

OUTPUT = """\
-- started at 07/14/2020 15:02:26 --

mdtest-3.3.0+dev was launched with 1280 total task(s) on 40 node(s)
FS: 94.9 TiB   Used FS: 29.9%   Inodes: 768.0 Mi   Used Inodes: -nan%

SUMMARY rate: (of 1 iterations)
   Operation                      Max            Min           Mean        Std Dev
   ---------                      ---            ---           ----        -------
   File creation             :     378835.691     378835.480     378835.575          0.038
   File stat                 :          0.000          0.000          0.000          0.000
   File read                 :          0.000          0.000          0.000          0.000
   File removal              :       1234.500       1233.500       1234.000          0.500
   File create (stonewall)   :             NA             NA     402457.892             NA
   Tree creation             :          2.333          2.333          2.333          0.000
   Tree removal              :          0.000          0.000          0.000          0.000

SUMMARY time: (of 1 iterations)
   Operation                      Max            Min           Mean        Std Dev
   ---------                      ---            ---           ----        -------
   File creation             :        320.984        320.983        320.984          0.000
   File stat                 :          0.000          0.000          0.000          0.000
   File read                 :          0.000          0.000          0.000          0.000
   File removal              :         20.984         20.983         20.984          0.000
   File create (stonewall)   :             NA             NA        299.549             NA
   Tree creation             :          0.429          0.429          0.429          0.000
   Tree removal              :          0.000          0.000          0.000          0.000
-- finished at 07/14/2020 15:07:48 --
"""


parse = reader(MDTEST)


def figures(parsed: Parsed, fom: str) -> dict[object, float]:
    return {one.at["operation"]: one.value for one in parsed.measurements if one.fom == fom}


def test_versions_before_1_9_do_not_read_files() -> None:
    without = "".join(line for line in OUTPUT.splitlines(keepends=True) if "File read" not in line)
    assert not parse(without).is_complete
    assert parse(without.replace("mdtest-3.3.0+dev", "mdtest-1.8.4")).is_complete


# Real output

EXPECTED = {
    "04-io500-1.9.3-cern.txt": ("File creation", (4560.893, 4560.893, 4560.893), None),
    "05-io500-4.1.0-stat.txt": ("File stat", (415688.686, 415688.686, 415688.686), 106.718),
    "06-io500-nan-sol.txt": ("File creation", (86997.539, 86997.539, 86997.539), 502.852),
    "07-io500-ERROR-dsal.txt": ("File read", (1990385.045, 1990385.045, 1990385.045), 318.407),
    "08-io500-ERROR-ai400x.txt": ("File creation", (378835.691, 378835.480, 378835.575), 320.984),
    "09-io500-ERROR-clemson.txt": ("File stat", (55580.654, 55579.347, 55579.975), 21.439),
    "10-io500-CRLF-pgs.txt": ("File removal", (7792.931, 7792.892, 7792.913), None),
    "11-archer.out": ("File removal", (18183.399, 18183.399, 18183.399), None),
}
FAILED = {
    "07-io500-ERROR-dsal.txt": (
        "mdtest printed: ERROR: verifying the data on read (633753120 errors)! "
        "Take the performance values with care!"
    )
}


@pytest.mark.parametrize("name", EXPECTED)
def test_rates_and_times_are_read(corpus: Path, name: str) -> None:
    operation, rates, time = EXPECTED[name]
    parsed = parse((corpus / "mdtest" / name).read_text())
    assert parsed.is_complete
    assert parsed.problems == ((FAILED[name],) if name in FAILED else ())
    read = tuple(figures(parsed, fom)[operation] for fom in ("rate_max", "rate_min", "rate"))
    assert read == rates
    assert figures(parsed, "time").get(operation) == time


def test_every_file_has_its_expectation_above(corpus: Path) -> None:
    assert {path.name for path in (corpus / "mdtest").iterdir()} == EXPECTED.keys()


def test_operations_that_were_not_run_have_no_figures(corpus: Path) -> None:
    parsed = parse((corpus / "mdtest/07-io500-ERROR-dsal.txt").read_text())
    assert figures(parsed, "rate") == {"File read": 1990385.045}


def test_several_operations_are_read(corpus: Path) -> None:
    assert figures(parse((corpus / "mdtest/11-archer.out").read_text()), "rate") == {
        "File creation": 579.067,
        "File stat": 13348.799,
        "File removal": 18183.399,
        "Tree creation": 328.296,
        "Tree removal": 382.972,
    }


def test_output_cut_anywhere_is_complete_only_once_the_closing_line_is_in(corpus: Path) -> None:
    for path in sorted((corpus / "mdtest").iterdir()):
        text = path.read_text()
        for cut in cuts(text, 80):
            for lines in (io.StringIO(cut), cut.splitlines()):
                parsed = MDTEST.parse(lines)
                assert not parsed.is_complete or "-- finished at" in cut
                assert made_up(parsed, text) == []


# Damaged output


def test_the_example_is_complete() -> None:
    parsed = parse(OUTPUT)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed, "rate") == {
        "File creation": 378835.575,
        "File removal": 1234.0,
        "File create (stonewall)": 402457.892,
        "Tree creation": 2.333,
    }
    assert figures(parsed, "rate_min") == {
        "File creation": 378835.480,
        "File removal": 1233.5,
        "Tree creation": 2.333,
    }
    assert figures(parsed, "time")["File removal"] == 20.984


def test_columns_for_single_ranks_are_passed_over() -> None:
    wide = re.sub(r" +: ", "               1.500  0.500  1.000 ", OUTPUT)
    assert figures(parse(wide), "rate") == figures(parse(OUTPUT), "rate")


def test_times_are_of_all_operations_in_seconds_whatever_version_4_1_calls_them() -> None:
    """mdtest.c prints ``t_end - t_start`` below *in ms/op*: these 100 files took 6 ms at 16126 a second."""
    text = (
        "-- started at 11/29/2026 20:56:21 --\n\n"
        "mdtest-4.1.0+dev was launched with 2 total task(s) on 2 node(s)\n"
        "2 tasks, 100 files\n\n"
    )
    for title, creation, removal in (
        ("rate (in ops/sec)", 16126.356, 198.650),
        ("time (in ms/op)", 0.006, 0.005),
    ):
        text += f"SUMMARY {title}: (of 1 iterations)\n   Operation       Max    Min   Mean   Std Dev\n"
        for name, value in (("File creation", creation), ("Tree removal", removal)):
            text += f"   {name}  {value:.3f}  {value:.3f}  {value:.3f}  0.000\n"
    parsed = parse(text + "-- finished at 11/29/2026 20:56:22 --\n")
    (time,) = (one for one in parsed.measurements if one.fom == "time" and one.value == 0.006)
    assert (time.unit, time.at["operation"]) == ("s", "File creation")
    assert figures(parsed, "time")["File creation"] == pytest.approx(100 / 16126.356, abs=0.0005)


@pytest.mark.parametrize(
    "error",
    [
        "ERROR: unable to create file /a, errno 28, No space left on device, (mdtest.c:123)",
        "mdtest: Process 0(n1): FAILED in main, unable to stat /a: No such file or directory",
    ],
)
def test_an_error_is_a_problem(error: str) -> None:
    assert parse(OUTPUT + error + "\n").problems == (f"mdtest printed: {error}",)


@pytest.mark.parametrize(
    "warning",
    [
        "WARNING: unable to create directory /a/mdtest_tree.0/dir.mdtest.0.0",
        "WARNING: unable to stat file /a/mdtest_tree.0/file.mdtest.0.0",
        "WARNING: unable to create tree directory '/a/mdtest_tree.0/'",
        'WARNING: [RANK 001]: rename() of file "/a/dir.mdtest.0.0" to  "/a/dir.mdtest.0.0-XX" failed',
    ],
)
def test_operations_that_failed_are_no_rate(warning: str) -> None:
    """mdtest 4.1 ends with 0 where no folder could be made, and prints 500,000 operations a second."""
    parsed = parse(f"{warning}\nWARNING: unable to remove directory /b\n{OUTPUT}")
    assert parsed.problems == (f"mdtest counted what could not be done; it printed: {warning}",)


def test_other_warnings_are_no_problem() -> None:
    reported = "WARNING: Read bytes is 0, thus, a read test will actually just open/close\n"
    assert parse(OUTPUT.replace("mdtest-3", f"{reported}mdtest-3")).problems == ()


@pytest.mark.parametrize("broken", ["nan", "-nan", "********", "inf"])
def test_what_is_not_a_number_is_a_problem(broken: str) -> None:
    parsed = parse(OUTPUT.replace("378835.575", broken.rjust(10)))
    assert "File creation" not in figures(parsed, "rate")
    assert len(parsed.problems) == 1


@pytest.mark.parametrize("row", ["File creation", "File stat", "Tree removal"])
def test_a_lost_row_keeps_the_run_from_being_complete(row: str) -> None:
    start = OUTPUT.index(f"   {row}")
    parsed = parse(OUTPUT[:start] + OUTPUT[OUTPUT.index("\n", start) + 1 :])
    assert (parsed.is_complete, parsed.problems) == (False, (f"mdtest's table of rates lacks the row {row}",))


def test_nothing_but_zeros_is_a_problem() -> None:
    zeros = "".join(
        line for line in OUTPUT.splitlines(keepends=True) if not line.startswith("   ") or " 0.000   " in line
    )
    assert "mdtest's table holds nothing but zeros: nothing was run" in parse(zeros).problems


def test_an_abort_is_a_problem() -> None:
    parsed = parse(OUTPUT + "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD\n")
    assert parsed.problems == ("a rank called MPI_Abort",)


def test_a_row_cut_short_is_a_problem() -> None:
    parsed = parse(OUTPUT.replace("1234.000          0.500", "1234.000          0.5"))
    assert any("broken row: File removal" in problem for problem in parsed.problems)


def test_a_last_line_without_its_end_is_whole_where_its_words_are() -> None:
    assert parse(OUTPUT.rstrip("\n")) == parse(OUTPUT)


def test_two_runs_in_one_log_are_distinguished() -> None:
    parsed = parse(OUTPUT + OUTPUT)
    assert parsed.is_complete
    assert {one.at["run"] for one in parsed.measurements} == {1, 2}


def test_a_cut_off_start_that_was_repeated_takes_nothing_away() -> None:
    assert parse(OUTPUT[: OUTPUT.index("SUMMARY")] + OUTPUT) == parse(OUTPUT)


@pytest.mark.parametrize("mess", MESSES)
def test_noise_and_encodings_change_nothing(mess: Callable[[str], str]) -> None:
    assert parse(mess(OUTPUT)) == parse(OUTPUT)


@given(damaged(OUTPUT))
@settings(max_examples=150)
def test_damage_never_crashes_and_never_makes_up_a_number(text: str) -> None:
    assert made_up(parse(text), text) == []


# Commands and faults


def test_the_command_reads_what_another_node_wrote() -> None:
    (stage,) = MDTEST.stages(case_of(MDTEST, Layout(nodes=2, ranks=8, ranks_per_node=4), file_size=3901))
    assert " ".join(stage.argv) == "mdtest -n 1000 -i 1 -F -u -N 4 -w 3901 -e 3901 -d {storage}"


def test_directories_in_one_place_on_one_node() -> None:
    (stage,) = MDTEST.stages(case_of(MDTEST, Layout(), entries="directories", unique=False))
    assert " ".join(stage.argv) == "mdtest -n 1000 -i 1 -D -d {storage}"


def test_directories_with_data_are_a_fault() -> None:
    (fault,) = MDTEST.faults(case_of(MDTEST, entries="directories", file_size=1))
    assert fault.endswith("set file_size: 0, or entries: files")
    assert list(MDTEST.faults(case_of(MDTEST))) == []


BOTH_TABLES = "mdtest/08-io500-ERROR-ai400x.txt"


def test_times_are_no_rates_where_just_the_rest_of_the_rates_is_lost(corpus: Path) -> None:
    """From any row of the rates to the same row of the times: what is left is one whole table."""
    text = (corpus / BOTH_TABLES).read_text()
    rates, times = (text.index("File creation", text.index(title)) for title in ("SUMMARY r", "SUMMARY t"))
    for name in ("File creation", "File stat", "Tree creation", "Tree removal"):
        left = text[: text.index(name, rates)] + text[text.index(name, times) :]
        assert parse(left).problems == (
            "a table of mdtest is missing: -P prints rates and times, and only rates are there",
        )


def test_a_row_that_two_rows_left_is_broken(corpus: Path) -> None:
    text = (corpus / BOTH_TABLES).read_text()
    whole = "378835.691     378835.480     378835.575"
    for left in ("3.691     378835.480     378835.575", "378835.691     35.480     378835.575"):
        problems = parse(text.replace(whole, left)).problems
        assert any("mdtest's table has a broken row: File creation" in one for one in problems), left
    mixed = text.replace(whole, "378835.691     378835.480        320.984")
    assert any("a broken row: File creation" in one for one in parse(mixed).problems)


def test_a_figure_that_is_wider_than_its_column_is_whole() -> None:
    wide = OUTPUT.replace(
        "        2.333          2.333          2.333", " 12345678901.333 2345678901.333 2345678901.333"
    )
    assert wide != OUTPUT
    assert parse(wide).problems == ()


def test_rates_and_times_of_one_run_have_the_same_rows(corpus: Path) -> None:
    text = (corpus / BOTH_TABLES).read_text()
    row = next(line for line in text.splitlines(keepends=True) if "(stonewall)" in line)
    assert parse(text.replace(row, "")).problems == (
        "one of mdtest's tables of rates and times lacks the row File create (stonewall)",
    )


def test_times_of_another_run_are_refused(corpus: Path) -> None:
    rates = (corpus / "mdtest/05-io500-4.1.0-stat.txt").read_text().partition("SUMMARY time")[0]
    times = (corpus / "mdtest/06-io500-nan-sol.txt").read_text().partition("SUMMARY time")
    problems = parse(rates + times[1] + times[2]).problems
    assert any("File creation took 502.852 s and has no rate" in one for one in problems)


def test_a_table_has_files_or_directories(corpus: Path) -> None:
    text = (corpus / "mdtest/04-io500-1.9.3-cern.txt").read_text()
    left = re.sub(r"(?m)^   File .*\n", "", text)
    assert any("lacks the row File or Directory creation" in one for one in parse(left).problems)
