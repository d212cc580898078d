"""What runs a command once on each node of a job, for batch systems without a command such as srun."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tare.core.case import Layout
from tare.core.launch import Invocation
from tare.core.scheduler import SharedSampler, Step, Task
from tare.core.site import Platform
from tare.plugins.backends.batch.script import EACH_NODE, render
from tare.plugins.backends.slurm.options import SlurmOptions

NODES = """\
job_id=7 job_nodes='n1 n2 n3' node0=n1 this_node=n1
node_names=(n1 n2 n3)
on_node() { local node=$1; shift; NODE=$node "$@"; }
"""
"""Three nodes, all of which are this machine; a command knows its own by a variable."""


WATCHES = """\
import os, sys
sys.stdin.readline()
open(f"telemetry.{os.environ['NODE']}.jsonl", "w").write("seen")
sys.stdin.read()
"""
"""A sampler that is told to begin, and ends with its input."""


def bash(folder: Path, text: str, given: str = "") -> subprocess.CompletedProcess[str]:
    script = f"set -u\nnodes=2\n{NODES}{EACH_NODE.read_text()}{text}"
    return subprocess.run(
        ["bash", "-c", script],
        input=given,
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=30,
        check=False,
    )


def test_it_runs_on_the_first_nodes_only_each_with_a_file_of_its_own(tmp_path: Path) -> None:
    bash(tmp_path, """(on_each --output=said.%N sh -c 'echo "$NODE"; echo oh >&2') </dev/null""")
    assert {one.name: one.read_text() for one in tmp_path.iterdir()} == {
        "said.n1": "n1\noh\n",
        "said.n2": "n2\noh\n",
    }


def test_errors_go_where_they_are_asked_to_and_files_may_be_shared(tmp_path: Path) -> None:
    bash(tmp_path, "(on_each --output=/dev/null --error=errors sh -c 'echo no; echo $NODE >&2') </dev/null")
    assert sorted((tmp_path / "errors").read_text().split()) == ["n1", "n2"]


def test_what_comes_in_goes_to_all_nodes_and_ends_for_all(tmp_path: Path) -> None:
    bash(tmp_path, "(on_each --input=all --output=said.%N cat)", "a line\nits end\n")
    assert (tmp_path / "said.n1").read_text() == (tmp_path / "said.n2").read_text() == "a line\nits end\n"
    assert not list(tmp_path.glob(".feed*"))


def test_without_that_nobody_reads_what_comes_in(tmp_path: Path) -> None:
    done = bash(tmp_path, "(on_each cat); cat", "for the script\n")
    assert done.stdout == "for the script\n"


@pytest.mark.parametrize(("node", "code"), [("n1", 3), ("n2", 3), ("n3", 0)])
def test_its_exit_code_is_that_of_a_node_that_failed(tmp_path: Path, node: str, code: int) -> None:
    assert bash(tmp_path, f"(on_each sh -c '[ $NODE != {node} ] || exit 3')").returncode == code


def test_a_node_that_ends_early_stops_no_other(tmp_path: Path) -> None:
    text = "(on_each --input=all --output=said.%N sh -c '[ $NODE = n1 ] || cat')"
    bash(tmp_path, text, "line\n" * 20_000)
    assert (tmp_path / "said.n2").read_text() == "line\n" * 20_000


def test_a_whole_task_ends_with_its_nodes_and_a_list_of_them_for_its_mpi(tmp_path: Path) -> None:
    work = tmp_path / "a task's"
    work.mkdir()
    sampler = tmp_path / "sampler.py"
    sampler.write_text(WATCHES)
    step = Step(name="run", invocation=Invocation(argv=("sh", "-c", 'echo "$0"', "first: {node0}")))
    task = Task(
        name="tare-abc-1",
        folder=work,
        steps=(step,),
        layout=Layout(nodes=2, ranks=2),
        platform=Platform(backend="spool", options=SlurmOptions()),
        timeout_s=30.0,
        sampler=SharedSampler(sampler, 1.0),
    )
    text = render([task], ["#SPOOL"], NODES + EACH_NODE.read_text(), "printf '\\036fact\\036%s' $NODE")
    subprocess.run(["bash", "-c", text], cwd=tmp_path, timeout=60, check=False)
    assert "job 7 n1 n2 n3\n" in (work / "landed").read_text()
    assert (work / "stdout").read_text() == "first: n1\n"
    assert (work / "hostfile").read_text() == "n1\nn2\n"
    assert sorted(one.name for one in work.glob("telemetry.*")) == [
        "telemetry.n1.jsonl",
        "telemetry.n2.jsonl",
    ]
    assert "fact\036n2" in (work / "before.n2").read_text()
    assert sorted(one.name for one in work.glob("after.*")) == ["after.n1", "after.n2"]
