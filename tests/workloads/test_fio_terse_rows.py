"""Rows of fio's terse output."""

from __future__ import annotations

import pytest

from workloads.fio_examples import NOTHING, REST, TERSE, TERSE_5, parse


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
