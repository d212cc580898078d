"""Figures of a workload that a study declares, by JSON path."""

from __future__ import annotations

import json

import pytest

from workloads.inline_workloads import fom, parse, values, workload


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("time", 1.5),
        ("jobs.1.read.bw", 7.0),
        ("jobs[0].read.bw", 6.0),
        ("clat.99.000000", 9.0),
        ("text", 2.5),
    ],
)
def test_a_figure_is_read_by_json_path(path: str, value: float) -> None:
    document = {
        "time": 1.5,
        "text": "2.5",
        "jobs": [{"read": {"bw": 6}}, {"read": {"bw": 7}}],
        "clat": {"99.000000": 9},
    }
    for indent in (None, 2):
        assert values(parse(json.dumps(document, indent=indent), fom(json=path))) == [value]


def test_json_lines_are_read() -> None:
    text = '{"event": "start"}\n{"event": "end", "time": 3.5}\n'
    assert values(parse(text, fom(json="time"))) == [3.5]


def test_an_output_too_long_to_be_searched_for_json_is_not_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tare.plugins.workloads.inline._MOST_CHARACTERS", 1 << 20)
    text = '{"time": 3.5}\n' + "note\n" * (1 << 18)
    parsed = parse(text, fom(json="time"))
    assert (values(parsed), parsed.is_complete) == ([3.5], False)
    assert parsed.problems[0].startswith("the output is longer than 1 MiB, and JSON was sought in the first")


def test_noise_around_json_is_passed_over() -> None:
    text = '[n1:00042] warning: {slow}\nfio: note\n{\n "time": 3.5\n}\nbye\n'
    parsed = parse(text, fom(json="time"))
    assert (values(parsed), parsed.problems) == ([3.5], ())


@pytest.mark.parametrize(
    "value", ["true", "null", "NaN", "Infinity", "-Infinity", "[1]", '{"a": 1}', '"fast"', "1e999"]
)
def test_json_that_is_no_finite_number_is_a_problem_and_never_a_number(value: str) -> None:
    parsed = parse(f'{{"time": {value}}}\n', fom(json="time"))
    assert values(parsed) == []
    assert len(parsed.problems) == 1


def test_json_cut_short_is_a_problem() -> None:
    parsed = parse('{"time": 3.5,\n "more": ', fom(json="time"))
    assert (values(parsed), parsed.is_complete) == ([], False)
    assert any("broken or cut short" in problem for problem in parsed.problems)


def test_a_value_in_two_documents_is_a_problem_and_never_a_number() -> None:
    parsed = parse('{"time": 3.5}\n{"time": 3.5}\n', fom(json="time"))
    assert values(parsed) == []
    assert "more than once" in parsed.problems[0]


@pytest.mark.parametrize("path", ["nowhere", "time.deeper", "jobs.7", "jobs.x", "."])
def test_a_path_that_leads_nowhere_is_a_problem(path: str) -> None:
    parsed = workload(fom(json=path)).parse(['{"time": 1, "jobs": [1]}'])
    assert (values(parsed), parsed.is_complete) == ([], False)
