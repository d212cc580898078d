"""Two real clusters of Slurm with one accounting: jobs of both have the same numbers."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.batch.batch_systems import NEEDS_SLURM
from cli.conftest import TARE, standing_lab
from cli.init.login_node import call, on_login_node, written
from tare.core.attempt import State
from tare.lab import Lab, accounting
from tare.storage.campaign import read_campaign

pytestmark = [
    pytest.mark.lab,
    pytest.mark.slow,
    *NEEDS_SLURM,
    pytest.mark.skipif(bool(accounting.missing()), reason=f"no accounting here; {accounting.CURE}"),
]
SPEC = "nodes: 2\nnetworks: {fast: {kind: bridge}}\n"
SECOND = r"""
home=${SLURM_CONF%/*} second=${SLURM_CONF%/*}/second
mkdir -p "$second"/state "$second"/spool "$second"/log
cp "$home/mpi.conf" "$second"
printf '#!/bin/sh\necho export SLURM_CONF=%s/slurm.conf\n' "$second" >"$second/prolog"
chmod +x "$second/prolog"
sed "s#=$home/\(state\|spool\|log\|slurmctld\|slurmd\)#=$second/\1#
  s#^ClusterName=.*#ClusterName=venus\nSlurmctldPort=7817\nSlurmdPort=7818\nTaskProlog=$second/prolog#
  s/^NodeName=n\([12]\)/NodeName=m\1 NodeHostname=n\1/; s/Nodes=n1,n2/Nodes=m1,m2/
  s/PartitionName=lab/PartitionName=wide/; s/SrunPortRange=.*/SrunPortRange=61001-61900/" \
  "$home/slurm.conf" >"$second/slurm.conf"
sacctmgr -i add cluster venus
"""
"""What makes a second cluster of the same nodes, with other names, and other ports of daemons."""
DAEMON = 'PATH=$PATH:/usr/sbin; "$@" -f "${SLURM_CONF%/*}/second/slurm.conf"'
IDLE = "until sinfo -M venus --noheader --format='%D %t' | grep -q '2 idle'; do sleep 0.2; done"
CANCELLED = """
"$1" run venus/study.yaml --out d >out 2>&1 & until cat d/attempts/*/*/job 2>/dev/null; do sleep 0.2; done
kill $!; wait
"""
"""What prints the number of a job, and ends tare, which cancels it."""
STUDY = """\
study: clusters
site: site.yaml
workloads:
  echo:
    command: [sh, -c, 'sleep 1; echo value: 1']
    foms: [{name: value, unit: s, better: lower, regex: 'value: (.*)'}]
workload: echo
repeats: 2
"""


@pytest.fixture
def login_node(tmp_path: Path) -> Iterator[Lab]:
    """Have the clusters tare and venus; commands on nodes ask the former unless told otherwise."""
    (tmp_path / "lab.yaml").write_text(SPEC)
    with standing_lab("--spec", tmp_path / "lab.yaml", "--with", "slurm") as lab:
        call(lab, tmp_path, "sh", "-ec", SECOND)
        call(lab, tmp_path, "sh", "-c", DAEMON, "sh", "slurmctld", "-i")
        for node in lab.nodes:
            words = lab.command(node, ["sh", "-c", DAEMON, "sh", "slurmd", "-N", node.replace("n", "m")])
            subprocess.run(words, env=os.environ | lab.env, check=True, timeout=60)
        call(lab, tmp_path, "timeout", "60", "sh", "-c", IDLE)
        yield lab


def test_jobs_of_a_cluster_that_the_shell_named_go_there_from_any_shell_and_others_of_their_numbers_live(
    login_node: Lab, tmp_path: Path
) -> None:
    sleep = ("sbatch", "--parsable", "--wrap=sleep 300")
    mine = [call(login_node, tmp_path, *sleep).strip() for _ in range(12)]
    call(login_node, tmp_path, "env", "SLURM_CLUSTERS=venus", TARE, "init", "venus", "--yes", "--no-jobs")
    assert written(tmp_path).cluster == "venus"
    (tmp_path / "venus/study.yaml").write_text(STUDY)
    call(login_node, tmp_path, TARE, "doctor", "--site", "venus/site.yaml")
    call(login_node, tmp_path, TARE, "run", "venus/study.yaml", "--out", "c")
    attempts = read_campaign(tmp_path / "c").attempts
    assert [one.state for one in attempts] == [State.DONE] * 2, [one.reason for one in attempts]
    (tmp_path / "venus/study.yaml").write_text(STUDY.replace("sleep 1", "sleep 300"))
    cancelled = on_login_node(login_node, tmp_path, "sh", "-c", CANCELLED, "sh", TARE).stdout.split()
    assert {*cancelled} & {*mine}, "or nothing is shown"
    assert sorted(call(login_node, tmp_path, "squeue", "--noheader", "--format=%i").split()) == sorted(mine)
    alive = ("squeue", "-M", "venus", "--noheader", "--states=PENDING,RUNNING")
    assert call(login_node, tmp_path, *alive) == ""


def test_ranks_run_on_nodes_whose_names_are_not_those_of_their_hosts(login_node: Lab, tmp_path: Path) -> None:
    """slurm.conf(5), NodeHostname. srun(1) knows files by host names (%N), and nodes by their own."""
    call(login_node, tmp_path, "env", "SLURM_CLUSTERS=venus", TARE, "init", "venus", "--yes")
    call(login_node, tmp_path, TARE, "run", "venus/first.yaml", "--out", "c", "--blocks", "1", "--packets")
    campaign = read_campaign(tmp_path / "c")
    assert {one.state for one in campaign.attempts} == {State.DONE}, [one.reason for one in campaign.attempts]
    assert {one.name for one in tmp_path.glob("c/attempts/*/1.1/before.*")} == {"before.m1", "before.m2"}
    assert {one.workload for one in campaign.plan.cases} != {"copy"}, "an MPI works"


def test_several_clusters_are_refused_before_a_job_is_submitted(login_node: Lab, tmp_path: Path) -> None:
    call(login_node, tmp_path, "env", "SLURM_CLUSTERS=tare", TARE, "init", "venus", "--yes", "--no-jobs")
    (tmp_path / "venus/study.yaml").write_text(STUDY)
    site = tmp_path / "venus/site.yaml"
    site.write_text(site.read_text().replace("cluster: tare, ", ""))
    for words in (("init", "other"), ("run", "venus/study.yaml"), ("doctor", "--site", "venus/site.yaml")):
        done = on_login_node(login_node, tmp_path, "env", "SLURM_CLUSTERS=tare,venus", TARE, *words)
        assert done.returncode in (2, 3)
        assert "SLURM_CLUSTERS" in done.stdout + done.stderr
        assert "name one" in done.stdout + done.stderr
    assert not (tmp_path / "other/site.yaml").exists()
    assert call(login_node, tmp_path, "sacct", "-M", "all", "-X", "--noheader") == ""
