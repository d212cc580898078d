"""IOR's JSON (`-O summaryFormat=JSON`) and its damage."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings

from support.outputs import figures, only
from workloads.damage import damaged, made_up
from workloads.ior_output import OUTPUT, parse

JSON = """\
{
  "Version": "4.0.0",
  "Began": "Wed Mar  9 11:55:45 2022",
  "Command line": "ior -w -r -i 2 -t 1m -b 16m -O summaryFormat=JSON -o /scratch/data",
  "Machine": "Linux n1",
  "tests": [
    {
      "TestID": 0,
      "StartTime": "Wed Mar  9 11:55:45 2022",
      "Capacity": "100.0 GiB", "Used Capacity": "50.0%",
      "Parameters": {
        "testID": 0,
        "api": "POSIX",
        "repetitions": 2,
        "blockSize": 16777216
      }
,
      "Options": {
        "api": "POSIX",
        "repetitions": 2
      }
,
      "Results": [
        {
          "access": "write",
          "bwMiB": 1066.2101,
          "blockKiB": 16384.0000,
          "xferKiB": 1024.0000,
          "iops": 1066.9000,
          "latency": 0.0037,
          "openTime": 0.0008,
          "wrRdTime": 0.9598,
          "closeTime": 0.0004,
          "totalTime": 0.9604
        }
,
        {
          "access": "read",
          "bwMiB": 4211.0200,
          "openTime": -1.0000,
          "totalTime": 0.2431
        }
,
        {
          "access": "write",
          "bwMiB": 1100.5000,
          "totalTime": 0.9304
        }
,
        {
          "access": "read",
          "bwMiB": 4300.2500,
          "totalTime": 0.2380
        }
,
        {
          "access": "remove",
          "totalTime": 0.0120
        }
]
    }
]
,
  "summary": [
    {
      "operation": "write",
      "API": "POSIX",
      "TestID": 0,
      "segmentCount": 1,
      "segmentCount": 1,
      "bwMaxMIB": 1100.5000,
      "bwMinMIB": 1066.2101,
      "bwMeanMIB": 1083.3551,
      "OPsMean": 1083.3551,
      "MeanTime": 0.9454
    }
,
    {
      "operation": "read",
      "TestID": 0,
      "bwMaxMIB": 4300.2500,
      "bwMinMIB": 4211.0200,
      "bwMeanMIB": 4255.6350,
      "OPsMean": 4255.6350
    }
]
,
  "Finished": "Wed Mar  9 11:56:01 2022"
}
"""


def test_json_is_read() -> None:
    parsed = parse(JSON)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert only(parsed, "bandwidth", operation="write") == 1083.3551
    assert only(parsed, "bandwidth_max", operation="read") == 4300.25
    assert only(parsed, "iops", operation="read") == 4255.635
    assert only(parsed, "row_bandwidth", operation="write", iteration=1) == 1100.5
    assert only(parsed, "access_time", operation="write", iteration=0) == 0.9598
    assert only(parsed, "total_time", operation="remove") == 0.012
    opened = [one for one in parsed.measurements if one.fom == "open_time"]
    assert [one.at["operation"] for one in opened] == ["write"], "-1 is no time"


@pytest.mark.parametrize("figure", ["latency", "open_time", "access_time", "close_time", "total_time"])
def test_a_time_that_its_four_decimals_cannot_show_is_no_measurement_of_zero(figure: str) -> None:
    name = {
        "latency": "latency",
        "open_time": "openTime",
        "access_time": "wrRdTime",
        "close_time": "closeTime",
        "total_time": "totalTime",
    }[figure]
    known = parse(JSON)
    parsed = parse(re.sub(rf'"{name}": [0-9.]+', f'"{name}": 0.0000', JSON))
    assert figures(known, figure)
    assert figures(parsed, figure) == []
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed, "bandwidth") == figures(known, "bandwidth")


def test_repetitions_in_lists_of_their_own_are_the_same() -> None:
    """As versions 3.1 and 3.2 print them."""
    nested = JSON.replace('"Results": [', '"Results": [ [').replace("]\n    }\n]", "]\n]\n    }\n]")
    assert parse(nested) == parse(JSON)


def test_warnings_between_the_lines_of_json_change_nothing() -> None:
    warned = JSON.replace(
        '  "tests"', "ior WARNING: fsync() is not available, (aiori-X.c:12)\n\n" + '  "tests"'
    )
    assert parse(warned) == parse(JSON)


@pytest.mark.parametrize("other", ["{\n", '{\n  "jobs": [1, 2]\n}\n', "{\n}\n"])
def test_json_of_other_programs_changes_nothing(other: str) -> None:
    assert parse(other + OUTPUT) == parse(OUTPUT)
    assert parse(OUTPUT + other) == parse(OUTPUT)


def test_json_cut_anywhere_is_not_complete() -> None:
    for cut in range(0, len(JSON) - 2, 41):
        parsed = parse(JSON[:cut])
        assert (parsed.is_complete, parsed.measurements) == (False, ())
        assert cut < 200 or "IOR's JSON is cut short" in parsed.problems
    assert parse(JSON[:-1]) == parse(JSON), "a brace is whole without a line end"


def test_a_repetition_that_json_lacks_keeps_the_run_from_being_complete() -> None:
    parsed = parse(JSON.replace('"repetitions": 2', '"repetitions": 3'))
    assert not parsed.is_complete
    assert "test 0 of IOR has 2 of 3 writes" in parsed.problems


@pytest.mark.parametrize("broken", ["nan", "-nan", "inf"])
def test_json_with_what_is_no_number_is_not_complete(broken: str) -> None:
    parsed = parse(JSON.replace("1083.3551", broken, 1))
    assert not parsed.is_complete
    assert "IOR printed 1 value that is no number" in parsed.problems


@given(damaged(JSON))
@settings(max_examples=100)
def test_damage_never_crashes_and_never_makes_up_a_number(text: str) -> None:
    assert made_up(parse(text), text) == []


@pytest.mark.parametrize(
    ("parameters", "offset"),
    [
        ('"reorderTasks": 0,\n"reorderTasksRandom": 0,', "none"),
        ('"reorderTasks": 1,\n"reorderTasksRandom": 0,', "constant"),
        ('"reorderTasks": 0,\n"reorderTasksRandom": 1,', "random"),
    ],
)
def test_whose_data_is_read_is_a_setting(parameters: str, offset: str) -> None:
    parsed = parse(JSON.replace('        "testID": 0,', f'"testID": 0,\n{parameters}\n"collective": 1,', 1))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert (parsed.printed["task_offset"], parsed.printed["collective"]) == ((offset,), (True,))
