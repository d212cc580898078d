"""What a node reports about itself, and which networks that makes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from tare.discovery.facts import Interface, NodeFacts
from tare.discovery.file_systems import candidates, file_system_of, read_mounts
from tare.discovery.mpi import identify
from tare.discovery.networks import find_networks
from tare.discovery.node_probe import probe_script, read_node
from tare.discovery.ranges import as_ranges

MOUNTS = """\
22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw
80 22 0:60 / /scratch rw,relatime shared:30 - lustre 10.0.0.1@o2ib:/scratch rw,flock
81 22 0:61 /export /home rw,relatime shared:31 - nfs4 nas:/export rw,vers=4.2
82 22 0:62 / /mnt/with\\040blank rw - beegfs beegfs_nodev rw
"""


def node(name: str, *interfaces: Interface, machine: str = "") -> NodeFacts:
    return NodeFacts(node=name, interfaces=interfaces, machine=machine or name)


def interface(name: str, address: str, *names: str, rate: int | None = None) -> Interface:
    return Interface(name=name, addresses=(address,), names=names, rate_mbit_per_s=rate)


def seen(nodes: list[NodeFacts]) -> list[tuple[str, bool]]:
    """Return the networks between nodes by their interfaces, and whether nodes are reached by them."""
    return [(one.interface, one.is_control) for one in find_networks(nodes)]


def test_this_machine_reports_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "seen").touch()
    script = probe_script(marker=str(tmp_path / "seen"), folders=[str(tmp_path), "/no/such"], node="me")
    answer = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False).stdout
    found = read_node(answer, {str(tmp_path): "the test"})
    assert found is not None
    assert (found.node, found.sees_folder, found.cores > 0, found.memory_kib > 0) == ("me", True, True, True)
    [folder] = found.folders
    assert (folder.path, folder.is_writable, folder.origin) == (str(tmp_path), True, "the test")
    assert read_node(answer[: len(answer) // 2], {}) is None, "a torn answer is none"


def test_a_machine_whose_path_has_no_programs_says_its_cores_and_memory(tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", probe_script(node="me")]
    env = {"PATH": str(tmp_path)}
    answer = subprocess.run(command, env=env, capture_output=True, text=True, check=False).stdout
    found = read_node(answer, {})
    assert found is not None
    assert found.cores > 1 or os.cpu_count() == 1, "of /proc/cpuinfo"
    assert found.memory_kib > 0


@pytest.mark.parametrize(
    ("compiler", "expected"),
    [("sh", ("mpicc",)), ("no-such-cc", ()), ("", ("mpicc",))],
    ids=["there", "not there", "not told"],
)
def test_an_mpicc_counts_only_with_the_compiler_that_it_calls(
    compiler: str, expected: tuple[str, ...], tmp_path: Path
) -> None:
    """As an MPI of a wheel or a container without gcc."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name, text in (("mpirun", "echo 'mpirun (Open MPI) 4.1.4'"), ("mpicc", f"echo {compiler} -Iinclude")):
        (bin_folder / name).write_text(f"#!/bin/sh\n{text if compiler or name == 'mpirun' else 'exit 1'}\n")
        (bin_folder / name).chmod(0o755)
    script = probe_script(node="me", prefixes=[str(tmp_path)])
    answer = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False).stdout
    found = read_node(answer, {})
    assert found is not None
    assert {one.prefix: one.programs for one in found.mpis}[str(tmp_path)] == expected


def test_an_mpi_that_has_no_mpirun_is_found_by_its_hydra(tmp_path: Path) -> None:
    """As Intel MPI in a slim image."""
    version = "Intel(R) MPI Library for Linux* OS, Version 2021.16 Build 20250513"
    write_program(tmp_path / "bin/mpiexec.hydra", f"echo '{version}'")
    write_program(tmp_path / "bin/IMB-MPI1", "exit 1")
    script = probe_script(node="me", prefixes=[str(tmp_path)])
    answer = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False).stdout
    found = read_node(answer, {str(tmp_path): "in the image"})
    assert found is not None
    one = next(one for one in found.mpis if one.prefix == str(tmp_path))
    assert (one.family, one.version, one.launcher) == ("Intel MPI", "2021.16", "intelmpi")
    assert one.programs == ("IMB-MPI1",)


