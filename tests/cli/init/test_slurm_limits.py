"""`tare init` on a real Slurm whose partitions limit jobs, and whose nodes have hardware threads."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.conftest import TARE, standing_lab
from cli.init.login_node import call, on_login_node, written
from tare.config import load_site
from tare.core.attempt import State
from tare.lab import Lab, slurm
from tare.storage.campaign import read_campaign

pytestmark = [
    pytest.mark.lab,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="Slurm's daemons need root"),
    pytest.mark.skipif(bool(slurm.missing()), reason=f"no Slurm here; {slurm.CURE}"),
    pytest.mark.skipif(not Path("/usr/bin/mpicc").exists(), reason="no Open MPI of the distribution here"),
]
NODES = 4
SPEC = f"nodes: {NODES}\nnetworks: {{fast: {{kind: bridge}}}}\n"
THREADS = r"""
home=${SLURM_CONF%/*}
sed -i 's/CPUs=[0-9]*/Sockets=1 CoresPerSocket=2 ThreadsPerCore=2/; s/=CR_Core$/=CR_Core_Memory/
  s/^PartitionName=lab.*/& DefMemPerCPU=3/' "$SLURM_CONF"
for pid in "$home"/slurmctld.pid "$home"/slurmd.*.pid; do kill "$(cat "$pid")"; done
for pid in "$home"/slurmctld.pid "$home"/slurmd.*.pid; do while [ -e "$pid" ]; do sleep 0.1; done; done
rm -rf "$home"/state/*
"""
"""What makes nodes with two hardware threads a core, on which jobs get 3 MiB for each CPU."""
ALL_IDLE = f"until sinfo --noheader --format='%D %t' | grep -q '{NODES} idle'; do sleep 0.2; done"


@pytest.fixture
def login_node(tmp_path: Path) -> Iterator[Lab]:
    (tmp_path / "lab.yaml").write_text(SPEC)
    with standing_lab("--spec", tmp_path / "lab.yaml", "--with", "slurm") as lab:
        yield lab


def start(lab: Lab, node: str, daemon: str, *options: str) -> None:
    """Start a daemon of Slurm on a node."""
    words = [daemon, *options, "-f", lab.env["SLURM_CONF"]]
    command = lab.command(node, ["sh", "-c", 'PATH=$PATH:/usr/sbin "$@"', "sh", *words])
    subprocess.run(command, env=os.environ | lab.env, check=True, timeout=60)


def assert_that_all_of_the_first_study_is_measured(lab: Lab, folder: Path) -> None:
    call(lab, folder, TARE, "run", "venus/first.yaml", "--out", "c", "--no-boost")
    attempts = read_campaign(folder / "c").attempts
    assert {one.state for one in attempts} == {State.DONE}, [one.reason for one in attempts]


def test_a_partition_of_single_nodes_and_short_jobs_is_tried_and_measured_as_it_allows(
    login_node: Lab, tmp_path: Path
) -> None:
    call(login_node, tmp_path, "scontrol", "update", "PartitionName=lab", "MaxNodes=1", "MaxTime=2")
    out = call(login_node, tmp_path, TARE, "init", "venus", "--yes")
    assert "runs on 1 node (MaxNodes=1 of partition lab, scontrol show partition), for 2 minutes" in out
    assert "each on 1 node, for 2 minutes at most" in out
    assert "FAULT" not in out
    assert (written(tmp_path).max_nodes, written(tmp_path).max_minutes) == (1, 2)
    assert_that_all_of_the_first_study_is_measured(login_node, tmp_path)


def test_a_partition_of_large_jobs_gets_its_minimum_of_which_two_nodes_are_measured(
    login_node: Lab, tmp_path: Path
) -> None:
    call(login_node, tmp_path, "scontrol", "update", "PartitionName=lab", f"MinNodes={NODES}")
    out = call(login_node, tmp_path, TARE, "init", "venus", "--yes")
    assert f"runs on {NODES} nodes (MinNodes={NODES} of partition lab" in out
    assert f"each on {NODES} nodes, for 3 minutes at most" in out
    assert "FAULT" not in out
    assert written(tmp_path).min_nodes == NODES
    assert_that_all_of_the_first_study_is_measured(login_node, tmp_path)
    call(login_node, tmp_path, "scontrol", "update", "NodeName=n3", "State=DRAIN", "Reason=x")
    out = call(login_node, tmp_path, TARE, "init", "other", "--yes", "--no-jobs")
    assert (
        f"chosen   partition urgent: Slurm's partition lab runs no job of Tare: jobs need {NODES} nodes"
        in out
    )


def test_ranks_have_cores_of_their_own_and_the_memory_of_their_node(login_node: Lab, tmp_path: Path) -> None:
    call(login_node, tmp_path, "bash", "-c", THREADS)
    start(login_node, "n1", "slurmctld", "-i")
    for node in login_node.nodes:
        start(login_node, node, "slurmd", "-N", node)
    call(login_node, tmp_path, "timeout", "60", "sh", "-c", ALL_IDLE)
    out = call(login_node, tmp_path, TARE, "init", "venus", "--yes")
    assert "FAULT" not in out
    assert load_site(str(tmp_path / "venus/site.yaml")).slots_per_node == 2
    assert (written(tmp_path).threads_per_core, written(tmp_path).lines) == (1, ("--mem=0",))
    step = "scontrol show step $SLURM_JOB_ID.$SLURM_STEP_ID"
    as_tare = "--ntasks=2 --cpus-per-task=1 --cpu-bind=cores --threads-per-core=1 --mem=0"
    script = f"#!/bin/bash\nunset SLURM_THREADS_PER_CORE\nsrun {as_tare} sh -c '{step}'\n"
    (tmp_path / "job.sh").write_text(script)
    asked = ("--nodes=1", "--ntasks-per-node=2", "--exclusive", "--threads-per-core=1", "--mem=0")
    call(login_node, tmp_path, "sbatch", "--wait", "--output=out", *asked, "job.sh")
    assert "TRES=cpu=4,mem=1000M,node=1" in (tmp_path / "out").read_text(), "two cores of two threads"
    assert_that_slots_are_what_a_limit_of_cpus_leaves(login_node, tmp_path)


def assert_that_slots_are_what_a_limit_of_cpus_leaves(lab: Lab, folder: Path) -> None:
    """Each node of `lab` has two cores of two hardware threads."""
    for most in (1, 2):
        call(lab, folder, "scontrol", "update", "PartitionName=lab", f"MaxCPUsPerNode={most}")
        call(lab, folder, TARE, "init", f"limited-{most}", "--yes", "--no-jobs")
        slots = load_site(str(folder / f"limited-{most}/site.yaml")).slots_per_node
        asked = ("srun", "--immediate=20", "--nodes=1", "--threads-per-core=1", "--mem=3")
        call(lab, folder, *asked, f"--ntasks-per-node={slots}", "true")
        more = on_login_node(lab, folder, *asked, f"--ntasks-per-node={slots + 1}", "true")
        assert "Requested node configuration is not available" in more.stderr


def test_a_partition_whose_jobs_get_a_part_of_each_node_is_tried_and_measured(
    login_node: Lab, tmp_path: Path
) -> None:
    call(login_node, tmp_path, "scontrol", "update", "PartitionName=lab", "MaxCPUsPerNode=1")
    out = call(login_node, tmp_path, TARE, "init", "venus", "--yes")
    assert "FAULT" not in out
    assert load_site(str(tmp_path / "venus/site.yaml")).slots_per_node == 1
    assert not written(tmp_path).exclusive
    assert_that_all_of_the_first_study_is_measured(login_node, tmp_path)
