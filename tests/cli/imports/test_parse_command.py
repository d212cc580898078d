from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from tare.cli.commands.parse import command
from tare.execution import parsing

Tare = Callable[..., "subprocess.CompletedProcess[str]"]

BARRIER = """\
#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part
# Benchmarking Barrier
# #processes = 4
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000         0.32         0.36         0.34

# All processes entering MPI_Finalize
"""
WITHOUT_END = BARRIER.partition("# All")[0]


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.out"
    path.write_text(BARRIER)
    return path


def test_figures_are_shown_as_a_table(tare_here: Tare, good: Path) -> None:
    ended = tare_here("parse", "imb.barrier", good.name)
    assert ended.returncode == 0
    assert ended.stdout.splitlines() == [
        "fom       value  unit",
        "time_min   0.32  us",
        "time_max   0.36  us",
        "time_avg   0.34  us",
        "",
        "good.out: complete, 3 measurements",
    ]


def test_json_is_the_documented_contract(tare_here: Tare, good: Path) -> None:
    ended = tare_here("parse", "imb.barrier", good.name, "--json")
    assert ended.returncode == 0
    body = json.loads(ended.stdout)
    assert body["measurements"][0] == {
        "file": "good.out",
        "fom": "time_min",
        "value": 0.32,
        "unit": "us",
        "at": {},
    }
    del body["measurements"]
    assert body == {
        "schema": "tare.parse/1",
        "complete": True,
        "completeness": "complete",
        "problems": [],
        "left_out": [],
        "files": [
            {
                "file": "good.out",
                "complete": True,
                "completeness": "complete",
                "problems": [],
                "left_out": [],
            }
        ],
    }


def test_many_figures_are_all_printed(tare_here: Tare, good: Path) -> None:
    names = [f"{number}.out" for number in range(800)]
    for name in names:
        good.with_name(name).write_bytes(good.read_bytes())
    body = json.loads(tare_here("parse", "imb.barrier", *names, "--json").stdout)
    assert [one["file"] for one in body["measurements"]] == [name for name in names for _ in range(3)]
    rows = tare_here("parse", "imb.barrier", *names).stdout.split("\n\n")[0].splitlines()
    assert rows[0].split() == ["file", "fom", "value", "unit"]
    assert [row.split()[0] for row in rows[1:]] == [name for name in names for _ in range(3)]


def test_one_file_that_is_not_complete_makes_the_exit_code_1(tare_here: Tare, good: Path) -> None:
    good.with_name("cut.out").write_text(WITHOUT_END)
    ended = tare_here("parse", "imb.barrier", "good.out", "cut.out", "--json")
    assert ended.returncode == 1
    body = json.loads(ended.stdout)
    problem = "the output lacks IMB's closing line; the run did not come to its end"
    assert (body["complete"], body["completeness"]) == (False, "not complete")
    assert body["problems"] == [f"cut.out: {problem}"]
    assert [one["complete"] for one in body["files"]] == [True, False]
    assert len(body["measurements"]) == 6
    shown = tare_here("parse", "imb.barrier", "good.out", "cut.out")
    assert shown.returncode == 1
    assert "cut.out: not complete, 3 measurements" in shown.stdout
    assert shown.stderr == f"cut.out: {problem}\n"


def test_standard_input_is_a_file_called_dash(tare_here: Tare) -> None:
    command = [str(Path(sys.executable).with_name("tare")), "parse", "imb.barrier", "-", "--json"]
    ended = subprocess.run(command, input=BARRIER.encode(), capture_output=True, check=False)
    assert ended.returncode == 0
    (file,) = json.loads(ended.stdout)["files"]
    assert (file["file"], file["complete"], file["problems"]) == ("-", True, [])


TABLE = "# OSU MPI Latency Test v5.8\n# Size          Latency (us)\n" + "".join(
    f"{size:<10}{1.5:>18.2f}\n" for size in (0, *(1 << power for power in range(23)))
)


def completeness(tare_here: Tare, *words: str) -> str:
    return str(json.loads(tare_here("parse", "--json", *words).stdout)["completeness"])


