"""Storage paths of the lab: one file server, over networks whose rates are known and can be measured."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lab.calls import call, running_lab
from tare.core.errors import LabError, UsageError
from tare.core.site import LabNetwork, LabNetworkKind, LabSpec, LabStorage
from tare.lab import Lab, start, storage
from tare.lab.topology import FILE_SERVER, lay_out

MBIT = 1e6
SPEC = LabSpec(
    nodes=2,
    networks={
        "host": LabNetwork(kind=LabNetworkKind.BRIDGE),
        "overlay": LabNetwork(kind=LabNetworkKind.VXLAN, over="host"),
    },
    storage={
        "direct": LabStorage(rate_bits_per_s=160 * MBIT),
        "gateway": LabStorage(rate_bits_per_s=40 * MBIT),
    },
)
SIZE_MIB = 8

pytestmark = pytest.mark.lab


def folder(path: str) -> str:
    return SPEC.site_storage()[path]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    if lacking := storage.missing():
        pytest.skip(f"no {', '.join(lacking)} here; {storage.CURE}")
    with running_lab(SPEC, tmp_path_factory.mktemp("run")) as lab:
        said(lab, "n1", f"dd if=/dev/zero of={folder('direct')}/measured bs=1M count={SIZE_MIB}")
        yield lab


def said(lab: Lab, host: str, script: str) -> str:
    done = call(lab, host, "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    return done.stdout


def seconds(lab: Lab, host: str, path: str, *, is_read: bool) -> float:
    """Return how long one host takes to write, or to read, SIZE_MIB past the page cache."""
    file = f"{folder(path)}/measured"
    copy = f"if={file} of=/dev/null iflag=direct" if is_read else f"if=/dev/zero of={file} oflag=direct"
    script = (
        f"LC_ALL=C dd {copy} bs=1M count={SIZE_MIB} 2>&1 | sed -n 's/.* copied, \\([0-9.e-]*\\) s,.*/\\1/p'"
    )
    return float(said(lab, host, script))


def test_what_one_node_writes_over_one_path_another_reads_over_the_other_at_once(cluster: Lab) -> None:
    for number in range(5):
        said(cluster, "n1", f"echo {number} > {folder('direct')}/shared")
        assert said(cluster, "n2", f"cat {folder('gateway')}/shared") == f"{number}\n"
    said(cluster, "n2", f"rm {folder('gateway')}/shared")
    assert call(cluster, "n1", "test", "-e", f"{folder('direct')}/shared").returncode == 1


def test_pods_mount_the_paths_too(cluster: Lab) -> None:
    said(cluster, "n2-pod", f"echo pod > {folder('gateway')}/pod")
    assert said(cluster, "n1", f"cat {folder('direct')}/pod") == "pod\n"


@pytest.mark.alone
@pytest.mark.parametrize("is_read", [False, True], ids=["write", "read"])
def test_a_path_carries_its_rate_and_no_more(cluster: Lab, *, is_read: bool) -> None:
    took = {
        path: min(seconds(cluster, "n1", path, is_read=is_read) for _ in range(3)) for path in SPEC.storage
    }
    for path, one in SPEC.storage.items():
        assert one.rate_bits_per_s is not None
        least = SIZE_MIB * 2**23 / one.rate_bits_per_s
        assert took[path] > 0.9 * least, path  # the bucket of the shaper may pass a little more
    assert 3.2 < took["gateway"] / took["direct"] < 4.8


@pytest.mark.alone
def test_nodes_share_the_rate_of_a_path(cluster: Lab) -> None:
    alone = min(seconds(cluster, "n1", "gateway", is_read=True) for _ in range(2))
    with ThreadPoolExecutor(len(cluster.nodes)) as readers:
        both = list(readers.map(lambda node: seconds(cluster, node, "gateway", is_read=True), cluster.nodes))
    assert max(both) > 1.6 * alone


def test_the_machines_own_folder_is_neither_hidden_nor_changed(cluster: Lab) -> None:
    """Whatever /mnt held on this machine is still seen on the nodes; outside of the lab, nothing is new."""
    base = Path(folder("direct")).parent
    assert not base.exists()
    folders = {path.name for path in base.parent.iterdir() if path.is_dir() and not path.is_symlink()}
    assert folders <= set(said(cluster, "n1", f"ls {base.parent}").split())


def test_the_server_starts_no_ranks_and_has_no_management_address(cluster: Lab) -> None:
    topology = cluster.topology
    assert FILE_SERVER in topology.hosts
    assert FILE_SERVER not in (*topology.nodes, *topology.pods)
    assert [fabric.label for fabric, _ in topology.ports_of(FILE_SERVER)] == [
        "storage direct",
        "storage gateway",
    ]


def test_the_mounts_end_with_the_lab(tmp_path: Path) -> None:
    if storage.missing():
        pytest.skip(storage.CURE)
    with running_lab(SPEC, tmp_path) as lab:
        server = cluster_pids(lab)
        assert server
    assert not any(Path(f"/proc/{pid}").exists() for pid in server)


def cluster_pids(lab: Lab) -> list[int]:
    """Return the processes of this machine that serve or mount the lab's files."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if b"sshfs" in words and str(lab.folder).encode() in words:
            found.append(int(process.name))
    return found


def test_a_machine_without_sshfs_gets_the_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "find_program", lambda _: None)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with pytest.raises(LabError, match=r"need sshfs.*, which this machine lacks; on Debian: apt"):
        start(SPEC, owned=True)
    assert not list(tmp_path.rglob("lab.json"))


def test_only_the_link_of_the_server_has_the_rate() -> None:
    (fabric,) = (one for one in lay_out(SPEC).fabrics if one.storage == "gateway")
    assert {port.host: fabric.rate_of(port) for port in fabric.ports} == {
        "n1": None,
        "n2": None,
        "n1-pod": None,
        "n2-pod": None,
        FILE_SERVER: 40 * MBIT,
    }


def test_more_paths_than_addresses_are_refused() -> None:
    many = LabSpec(nodes=1, networks=SPEC.networks, storage={f"s{i}": LabStorage() for i in range(16)})
    with pytest.raises(UsageError, match="at most 15 storage paths, not 16"):
        lay_out(many)
