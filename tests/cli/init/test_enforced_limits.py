"""Limits of QoS, associations and accounts, read from a real slurmdbd and held against the fate of jobs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from cli.conftest import standing_lab
from cli.init.login_node import on_login_node
from support.waiting import until
from tare.app.init.job_limits import JobLimits, limits_of
from tare.app.init.node_choice import node_class
from tare.discovery.commands import Output
from tare.discovery.slurm import find_slurm
from tare.lab import Lab, accounting, slurm

pytestmark = [
    pytest.mark.lab,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="Slurm's daemons need root"),
    pytest.mark.skipif(bool(slurm.missing()), reason=f"no Slurm here; {slurm.CURE}"),
    pytest.mark.skipif(bool(accounting.missing()), reason=f"no accounting here; {accounting.CURE}"),
]
N_NODES, CPUS = 3, os.cpu_count() or 1
ENFORCED = r"""
for qos in job part; do sacctmgr --immediate add qos $qos; done
sacctmgr --immediate add account home
sacctmgr --immediate add user root account=home
sacctmgr --immediate modify user root set qos=normal,job defaultaccount=home
echo AccountingStorageEnforce=associations,limits,qos,safe >>"$SLURM_CONF"
kill $(cat "${SLURM_CONF%/*}/slurmctld.pid")
while [ -e "${SLURM_CONF%/*}/slurmctld.pid" ]; do sleep 0.1; done
PATH=$PATH:/usr/sbin slurmctld -f "$SLURM_CONF"
until scontrol ping | grep -q UP; do sleep 0.2; done
"""
CLEARED = "GrpTRES=node=-1 MaxTRESPerJob=node=-1 MaxTRESPerUser=cpu=-1 MinTRESPerJob=cpu=-1 Flags=-1"
CASES = {
    "a job's QoS": (("qos", "normal", "MaxTRESPerJob=node=1"), ()),
    "CPUs of a user": (("qos", "normal", f"MaxTRESPerUser=cpu={2 * CPUS}"), ()),
    "fewest CPUs": (("qos", "normal", f"MinTRESPerJob=cpu={CPUS + 1}"), ()),
    "a group": (("qos", "normal", "GrpTRES=node=2"), ()),
    "the account above": (("account", "home", "GrpTRES=node=2"), ()),
    "an inherited limit": (("account", "home", "MaxTRES=node=1"), ()),
    "a partition's QoS": (("qos", "part", "MaxTRESPerJob=node=1"), ("QoS=part",)),
    "flags of a partition's QoS": (("qos", "part", "Flags=PartitionMaxNodes"), ("QoS=part", "MaxNodes=1")),
    "flags of a job's QoS": (("qos", "normal", "Flags=PartitionMaxNodes"), ("MaxNodes=1",)),
}
"""What an administrator limits: an entry of the accounting, and entries of the partition."""


class LoginNode:
    """Runs commands on the lab's first node (see discovery.commands)."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab, self.folder = lab, folder

    def run(self, argv: Sequence[str], timeout_s: float = 60) -> Output:
        done = on_login_node(self.lab, self.folder, *argv)
        return Output(done.returncode, done.stdout, done.stderr)

    def call(self, *argv: str) -> str:
        done = self.run(argv)
        assert done.code == 0, (argv, done.message)
        return done.out.strip()

    def limits(self) -> JobLimits:
        found = find_slurm(self, "root", print)
        assert found is not None
        (partition,) = (one for one in found.partitions if one.name == "lab")
        return limits_of(found, partition, node_class(partition)[0])

    def becomes_of(self, n_nodes: int) -> str:
        """Return the state of a job of so many whole nodes, or the reason for which it waits for ever."""
        words = ("--parsable", f"--nodes={n_nodes}", "--exclusive", "--output=/dev/null", "--wrap=sleep 60")
        job = self.call("sbatch", *words)
        said: list[str] = []

        def is_known() -> bool:
            state, _, reason = self.call("squeue", "--noheader", f"--jobs={job}", "--format=%T %r").partition(
                " "
            )
            passing = {"None", "Resources", "Priority", "BeginTime"}
            said[:] = [state if state == "RUNNING" else reason]
            return state == "RUNNING" or reason not in passing

        until(is_known)
        self.call("scancel", job)
        until(
            lambda: self.call("sinfo", "--noheader", "--partition=lab", "--format=%D %t") == f"{N_NODES} idle"
        )
        return said[0]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoginNode]:
    folder = tmp_path_factory.mktemp("enforced")
    (folder / "lab.yaml").write_text(f"nodes: {N_NODES}\nnetworks: {{fast: {{kind: bridge}}}}\n")
    with standing_lab("--spec", folder / "lab.yaml", "--with", "slurm") as lab:
        login = LoginNode(lab, folder)
        login.call("timeout", "120", "sh", "-ec", ENFORCED)
        until(
            lambda: (
                login.call("sinfo", "--noheader", "--partition=lab", "--format=%D %t") == f"{N_NODES} idle"
            )
        )
        yield login


@pytest.mark.parametrize("what", CASES)
def test_exactly_the_jobs_that_slurm_would_start_are_within_the_limits(node: LoginNode, what: str) -> None:
    (kind, name, limit), entries = CASES[what]
    manager = ("sacctmgr", "--immediate", "--quiet", "modify")
    try:
        node.call(*manager, kind, name, "set", limit)
        if entries:
            node.call("scontrol", "update", "PartitionName=lab", *entries)
        limits = node.limits()
        fates = {number: node.becomes_of(number) for number in range(1, N_NODES + 1)}
        assert {number: limits.nodes(number) == number for number in fates} == {
            number: fate == "RUNNING" for number, fate in fates.items()
        }, fates
    finally:
        if kind == "qos":
            node.run((*manager, kind, name, "set", *CLEARED.split()))
        else:
            node.run((*manager, kind, name, "set", "GrpTRES=node=-1", "MaxTRES=node=-1"))
        node.call("scontrol", "update", "PartitionName=lab", "QoS=", "MaxNodes=UNLIMITED")