def test_a_format_without_an_end_does_not_show_whether_it_is_complete(
    tare_here: Tare, tmp_path: Path
) -> None:
    (tmp_path / "osu.out").write_text(TABLE)
    assert completeness(tare_here, "osu.latency", "osu.out") == "not told by this format"
    ended = tare_here("parse", "osu.latency", "osu.out")
    assert ended.returncode == 0
    assert "osu.out: this format does not show whether it is complete (see --set), 25" in ended.stdout
    (tmp_path / "qperf.out").write_text("tcp_bw:\n    bw  =  1.17 GB/sec\n")
    assert completeness(tare_here, "qperf", "qperf.out") == "not told by this format"
    assert completeness(tare_here, "qperf", "qperf.out", "--set", "tests=tcp_bw") == "complete"


def test_what_was_asked_for_shows_that_a_table_was_cut_between_two_rows(
    tare_here: Tare, tmp_path: Path
) -> None:
    (tmp_path / "osu.out").write_text(TABLE)
    assert completeness(tare_here, "osu.latency", "osu.out", "--set", "max_bytes=4MiB") == "complete"
    ended = tare_here("parse", "osu.latency", "osu.out", "--set", "max_bytes=8MiB")
    assert ended.returncode == 1
    assert ended.stderr == "osu.out: the table of latency stops at 4194304 of 8388608 bytes\n"


def test_the_least_sure_file_speaks_for_all(tare_here: Tare, good: Path) -> None:
    good.with_name("cut.out").write_text(WITHOUT_END)
    assert completeness(tare_here, "imb.barrier", "good.out", "cut.out") == "not complete"


@pytest.mark.parametrize(
    ("setting", "cure"),
    [
        ("maxbytes=8", "osu.latency has no such parameter; it has nodes, ranks,"),
        ("max_bytes", "write NAME=VALUE"),
        ("max_bytes=many", "is not"),
        ("ranks=0", "use 1 or more"),
    ],
)
def test_what_cannot_have_been_asked_for_is_refused(
    tare_here: Tare, tmp_path: Path, setting: str, cure: str
) -> None:
    (tmp_path / "osu.out").write_text(TABLE)
    ended = tare_here("parse", "osu.latency", "osu.out", "--set", setting)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert f"--set {setting.partition('=')[0]}" in ended.stderr
    assert cure in ended.stderr


def test_bytes_that_are_no_text_do_no_harm(tare_here: Tare, good: Path) -> None:
    good.write_bytes(b"\xff\xfe\x00 noise \x80\n" + BARRIER.encode())
    assert tare_here("parse", "imb.barrier", good.name).returncode == 0


@pytest.mark.parametrize("name", ["nowhere.out", "."])
def test_a_file_that_cannot_be_read_is_named_with_the_cure(tare_here: Tare, name: str) -> None:
    ended = tare_here("parse", "imb.barrier", name)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"tare: {name}: cannot be read: ")
    assert "name a file that holds the output of imb.barrier" in ended.stderr


def test_an_unknown_workload_is_answered_with_the_nearest(tare_here: Tare, good: Path) -> None:
    ended = tare_here("parse", "imb.barier", good.name)
    assert ended.returncode == 2
    assert "did you mean 'imb.barrier'?" in ended.stderr


def test_a_workload_that_a_study_declares_is_known_with_that_study(
    tare_here: Tare, study: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "own.out").write_text("value: 2.5\n")
    ended = tare_here("parse", "--study", study(), "echo", "own.out", "--json")
    assert ended.returncode == 0, ended.stderr
    (measurement,) = json.loads(ended.stdout)["measurements"]
    assert (measurement["fom"], measurement["value"], measurement["unit"]) == ("value", 2.5, "s")
    assert tare_here("parse", "echo", "own.out").returncode == 2


def test_standard_input_is_read_once(tare_here: Tare) -> None:
    ended = tare_here("parse", "imb.barrier", "-", "-")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "standard input" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_regex_that_does_not_end_is_a_problem_of_its_file(
    tare_here: Tare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parsing, "_PARSE_S", 0.5)
    (tmp_path / "study.yaml").write_text(
        "study: slow\nworkload: w\nworkloads:\n  w:\n    command: [w]\n"
        "    foms: [{name: value, unit: s, better: lower, regex: '(a+)+$'}]\n"
    )
    (tmp_path / "log").write_text("a" * 40 + "b\n")
    ended = CliRunner().invoke(
        command, ["--study", str(tmp_path / "study.yaml"), "w", str(tmp_path / "log")], catch_exceptions=False
    )
    assert ended.exit_code == 1
    assert "had not ended after 0.5 s" in ended.stderr
