from __future__ import annotations

import io
import math
import re
from itertools import islice
from pathlib import Path

import pytest

from tare.plugins import registry
from tare.plugins.workloads.common.benchmark import Banner
from tare.plugins.workloads.common.text import aborts, figure, plain

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"


def test_lines_lose_their_ends_and_trailing_blanks() -> None:
    assert list(plain(["one \n", "\n", "  two\t\r\n"])) == ["one", "", "  two"]


def test_a_byte_order_mark_is_taken_off() -> None:
    assert list(plain(["\ufeff# head\n", "\ufeffnot at the start\n"])) == ["# head", "\ufeffnot at the start"]


@pytest.mark.parametrize(
    "coloured",
    ["\x1b[1;32m8 1.5\x1b[0m\n", "\x1b[K8 1.5\n", "\x1b]0;title\x078 1.5\n", "8\x1b[?25l 1.5\n"],
)
def test_colours_are_taken_off(coloured: str) -> None:
    assert list(plain([coloured])) == ["8 1.5"]


@pytest.mark.parametrize("tag", ["[1,0]<stdout>:", "[1,12]<stderr>:", "[prterun-n1-77@1,0]<stdout>:"])
def test_the_tags_of_ranks_are_taken_off(tag: str) -> None:
    lines = [f"{tag}# head\n", f"{tag}  8 1.5\n", "[1,0] 2\n"]
    assert list(plain(lines)) == ["# head", "  8 1.5", "[1,0] 2"]


@pytest.mark.parametrize("tag", ["[1,0]<stdout>: ", "[0]<stdout>: ", "[job@1,0][n1:77]<stderr>: "])
def test_the_tags_of_open_mpi_5_end_with_a_blank(tag: str) -> None:
    lines = [f"{tag}# head\n", f"{tag}\n", f"{tag}  8 1.5\n"]
    assert list(plain(lines)) == ["# head", "", "  8 1.5"]


@pytest.mark.parametrize("before", ["0: ", " 3: ", "[0] ", "    "])
def test_what_stands_before_all_of_the_first_lines_is_taken_off(before: str) -> None:
    text = ["# head", "", "  8 1.5", "16 1.75"]
    lines = [f"{before}{line}\n" if line or before.strip() else "\n" for line in text]
    assert list(plain(lines)) == text
    assert list(plain([line.rstrip("\n") for line in lines])) == text
    assert list(plain([*lines * 100, "n1 says goodbye\n"])) == [*text * 100, "n1 says goodbye"]
    assert list(plain(["a job begins\n", *lines])) == ["a job begins", *map(str.rstrip, lines)]
    assert list(plain(lines, keeps_blanks=True)) == [line.removesuffix("\n") for line in lines]


TIMES = (
    "[15:20:34] ",
    "15:20:34 ",
    "[15:20:34.123] ",
    "2026-11-29 15:20:34,123 ",
    "[2026-11-29T15:20:34.123Z] ",
    "Nov 29 15:20:34 ",
    "Nov  9 15:20:34 ",
    "[Sun Nov 29 15:20:34 2026] ",
    "2026/11/29 15:20:34\t",
)


@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize("label", ["", "0: ", "[1,0]<stdout>:"])
def test_the_time_before_all_lines_is_taken_off_and_then_a_label(time: str, label: str) -> None:
    text = ["# head", "", "  8 1.5", "16 1.75"]
    assert list(plain([f"{time}{label}{line}\n" for line in text])) == text
    assert list(plain(["# a job begins\n", *[f"{time}{line}\n" for line in text]]))[3] == f"{time}  8 1.5"


def test_a_time_before_some_lines_is_theirs() -> None:
    lines = ["# head\n", "15:20:34 8 1.5\n", "15:20:35 16 1.75\n", "15:20:36 32 2.5\n"]
    assert list(plain(lines)) == [line.rstrip() for line in lines]


@pytest.mark.parametrize(
    "tag",
    [
        "Sun Nov 29 15:20:34 2026<stdout>:",
        "Sun Nov  9 15:20:34 2026[1,0]<stdout>:",
        "[Sun Nov 29 15:20:34 2026]<stdout>: ",
        "[Sun Nov 29 15:20:34 2026][1,0]<stdout>: ",
        "[1,1][n1:6791]<stdout>: ",
    ],
)
def test_the_times_of_open_mpi_are_taken_off_with_its_tags(tag: str) -> None:
    lines = [f"{tag}# head\n", f"{tag}\n", f"{tag}  8 1.5\n", "n1 says <stdout>: bye\n"]
    assert list(plain(lines)) == ["# head", "", "  8 1.5", "n1 says <stdout>: bye"]


@pytest.mark.parametrize("label", ["0: ", "[0] ", "n1: ", "node-7.cluster: "])
def test_a_launcher_that_has_no_label_does_not_keep_those_of_the_others(label: str) -> None:
    text = ["# head", "  8 1.5", "16 1.75"]
    launcher = "srun: job 33869 queued and waiting for resources\n"
    lines = [launcher, *[f"{label}{line}\n" for line in text], launcher]
    assert list(plain(lines)) == [launcher.rstrip(), *text, launcher.rstrip()]


