"""Every source against a node that lies here as files: what it reads, keeps and understands."""

from __future__ import annotations

import ast
import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

from tare.collectors.sampler.bundle import program, source_texts

GOLDEN = Path(__file__).with_name("counters.json")
SOURCES = sorted(source_texts())


def _source(name: str) -> ModuleType:
    return importlib.import_module(f"tare.collectors.sampler.sources.{name}")


def _lines(source: ModuleType, root: Path) -> list[str]:
    """Return what comes back from a node, as the sampler puts it together."""
    lines = []
    for path in source.paths(str(root)):
        text = Path(path).read_text().splitlines()
        lines += [f"{path} {line}" for line in text] if source.HAS_PATHS else text
    shortened: list[str] = source.shorten(lines)
    return shortened


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_understands_the_files_of_a_node(name: str, node: Path) -> None:
    expected = json.loads(GOLDEN.read_text())
    source = _source(name)
    found = source.counters(_lines(source, node))
    assert found == pytest.approx(expected[name])


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_finds_nothing_where_nothing_is_or_says_why(name: str, tmp_path: Path) -> None:
    source = _source(name)
    try:
        paths = source.paths(str(tmp_path))
    except OSError:
        return
    assert all(path.startswith(str(tmp_path)) for path in paths)


def test_what_goes_to_nodes_is_python_3_6() -> None:
    for text in (program(), *source_texts().values()):
        ast.parse(text, feature_version=(3, 6))


def test_what_goes_to_nodes_imports_the_standard_library_alone() -> None:
    allowed = {"glob", "json", "os", "select", "socket", "sys", "time", "types"}
    for text in (program(), *source_texts().values()):
        for statement in ast.walk(ast.parse(text)):
            if isinstance(statement, ast.Import):
                assert {alias.name for alias in statement.names} <= allowed
            assert not isinstance(statement, ast.ImportFrom)


def test_the_many_interrupts_of_a_big_node_are_not_kept(node: Path) -> None:
    cpu = _source("cpu")
    assert [line for line in _lines(cpu, node) if line.startswith("intr")] == ["intr 113350"]


def test_partitions_and_what_lies_on_disks_are_not_counted_again(node: Path) -> None:
    disk = _source("disk")
    assert [line.split()[0] for line in _lines(disk, node)] == ["nvme0n1", "sda", "sdaa"]


def test_the_first_version_of_cgroups_is_read_by_its_own_names(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("4:memory:/a\n3:cpu,cpuacct:/a/b\n0::/a\n")
    group = tmp_path / "sys/fs/cgroup/cpu,cpuacct/a"
    group.mkdir(parents=True)
    (group / "cpu.stat").write_text("nr_periods 4\nnr_throttled 2\nthrottled_time 1500000000\n")
    cgroup = _source("cgroup")
    found = cgroup.counters(_lines(cgroup, tmp_path))
    assert found == {"cgroup.throttlings": 2.0, "cgroup.throttled_s": 1.5}