def test_an_mpirun_that_is_a_script_of_the_site_is_found_where_it_is(tmp_path: Path) -> None:
    """It asks for input, and finds none; in no folder called bin, it has no prefix."""
    scripts, compilers = tmp_path / "wrappers", tmp_path / "mpi/bin"
    write_program(
        scripts / "mpirun", "echo 'Licence of the site'; read -r yes; echo 'mpirun (Open MPI) 4.1.4'"
    )
    write_program(compilers / "mpicc", "exit 1")
    env = os.environ | {"PATH": f"{scripts}:{compilers}:{os.environ['PATH']}"}
    command = ["sh", "-c", probe_script(node="me")]
    answer = subprocess.run(command, env=env, capture_output=True, text=True, check=False).stdout
    found = read_node(answer, {})
    assert found is not None
    one = next(one for one in found.mpis if one.origin == f"{scripts}/mpirun is on the PATH")
    assert (one.family, one.version, one.prefix) == ("Open MPI", "4.1.4", "")
    assert (one.path, one.programs) == ((str(scripts), str(compilers)), ("mpicc",))


def write_program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_a_script_with_hostile_folders_runs_none_of_them(tmp_path: Path) -> None:
    hostile = f"$(touch {tmp_path}/harm)"
    script = probe_script(node=f"'; touch {tmp_path}/harm; '", folders=[hostile], prefixes=[hostile])
    subprocess.run(["sh", "-c", script], capture_output=True, check=False)
    assert list(tmp_path.iterdir()) == []


def test_networks_are_interfaces_of_one_name_and_subnet_on_all_nodes() -> None:
    nodes = [
        node(
            f"n{i}",
            interface("eth0", f"10.0.0.{i}/24", f"n{i}", rate=1000),
            Interface(
                name="ib0",
                addresses=(f"10.1.0.{i}/24",),
                names=(f"n{i}-ib0",),
                rate_mbit_per_s=100_000,
                ports=("mlx5_0:1",),
                link_layer="InfiniBand",
            ),
            interface("eth1", f"10.{i}.9.1/24"),
        )
        for i in (2, 3)
    ]
    ib, eth = find_networks(nodes)
    assert (ib.interface, ib.address, ib.provider, ib.is_control) == ("ib0", "{node}-ib0", "verbs", False)
    assert (ib.name, ib.rate_mbit_per_s) == ("ib0", 100_000)
    assert (eth.interface, eth.address, eth.provider, eth.is_control) == ("eth0", "", "tcp", True)


def test_an_address_without_a_name_is_not_invented() -> None:
    [one] = find_networks(
        [node("n1", interface("eth1", "10.0.0.1/24")), node("n2", interface("eth1", "10.0.0.2/24"))]
    )
    assert one.address is None


def test_the_network_by_which_nodes_are_reached_is_known_where_their_names_do_not_resolve() -> None:
    """Neither has a name or a default route; the first is the faster one, and so it was taken for data."""
    eth, ib = "10.0.0.{}", "10.1.0.{}"
    nodes = [
        msgspec.structs.replace(
            node(
                f"n{i}",
                interface("eth0", f"{eth.format(i)}/24", rate=10_000),
                interface("ib0", f"{ib.format(i)}/24", rate=10_000),
            ),
            reached_at=(eth.format(i),),
        )
        for i in (1, 2)
    ]
    assert seen(nodes) == [("ib0", False), ("eth0", True)]


def test_what_reaches_nodes_counts_before_what_their_names_resolve_to() -> None:
    nodes = [
        msgspec.structs.replace(
            node(
                f"n{i}",
                interface("ib0", f"10.1.0.{i}/24", f"n{i}"),
                interface("eth0", f"10.0.0.{i}/24", f"n{i}-eth"),
            ),
            reached_at=(f"10.0.0.{i}",),
        )
        for i in (1, 2)
    ]
    assert seen(nodes) == [("ib0", False), ("eth0", True)]


