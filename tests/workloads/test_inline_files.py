"""Figures of a declared workload out of several files: by regex, JSON path and CSV column."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tare.core.workload import Better, Fom, InlineDefinition, InlineFom, Parsed
from tare.execution.parsing import parse_output
from tare.plugins.workloads.inline import InlineWorkload


def fom(name: str, *, unit: str = "s", by: tuple[str, ...] = (), **read: str) -> InlineFom:
    return InlineFom(fom=Fom(name=name, unit=unit, better=Better.LOWER, by=by), **read)


def parse(work: Path, *foms: InlineFom) -> Parsed:
    return parse_output(InlineWorkload(InlineDefinition(name="mine", command=("run",), foms=foms)), work)


def table(text: str, *foms: InlineFom) -> Parsed:
    return InlineWorkload(InlineDefinition(name="mine", command=("run",), foms=foms)).parse(
        text.splitlines(keepends=True)
    )


def test_each_figure_is_read_from_its_own_file(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "stdout").write_text("time: 1.5\n")
    (tmp_path / "stderr").write_text("\tMaximum resident set size (kbytes): 2048\n")
    (tmp_path / "out" / "result-7.json").write_text('{"solver": {"residual": 1e-9}}\n')
    parsed = parse(
        tmp_path,
        fom("time", regex=r"time: (\S+)"),
        fom("memory", unit="KiB", regex=r"Maximum resident.*: (\d+)", file="stderr"),
        fom("residual", unit="1", json="solver.residual", file="out/result-*.json"),
    )
    assert [(one.fom, one.value, one.unit) for one in parsed.measurements] == [
        ("time", 1.5, "s"),
        ("memory", 2048.0, "KiB"),
        ("residual", 1e-9, "1"),
    ]
    assert (parsed.is_complete, parsed.problems) == (True, ())


def test_a_missing_file_and_a_figure_that_is_not_in_its_file_are_problems(tmp_path: Path) -> None:
    (tmp_path / "stdout").write_text("time: 1.5\n")
    (tmp_path / "log").write_text("nothing\n")
    parsed = parse(tmp_path, fom("t", regex=r"t: (\S+)", file="log"), fom("r", json="r", file="r.json"))
    assert parsed.problems == (
        "log: t is not in the output; no line matches 't: (\\S+)'",
        "the program wrote no r.json",
    )
    assert not parsed.is_complete


def test_a_glob_that_matches_two_files_is_a_problem_and_never_a_number(tmp_path: Path) -> None:
    (tmp_path / "stdout").write_text("")
    for number in (1, 2):
        (tmp_path / f"log-{number}").write_text(f"t: {number}\n")
    parsed = parse(tmp_path, fom("t", regex=r"t: (\S+)", file="log-*"))
    assert parsed.measurements == ()
    assert parsed.problems == ("log-* matches 2 files, such as log-1, log-2; name one of them",)


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("t: 1\n")
    work = tmp_path / "work"
    work.mkdir()
    (work / "stdout").write_text("")
    (work / "log").symlink_to(secret)
    parsed = parse(work, fom("t", regex=r"t: (\S+)", file="log"))
    assert (parsed.measurements, parsed.is_complete) == ((), False)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_rows_of_a_table_are_figures_with_their_columns_as_coordinates(delimiter: str) -> None:
    rows = [("step", "phase", "seconds"), ("1", '"a b"', "0.5"), ("2", "solve", "1.25")]
    text = "run of today\n# comment\n" + "".join(delimiter.join(row) + "\n" for row in rows)
    parsed = table(text, fom("time", csv="seconds", by=("phase", "step")))
    assert [(one.value, one.at) for one in parsed.measurements] == [
        (0.5, {"phase": "a b", "step": 1}),
        (1.25, {"phase": "solve", "step": 2}),
    ]
    assert (parsed.is_complete, parsed.problems) == (True, ())


def test_several_rows_without_coordinates_are_a_problem_and_never_a_number() -> None:
    parsed = table("seconds\n1\n2\n", fom("time", csv="seconds"))
    assert parsed.measurements == ()
    assert "more than once" in parsed.problems[0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a,seconds\n1,2,3\n", "time: a row of the table has 3 cells, and its header 2: 1,2,3"),
        (
            "step seconds\n1 2\n",
            "time is not in the output; no line of it names the column 'seconds' between commas, semicolons",
        ),
        ("seconds,seconds\n1,2\n", "time is not in the output"),
        ("a,seconds\n1,fast\n", "time is 'fast', which is not a number"),
        ("a,seconds\n1,2", "time is not in the output, whose last line has no end"),
    ],
)
def test_a_table_that_cannot_be_read_is_a_problem(text: str, problem: str) -> None:
    parsed = table(text, fom("time", csv="seconds"))
    assert parsed.measurements == ()
    assert any(one.startswith(problem) for one in parsed.problems)


def test_definitions_without_files_and_tables_keep_their_digest() -> None:
    plain = InlineDefinition(name="mine", command=("run",), foms=(fom("time", regex="(1)"),))
    assert InlineWorkload(plain).digest == "461ac9ab93fb7080"
    moved = msgspec.structs.replace(plain, foms=(fom("time", regex="(1)", file="log"),))
    assert InlineWorkload(moved).digest != "461ac9ab93fb7080"
