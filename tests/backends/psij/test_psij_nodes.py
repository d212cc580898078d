"""How a job finds its id and its nodes on each batch system, and how it reaches them.

The texts are of PBS Professional ($PBS_NODEFILE, User's Guide 2021.1, 5.1.1), of LSF 10.1 (environment
variable reference), of flux-core (flux-hostlist(1)) and of Cobalt. Commands that are not here are doubles.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tare.plugins.backends.batch.script import EACH_NODE
from tare.plugins.backends.psij.systems import SYSTEMS, Executor

SHOW = 'printf "%s\\n" "$job_id" "$job_nodes" "$node0" "$this_node"; printf "%s\\n" "${node_names[@]}"'


def found(
    executor: Executor, env: Mapping[str, str], folder: Path, doubles: Mapping[str, str] | None = None
) -> list[str]:
    """Run a system's shell code in a job's environment; return what it found."""
    commands = folder / "bin"
    commands.mkdir(exist_ok=True)
    for name, text in (doubles or {}).items():
        (commands / name).write_text(f"#!/bin/bash\n{text}\n")
        (commands / name).chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", f"set -u\n{SYSTEMS[executor].nodes_script}\n{SHOW}"],
        env={"PATH": f"{commands}:/usr/bin:/bin", **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("executor", [Executor.PBS, Executor.PBS_CLASSIC])
def test_pbs_names_a_node_once_for_each_of_its_slots(executor: Executor, tmp_path: Path) -> None:
    nodes = tmp_path / "123.pbs-server"
    nodes.write_text("x1001c1s2b0n0.example.org\n" * 4 + "x1001c1s2b0n1.example.org\n" * 4)
    env = {"PBS_JOBID": "123.pbs-server", "PBS_NODEFILE": str(nodes)}
    assert found(executor, env, tmp_path) == [
        "123.pbs-server",
        "x1001c1s2b0n0.example.org,x1001c1s2b0n1.example.org",
        "x1001c1s2b0n0.example.org",
        "x1001c1s2b0n0.example.org",
        "x1001c1s2b0n0.example.org",
        "x1001c1s2b0n1.example.org",
    ]


def test_nodes_keep_the_order_of_pbs(tmp_path: Path) -> None:
    nodes = tmp_path / "nodes"
    nodes.write_text("n10\nn9\nn10\n\nn1\n")
    said = found(Executor.PBS, {"PBS_JOBID": "1", "PBS_NODEFILE": str(nodes)}, tmp_path)
    assert said[4:] == ["n10", "n9", "n1"]


@pytest.mark.parametrize(
    "env",
    [
        {"LSB_MCPU_HOSTS": "hostA 4 hostB 4 ", "LSB_HOSTS": ""},
        {"LSB_HOSTS": "hostA hostA hostA hostA hostB hostB hostB hostB"},
        {"LSB_DJOB_HOSTFILE": "hosts", "LSB_MCPU_HOSTS": "cut 1 sho"},
        {"LSB_DJOB_HOSTFILE": "/no/such/file", "LSB_MCPU_HOSTS": "hostA 4 hostB 4"},
    ],
)
def test_lsf_gives_its_hosts_in_one_of_three_ways(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("hostA\nhostA\nhostA\nhostA\nhostB\nhostB\nhostB\nhostB\n")
    if env.get("LSB_DJOB_HOSTFILE") == "hosts":
        env = env | {"LSB_DJOB_HOSTFILE": str(tmp_path / "hosts")}
    assert found(Executor.LSF, {"LSB_JOBID": "4711", **env}, tmp_path) == [
        "4711",
        "hostA,hostB",
        "hostA",
        "hostA",
        "hostA",
        "hostB",
    ]


def test_flux_gives_its_own_instance(tmp_path: Path) -> None:
    flux_double = """