def test_where_only_one_node_says_how_it_is_reached_names_tell() -> None:
    nodes = [node(f"n{i}", interface("eth0", f"10.0.0.{i}/24", f"n{i}")) for i in (1, 2)]
    nodes[0] = msgspec.structs.replace(nodes[0], reached_at=("10.0.0.1",))
    assert [one.is_control for one in find_networks(nodes)] == [True]


def test_a_host_says_at_which_address_ssh_reached_it() -> None:
    env = os.environ | {"SSH_CONNECTION": "10.0.0.9 40000 10.0.0.1 22"}
    script = probe_script(node="me")
    answer = subprocess.run(["sh", "-c", script], env=env, capture_output=True, text=True, check=False).stdout
    found = read_node(answer, {})
    assert found is not None
    assert found.reached_at == ("10.0.0.1",)


def test_the_name_of_another_node_is_no_pattern() -> None:
    nodes = [
        node("n1", interface("eth0", "10.0.0.1/24", "n11")),
        node("n2", interface("eth0", "10.0.0.2/24", "n21")),
    ]
    assert [one.address for one in find_networks(nodes)] == [None]


def test_shared_file_systems_are_found_by_the_mount_in_which_a_folder_lies() -> None:
    mounts = read_mounts(MOUNTS)
    found = file_system_of("/scratch/me", mounts)
    assert found is not None
    assert (found.file_system, found.path) == ("lustre", "/scratch")
    assert [path for path, _ in candidates(mounts, {"SCRATCH": "/scratch/p/me"}, "me")][:4] == [
        "/scratch/p/me",
        "/scratch/me",
        "/scratch",
        "/home/me",
    ]
    blank = file_system_of("/mnt/with blank/x", mounts)
    assert blank is not None
    assert blank.file_system == "beegfs"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mpirun (Open MPI) 4.1.4\n\nReport bugs to", ("Open MPI", "4.1.4", "openmpi4")),
        ("mpirun (Open MPI) 5.0.11\n", ("Open MPI", "5.0.11", "openmpi5")),
        ("mpirun (Open MPI) 1.6.5\n", ("Open MPI", "1.6.5", "openmpi1.6")),
        ("mpirun (Open MPI) 1.10.7\n", ("Open MPI", "1.10.7", "openmpi1.8")),
        (
            "HYDRA build details:\n    Version:                                 5.0.2\n",
            ("MPICH", "5.0.2", "mpich"),
        ),
        (
            "Intel(R) MPI Library for Linux* OS, Version 2021.18 Build 20260101 (id: 0)\n",
            ("Intel MPI", "2021.18", "intelmpi"),
        ),
        ("mpiexec_mpt: something else\n", None),
    ],
)
def test_an_mpi_is_known_by_what_its_mpirun_prints(text: str, expected: tuple[str, str, str] | None) -> None:
    assert identify(text) == expected


def test_nodes_are_written_as_ranges_that_a_site_file_expands_again() -> None:
    from tare.config.expansion import expand_nodes

    names = ["n1", "n2", "n3", "n07", "n08", "gpu-1a", "login", "x[3", "n5"]
    ranges = as_ranges(name for name in names if "[" not in name)
    assert ranges == ("n[1-3,5]", "n[07-08]", "gpu-1a", "login")
    assert sorted(one for text in ranges for one in expand_nodes(text)) == sorted(set(names) - {"x[3"})


def test_numbers_of_one_width_are_one_range_also_where_the_last_have_no_leading_zero() -> None:
    from tare.config.expansion import expand_nodes

    names = [f"gpu{number:03}" for number in (*range(1, 129), 200)]
    assert as_ranges(names) == ("gpu[001-128,200]",)
    assert expand_nodes("gpu[001-128,200]") == tuple(names)
    assert as_ranges(["n0", "n9", "n10", "n100"]) == ("n[0,9-10,100]",)
    assert as_ranges(["n08", "n10", "n9", "n100"]) == ("n[08,10]", "n[9,100]")
