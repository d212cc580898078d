"""Logs that broke off, are compressed, lack sizes or lie in many folders."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.imports.imported_logs import compared, hpcg, put, qperf, run
from tare.analysis.pairs import without_reference
from tare.cli.commands import compare
from tare.cli.commands.import_ import with_progress_bar
from tare.core.case import Case
from tare.core.plan import Plan
from tare.storage.campaign import read_campaign
from tare.storage.candidates import Candidate


def test_a_log_that_broke_off_before_it_printed_settings_is_a_run_of_the_case_of_the_others(
    tmp_path: Path,
) -> None:
    for platform in ("a", "b"):
        for number in (1, 2):
            put(tmp_path / "r" / platform / f"{number}.txt", hpcg(4, 10.0 + number))
    put(tmp_path / "r" / "b" / "3.txt", "")
    command = ("hpcg", tmp_path / "r", "--out", tmp_path / "c", "--pattern", "{platform}/{repeat}.txt")
    done = run(*command, "--reference", "platform=a")
    assert "is held against nothing" not in done.stderr
    assert "c: 5 runs of 2 cases imported (4 done, 1 invalid)" in done.stdout
    again = run(*command)
    assert "5 there already" in again.stdout
    assert "not imported" not in again.stderr


def test_compressed_files_are_named_with_the_cure(tmp_path: Path) -> None:
    put(tmp_path / "r" / "a" / "1.txt", hpcg(4, 10.0))
    for name in ("2.txt.gz", "3.txt"):
        (tmp_path / "r" / "a" / name).write_bytes(gzip.compress(hpcg(4, 11.0).encode()))
    command = ("hpcg", tmp_path / "r", "--out", tmp_path / "c", "--pattern", "{platform}/{repeat}.txt")
    done = run(*command, "--dry-run")
    assert done.exit_code == 1
    for name in ("2.txt.gz", "3.txt"):
        assert f"{name}: is compressed; unpack it first" in done.stderr


def test_files_of_several_folders_that_no_pattern_distinguishes_are_pointed_out(tmp_path: Path) -> None:
    for platform in ("a", "b"):
        put(tmp_path / "r" / platform / "1.txt", hpcg(4, 10.0 + len(platform) + ord(platform)))
    done = run("hpcg", tmp_path / "r", "--out", tmp_path / "c")
    assert (
        "are taken as repeats of one case; if their paths hold settings, name those in --pattern"
        in done.stderr
    )
    done = run("hpcg", tmp_path / "r", "--out", tmp_path / "d", "--pattern", "{platform}/*.txt")
    assert "repeats of one case" not in done.stderr


def test_systems_with_other_ranges_of_sizes_are_compared_at_the_sizes_of_both(tmp_path: Path) -> None:
    for platform, top in (("a", 22), ("b", 20)):
        title = "# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n"
        rows = "".join(
            f"{size:<10d} {10 + size / 1000:17.2f}\n" for size in (0, *(1 << n for n in range(top + 1)))
        )
        put(tmp_path / "r" / platform / f"{1 << top}" / "1.out", title + rows)
    command = ("osu.latency", tmp_path / "r", "--reference", "platform=a")
    done = run(*command, "--out", tmp_path / "c", "--pattern", "{platform}/*/{repeat}.out")
    assert (
        "stops at 1048576 of 4194304 bytes; if it was to end there, state that: "
        "--set max_bytes=SIZE, or {max_bytes} in --pattern"
    ) in done.stdout
    pattern = ("--pattern", "{platform}/{max_bytes}/{repeat}.out")
    done = run(*command, "--out", tmp_path / "d", *pattern)
    assert "other max_bytes (4194304, not 1048576)" in done.stderr
    run(*command, "--reference", "max_bytes=4MiB", "--out", tmp_path / "e", *pattern)
    table = json.loads(CliRunner().invoke(compare.command, [str(tmp_path / "e"), "--json"]).stdout)
    rows_of = [row for row in table["comparisons"] if row["fom"] == "latency" and row["ratio"] is not None]
    sizes = {row["at"]["bytes"] for row in rows_of}
    assert sizes == {0, *(1 << n for n in range(21))}


def test_many_files_show_how_far_reading_them_is(capsys: pytest.CaptureFixture[str]) -> None:
    many = [Candidate(Path(f"{number}.txt"), {}) for number in range(300)]
    with with_progress_bar(many, is_terminal=True) as files:
        assert [*files] == many
    assert "reading" in capsys.readouterr().err
    for few, is_terminal in ((many, False), (many[:5], True)):
        with with_progress_bar(few, is_terminal=is_terminal) as files:
            assert [*files] == few
    assert capsys.readouterr().err == ""


def test_a_log_that_lacks_its_first_sizes_is_compared_at_those_that_both_have(tmp_path: Path) -> None:
    sizes = (1, 2, 300, 500, 700, 900)
    for repeat in (1, 2, 3):
        put(tmp_path / "r" / "a" / f"{repeat}.txt", qperf(sizes))
        put(tmp_path / "r" / "b" / f"{repeat}.txt", qperf(sizes[2:]))
    run(
        *("qperf", tmp_path / "r", "--out", tmp_path / "c", "--pattern", "{platform}/{repeat}.txt"),
        *("--reference", "platform=a", "--keep-equal"),
    )
    table = compared(tmp_path / "c")
    assert "worse" not in table.split("Each is")[0]
    assert "better" not in table.split("Each is")[0]
    places = {
        (attempt.case, size)
        for attempt in read_campaign(tmp_path / "c").attempts
        for series in attempt.series
        for size in series.at["bytes"]
    }
    assert len(places) == len(sizes) + len(sizes[2:])


def test_thousands_of_cases_that_are_like_no_reference_are_reported_in_seconds() -> None:
    cases = tuple(
        Case(id=str(number), workload="osu.allreduce", platform=f"p{number % 2}", parameters={"x": number})
        for number in range(4000)
    )
    plan = Plan(study="s", site="here", cases=cases, reference={"platform": "p0"})
    started = time.process_time()
    assert len(without_reference(plan)) == 2000
    assert time.process_time() - started < 8
