"""Find out how a task ended, from the record that its pods left and from the states of the pods."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tare.core.job import Exit
from tare.core.scheduler import JobResult, NodeFiles, Task
from tare.plugins.backends.batch import record
from tare.plugins.backends.kubernetes import attachments, memory, naming, phases, placement_check, processes
from tare.plugins.backends.kubernetes.observed import SeenJob, SeenPod
from tare.plugins.backends.kubernetes.ssh_words import Unreached

_UNREACHABLE = "unreachable "


def land(
    task: Task, pods: Sequence[SeenPod], job: SeenJob | None, fault: str = "", problem: str = ""
) -> JobResult:
    """Return the result of `task`, whose record is in its folder if it left one.

    `fault` says why its results are not received, `problem` why some of them were left out.
    """
    progress = record.read_progress(task.folder)
    if progress is None or not progress.is_landed or (fault and progress.steps[-1].code == 0):
        return _without_record(task, pods, job, fault)
    landed = record.land(task, progress)
    nodes = {pod.metadata.name: pod.spec.node_name for pod in pods if pod.role != naming.LAUNCHER}
    if task.layout.nodes == 1 and not task.steps[-1].is_pair:
        nodes = {pod.metadata.name: pod.spec.node_name for pod in pods}
    before, after = (_by_node(files) for files in (landed.before, landed.after))
    landed = msgspec.structs.replace(landed, nodes=tuple(sorted(before)), before=before, after=after)
    twins = _twins(task, pods)
    if landed.exit.code == 0:
        wrong = placement_check.untruths(task, before, after, nodes, landed.exit.elapsed_s)
        problems = (*twins, *([problem] if problem else []), *wrong)
        return msgspec.structs.replace(landed, problems=problems)
    reason = memory.why_killed(before, after, pods) or processes.why_refused(before, after)
    reason = reason or next(iter(twins), "") or _said_refused(task, landed.step)
    return msgspec.structs.replace(landed, reason=reason) if reason else landed


def _said_refused(task: Task, name: str) -> str:
    outputs = (step.stderr for step in task.steps if step.name == name)
    return next((said for one in outputs if (said := processes.said_refused(task.folder, one))), "")


def _twins(task: Task, pods: Sequence[SeenPod]) -> tuple[str, ...]:
    """Return a message if pods could not reach each other because two of them have the same address."""
    if task.network is None:
        return ()
    interface = task.network.interface
    address = attachments.twins(
        interface, (pod.metadata.annotations.get(attachments.STATUS, "") for pod in pods)
    )
    said = (
        f"two pods have the address {address} on {interface}; give addresses out for all nodes (whereabouts)"
    )
    return (said,) if address else ()


def _without_record(task: Task, pods: Sequence[SeenPod], job: SeenJob | None, fault: str) -> JobResult:
    """Return the result of a task that left no record; only failures of the cluster are tried again."""
    for pod in pods:
        said = phases.disruption(pod)
        if said:
            return JobResult(name=task.name, exit=Exit(fault=said))
    for pod in pods:
        said = phases.ended_badly(pod)
        if said and (phases.OOM_KILLED in said or phases.own_limit(pod)):
            return JobResult(name=task.name, exit=Exit(), reason=said)
    if fault:
        return JobResult(name=task.name, exit=Exit(fault=fault))
    unreached = _unreached(task)
    if unreached is not None:
        said = str(unreached)
        if unreached.is_final:
            return JobResult(name=task.name, exit=Exit(), reason=said)
        return JobResult(name=task.name, exit=Exit(fault=said))
    failure = job.failure if job else None
    if failure is not None and failure.reason == "DeadlineExceeded":
        return JobResult(name=task.name, exit=Exit(is_timeout=True, elapsed_s=task.timeout_s))
    said = next((said for pod in pods if (said := phases.ended_badly(pod))), "")
    if failure is not None:  # such as BackoffLimitExceeded/Error: the part after the slash is the pod's
        said = f"{failure.reason}: {failure.message}" + (f"; {said}" if said else "")
    said = said or "its pods are gone"
    return JobResult(name=task.name, exit=Exit(), reason=f"{said}; it left no record of how far it came")


def _unreached(task: Task) -> Unreached | None:
    try:
        text = (task.folder / "landed").read_text(errors="replace")
    except OSError:
        return None
    told = (line.removeprefix(_UNREACHABLE) for line in text.splitlines() if line.startswith(_UNREACHABLE))
    line = "".join(one if one.isprintable() else "?" for one in next(told, ""))
    host, _, said = line.partition(" ")
    return Unreached(host, said) if host else None


def _by_node(files: NodeFiles) -> dict[str, dict[str, str]]:
    """Return files by the node that they describe; a second pod of a node gets a number after the name."""
    found: dict[str, dict[str, str]] = {}
    for number, texts in files.items():
        node = texts.get(placement_check.NODE, "").strip() or number
        name = node if node not in found else f"{node}/{number}"
        found[name] = dict(texts)
    return found
