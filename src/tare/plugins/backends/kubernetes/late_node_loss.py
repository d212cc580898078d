"""Decide whether a run failed because of a lost node that Kubernetes does not report as lost yet."""

from __future__ import annotations

import msgspec

from tare.core.job import Exit
from tare.core.scheduler import JobResult
from tare.plugins.backends.kubernetes import control_groups, phases
from tare.plugins.backends.kubernetes.in_flight_job import InFlightJob
from tare.plugins.backends.kubernetes.node_watch import Nodes

_KNOWS_S = 75.0
"""Kubernetes reports a node as lost 40 to 50 s after its last lease (node-monitor-grace-period)."""


def silent_nodes(job: InFlightJob, job_result: JobResult) -> list[str]:
    """Return the nodes of a failed run whose files were saved before the program ran, but not after it."""
    has_workers = job.n_workers > 0 and not job.rendered.is_pair
    ended = job_result.exit
    if not has_workers or ended.code == 0 or ended.fault or ended.is_timeout or job_result.reason:
        return []
    return sorted(job_result.before.keys() - job_result.after.keys())


def judge(job: InFlightJob, job_result: JobResult, nodes: Nodes, now: float) -> JobResult | None:
    """Return the result of such a run once the state of its nodes is known; None before.

    MPI notices a cut network within seconds and its launcher fails, so the exit code shows nothing about the
    program.
    """
    pods = list(job.pods.values())
    if reason := control_groups.why_killed({}, {}, pods):
        return msgspec.structs.replace(job_result, reason=reason)
    losses = [one for one in nodes.losses(pods) if one.key in job.silent_nodes]
    fault = job.losing.final(losses, now) or next(filter(None, map(phases.disruption, pods)), "")
    if fault:
        job.lost = frozenset(one.key for one in losses)
        elapsed_s = job_result.exit.elapsed_s
        return msgspec.structs.replace(job_result, exit=Exit(fault=fault, elapsed_s=elapsed_s))
    if now - job.since > _KNOWS_S and not losses:
        return job_result
    nodes_of_it = ", ".join(job.silent_nodes)
    job.waits_for = f"it failed, and node {nodes_of_it} did not answer: waits for the state of the node"
    return None
