"""Server and client, started for real on loopback by the script that a case ships."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from tare.core.case import Case, Layout
from tare.core.workload import Parsed, Stage
from tare.plugins.workloads.common.peers import PeerBenchmark, peer_stage
from workloads.cases import case_of

SERVER = """
import socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    peer, _ = listener.accept()
    peer.sendall(b"served: " + sys.argv[2].encode())
    peer.close()
"""
CLIENT = """
import socket, sys
print(socket.create_connection(("127.0.0.1", int(sys.argv[1]))).recv(99).decode(), sys.argv[2:])
sys.exit(int(sys.argv[2]))
"""


class DoublePeers(PeerBenchmark, frozen=True, kw_only=True):
    """Stands for a tool that is two programs."""

    name: str = "double"
    summary: str = "stands for a tool"

    def stages(self, case: Case) -> tuple[Stage, ...]:
        return ()

    def parse(self, lines: Iterable[str]) -> Parsed:
        return Parsed()


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


INSIDE_SRUN_PTY = {"PMI_RANK": "0", "PMIX_RANK": "0", "SLURM_PROCID": "0"}
"""What a shell that `srun --pty` started hands on to whatever is started in it."""


def start(
    stage: Stage, folder: Path, variable: str, rank: str, inherited: Mapping[str, str] = MappingProxyType({})
) -> subprocess.Popen[str]:
    """Start one rank of `stage` as a launcher would."""
    for name, text in stage.files.items():
        if not (folder / name).exists():  # another rank may be reading it
            (folder / name).write_text(text)
    argv = [word.replace("{work}", str(folder)) for word in stage.argv]
    env = {"PATH": os.environ["PATH"], **inherited, variable: rank}
    return subprocess.Popen(argv, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def stage_of(port: int, client_exit: int = 0) -> Stage:
    server = [sys.executable, "-c", SERVER, str(port), "with a blank"]
    client = [sys.executable, "-c", CLIENT, str(port), str(client_exit), "and a 'quote'"]
    return peer_stage(case_of(DoublePeers()), server, client, port)


@pytest.mark.parametrize("variable", ["PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"])
@pytest.mark.parametrize("client_exit", [0, 3])
def test_the_client_meets_the_server_and_its_exit_code_counts(
    tmp_path: Path, port: int, variable: str, client_exit: int
) -> None:
    stage = stage_of(port, client_exit)
    client = start(stage, tmp_path, variable, "1")
    server = start(stage, tmp_path, variable, "0")
    output, _ = client.communicate(timeout=30)
    assert output == f"served: with a blank ['{client_exit}', \"and a 'quote'\"]\n"
    assert client.returncode == client_exit
    assert server.wait(timeout=30) == 0
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0, "the server is gone"


def test_a_server_that_cannot_start_reports_why(tmp_path: Path, port: int) -> None:
    missing = peer_stage(case_of(DoublePeers()), ["/no/such/server"], ["true"], port)
    server = start(missing, tmp_path, "PMI_RANK", "0")
    _, complaint = server.communicate(timeout=30)
    assert server.returncode == 1
    assert "the server ended before it listened:" in complaint
    assert "/no/such/server" in complaint


def test_a_client_of_a_server_that_cannot_start_ends_too(tmp_path: Path, port: int) -> None:
    stage = peer_stage(case_of(DoublePeers()), ["false"], ["echo", "met"], port)
    client, server = start(stage, tmp_path, "PMI_RANK", "1"), start(stage, tmp_path, "PMI_RANK", "0")
    output, _ = client.communicate(timeout=30)
    assert (client.returncode, output, server.wait(timeout=30)) == (1, "", 1)
    server.communicate()


def test_a_name_becomes_a_number_for_tools_that_know_no_names(tmp_path: Path, port: int) -> None:
    server = [sys.executable, "-c", SERVER, str(port), ""]
    client = ["echo", "a  b", "numeric:localhost", "-x"]
    stage = peer_stage(case_of(DoublePeers()), server, client, port)
    ranks = start(stage, tmp_path, "PMI_RANK", "0"), start(stage, tmp_path, "PMI_RANK", "1")
    assert [rank.communicate(timeout=30)[0] for rank in ranks] == ["", "a  b 127.0.0.1 -x\n"]


def test_an_exit_code_that_means_an_unreachable_host_is_not_passed_on(tmp_path: Path, port: int) -> None:
    stage = stage_of(port, 255)
    client, server = start(stage, tmp_path, "PMI_RANK", "1"), start(stage, tmp_path, "PMI_RANK", "0")
    client.communicate(timeout=30)
    server.communicate(timeout=30)
    assert (client.returncode, server.returncode) == (1, 0)


def test_without_a_rank_nothing_starts(tmp_path: Path, port: int) -> None:
    process = start(stage_of(port), tmp_path, "RANK", "0")
    _, complaint = process.communicate(timeout=30)
    assert (process.returncode, complaint) == (
        1,
        "peer.sh needs a launcher that gives it rank 0 or 1, not rank ''\n",
    )


@pytest.mark.skipif(shutil.which("dash") is None, reason="no dash, the strictest shell at hand")
def test_the_script_is_plain_posix(tmp_path: Path, port: int) -> None:
    (tmp_path / "peer.sh").write_text(stage_of(port).files["peer.sh"])
    subprocess.run(["dash", "-n", str(tmp_path / "peer.sh")], check=True)


def test_the_two_meet_over_the_network_where_there_is_one() -> None:
    workload = DoublePeers()
    for nodes, expected in ((1, Layout(nodes=1, ranks=2, ranks_per_node=2)), (4, Layout(2, 2, 1))):
        case = case_of(workload, Layout(nodes=nodes, ranks=4, ranks_per_node=4 // nodes))
        assert peer_stage(case, ["s"], ["c"], 1).layout == expected


def test_one_rank_is_too_few() -> None:
    workload = DoublePeers()
    assert list(workload.faults(case_of(workload, Layout()))) == [
        "double is a server and a client; set nodes: 2, or ranks: 2 for both on one node"
    ]
    assert list(workload.faults(case_of(workload))) == []


@pytest.mark.parametrize("variable", ["OMPI_COMM_WORLD_RANK", "PMI_RANK"])
def test_mpirun_inside_srun_pty_starts_one_server_and_one_client(
    tmp_path: Path, port: int, variable: str
) -> None:
    stage = stage_of(port)
    ranks = [start(stage, tmp_path, variable, rank, INSIDE_SRUN_PTY) for rank in ("0", "1")]
    try:
        output, _ = ranks[1].communicate(timeout=10)
        assert ranks[0].wait(timeout=30) == 0  # a kill would leave the server behind
    finally:
        for one in ranks:
            one.kill()
            one.communicate()
    assert output.startswith("served: with a blank")
