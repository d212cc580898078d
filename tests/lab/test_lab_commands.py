"""`tare lab` and `tare doctor` as a user calls them."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.calls import tare
from tare.lab import find

pytestmark = pytest.mark.lab


@pytest.fixture
def is_up(run_folder: Path) -> Iterator[str]:
    """Have a lab of two nodes up; return what `up` printed."""
    done = tare("lab", "up", "--nodes", "2")
    assert done.returncode == 0, done.stderr
    yield done.stdout
    tare("lab", "down")


def test_up_shows_every_host_with_its_addresses(is_up: str) -> None:
    rows = {line.split()[0]: line for line in is_up.splitlines() if line}

    assert {"n1", "n2", "n1-pod", "n2-pod"} <= set(rows)
    assert "10.77.1.1 fab0" in rows["n1"]
    assert "10.77.101.2 eth0" in rows["n2-pod"]


def test_up_twice_reports_that_it_is_up_already(is_up: str) -> None:
    again, same, other = (
        tare("lab", "up"),
        tare("lab", "up", "--nodes", "2"),
        tare("lab", "up", "--nodes", "3"),
    )

    assert (again.returncode, same.returncode, other.returncode) == (0, 0, 2)
    assert "up already" in again.stdout
    assert "up already" in same.stdout
    assert "tare lab down" in other.stderr


def test_status_as_json_has_everything(is_up: str) -> None:
    body = json.loads(tare("lab", "status", "--json").stdout)

    assert (body["schema"], body["is_up"]) == ("tare.lab.status/1", True)
    hosts = {host["name"]: host for host in body["hosts"]}
    assert hosts["n2-pod"]["interfaces"]["net1"] == {
        "address": "10.77.201.2",
        "network": "macvlan",
        "storage": None,
    }
    assert Path(f"/proc/{body['holder_pid']}").exists()


def test_exec_passes_arguments_exactly_and_the_exit_code_on(is_up: str) -> None:
    words = ["a  b", "$HOME", "'", "*", "-x", "--name", "--"]
    program = "import sys; print(ascii(sys.argv[1:])); sys.exit(7)"

    done = tare("lab", "exec", "n1", "--", sys.executable, "-c", program, *words)

    assert (done.returncode, done.stdout.strip()) == (7, ascii(words))


def test_exec_keeps_the_terminal(is_up: str) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb") as terminal:
        done = subprocess.run(
            [
                sys.executable,
                "-P",
                "-c",
                "from tare.cli.main import main; main()",
                "lab",
                "exec",
                "n1",
                "tty",
            ],
            stdin=theirs,
            stdout=theirs,
            check=False,
        )
        os.close(theirs)
        said = terminal.readline()

    assert done.returncode == 0
    assert said.startswith(b"/dev/pts/")


def test_exec_on_an_unknown_node_names_those_that_are_there(is_up: str) -> None:
    done = tare("lab", "exec", "n9", "--", "hostname")

    assert done.returncode == 2
    assert "n1, n2, n1-pod, n2-pod" in done.stderr


def test_down_takes_it_down_and_then_there_is_nothing_to_do(is_up: str) -> None:
    down, again = tare("lab", "down"), tare("lab", "down")

    assert (down.returncode, again.returncode) == (0, 0)
    assert find() is None
    assert "not up" in again.stdout


def test_without_a_lab_status_and_exec_explain_how_to_build_one(run_folder: Path) -> None:
    for words in (("status",), ("exec", "n1", "--", "hostname")):
        done = tare("lab", *words)
        assert done.returncode == 3
        assert "tare lab up" in done.stdout + done.stderr


def test_a_specification_file_describes_what_is_built(run_folder: Path, tmp_path: Path) -> None:
    spec = tmp_path / "lab.yaml"
    spec.write_text("nodes: 1\nnetworks:\n  only: {kind: bridge, rate: 1 Gbit/s}\n")

    done = tare("lab", "up", "--name", "mine", "--spec", str(spec))
    try:
        assert done.returncode == 0, done.stderr
        running = find("mine")
        assert running is not None
        assert running.topology.hosts == ("n1",)
        assert running.spec.networks["only"].rate_bits_per_s == 1e9
    finally:
        tare("lab", "down", "--name", "mine")


def test_the_doctor_finds_what_the_lab_needs(run_folder: Path) -> None:
    done = tare("doctor", "--json")

    assert done.returncode == 0
    requirements = {one["name"]: one for one in json.loads(done.stdout)["requirements"]}
    assert all(requirements[name]["is_met"] for name in ("python", "nsenter", "namespaces", "vxlan", "tbf"))
    assert requirements["tap"]["is_met"] == os.access("/dev/net/tun", os.R_OK | os.W_OK)


def test_the_doctor_explains_how_to_get_a_missing_mpi(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TARE_MPI", str(run_folder))

    done = tare("doctor")

    assert done.returncode == 0
    assert "tare lab setup --mpi mpich" in done.stdout


def test_a_lab_is_taken_down_only_where_its_processes_are_seen(is_up: str) -> None:
    """The folder may be shared with a container, where other processes have the same pids."""
    elsewhere = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount", "--mount-proc"]
    running = find()
    assert running is not None
    for words in (["down"], ["exec", "n1", "true"], ["status"]):
        done = subprocess.run(
            [*elsewhere, sys.executable, "-P", "-c", "from tare.cli.main import main; main()", "lab", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 3, done.stdout + done.stderr
        assert f"{running.folder} is that of a lab in another PID namespace" in done.stdout + done.stderr
    assert find() == running
    assert running.is_running()