def test_numbers_that_differ_are_no_rank() -> None:
    lines = ["0: 8 1.5\n", "1: 8 1.75\n", "2: 8 1.25\n"]
    assert list(plain(lines)) == ["0: 8 1.5", "1: 8 1.75", "2: 8 1.25"]


RANKED = ("# head", "", "  8 1.5", "16 1.75", "32 2.25")


@pytest.mark.parametrize(
    ("own", "other"),
    [("0: ", "3: "), (" 0: ", "12: "), ("[0] ", "[12] ")],
    ids=["one digit", "padded", "hydra"],
)
def test_ranks_that_warn_do_not_keep_their_prefix(own: str, other: str) -> None:
    lines = [f"{own}{line}\n" for line in RANKED]
    lines[3:3] = [f"{other}n3: no huge pages\n"]
    read = list(plain(lines))
    assert [line for line in read if "huge" not in line] == list(RANKED)
    assert read[3] == "n3: no huge pages"
    assert list(plain([f"{line.rstrip()}\n" for line in lines])) == read
    late = [*lines * 100, f"{other}late\n"]
    assert list(plain(late)) == [*read * 100, "late"]
    assert list(plain(["a job begins\n", *lines])) == ["a job begins", *(line.rstrip() for line in lines)]


def test_numbers_that_begin_rows_are_no_ranks() -> None:
    lines = ["8: 1.5\n", "16: 1.75\n", "8: 1.5\n", "16: 1.75\n", "8: 1.25\n"]
    assert list(plain(lines)) == [line.rstrip() for line in lines]


def test_an_overwritten_progress_line_becomes_several() -> None:
    assert list(plain(["10 %\r20 %\rdone\n"])) == ["10 %", "20 %", "done"]


def test_the_last_line_of_a_file_is_left_out_when_its_end_is_missing() -> None:
    assert list(plain(io.StringIO("latency 1.25\nlatency 1.2"))) == ["latency 1.25"]


def test_lines_that_never_had_ends_are_all_kept() -> None:
    assert list(plain("latency 1.25\nlatency 1.27".splitlines())) == ["latency 1.25", "latency 1.27"]


def test_no_lines_are_no_lines() -> None:
    assert list(plain([])) == []


@pytest.mark.parametrize(
    ("word", "expected"), [("1", 1.0), ("-1.5e3", -1500.0), (".5", 0.5), ("2.", 2.0), ("1e400", math.inf)]
)
def test_a_number_is_a_figure(word: str, expected: float) -> None:
    assert figure(word) == expected


@pytest.mark.parametrize("word", ["nan", "-nan", "NaN", "inf", "-Infinity", "nan(ind)", "****"])
def test_what_was_printed_for_a_number_is_none(word: str) -> None:
    read = figure(word)
    assert read is not None
    assert math.isnan(read)


@pytest.mark.parametrize("word", ["", "-", "1_000", "٣", "0x10", "1.2.3", "12k", "e5", "N/A"])
def test_other_words_are_no_figures(word: str) -> None:
    assert figure(word) is None


def test_an_abort_is_seen() -> None:
    assert aborts("MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD")
    assert aborts("application called MPI_Abort(MPI_COMM_WORLD, 1) - process 0")
    assert not aborts("see the manual page of MPI_Abort")


def test_digits_without_end_are_no_number() -> None:
    endless = "9" * 5000
    assert list(plain([f"8 {endless} 1.5\n", "9 1.5\n"])) == [f"8 {'*' * 5000} 1.5", "9 1.5"]


@pytest.mark.parametrize("name", [name for name in registry.workloads() if name.count(".") < 2])
def test_no_parser_breaks_at_digits_without_end(name: str) -> None:
    family = name.partition(".")[0]
    files = sorted(CORPUS.joinpath(family).glob("*")) if CORPUS.is_dir() else []
    if not files:
        pytest.skip(f"no real output of {family} at {CORPUS}")
    for path in files[:3]:
        text = path.read_text(errors="replace")[:20_000]
        for at, found in enumerate(islice(re.finditer("[0-9]+", text), 0, 120, 7)):
            damaged = text[: found.start()] + "9" * 5000 + text[found.end() :]
            parsed = registry.workloads()[name].parse(io.StringIO(damaged))
            assert all(one.value < 1e300 for one in parsed.measurements), at


def test_every_version_is_found_in_the_lines_that_have_the_word_of_the_banner() -> None:
    banner = Banner("IOR-", r"\bIOR-(\S+): MPI Coordinated Test")
    text = (
        "IOR-3.0: MPI Coordinated Test\nan IOR-9 of no version\n\x1b[1mIOR-\x1b[0m4.0: MPI Coordinated Test"
    )
    assert list(banner.versions(text)) == ["3.0", "4.0"]
    assert not list(banner.versions("no such word\n"))
