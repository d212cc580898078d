"""What nodes print of several texts at once, and lists of CPUs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tare.core.cpu_lists import parse_cpus
from tare.core.job_label import VARIABLE
from tare.plugins.backends.kubernetes.diagnosis.control_groups import cpu_limit
from tare.probes.records import BEGIN_RECORD, print_file, read_records


def test_files_come_back_by_their_paths(tmp_path: Path) -> None:
    one, gone = tmp_path / "a 'file'", tmp_path / "gone"
    one.write_text("two\nlines\n")
    script = f"{BEGIN_RECORD}record own; echo said; {print_file(str(one))}{print_file(str(gone))}"
    said = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False).stdout
    assert read_records(f"a login script\n{said}") == {"own": "said\n", str(one): "two\nlines\n"}


def test_a_text_that_was_cut_inside_a_name_keeps_the_records_before() -> None:
    assert read_records("\x1e/a\x1etext\x1e/b") == {"/a": "text"}
    assert read_records("") == {}


@pytest.mark.parametrize("told", ["0-3,2", "0-3,x,99999999999", "0-3,5-99999999999"])
def test_a_pod_has_the_cpus_that_a_rank_on_it_sees(told: str) -> None:
    assert parse_cpus(told) == {0, 1, 2, 3}
    assert cpu_limit({"/sys/fs/cgroup/cpuset.cpus.effective": told}) == 4


SOURCES = Path(__file__).parents[1] / "src" / "tare"


@pytest.mark.parametrize("literal", [f'"{VARIABLE}"', "PMIX_RANK:-"])
def test_what_nodes_and_ranks_are_known_by_is_written_in_one_file(literal: str) -> None:
    files = [path for path in SOURCES.rglob("*") if path.suffix in {".py", ".sh"}]
    assert len([path for path in files if literal in path.read_text()]) == 1
