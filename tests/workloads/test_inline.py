from __future__ import annotations

import io
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.core.case import Case, Layout
from tare.core.errors import UsageError
from tare.core.workload import (
    Better,
    Fom,
    InlineCheck,
    InlineDefinition,
    InlineFom,
    Parameter,
    ParameterKind,
    Parsed,
    QuestionKind,
)
from tare.plugins.workloads.inline import InlineWorkload
from workloads.cases import case_of


def fom(regex: str | None = None, *, json: str | None = None, by: tuple[str, ...] = ()) -> InlineFom:
    return InlineFom(fom=Fom(name="time", unit="s", better=Better.LOWER, by=by), regex=regex, json=json)


def workload(*foms: InlineFom, **changes: object) -> InlineWorkload:
    definition = InlineDefinition(name="mine", command=("run",), foms=foms)
    return InlineWorkload(msgspec.structs.replace(definition, **changes))


def parse(text: str, *foms: InlineFom, checks: tuple[InlineCheck, ...] = ()) -> Parsed:
    return workload(*foms, checks=checks).parse(io.StringIO(text))


def values(parsed: Parsed) -> list[float]:
    return [one.value for one in parsed.measurements]


# Figures by regex


def test_a_figure_is_read_by_regex() -> None:
    parsed = parse("start\nTotal: 12.5 s\nend\n", fom(r"Total: *(\S+)"))
    assert values(parsed) == [12.5]
    assert (parsed.measurements[0].unit, parsed.is_complete, parsed.problems) == ("s", True, ())


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
    ],
)
def test_a_part_of_a_number_is_a_problem_and_never_a_number(
    line: str, regex: str, part: str, number: str
) -> None:
    parsed = parse(f"{line}\n", fom(regex))
    assert values(parsed) == []
    assert parsed.problems[0].startswith(f"time is '{part}', which the regex cut out of '{number}'; let its ")


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
    ],
)
def test_what_stands_beside_a_whole_number_is_none_of_it(line: str, regex: str) -> None:
    assert values(parse(f"{line}\n", fom(regex))) == [5.0]


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


# Figures by JSON path


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


# Commands


PARAMETERS = tuple(
    Parameter(name=name, kind=kind, default=default, summary="")
    for name, kind, default in (
        ("size", ParameterKind.WHOLE, 64),
        ("rate", ParameterKind.NUMBER, 0.1),
        ("tag", ParameterKind.TEXT, "two words"),
        ("verify", ParameterKind.FLAG, True),
    )
)


def commanded(*command: str, **changes: object) -> tuple[InlineWorkload, Case]:
    changes.setdefault("is_mpi", True)  # or else it would have no use for its ranks
    mine = workload(fom("(1)"), command=command, parameters=PARAMETERS, **changes)
    layout = Layout(nodes=2, ranks=8, ranks_per_node=4, threads=3)
    return mine, case_of(mine, layout)


@pytest.mark.parametrize(
    ("word", "filled"),
    [
        ("-n={size}", "-n=64"),
        ("{rate}", "0.1"),
        ("{tag}", "two words"),
        ("{verify}", "true"),
        ("{ranks}x{threads}", "8x3"),
        ("{{size}}", "{size}"),
        ("{{{size}}}", "{64}"),
        ("awk {{print}}", "awk {print}"),
        ("{work}/in {storage}", "{work}/in {storage}"),
        ("plain", "plain"),
    ],
)
def test_placeholders_are_filled_in(word: str, filled: str) -> None:
    mine, case = commanded("run", word)
    assert list(mine.faults(case)) == []
    assert mine.stages(case)[0].argv == ("run", filled)


def test_environment_and_files_are_filled_in_too() -> None:
    mine, case = commanded("run", env={"SIZE": "{size}"}, files={"in.txt": "size = {size};\n"}, is_mpi=True)
    (stage,) = mine.stages(case)
    assert (stage.env, stage.files, stage.is_mpi) == ({"SIZE": "64"}, {"in.txt": "size = 64;\n"}, True)


@pytest.mark.parametrize(
    ("word", "fault"),
    [
        ("{sise}", "command: {sise} is neither a parameter nor a setting; did you mean {size}?"),
        ("{network}", "command: the case has no network; set 'network' in the study, or leave {network} out"),
        ("{a b}", "command: a single '{' stands for nothing; write '{{' for the character"),
    ],
)
def test_a_placeholder_that_cannot_be_filled_is_a_fault_with_its_cure(word: str, fault: str) -> None:
    mine, case = commanded("run", word)
    assert fault in list(mine.faults(case))


def test_of_thousands_of_unknown_placeholders_the_first_are_reported() -> None:
    known = {f"parameter_{number}": number for number in range(4000)}
    word = "".join(f"{{parameter_{number}x}}" for number in range(4000))
    case = msgspec.structs.replace(case_of(workload(fom("x(.)"))), parameters=known)
    reported = list(workload(fom("x(.)"), command=(word,)).faults(case))
    faults = [one for one in reported if "placeholder" in one or "parameter_" in one]
    assert len(faults) == 21
    assert "did you mean {parameter_0}?" in faults[0]
    assert faults[-1] == "command: 3980 more placeholders are neither a parameter nor a setting"


def test_faults_say_where_they_are() -> None:
    mine, case = commanded("run", env={"A": "{nope}"}, files={"in": "{storage}"})
    first, second = mine.faults(case)
    assert first.startswith("env.A: {nope}")
    assert second.startswith("files.in: {storage} is not known when files are written")


def test_the_digest_follows_the_definition_and_nothing_else() -> None:
    assert workload(fom("(1)")).digest == workload(fom("(1)")).digest
    assert workload(fom("(1)")).digest != workload(fom("(2)")).digest
    assert (
        workload(fom("(1)"), env={"A": "1", "B": "2"}).digest
        == workload(fom("(1)"), env={"B": "2", "A": "1"}).digest
    )


def test_the_digest_is_computed_once() -> None:
    one = workload(fom("(1)"))
    assert one.digest is one.digest


def test_the_digest_is_the_same_on_every_machine() -> None:
    assert workload(fom("(1)")).digest == "461ac9ab93fb7080"


# What is said beside how a figure is read


def test_what_a_figure_answers_leaves_the_cases_of_older_campaigns_as_they_are() -> None:
    definition = InlineDefinition(
        name="mine",
        command=("run", "{n}"),
        parameters=(Parameter(name="n", kind=ParameterKind.WHOLE, default=3, summary="N"),),
        foms=(
            InlineFom(fom=Fom(name="time", unit="s", better=Better.LOWER, is_primary=True), regex="t=(.*)"),
        ),
    )
    assert InlineWorkload(definition).digest == "4af7ff8a00fdf79d", "as version 0.1.0 has it"
    answering = msgspec.structs.replace(
        definition.foms[0],
        fom=msgspec.structs.replace(definition.foms[0].fom, answers=(QuestionKind.STORAGE,)),
    )
    other = msgspec.structs.replace(definition, foms=(answering,))
    assert InlineWorkload(other).digest == "4af7ff8a00fdf79d"
    assert [one.answers for one in InlineWorkload(other).foms] == [(QuestionKind.STORAGE,)]
