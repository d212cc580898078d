"""Services and their master, started for real on loopback by the script that a case ships.

All nodes are this machine, so a stand-in for ip(8) gives each rank a loopback address of its own.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tare.core.case import Layout
from tare.core.values import Scalar
from tare.core.workload import Stage
from tare.plugins.workloads import fio
from tare.plugins.workloads.common.services import services_stage
from workloads.cases import case_of

CASE = case_of(fio.WORKLOADS[0])
SERVICE = """
import socket, sys
listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
while True:
    peer, _ = listener.accept()
    peer.sendall(f"{sys.argv[3:]}".encode())
    peer.close()
"""
MASTER = """
import socket, sys
code, port, *hosts = sys.argv[1:]
for host in hosts:
    print(socket.create_connection((host, int(port))).recv(99).decode())
sys.exit(int(code))
"""
IP = """#!/bin/sh
echo "local $4 dev lo src 127.0.0.$((PMI_RANK + 1)) uid 0"
"""


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


def stage_of(port: int, code: int = 0) -> Stage:
    service = [sys.executable, "-c", SERVICE, "%a", str(port), "service", "%r", "it's"]
    return services_stage(
        CASE, service, [sys.executable, "-c", MASTER, str(code), str(port)], port, each=["%a"]
    )


def start(stage: Stage, work: Path, rank: int, **env: str) -> subprocess.Popen[str]:
    """Start one rank of `stage` as a launcher would."""
    programs = work / "programs"
    if not programs.exists():  # once, before the first rank reads them
        programs.mkdir()
        (programs / "ip").write_text(IP)
        (programs / "ip").chmod(0o755)
        for name, text in stage.files.items():
            (work / name).parent.mkdir(exist_ok=True)
            (work / name).write_text(text)
    argv = [word.replace("{work}", str(work)).replace("{address0}", "localhost") for word in stage.argv]
    env |= {"PATH": f"{programs}:{os.environ['PATH']}", "PMI_RANK": str(rank)}
    return subprocess.Popen(
        argv, env=env, cwd=work, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


@pytest.mark.parametrize("code", [0, 3])
def test_the_master_meets_every_service_and_its_exit_code_counts(
    tmp_path: Path, port: int, code: int
) -> None:
    ranks = [start(stage_of(port, code), tmp_path, rank) for rank in (1, 0)]
    output = [rank.communicate(timeout=30)[0] for rank in ranks]
    assert output == ["", "['service', '0', \"it's\"]\n['service', '1', \"it's\"]\n"]
    assert [rank.returncode for rank in ranks] == [0, code]
    assert (tmp_path / "run/hosts").read_text() == "127.0.0.1\n127.0.0.2\n"
    for host in ("127.0.0.1", "127.0.0.2"):
        with socket.socket() as probe:
            assert probe.connect_ex((host, port)) != 0, "the services are gone"


def test_an_exit_code_that_means_an_unreachable_host_is_not_passed_on(tmp_path: Path, port: int) -> None:
    ranks = [start(stage_of(port, 255), tmp_path, rank) for rank in (0, 1)]
    for rank in ranks:
        rank.communicate(timeout=30)
    assert [rank.returncode for rank in ranks] == [1, 0]


def test_a_service_that_cannot_start_ends_all_and_reports_why(tmp_path: Path, port: int) -> None:
    stage = services_stage(CASE, ["sh", "-c", "echo no disk; exit 1"], ["echo", "met"], port)
    ranks = [start(stage, tmp_path, rank) for rank in (0, 1)]
    output = [rank.communicate(timeout=30) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [1, 1]
    assert [out for out, _ in output] == ["", ""]
    assert "ended before it listened:\nno disk" in output[0][1] + output[1][1]


def test_without_a_rank_nothing_starts(tmp_path: Path, port: int) -> None:
    stage = stage_of(port)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/services.sh").write_text(stage.files["run/services.sh"])
    done = subprocess.run(
        ["sh", str(tmp_path / "run/services.sh"), "2", str(port), "localhost", "true", "--"],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (
        1,
        "services.sh needs a launcher that gives it a rank, not ''\n",
    )


@pytest.mark.skipif(shutil.which("dash") is None, reason="no dash, the strictest shell at hand")
def test_the_script_is_plain_posix(tmp_path: Path, port: int) -> None:
    (tmp_path / "services.sh").write_text(stage_of(port).files["run/services.sh"])
    subprocess.run(["dash", "-n", str(tmp_path / "services.sh")], check=True)


@pytest.mark.skipif(shutil.which("fio") is None, reason="no fio")
def test_fio_itself_sums_over_two_nodes_that_share_a_file_system(tmp_path: Path, port: int) -> None:
    (write,) = (one for one in fio.WORKLOADS if one.pattern == "write")
    storage = tmp_path / "storage"
    storage.mkdir()
    settings: dict[str, Scalar] = {
        "block": 4096,
        "size": 65536,
        "time_s": 1.0,
        "direct": False,
        "ioengine": "psync",
    }
    case = case_of(write, Layout(nodes=2, ranks=2, ranks_per_node=1, threads=2), port=port, **settings)
    (stage,) = write.stages(case)
    stage.files.update({name: text.replace("unlink=1", "unlink=0") for name, text in stage.files.items()})
    ranks = [start(stage, tmp_path, rank, STORAGE=str(storage)) for rank in (0, 1)]
    output, complaint = ranks[0].communicate(timeout=60)
    ranks[1].communicate(timeout=60)
    assert [rank.returncode for rank in ranks] == [0, 0], complaint
    parsed = write.expecting(case).parse(output.splitlines(keepends=True))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert {one.fom for one in parsed.measurements} >= {"bandwidth", "iops", "latency"}
    assert len(parsed.measurements) == len({one.fom for one in parsed.measurements})
    assert len(list(storage.iterdir())) == 4, "each job of each node has a file of its own"
