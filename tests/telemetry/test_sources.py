"""Every source against a node that lies here as files: what it reads, keeps and understands."""

from __future__ import annotations

import ast
import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

from support.adapters import Node
from tare.plugins.collectors.sampler.bundle import program, source_texts

GOLDEN = Path(__file__).with_name("counters.json")
SOURCES = sorted(source_texts())


def _source(name: str) -> ModuleType:
    return importlib.import_module(f"tare.plugins.collectors.sampler.sources.{name}")


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
def test_a_source_finds_nothing_where_nothing_is_or_reports_why(name: str, tmp_path: Path) -> None:
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
        tree = ast.parse(text)
        tree.body = [one for one in tree.body if not _is_for_mypy(one)]
        for statement in ast.walk(tree):
            if isinstance(statement, ast.Import):
                assert {alias.name for alias in statement.names} <= allowed
            assert not isinstance(statement, ast.ImportFrom)


def _is_for_mypy(statement: ast.stmt) -> bool:
    """Return whether a statement is in ``if MYPY:``, which is False where the program runs."""
    return (
        isinstance(statement, ast.If) and isinstance(statement.test, ast.Name) and statement.test.id == "MYPY"
    )


def test_a_core_works_when_it_neither_idles_nor_waits(node: Path) -> None:
    cores = _source("cores")
    assert cores.busy(_lines(cores, node))["0"] == (3056.0, 11406.0)


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


def _tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def _counters(name: str, root: Path) -> dict[str, float]:
    source = _source(name)
    found: dict[str, float] = source.counters(_lines(source, root))
    return found


def test_cgroups_are_found_where_red_hat_7_mounts_them_and_with_spaces_in_their_names(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/cpu,cpuacct/my job/cpu.stat"
    files = {"proc/self/cgroup": "3:cpuacct,cpu:/my job\n", group: "nr_periods 4\nthrottled_time 500000000\n"}
    assert _counters("cgroup", _tree(tmp_path, files)) == {"cgroup.throttled_s": 0.5}


MOUNTED = """\
device filer:/home/{0} mounted on /home/{0} with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2
\tage:\t86400
\tbytes:\t1 2 3 4 {1} 600 7 8
\tper-op statistics
\t        READ: 50 50 0 9000 5010000 12 340 360 0
\t       WRITE: 60 60 0 6020000 8000 15 450 480 0
"""


def test_mounts_of_one_file_system_by_nfs_count_once(tmp_path: Path) -> None:
    """As an automounter makes one for each home: mountstats tells of each what all of them did."""
    positions = {"ada": ("0:52", 500), "bob\\040b": ("0:52", 500), "eve": ("0:53", 70)}
    files = {
        "proc/self/mountinfo": "22 1 259:1 / / rw - ext4 /dev/sda rw\n"
        + "".join(
            f"4{n} 22 {number} / /home/{name} rw - nfs4 filer:/home/{name} rw\n"
            for n, (name, (number, _)) in enumerate(positions.items())
        ),
        "proc/self/mountstats": "device /dev/sda mounted on / with fstype ext4\n"
        + "".join(MOUNTED.format(name, n_bytes) for name, (_, n_bytes) in positions.items()),
    }
    found = _counters("nfs", _tree(tmp_path, files))
    read = {name: value for name, value in found.items() if name.endswith("/read_bytes")}
    assert read == {"nfs.0:52/read_bytes": 500, "nfs.0:53/read_bytes": 70}


@pytest.mark.parametrize("n_columns", [14, 18, 20])
def test_disks_are_read_in_the_columns_of_every_kernel(tmp_path: Path, n_columns: int) -> None:
    def line(name: str) -> str:
        return f" 259 0 {name} " + " ".join(str(n) for n in range(1, n_columns - 2))

    names = ["nvme0n1", "nvme0n1p1", "sda", "sda15", "zd0", "dm-0", "md127", "loop0", "mmcblk0", "mmcblk0p2"]
    text = "\n".join([*map(line, names), "", "garbage", " 8 0"])
    found = _counters("disk", _tree(tmp_path, {"proc/diskstats": text}))
    assert {name.partition("/")[0] for name in found} == {"disk.nvme0n1", "disk.sda", "disk.mmcblk0"}
    assert [
        found[f"disk.sda/{name}"] for name in ("reads", "read_bytes", "writes", "written_bytes", "busy_s")
    ] == [
        1,
        3 * 512,
        5,
        7 * 512,
        0.01,
    ]


def test_lustre_stats_that_root_alone_may_read_is_reported(tmp_path: Path) -> None:
    (tmp_path / "sys/fs/lustre/llite/scratch-ffff9d").mkdir(parents=True)
    with pytest.raises(PermissionError, match="root alone"):
        _source("lustre").paths(str(tmp_path))


@pytest.mark.parametrize("n_cores", [1, 8, 15, 256])
def test_the_cores_whose_clock_is_asked_are_few_and_evenly_spread(tmp_path: Path, n_cores: int) -> None:
    name = "sys/devices/system/cpu/cpu{:03}/cpufreq/scaling_cur_freq"
    _tree(tmp_path, {name.format(n): "2400000\n" for n in range(n_cores)})
    asked = [int(path.split("/")[-3][3:]) for path in _source("frequency").paths(str(tmp_path))]
    assert min(n_cores, 4) <= len(asked) <= 8
    assert n_cores - asked[-1] <= n_cores / len(asked) + 1


def test_an_efa_and_irdma_report_bytes_in_counters_of_their_drivers(tmp_path: Path) -> None:
    octets = {f"hw_counters/ip{version}{way}Octets": 100 for version in (4, 6) for way in ("In", "Out")}
    Node(tmp_path).efa(8_000_000).port("irdma0", driver="ice", files=octets)
    found = _read_ports(tmp_path)
    assert found["port.rdmap0s31:1/tx_bytes"] == found["port.rdmap0s31:1/rx_bytes"] == 4_000_000
    assert found["port.irdma0:1/tx_bytes"] == 200


def test_counters_of_a_driver_do_not_replace_those_of_the_port(tmp_path: Path) -> None:
    Node(tmp_path).mlx5(8_000).port("mlx5_0", driver="mlx5_core", files={"hw_counters/tx_bytes": 7})
    assert _read_ports(tmp_path)["port.mlx5_0:1/tx_bytes"] == 4000


def test_a_slingshot_adapter_reports_octets_with_their_time(tmp_path: Path) -> None:
    Node(tmp_path).cxi(9_000)
    assert _read_ports(tmp_path) == {"port.cxi0:1/tx_bytes": 4500.0, "port.cxi0:1/rx_bytes": 4500.0}


def _read_ports(root: Path) -> dict[str, float]:
    source = _source("infiniband")
    found: dict[str, float] = source.counters(_lines(source, root))
    return found
