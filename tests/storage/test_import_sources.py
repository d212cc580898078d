"""Where an import finds files and their settings: patterns, trees and tables."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.core.errors import FileFaults, UsageError
from tare.storage.factors import read_factors
from tare.storage.pattern import read_pattern
from tare.storage.trees import find_files, natural, printable

PATTERN = "job_results/mpi/{platform}/{mpi}/{started}/osu_alltoall.out"


def test_a_pattern_reads_settings_wherever_it_begins() -> None:
    assert read_pattern(PATTERN).match(
        "/home/me/job_results/mpi/bare/omp-1.8.3/2014-11/osu_alltoall.out"
    ) == {
        "platform": "bare",
        "mpi": "omp-1.8.3",
        "started": "2014-11",
    }


@pytest.mark.parametrize(
    "path",
    [
        "/job_results/mpi/bare/omp/2014-11/osu_alltoall.out.bak",
        "/job_results/mpi/bare/2014-11/osu_alltoall.out",
        "/my_job_results/mpi/bare/omp/2014-11/osu_alltoall.out",
        "/job_results/mpi/bare/omp/a/b/osu_alltoall.out",
        "/job_results/mpi/bare/omp//osu_alltoall.out",
    ],
)
def test_what_is_not_as_in_the_pattern_does_not_match(path: str) -> None:
    assert read_pattern(PATTERN).match(path) is None


@pytest.mark.parametrize(
    ("text", "path", "found"),
    [
        ("nodes-{nodes}_{network}.out", "/r/nodes-04_ib_100.out", {"nodes": "04", "network": "ib_100"}),
        ("{a}/{a}.out", "/r/x/x.out", {"a": "x"}),
        ("{a}/{a}.out", "/r/x/y.out", None),
        ("{a}/*.out", "/r/x/y.out", {"a": "x"}),
        ("{a}/**/y.out", "/r/x/1/2/y.out", {"a": "2"}),  # begins as late as it can
        ("/r/{a}/**/y.out", "/r/x/1/2/y.out", {"a": "x"}),
        ("/r/{a}.out", "/s/r/x.out", None),
        ("{a}.(out|log)", "/x.out", None),
        ("./{a}.out", "/x\ny.out", {"a": "x\ny"}),
    ],
)
def test_patterns_are_what_people_write(text: str, path: str, found: dict[str, str] | None) -> None:
    assert read_pattern(text).match(path) == found


@pytest.mark.parametrize("text", ["{}/x", "{a b}/x", "{a/x", "a}/x", "{{a}}/x"])
def test_a_pattern_that_cannot_be_is_refused_with_its_cure(text: str) -> None:
    with pytest.raises(UsageError, match=r"--pattern .*braces"):
        read_pattern(text)


@given(st.text(max_size=30), st.text(max_size=60))
def test_no_pattern_and_no_path_breaks_matching(text: str, path: str) -> None:
    try:
        pattern = read_pattern(text)
    except UsageError:
        return
    found = pattern.match(path)
    assert found is None or all(value in path for value in found.values())


def test_numbers_in_names_sort_by_their_value() -> None:
    assert sorted(["run10", "run2", "run1"], key=natural) == ["run1", "run2", "run10"]


def test_a_tree_is_walked_in_order_and_each_file_taken_once(tmp_path: Path) -> None:
    for name in ("r10", "r2", "r1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "out").write_text(name)
    os.link(tmp_path / "r1" / "out", tmp_path / "r2" / "same")
    (tmp_path / "r10" / "link").symlink_to("out")
    files, refused = find_files([tmp_path, tmp_path / "r2"])
    assert [file.relative_to(tmp_path).as_posix() for file in files] == ["r1/out", "r2/out", "r10/link"]
    assert [one.why.split(" as ")[0] for one in refused] == ["the same file"] * 4


def test_loops_broken_links_and_pipes_are_listed_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "gone").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")
    files, refused = find_files([tmp_path])
    assert files == []
    why = {Path(one.path).name: one.why for one in refused}
    assert why["loop"] == "a link to a folder; name it to have it read"
    assert why["self"].startswith("cannot be read: Too many levels")
    assert why["gone"] == "cannot be read: No such file or directory"
    assert why["pipe"] == "not a file"


def test_a_folder_that_cannot_be_entered_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed").mkdir()
    scandir = os.scandir

    def refusing(path: str) -> object:
        if os.fspath(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)  # root may enter any folder, so permissions test nothing
    _, refused = find_files([tmp_path])
    assert [(Path(one.path).name, one.why) for one in refused] == [
        ("closed", "cannot be read: Permission denied")
    ]


def test_any_name_can_be_printed() -> None:
    assert printable(os.fsdecode(b"a\xff\n\x1b[31m\xc3\xa9")) == "a\\xff\\n\\x1b[31mé"


def table(folder: Path, content: bytes) -> Path:
    path = folder / "factors.csv"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        b"path,platform,nodes\na.out,bare,2\nb/c.out,,4\n",
        b"\xef\xbb\xbf# from the cluster\r\npath,platform,nodes\r\na.out,bare,2\r\n\r\n./b/c.out,,4\r\n",
        b'path, platform ,nodes\n"a.out",bare , 2\nb/../b/c.out,"",4',
    ],
)
def test_a_table_may_come_from_any_spreadsheet(tmp_path: Path, content: bytes) -> None:
    found = read_factors(table(tmp_path, content))
    assert {path.relative_to(tmp_path).as_posix(): row.texts for path, row in found.rows.items()} == {
        "a.out": {"platform": "bare", "nodes": "2"},
        "b/c.out": {"nodes": "4"},
    }


@pytest.mark.parametrize(
    ("content", "faults"),
    [
        (b"", ["1:1: the table is empty"]),
        (b"path,nodes\n", ["1:1: the table has a header and no rows"]),
        (b"path\na\n", ["1:1: the table has one column"]),
        (b"path;network\na;host\n", ["1:1: the table has one column; separate columns by commas"]),
        (b"path,nodes,nodes\na,1,2\n", ["1:1: column 'nodes' is there twice"]),
        (b"path,\na,1\n", ["1:1: a column has no name"]),
        (
            b"path,nodes\r\na,1\r\nb\r\n,3\r\n./a,4\r\n",
            [
                "3:1: 1 cell, but the header has 2 columns",
                "4:1: no path",
                "5:1: ./a stands on line 2 already",
            ],
        ),
        (b'path,nodes\n"a\nb",1\nc\n', ["4:1: 1 cell"]),
        (b"path,nodes\na,\xff\n", ["2:1: not UTF-8"]),
        (b'path,nodes\na,"1"2\n', ["2:1: not CSV"]),
    ],
)
def test_every_fault_of_a_table_has_its_line(tmp_path: Path, content: bytes, faults: list[str]) -> None:
    path = table(tmp_path, content)
    with pytest.raises(FileFaults) as caught:
        read_factors(path)
    assert len(caught.value.faults) == len(faults)
    for fault, expected in zip(caught.value.faults, faults, strict=True):
        assert str(fault).startswith(f"{path}:{expected}")
