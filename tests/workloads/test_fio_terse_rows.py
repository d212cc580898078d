"""Rows of fio's terse output."""

from __future__ import annotations

import io

import pytest

from workloads.fio_examples import FIO, NOTHING, READ, REST, TERSE, TERSE_5, parse


def terse_figures(text: str) -> dict[str, float]:
    parsed = parse(text)
    assert {one.at["operation"] for one in parsed.measurements} <= {"read"}
    return {one.fom: one.value for one in parsed.measurements}


@pytest.mark.parametrize("row", [TERSE, f"4{TERSE[1:]}".replace(REST, f"{NOTHING};{REST}"), TERSE_5])
def test_terse_rows_are_read(row: str) -> None:
    text = f"fio: a word before\n{row}"
    assert (parse(text).is_complete, parse(text).problems) == (True, ())
    assert terse_figures(text) == {
        "bandwidth": 120446,
        "iops": 30111,
        "latency": 26.274757,
        "latency_p50": 21,
        "latency_p95": 39,
        "latency_p99": 183,
        "latency_p999": 411,
    }


WRITES = TERSE.replace(f"{READ};{NOTHING}", f"{NOTHING};{READ}")
MIX = TERSE.replace(f"{READ};{NOTHING}", f"{READ};{READ}")


def problems(pattern: str, text: str) -> tuple[str, ...]:
    return FIO[pattern].parse(io.StringIO(text)).problems


@pytest.mark.parametrize("pattern", FIO)
def test_a_terse_row_of_other_operations_does_not_pass_as_the_workloads_own(pattern: str) -> None:
    """A terse row has no pattern, so only its operations can contradict the workload."""
    reads, writes = problems(pattern, TERSE), problems(pattern, WRITES)
    own, other = (reads, writes) if "read" in pattern else (writes, reads)
    assert own == ()
    (problem,) = other
    assert f"fio.{pattern} is of rw={pattern}" in problem
    assert "--output-format=json" in problem
    (problem,) = problems(pattern, MIX)
    assert "figures of reads and writes" in problem


def test_a_terse_percentile_below_one_microsecond_is_no_measurement_of_zero() -> None:
    row = TERSE.replace("50.000000%=21", "50.000000%=0")
    assert terse_figures(row) == {
        name: value for name, value in terse_figures(TERSE).items() if name != "latency_p50"
    }


def test_a_terse_row_says_its_version() -> None:
    assert parse(TERSE).printed["program_version"] == ("3.33",)


def test_rows_of_several_terse_jobs_are_distinguished_and_their_expected_number_is_unknown() -> None:
    parsed = parse(TERSE + TERSE)
    assert [one.at["job"] for one in parsed.measurements if one.fom == "iops"] == ["one#1", "one#2"]
    assert not parsed.is_end_known


def test_a_terse_job_that_failed_is_a_problem() -> None:
    parsed = parse(TERSE.replace("one;0;0", "one;0;5"))
    assert parsed.problems == ("job one of fio ended with error 5",)


@pytest.mark.parametrize("count", range(0, 121, 7))
def test_a_terse_row_that_lacks_fields_is_not_complete(count: int) -> None:
    text = ";".join(TERSE.split(";")[:count])
    for end in ("", "\n"):
        parsed = parse(f"fio-3.33\n{text}{end}")
        assert (parsed.is_complete, parsed.measurements) == (False, ())


@pytest.mark.parametrize(("version", "cure"), [(2, "version 2"), (6, "version 6")])
def test_other_versions_of_terse_output_are_refused_with_the_cure(version: int, cure: str) -> None:
    row = f"{version}{TERSE[1:]}" if version > 2 else TERSE.replace("3;fio-3.33;", "2;")
    parsed = parse(row)
    assert (parsed.is_complete, parsed.measurements) == (False, ())
    assert cure in parsed.problems[0]
    assert "use --output-format=json" in parsed.problems[0]


def test_a_terse_row_of_all_operations_together_may_be_whole() -> None:
    """With unified_rw_reporting=1, fio prints the fields of one operation (stat.c)."""
    (problem,) = (one for one in parse(TERSE.replace(f";{NOTHING}", "")).problems if "terse" in one)
    assert "unified_rw_reporting" in problem
    assert "--output-format=json" in problem
