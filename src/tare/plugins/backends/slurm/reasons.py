"""Say what ends the wait of a pending job, from Slurm's reason (job reason codes of its documentation). Pure.

Reasons that waiting alone ends, such as Priority and Resources, have no cure.
"""

from __future__ import annotations

import re

from tare.plugins.backends.batch.queue import Obstacle

_LIMITS = "sacctmgr show assoc and sacctmgr show qos give the limits"
_FINAL = {
    "PartitionTimeLimit": "its time limit is above the partition's (sinfo -o '%P %l'): set a shorter "
    "'timeout', or name another partition",
    "AccountNotAllowed": "the partition does not take its account: name another partition or account",
    "InvalidAccount": "Slurm does not know its account: correct 'slurm: {account: …}'",
    "InvalidQOS": "Slurm does not know its QOS: correct 'slurm: {qos: …}'",
    "QOSNotAllowed": "its account or partition does not take its QOS: name another partition, account or qos",
    "BadConstraints": "no node meets its request: correct 'nodes', 'constraint', 'gres' or 'lines'",
    "MaxMemPerLimit": "it asks for more memory than a job may have: correct '--mem' in 'lines'",
    "ReservationDeleted": "its reservation is gone: correct 'slurm: {reservation: …}'",
    "DependencyNeverSatisfied": "what it depends on has failed: correct '--dependency' in 'lines'",
    "DeadLine": "it cannot end before its deadline: correct '--deadline' in 'lines'",
    "JobHoldMaxRequeue": "Slurm has held it after it was requeued too often: scontrol show job tells why",
}
_FINAL_LIMITS = re.compile(r"(?:Assoc|QOS)Max\w*(?:PerJob|PerNode)(?:Limit)?|QOSMin\w+")
"""Limits on the request of one job, whatever else runs (resource limits, Max* and Min* of a job)."""
_PASSING = {
    "PartitionNodeLimit": "its nodes are outside the partition's limits (scontrol show partition), or nodes "
    "are down or drained (sinfo -R)",
    "PartitionConfig": "it is outside the partition's limits (scontrol show partition), or nodes are down "
    "(sinfo -R)",
    "PartitionDown": "the partition is down: wait for its administrators, or name another one",
    "PartitionInactive": "the partition is inactive: wait for its administrators, or name another one",
    "ReqNodeNotAvail": "nodes that it names are down, drained, reserved or in use (sinfo -R, scontrol show "
    "reservation)",
    "NodeDown": "a node that it needs is down (sinfo -R)",
    "JobHeldUser": "it is held: scontrol release lets it start",
    "JobHeldAdmin": "administrators hold it: ask them to release it",
    "AssocGrp": f"jobs of its account have used a limit up: {_LIMITS}",
    "QOSGrp": f"jobs of its QOS have used a limit up: {_LIMITS}",
    "QOSUsageThreshold": "its account has used up what its QOS requires: name another qos",
}
_WORD = re.compile(r"[A-Za-z]+")
_LAUNCH_FAILED = re.compile(r"\w.* failed requeued held")
"""The reasons of jobs that Slurm could not start, and holds since (slurmctld, job_mgr)."""


def obstacle_of(reason: str, partition: str) -> Obstacle | None:
    """Return what keeps a pending job from starting; None where waiting alone ends that.

    The reason of a job with several partitions is that of one of them. It may start in another one.
    """
    plain = " ".join(reason.strip("() ").replace("_", " ").split())
    if _LAUNCH_FAILED.fullmatch(plain):
        return Obstacle("Slurm could not start it, and holds it: scontrol show job tells why", is_final=True)
    found = _WORD.match(plain)
    code = found[0] if found else ""
    final = _FINAL.get(code) or (f"its request is outside a limit: {_LIMITS}" if _is_limit(code) else "")
    if final:
        return Obstacle(final, is_final="," not in partition)
    family = next((one for one in ("AssocGrp", "QOSGrp") if code.startswith(one)), code)
    return Obstacle(_PASSING[family]) if family in _PASSING else None


def _is_limit(code: str) -> bool:
    return _FINAL_LIMITS.fullmatch(code) is not None
