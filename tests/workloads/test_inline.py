"""Figures of a workload that a study declares, by regex, and its checks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.core.errors import UsageError
from tare.core.workload import (
    Better,
    Fom,
    InlineCheck,
    InlineFom,
)
from workloads.inline_workloads import fom, parse, values, workload

# Figures by regex


def test_a_figure_is_read_by_regex() -> None:
    parsed = parse("start\nTotal: 12.5 s\nend\n", fom(r"Total: *(\S+)"))
    assert values(parsed) == [12.5]
    assert (parsed.measurements[0].unit, parsed.is_complete, parsed.problems) == ("s", True, ())


@pytest.mark.parametrize("name", ["fom", "value", "self", "at", "unit"])
def test_a_coordinate_may_have_any_name(name: str) -> None:
    """Names of parameters in the code of Tare made every run invalid: the parser of it broke."""
    parsed = parse("write: 12.5\n", fom(rf"(?P<{name}>\w+): (\S+)", by=(name,)))
    assert [one.at for one in parsed.measurements] == [{name: "write"}]
    assert parsed.problems == ()


@pytest.mark.parametrize(
    ("line", "regex", "part", "number"),
    [
        ("t=1.5e-05 s", r"t=([0-9.]+)", "1.5", "1.5e-05"),
        ("t=0.15D-04", r"t=([0-9.]+)", "0.15", "0.15D-04"),
        ("t=1,234.5", r"t=([0-9.]+)", "1", "1,234.5"),
        ("t=1234.5", r"t=(\d+)", "1234", "1234.5"),
        ("t=12345", r"t=.*(\d+)", "5", "12345"),
        ("t=12.5", r"t=.*?(\d\.\d)", "2.5", "12.5"),
        ("t=1.25", r"t=.*\.(\d+)", "25", "1.25"),
        ("t=12,5 s", r"t=(\d+)", "12", "12,5"),
        ("t=1234,567 s", r"t=(\d+)", "1234", "1234,567"),
        ("t=1_234", r"t=(\d+)", "1", "1_234"),
        ("t=1'234'567", r"t=(\d+)", "1", "1'234'567"),
        ("t=1\u202f234 s", r"t=(\d+)", "1", "1\u202f234"),
        ("t=1:02:03", r"t=(\d+)", "1", "1:02:03"),
    ],
)
def test_a_part_of_a_number_is_a_problem_and_never_a_number(
    line: str, regex: str, part: str, number: str
) -> None:
    parsed = parse(f"{line}\n", fom(regex))
    assert values(parsed) == []
    assert parsed.problems[0].startswith(f"time is '{part}', which the regex cut out of {number!r}; let its ")


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        ("1D+05", 1e5),
        ("0.150D+06", 0.15e6),
        ("-1.0d-3", -1e-3),
        (".5D+00", 0.5),
        ("1.2340E-100", 1.234e-100),
        ("1.5000000000000000E+005", 1.5e5),
    ],
)
def test_a_number_of_fortran_is_read(printed: str, value: float) -> None:
    assert values(parse(f" t= {printed} s\n", fom(r"t= *(\S+)"))) == [value]


@pytest.mark.parametrize("printed", ["0.1234-100", "1.2340-100", "-.12+101", "0.1500-4003"])
def test_an_exponent_without_a_letter_is_never_read(printed: str) -> None:
    """Fortran prints 1.234D-100 so, but a range of numbers looks the same."""
    for regex in (r"t= *(\S+)", r"t= *([-0-9.]+)", r"t= *([0-9.+-]+?)\b"):
        assert values(parse(f" t= {printed} s\n", fom(regex))) == []
    whole = parse(f" t= {printed} s\n", fom(r"t= *(\S+)"))
    assert whole.problems[0].startswith(f"time is '{printed}'")


def test_a_lost_letter_and_a_narrow_field_are_named() -> None:
    (lost,) = parse("t=0.1234-100\n", fom(r"t=(\S+)")).problems
    assert "Fortran leaves out the letter of exponents beyond 99" in lost
    assert "ES12.4E3" in lost
    (narrow,) = parse("t=*****\n", fom(r"t=(\S+)")).problems
    assert narrow == "time is '*****', which is no measurement: the number was wider than its field"


@pytest.mark.parametrize("line", ["t=0.5-100 Hz", "t=5-100", "t=0.5-10", "t=0.5-100.5"])
def test_the_first_number_of_a_range_is_read_unless_it_looks_like_an_exponent(
    line: str,
) -> None:
    parsed = parse(f"{line}\n", fom(r"t=([0-9.]+)"))
    assert bool(parsed.problems) is (line == "t=0.5-100 Hz")


@pytest.mark.parametrize(
    ("line", "regex"),
    [
        ("t=5s", r"t=(\d+)"),
        ("t=5,6,700", r"t=(\d+)"),
        ("row,5,700,9", r"row,(\d+)"),
        ("took 5. Done", r"took (\d+)"),
        ("took 5 1", r"took (\d+)"),
        ("took 5d3h", r"took (\d+)"),
        ("took 5.25 s", r"took (\d+)\.\d+ s"),
        ("run-5", r"run-(\d+)"),
        ("at 12:5", r"at \d+:(\d+)"),
        ("3,5", r"3,(\d+)"),
        ("5,12", r"(\d+),"),
        ("5,12,3", r"^(\d+)"),
        ("5,1.5", r"^(\d+)"),
        ("step 5: 12", r"step (\d+)"),
        ("5_a", r"(\d+)"),
    ],
)
def test_what_stands_beside_a_whole_number_is_none_of_it(line: str, regex: str) -> None:
    assert values(parse(f"{line}\n", fom(regex))) == [5.0]


@pytest.mark.parametrize(
    ("line", "unit", "follows"),
    [
        ("t=1.5 ms", "s", "ms"),
        ("t=1.5 usec", "ms", "usec"),
        ("t=1.5 µs", "ms", "µs"),
        ("t=1.2 GB/s", "MB/s", "GB/s"),
        ("t=1.2 GiB/s", "GB/s", "GiB/s"),
        ("t=9.4 Gbits/sec", "Mbit/s", "Gbits/sec"),
        ("t=1.1 GBytes/sec", "Gbit/s", "GBytes/sec"),
        ("t=1.5k", "op/s", "k"),
        ("t=1.5M", "1", "M"),
        ("t=2.1 GFLOP/s", "Tflop/s", "GFLOP/s"),
    ],
)
def test_a_unit_other_than_the_declared_one_is_a_problem(line: str, unit: str, follows: str) -> None:
    parsed = parse(f"{line}\n", fom(r"t=([0-9.]+)", unit=unit))
    assert values(parsed) == []
    assert f"and '{follows}' follows, but the figure is declared in {unit}" in parsed.problems[0]
    meant = parse(f"{line}\n", fom(rf"t=([0-9.]+) ?{follows}", unit=unit))
    assert len(values(meant)) == 1


@pytest.mark.parametrize(
    ("line", "unit"),
    [
        ("t=1.5 s", "s"),
        ("t=1.5 seconds", "s"),
        ("t=1.5 min, 2.5 max", "s"),
        ("t=1.5 m", "s"),
        ("t=1.5 MB/sec", "MB/s"),
        ("t=1.5 Gbits/sec", "Gbit/s"),
        ("t=1.5G", "GB"),
        ("t=1.5kB", "kB"),
        ("t=1.5 k of them", "1"),
        ("t=1.5 steps", "1"),
        ("t=1.5 B", "s"),
    ],
)
def test_the_declared_unit_and_other_words_may_follow(line: str, unit: str) -> None:
    assert values(parse(f"{line}\n", fom(r"t=([0-9.]+)", unit=unit))) == [1.5]


@pytest.mark.parametrize("text", ["nan", "-inf", "Infinity", "1e400", "1D-400", "1e-400", "0.0001e-500"])
def test_a_number_that_no_computer_holds_is_quoted_as_it_was_printed(text: str) -> None:
    parsed = parse(f"t={text}\n", fom(r"t=(\S*)"))
    assert (values(parsed), parsed.problems) == ([], (f"time is {text!r}, which is no measurement",))


@pytest.mark.parametrize(
    ("text", "value"), [("-3", -3.0), ("+.5", 0.5), ("1.", 1.0), ("1e-3", 0.001), ("2.5E+2", 250.0)]
)
def test_numbers_are_read_as_programs_write_them(text: str, value: float) -> None:
    assert values(parse(f"t={text}\n", fom(r"t=(\S*)"))) == [value]


@pytest.mark.parametrize(
    "text", ["nan", "NaN", "inf", "-inf", "1e999", "", "****", "1_000", "1,5", "0x10", "٣", "1.2.3"]
)
def test_what_is_no_finite_number_is_a_problem_and_never_a_number(text: str) -> None:
    parsed = parse(f"t={text}\n", fom(r"t=(\S*)"))
    assert values(parsed) == []
    assert len(parsed.problems) == 1


def test_a_figure_that_is_missing_is_a_problem() -> None:
    parsed = parse("nothing\n", fom(r"t=(\S+)"))
    assert (values(parsed), parsed.is_complete) == ([], False)
    assert parsed.problems == ("time is not in the output; no line matches 't=(\\S+)'",)


@pytest.mark.parametrize("text", ["t=1 \nt=2 \n", "t=1 \nt=1 \n", "t=1 t=2 \n"])
def test_a_figure_that_appears_twice_is_a_problem_and_never_a_number(text: str) -> None:
    parsed = parse(text, fom(r"t=(\d) "))
    assert values(parsed) == []
    assert "time is in the output more than once" in parsed.problems[0]


def test_two_kinds_of_lines_with_a_figure_are_named_without_their_values() -> None:
    parsed = parse("  t: 1.5\ncount: 3\n", fom(r"t: (\S+)"))
    assert values(parsed) == []
    (problem,) = parsed.problems
    assert problem.startswith("time is in the output more than once, as 't: …' and as 'count: …'; let the")
    assert "let the regex match one of them only (^ is the start of a line), or list" in problem
    same = parse("t: 1.5\nt: 3\n", fom(r"t: (\S+)"))
    assert same.problems[0].startswith("time is in the output more than once; list")
    assert parse("t: 1 t: 2\n", fom(r"t: (\S+)")).problems == same.problems, "the values may differ by run"
    third = parse("t: 1.5\nt: 3\ncount: 3\n", fom(r"t: (\S+)"))
    assert "as 't: …' and as 'count: …'" in third.problems[0]


def test_named_groups_are_coordinates() -> None:
    pattern = r"^(?P<function>\w+): +(?P<size>\S+) +([\d.]+)$"
    parsed = parse("Copy:  10 1.5\nCopy:  0.5 2.5\nTriad: 10 3.5\n", fom(pattern, by=("function", "size")))
    assert [(one.value, one.at) for one in parsed.measurements] == [
        (1.5, {"function": "Copy", "size": 10}),
        (2.5, {"function": "Copy", "size": 0.5}),
        (3.5, {"function": "Triad", "size": 10}),
    ]


def test_the_same_coordinates_twice_are_a_problem_but_the_others_count() -> None:
    parsed = parse("8 1.0\n16 2.0\n8 3.0\n", fom(r"(?P<bytes>\d+) ([\d.]+)", by=("bytes",)))
    assert [(one.value, one.at) for one in parsed.measurements] == [(2.0, {"bytes": 16})]
    assert parsed.problems == ("time at bytes 8 is in the output more than once",)


def test_a_line_cut_short_at_the_end_of_the_file_is_not_read() -> None:
    parsed = parse("start\nTotal: 12.", fom(r"Total: *(\S+)"))
    assert values(parsed) == []
    assert "last line has no end" in parsed.problems[0]


def test_colours_are_no_part_of_the_text() -> None:
    assert values(parse("\x1b[1mTotal:\x1b[0m 12.5\n", fom(r"^Total: (\S+)$"))) == [12.5]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (fom("("), "is not a regex"),
        (fom("no group"), "no group for the value"),
        (fom(r"(?P<bytes>\d+)", by=("bytes",)), "no group for the value"),
        (fom(r"(\d+)", by=("bytes",)), r"no group 'bytes'; name one with \(\?P<bytes>"),
    ],
)
def test_a_regex_that_cannot_be_used_is_refused_at_once(bad: InlineFom, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        workload(bad)


@given(st.lists(st.text(), max_size=5))
def test_no_output_crashes_the_parser(lines: list[str]) -> None:
    both = workload(
        fom(r"(?P<n>\d+) (\S+)", by=("n",)),
        InlineFom(fom=Fom(name="j", unit="s", better=Better.LOWER), json="a.b"),
    )
    for ends in ("", "\n"):
        both.parse([line + ends for line in lines])


# Checks


def test_a_check_that_must_match_is_a_problem_when_no_line_does() -> None:
    checks = (InlineCheck(matches="^PASSED"),)
    assert parse("t=1\nPASSED\n", fom(r"t=(\d)"), checks=checks).problems == ()
    parsed = parse("t=1\n", fom(r"t=(\d)"), checks=checks)
    assert (parsed.problems, parsed.is_complete) == (("no line of the output matches '^PASSED'",), False)


def test_a_check_that_must_not_match_is_a_problem_when_a_line_does() -> None:
    checks = (InlineCheck(lacks="(?i)error"),)
    assert parse("t=1\n", fom(r"t=(\d)"), checks=checks).problems == ()
    parsed = parse("t=1\nERROR: residual\n", fom(r"t=(\d)"), checks=checks)
    assert parsed.problems == ("the output has a line that matches '(?i)error': ERROR: residual",)


def test_a_check_that_is_no_regex_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="is not a regex"):
        workload(fom("(1)"), checks=(InlineCheck(lacks="["),))