case "$*" in
"getattr jobid") echo ƒ2oLkTLb ;;
"job id --to=dec ƒ2oLkTLb") echo 68719476736 ;;
"getattr hostlist") echo 'fluke[1-2,7]' ;;
"hostlist --expand --delimiter="*" fluke[1-2,7]") printf 'fluke1\\nfluke2\\nfluke7\\n' ;;
*) echo "no such call: $*" >&2; exit 1 ;;
esac"""
    said = found(Executor.FLUX, {}, tmp_path, {"flux": flux_double})
    assert said == ["68719476736", "fluke1,fluke2,fluke7", "fluke1", "fluke1", "fluke1", "fluke2", "fluke7"]


def test_slurm_lists_them_by_scontrol(tmp_path: Path) -> None:
    scontrol_double = '[ "$*" = "show hostnames n[1-2]" ] && printf "n1\\nn2\\n"'
    env = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2]"}
    assert found(Executor.SLURM, env, tmp_path, {"scontrol": scontrol_double}) == [
        "7",
        "n1,n2",
        "n1",
        "n1",
        "n1",
        "n2",
    ]


def test_cobalt_names_them_in_a_file(tmp_path: Path) -> None:
    nodes = tmp_path / "nodes"
    nodes.write_text("nid00001\nnid00002\n")
    env = {"COBALT_JOBID": "1234567", "COBALT_NODEFILE": str(nodes)}
    assert found(Executor.COBALT, env, tmp_path)[:2] == ["1234567", "nid00001,nid00002"]


def test_this_machine_is_its_own_node(tmp_path: Path) -> None:
    said = found(Executor.LOCAL, {}, tmp_path)
    assert int(said[0]) > 1
    assert len(said[4:]) == 1


def on_each(folder: Path, starts: str, *words: str, stdin: str | None = None) -> str:
    """Run on_each on two nodes; `starts` is how a double starts a command on the second."""
    script = "\n".join(
        [
            "set -u",
            "job_id=1 node_names=(n1 n2) nodes=2 job_seconds=60",
            f"start_on() {{ {starts}; }}",
            SYSTEMS[Executor.LOCAL].nodes_script.split("# Shared by all systems.")[1],
            EACH_NODE.read_text(),
            '(on_each "$@")',
        ]
    )
    done = subprocess.run(
        ["bash", "-c", script, "on_each", *words],
        cwd=folder,
        input=stdin,
        stdin=None if stdin is not None else subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


ELSEWHERE = 'shift; env -i PATH="$PATH" NODE=second "$@" </dev/null >/dev/null 2>&1'
"""A start as of pbs_tmrsh(8B): in another folder, without the job's environment, input and output."""


def test_what_a_command_prints_on_another_node_comes_home(tmp_path: Path) -> None:
    folder = tmp_path / "it's a folder"
    folder.mkdir()
    on_each(
        folder,
        f"cd /; {ELSEWHERE}",
        "--output=said.%N",
        "sh",
        "-c",
        'echo "${NODE-first} $1"; pwd',
        "x",
        "a 'b'",
    )
    assert (folder / "said.n1").read_text() == f"first a 'b'\n{folder}\n"
    assert (folder / "said.n2").read_text() == f"second a 'b'\n{folder}\n"
    assert sorted(path.name for path in folder.iterdir()) == ["said.n1", "said.n2"]


def test_input_reaches_each_node_and_its_end_too(tmp_path: Path) -> None:
    on_each(tmp_path, ELSEWHERE, "--input=all", "--output=said.%N", "cat", stdin="begin\nend\n")
    assert (tmp_path / "said.n1").read_text() == "begin\nend\n"
    assert (tmp_path / "said.n2").read_text() == "begin\nend\n"


def test_a_node_that_does_not_start_the_command_fails_it(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        on_each(tmp_path, "return 1", "--output=said.%N", "true")


def is_recorded(folder: Path, job_id: str) -> subprocess.CompletedProcess[str]:
    shared = SYSTEMS[Executor.LOCAL].nodes_script.split("# Shared by all systems.")[1]
    script = f"job_id={job_id} node_names=(n1)\n#{shared}\nis_recorded {folder} && echo runs"
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=30, check=False)


def test_only_the_job_on_record_runs_and_only_once(tmp_path: Path) -> None:
    (tmp_path / "job").write_text("7\n")
    other = is_recorded(tmp_path, "6")
    assert (other.stdout, other.returncode) == ("", 1)
    assert "this is job 6" in other.stderr
    assert is_recorded(tmp_path, "7").stdout == "runs\n"
    assert is_recorded(tmp_path, "7").stdout == ""  # requeued by its system


def test_a_job_waits_for_its_record(tmp_path: Path) -> None:
    late = subprocess.Popen(["sh", "-c", f"sleep 1; echo 7 >{tmp_path}/job"])
    assert is_recorded(tmp_path, "7").stdout == "runs\n"
    late.wait()
