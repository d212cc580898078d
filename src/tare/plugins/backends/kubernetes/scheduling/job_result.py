"""Find out how a task ended, from the record that its pods left and from the states of the pods.

The messages of ssh and sshd about a worker that cannot be reached are those of OpenSSH (ssh.c, auth.c,
sshconnect2.c) and of nologin(8). A program prints the message of EAGAIN where fork(2) fails for a limit.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tare.core.job import Exit
from tare.core.safe_folder import SafeFolder
from tare.core.scheduler import JobResult, NodeFiles, Task
from tare.plugins.backends.batch import record
from tare.plugins.backends.kubernetes.diagnosis import control_groups, phases, placement_check
from tare.plugins.backends.kubernetes.manifests import attachments
from tare.plugins.backends.kubernetes.objects import naming
from tare.plugins.backends.kubernetes.objects.observed import SeenJob, SeenPod

_UNREACHABLE = "unreachable "
_ACCOUNT = (
    "add 'passwd: true' to the platform's 'kubernetes', or let group 0 write to /etc/passwd of the image "
    "(chgrp 0 /etc/passwd && chmod g=u /etc/passwd)"
)
_CURES = {
    "No user exists for uid": _ACCOUNT,
    "account is currently not available": _ACCOUNT,
    "Permission denied (": "see that the home of the pods' user is the platform's 'home', and that the image "
    "has its shell; the worker's log has sshd's message",
    "Host key verification failed": "leave host keys unchecked in the image's ssh_config",
}
"""Messages of ssh about faults that waiting does not cure, and their cures."""
SUSPENDED = "its job was suspended while it ran"
"""The failure of a run that a queue stops to make room for others, as Kueue does."""
_MOST_BYTES, _MOST_LINE = 64 << 10, 200
_MOST_RECORD = 16 << 20
_REFUSED = re.compile(r"fork|clone|spawn|[Tt]hread")
_EAGAIN = "Resource temporarily unavailable"


class SshFailure(NamedTuple):
    """A worker that ssh did not reach, and the last message about it."""

    host: str
    message: str

    @property
    def is_final(self) -> bool:
        """Return whether another attempt would fail in the same way."""
        return any(part in self.message for part in _CURES)

    def __str__(self) -> str:
        if not self.message:
            return f"no ssh to {self.host} within 120 s"
        cure = next((f"; {cure}" for part, cure in _CURES.items() if part in self.message), "")
        return f"no ssh to {self.host}: {self.message}{cure}"


def read_result(
    task: Task,
    pods: Sequence[SeenPod],
    job: SeenJob | None,
    fault: str = "",
    problem: str = "",
    taken: str = "",
) -> JobResult:
    """Return the result of `task`, whose record is in its folder if it left one.

    `fault` says why its results are not received, `problem` why some of them were left out.
    `taken` says how a queue may have ended its pods.
    """
    progress = record.read_progress(task.folder)
    if progress is None or not progress.is_complete or (fault and progress.steps[-1].code == 0):
        return _without_record(task, pods, job, fault)
    result = record.result_of(task, progress)
    nodes = {pod.metadata.name: pod.spec.node_name for pod in pods if pod.role != naming.LAUNCHER}
    if task.layout.nodes == 1 and not task.steps[-1].is_pair:
        nodes = {pod.metadata.name: pod.spec.node_name for pod in pods}
    before, after = _by_node(result.before), _by_node(result.after)
    result = msgspec.structs.replace(result, nodes=tuple(sorted(before)), before=before, after=after)
    duplicate = _duplicate_address(task, pods)
    if result.exit.code == 0:
        wrong = placement_check.violations(task, before, after, nodes, result.exit.elapsed_s)
        problems = (*filter(None, (duplicate, problem)), *wrong)
        return msgspec.structs.replace(result, problems=problems)
    taken = next(filter(None, map(phases.disruption, pods)), taken)
    if taken and not result.exit.is_timeout:  # gently: its program got a SIGTERM, and left its record
        return msgspec.structs.replace(result, exit=Exit(fault=taken, elapsed_s=result.exit.elapsed_s))
    reason = control_groups.why_killed(before, after, pods) or control_groups.why_refused(before, after)
    reason = reason or duplicate
    if _was_stopped(result.exit):
        reason = reason or phases.ended_from_outside(pods, job.failure if job else None)
    reason = reason or _printed_refusal(task, result.step)
    return msgspec.structs.replace(result, reason=reason) if reason else result


def _was_stopped(ended: Exit) -> bool:
    """Return whether a program was ended as a kubelet ends it; others failed before their pod was deleted."""
    return not ended.is_timeout and ended.signal in {signal.SIGTERM, signal.SIGKILL}


def _printed_refusal(task: Task, name: str) -> str:
    outputs = (step.stderr for step in task.steps if step.name == name)
    return next((line for one in outputs if (line := printed_refusal(task.folder, one))), "")


def printed_refusal(folder: Path, output: str) -> str:
    """Return the first line of `output` in `folder` about a refused process; empty if there is none.

    The reason may be a limit of the pod, whose counter containers cannot read (cgroup-v2.rst), or another
    limit.
    """
    try:
        with SafeFolder(folder, output).reader() as file:
            text = file.read(_MOST_BYTES).decode(errors="replace")
    except OSError:
        return ""
    for line in text.splitlines():
        short = phases.printable(line.strip()[:_MOST_LINE])
        if "Cannot fork" in short or (_EAGAIN in short and _REFUSED.search(short)):
            return f"{short} (perhaps a limit of processes: podPidsLimit of the kubelet, or the user's)"
    return ""


def _duplicate_address(task: Task, pods: Sequence[SeenPod]) -> str:
    """Return a message if pods could not reach each other because two of them have the same address."""
    if task.network is None:
        return ""
    interface = task.network.interface
    reports = [pod.metadata.annotations.get(attachments.STATUS, "") for pod in pods]
    address = attachments.duplicate_address(interface, reports)
    cure = "give addresses out for all nodes (whereabouts)"
    return f"two pods have the address {address} on {interface}; {cure}" if address else ""


def _without_record(task: Task, pods: Sequence[SeenPod], job: SeenJob | None, fault: str) -> JobResult:
    """Return the result of a task that left no record; only failures of the cluster are tried again."""
    if disruption := next(filter(None, map(phases.disruption, pods)), ""):
        return JobResult(name=task.name, exit=Exit(fault=disruption))
    endings = {reason: pod for pod in pods if (reason := phases.ended_badly(pod))}
    for reason, pod in endings.items():
        if phases.OOM_KILLED in reason or phases.own_limit(pod):
            return JobResult(name=task.name, exit=Exit(), reason=reason)
    if fault:
        return JobResult(name=task.name, exit=Exit(fault=fault))
    ssh = _ssh_failure(task)
    if ssh is not None:
        ended, reason = (Exit(), str(ssh)) if ssh.is_final else (Exit(fault=str(ssh)), "")
        return JobResult(name=task.name, exit=ended, reason=reason)
    failure = job.failure if job else None
    if failure is not None and failure.reason == "DeadlineExceeded":
        return JobResult(name=task.name, exit=Exit(is_timeout=True, elapsed_s=task.timeout_s))
    reason = next(iter(endings), "")
    if failure is not None:  # such as BackoffLimitExceeded/Error: the part after the slash is the pod's
        reason = f"{failure.reason}: {failure.message}" + (f"; {reason}" if reason else "")
    reason = reason or "its pods are gone"
    return JobResult(name=task.name, exit=Exit(), reason=f"{reason}; it left no record of how far it came")


def _ssh_failure(task: Task) -> SshFailure | None:
    try:
        text = SafeFolder(task.folder, "landed").read(_MOST_RECORD).decode(errors="replace")
    except OSError:
        return None
    lines = (line.removeprefix(_UNREACHABLE) for line in text.splitlines() if line.startswith(_UNREACHABLE))
    host, _, message = phases.printable(next(lines, "")).partition(" ")
    return SshFailure(host, message) if host else None


def _by_node(files: NodeFiles) -> dict[str, dict[str, str]]:
    """Return files by the node that they describe; a second pod of a node gets a number after the name."""
    found: dict[str, dict[str, str]] = {}
    for number, texts in files.items():
        node = texts.get(placement_check.NODE, "").strip() or number
        name = node if node not in found else f"{node}/{number}"
        found[name] = dict(texts)
    return found
