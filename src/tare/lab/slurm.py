"""Set up Slurm in the lab: slurmctld on the first node, slurmd on each, and one munged for all.

All daemons are in the lab's PID namespace, so they end with it. Their files are in a tmpfs of the lab.

Sources: slurm.conf(5), mpi.conf(5), munged(8).
"""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from tare.core.errors import LabError
from tare.lab import accounting
from tare.lab.commands import Hosts, find_program, run, write

PROGRAMS = ("munged", "slurmctld", "slurmd", "sinfo")
CURE = "on Debian: apt install slurmctld slurmd slurm-client munge"

_READY_TIMEOUT_S = 30.0


def conf_path(folder: Path) -> Path:
    """Return the path of slurm.conf inside the lab whose folder is `folder`."""
    return folder / "slurm" / "slurm.conf"


def environment(folder: Path) -> dict[str, str]:
    """Return the variable by which Slurm's commands find the lab whose folder is `folder`."""
    return {"SLURM_CONF": str(conf_path(folder))}


def missing() -> list[str]:
    """Return the programs that Slurm needs and that this machine lacks."""
    return [name for name in PROGRAMS if find_program(name) is None]


def bring_up(
    lab: Hosts, nodes: Sequence[str], addresses: Sequence[str], *, has_accounting: bool = False
) -> None:
    """Start Slurm on `nodes`, which reach each other at `addresses`; return when every node is idle.

    Raises LabError with the log of the daemon that did not start.
    """
    if os.geteuid() != 0:
        raise LabError("Slurm's daemons change their groups, which only root may; start Slurm's lab as root")
    if lacking := missing():
        raise LabError(f"Slurm needs {', '.join(lacking)}, which this machine lacks; {CURE}")
    home = conf_path(lab.folder).parent
    run(lab, nodes[0], ["mkdir", "-p", *(str(home / name) for name in ("state", "spool", "log", "munge"))])
    text = configuration(home, nodes, addresses, has_accounting=has_accounting)
    write(lab, nodes[0], home / "slurm.conf", text)
    # /dev/shm is private to each node; /tmp is not, and the folders of two nodes' PMIx would collide there.
    write(lab, nodes[0], home / "mpi.conf", "PMIxCliTmpDirBase=/dev/shm\n")
    _start_munge(lab, nodes[0], home / "munge")
    if has_accounting:
        accounting.bring_up(lab, nodes[0], addresses[0], home)
    run(lab, nodes[0], [_program("slurmctld"), "-i", "-f", str(home / "slurm.conf")])
    for node in nodes:
        run(lab, node, [_program("slurmd"), "-N", node, "-f", str(home / "slurm.conf")])
    _wait_until_idle(lab, nodes, home)


def configuration(
    home: Path, nodes: Sequence[str], addresses: Sequence[str], *, has_accounting: bool = False
) -> str:
    """Return slurm.conf for `nodes`; the daemons write all files below `home`."""
    cores = os.cpu_count() or 1
    lines = [
        "ClusterName=tare",
        f"SlurmctldHost={nodes[0]}({addresses[0]})",
        "AuthType=auth/munge",
        f"AuthInfo=socket={home}/munge/socket",
        "CredType=cred/munge",
        "SlurmUser=root",
        "SlurmdUser=root",
        f"StateSaveLocation={home}/state",
        f"SlurmdSpoolDir={home}/spool/%n",
        f"SlurmctldPidFile={home}/slurmctld.pid",
        f"SlurmdPidFile={home}/slurmd.%n.pid",
        f"SlurmctldLogFile={home}/log/slurmctld.log",
        f"SlurmdLogFile={home}/log/slurmd.%n.log",
        "ProctrackType=proctrack/linuxproc",  # the lab has no cgroups of its own
        "TaskPlugin=task/none",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core",
        "SlurmdParameters=config_overrides",
        "MpiDefault=none",
        "ReturnToService=2",
        "PreemptType=preempt/partition_prio",
        "PreemptMode=CANCEL",
        "SchedulerParameters=sched_interval=2,sched_min_interval=0,bf_interval=2",
        "SlurmctldTimeout=30",
        "SlurmdTimeout=60",
        "MessageTimeout=20",
        "SrunPortRange=60001-61000",
        "JobAcctGatherType=jobacct_gather/linux",
        *(
            accounting.options(nodes[0], home)
            if has_accounting
            else ["AccountingStorageType=accounting_storage/none"]
        ),
        "JobCompType=jobcomp/filetxt",
        f"JobCompLoc={home}/log/jobcomp.log",
    ]
    lines += [
        f"NodeName={node} NodeAddr={address} CPUs={cores} RealMemory=1000 State=UNKNOWN"
        for node, address in zip(nodes, addresses, strict=True)
    ]
    partition = f"Nodes={','.join(nodes)} MaxTime=INFINITE State=UP"
    lines += [f"PartitionName=lab {partition} Default=YES PriorityTier=1"]
    lines += [f"PartitionName=urgent {partition} PriorityTier=2"]  # preempts the other one, as on many sites
    return "\n".join([*lines, ""])


def _start_munge(lab: Hosts, node: str, folder: Path) -> None:
    key = folder / "key"
    run(lab, node, ["sh", "-c", f"umask 077; head -c 1024 /dev/urandom >{shlex.quote(str(key))}"])
    files = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    options = [f"--{option}={folder / name}" for option, name in files.items()]
    # --force: munged distrusts folders that others may write to, such as /tmp above ours.
    run(lab, node, [_program("munged"), "--force", *options])


def _wait_until_idle(lab: Hosts, nodes: Sequence[str], home: Path) -> None:
    deadline = time.monotonic() + _READY_TIMEOUT_S
    command = ["env", f"SLURM_CONF={home}/slurm.conf", "sinfo", "--noheader", "--format=%D %t"]
    seen = ""
    while time.monotonic() < deadline:
        done = subprocess.run(
            lab.command(nodes[0], command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            text=True,
        )
        seen = done.stdout.strip() or done.stderr.strip()
        if seen == f"{len(nodes)} idle":
            return
        time.sleep(0.05)
    log = run(lab, nodes[0], ["sh", "-c", f"tail -n 3 {shlex.quote(str(home))}/log/*.log"])
    raise LabError(f"Slurm did not come up within {_READY_TIMEOUT_S:g} s: {seen}; its logs end with: {log}")


def _program(name: str) -> str:
    return find_program(name) or name
