"""What real sites have and a laboratory has not: fabrics without addresses, hidden partitions, long lines."""

from __future__ import annotations

import json

import msgspec
import pytest

from discovery.test_slurm import NODES, PARTITIONS
from discovery.test_written_files import facts, partition, slurm_found
from tare.app.init.draft import Choice, make_draft
from tare.app.init.files import site_text
from tare.config.site_file import site_from_text
from tare.discovery.commands import OwnCommands
from tare.discovery.facts import FabricPort, Interface
from tare.discovery.node_probe import read_node
from tare.discovery.nodes import split_labelled, srun_command
from tare.discovery.slurm import read_partitions
from tare.discovery.spack import read_spack

_LARGEST_PIECE = 1024
"""What Slurm sends at once: SLURM_IO_MAX_MSG_LEN."""


def test_lines_that_slurm_sends_in_pieces_are_whole_again() -> None:
    long = json.dumps([{"name": "openmpi", "text": "ü" * 700}] * 3, ensure_ascii=True)
    pieces = [long[at : at + _LARGEST_PIECE] for at in range(0, len(long), _LARGEST_PIECE)]
    printed = "".join(f"{task}: {piece}\n" for piece in pieces for task in (0, 1))
    one, other = split_labelled(f"0: before\n{printed}1: after\n")
    assert one == f"before\n{long}\n"
    assert other == f"{long}\nafter\n"


def test_a_hidden_partition_is_told_from_others() -> None:
    hidden = PARTITIONS.replace("Hidden=NO", "Hidden=YES")
    assert not any(one.is_hidden for one in read_partitions(PARTITIONS, NODES))
    assert all(one.is_hidden for one in read_partitions(hidden, NODES))


def test_an_mpi_that_spack_did_not_install_is_no_platform() -> None:
    packages = [
        {"name": "openmpi", "version": "4.1.2", "hash": "a" * 32, "external": {"path": "/usr"}},
        {"name": "openmpi", "version": "5.0.3", "hash": "b" * 32, "external": None},
    ]
    mpis, found = read_spack({"spack root": "/opt/spack\n", "spack found": json.dumps(packages)})
    assert [one.version for one in mpis] == ["5.0.3"]
    assert found is not None
    assert [note for note in found.notes if "openmpi@4.1.2/aaaaaaa" in note]


def test_a_fabric_without_an_address_is_named() -> None:
    text = (
        "\x1enode\x1en1\n\x1efabrics\x1e"
        "mlx5_0:1|InfiniBand|4: ACTIVE|200 Gb/sec (4X HDR)\n"
        "mlx5_1:1|InfiniBand|1: DOWN|10 Gb/sec\n\x1eend\x1e\n"
    )
    node = read_node(text, {})
    port = FabricPort(name="mlx5_0:1", link_layer="InfiniBand", rate="200 Gb/sec (4X HDR)")
    assert node is not None
    assert node.fabrics == (port,)
    nodes = tuple(msgspec.structs.replace(facts(number), fabrics=(port,)) for number in (1, 2))
    found = msgspec.structs.replace(slurm_found(), nodes=nodes)
    written = site_text(make_draft(found, Choice(partition=partition())), "login1", "")
    assert "mlx5_0:1 (InfiniBand, 200 Gb/sec (4X HDR))" in " ".join(written.replace("#", " ").split())
    site_from_text(written, "site.yaml")


def test_the_fastest_network_is_one_for_data_whatever_its_names() -> None:
    """At this site the name of a node is that of its fast interface."""
    nodes = tuple(
        msgspec.structs.replace(
            facts(number),
            interfaces=(
                Interface(name="eth0", addresses=(f"10.0.0.{number}/24",), rate_mbit_per_s=1000),
                Interface(
                    name="ib0",
                    addresses=(f"10.1.0.{number}/24",),
                    names=(f"n{number}",),
                    rate_mbit_per_s=200_000,
                    ports=("mlx5_0:1",),
                    link_layer="InfiniBand",
                ),
            ),
        )
        for number in (1, 2)
    )
    found = msgspec.structs.replace(slurm_found(), nodes=nodes)
    site = site_from_text(
        site_text(make_draft(found, Choice(partition=partition())), "login1", ""), "site.yaml"
    )
    assert next(iter(site.networks)) == "ib0"
    assert "ib0" not in site.management


def test_commands_are_no_step_of_the_job_in_which_they_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "1")
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm/slurm.conf")
    done = OwnCommands().run(["env"])
    assert done is not None
    assert [line for line in done.out.splitlines() if line.startswith("SLURM_")] == [
        "SLURM_CONF=/etc/slurm/slurm.conf"
    ]


def test_the_job_that_asks_nodes_passes_the_environment_whatever_the_shell_says() -> None:
    """With SLURM_EXPORT_ENV=NONE, srun passes nothing else (srun(1), --export)."""
    assert "--export=ALL" in srun_command(2, {}, 60)
