"""Find the phase of a task, why it does not go on, and who caused its end: cluster or task. Pure."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Sequence

from tare.core.counting import count
from tare.core.job import Exit
from tare.plugins.backends.kubernetes.objects import naming
from tare.plugins.backends.kubernetes.objects.observed import Condition, SeenPod
from tare.plugins.backends.kubernetes.options import PhaseTimeouts


class TaskPhase(enum.Enum):
    """What a task is waiting for."""

    SCHEDULING = "nodes"
    PULLING = "images and volumes"
    READYING = "workers to be ready"
    STARTING = "its launcher"
    RUNNING = "its end"


_NOT_STARTED = frozenset({"StartError", "ContainerCannotRun"})
"""Reasons of containerd, CRI-O and Docker for a container whose command cannot be started."""
OOM_KILLED = "OOMKilled"
"""The reason of a container that was killed because it used too much memory."""
_EVICTIONS = frozenset(
    {"Evicted", "NodeLost", "NodeShutdown", "Shutdown", "Terminated", "Preempting", "Preempted"}
)
"""Reasons of a pod that the cluster ended (kubelet, pkg/kubelet/eviction and nodeshutdown)."""
_REJECTIONS = frozenset(
    {"UnexpectedAdmissionError", "TopologyAffinityError", "NodeAffinity", "NodeName", "NodePorts",
     "NodeUnschedulable", "TaintToleration"}
)  # fmt: skip
"""Reasons of a kubelet that rejects a pod which the scheduler assigned to it.

There are others, such as ``OutOfcpu`` (pkg/kubelet/lifecycle/predicate.go, pkg/kubelet/cm/topologymanager).
"""
_OWN_LIMIT = re.compile(
    r"exceeded its local ephemeral storage limit|local storage usage exceeds the total limit"
    r"|Usage of EmptyDir volume .* exceeds the limit"
)
"""Messages of a kubelet that evicts a pod for the data it wrote (pkg/kubelet/eviction/helpers.go)."""
_DEADLINE = "DeadlineExceeded"
"""The reason of a pod that was active longer than its activeDeadlineSeconds (core/v1, PodSpec)."""
_PULLS = frozenset({"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "ErrImageNeverPull"})
_TAKEN_AWAY = re.compile(r"node\(s\) were unschedulable|untolerated taint\S* \{node\.\S*kubernetes\.io/")
"""The scheduler's words for nodes that people or controllers take away (node-lifecycle-controller)."""
TAKEN_UP = "MPIJobCreated"
"""The reason of the MPI Operator's event for a job that it has seen."""
_SUSPENDED = re.compile(r" Normal (?P<reason>Suspended|Resumed) Job/(?P<name>[^:]+): ")
"""Events of the controller of Jobs. The operator's Job of a launcher has no labels by which to watch it."""
_MOST_SHOWN = 200
_NOTHING = "SetPodTemplateRestartPolicy"
"""The reason of a warning of the MPI Operator for templates with a restart policy; it is harmless."""


def phase_of(pods: Sequence[SeenPod], n_workers: int, *, has_launcher_last: bool) -> TaskPhase:
    """Return the phase of a task with these pods; `n_workers` of them should be workers.

    One more pod starts the program. With `has_launcher_last`, it is created when the workers are ready.
    """
    workers = [pod for pod in pods if pod.role in {naming.WORKER, naming.SERVER}]
    starters = [pod for pod in pods if pod.role in {naming.LAUNCHER, naming.CLIENT}]
    first = workers if n_workers else starters
    if len(first) < max(n_workers, 1) or any(not pod.spec.node_name for pod in first):
        return TaskPhase.SCHEDULING
    if any(pod.state.running is None and not pod.is_over for pod in first):
        return TaskPhase.PULLING
    if n_workers and has_launcher_last and not starters and not all(pod.is_ready for pod in workers):
        return TaskPhase.READYING
    if not any(pod.state.running is not None or pod.is_over for pod in starters):
        return TaskPhase.STARTING
    return TaskPhase.RUNNING


def limit_s(phase: TaskPhase, timeouts: PhaseTimeouts, run_s: float) -> float:
    """Return how long a task may stay in `phase`, in seconds."""
    match phase:
        case TaskPhase.SCHEDULING:
            return timeouts.scheduled_s
        case TaskPhase.PULLING:
            return timeouts.pulled_s
        case TaskPhase.READYING:
            return timeouts.ready_s
        case TaskPhase.STARTING:
            return timeouts.started_s
        case TaskPhase.RUNNING:
            return run_s


def why_pending(pods: Sequence[SeenPod], events: Iterable[str]) -> str:
    """Return the cluster's reason why pods do not start; the last warning if there is no other reason."""
    for pod in pods:
        if (why := pod.unscheduled) is not None:
            return f"pod {pod.metadata.name} has no node: {_sentence(why.reason, why.message)}"
    for pod in pods:
        scheduler = pod.spec.scheduler_name
        is_passed_over = not pod.spec.node_name and pod.status.condition("PodScheduled") is None
        if is_passed_over and scheduler not in {"", "default-scheduler"}:
            return (
                f"pod {pod.metadata.name} has no node, and scheduler {scheduler!r} says nothing: does it run?"
            )
    for pod in pods:
        waiting = pod.state.waiting
        if waiting is not None and waiting.reason not in {"", "ContainerCreating", "PodInitializing"}:
            reason = _sentence(waiting.reason, waiting.message)
            return f"pod {pod.metadata.name} on {pod.spec.node_name} waits: {reason}"
    lines = list(events)
    if (suspended := _suspended_job(lines)) and not any(pod.role == naming.LAUNCHER for pod in pods):
        return f"{suspended} is suspended"
    last = [line for line in lines if " Warning " in line and f" {_NOTHING} " not in line][-1:]
    if last:
        return last[0].partition(" Warning ")[2]
    unready = [pod.metadata.name for pod in pods if not pod.is_ready and not pod.is_over]
    if unready:
        return f"not ready: {', '.join(unready)}"
    if pods:
        return (
            f"its {count(len(pods), 'pod is', 'pods are')} ready, and the one that starts the program is "
            "not made"
        )
    if any(f" {TAKEN_UP} " in line for line in lines):
        return "the MPI Operator has taken it up, and made no pods yet"
    return "nothing made its pods; is the MPI Operator running, and does it watch this namespace?"


def _suspended_job(events: Iterable[str]) -> str:
    """Return the Job that its controller suspended last and has not resumed; empty if there is none."""
    found = [match for line in events if (match := _SUSPENDED.search(line))]
    return f"Job {found[-1]['name']}" if found and found[-1]["reason"] == "Suspended" else ""


def overdue(phase: TaskPhase, after_s: float, why: str) -> tuple[Exit, str]:
    """Return the exit of a task that was too long in a phase, and a reason if it is not to be tried again."""
    reason = f"waited {after_s:g} s for {phase.value}: {why}"
    match phase:
        case TaskPhase.PULLING | TaskPhase.STARTING:
            return Exit(fault=reason), ""
        case TaskPhase.RUNNING:
            return Exit(is_timeout=True, elapsed_s=after_s), ""
        case _:
            return Exit(), reason


def disruption(pod: SeenPod) -> str:
    """Return how the cluster ended a pod; empty if it did not."""
    target = pod.status.condition("DisruptionTarget")
    where = f"pod {pod.metadata.name} on {pod.spec.node_name or 'no node'}"
    if own_limit(pod):
        return ""
    if pod.status.reason in _EVICTIONS:  # before the condition, which has less detail
        return f"{where}: {_sentence(pod.status.reason, pod.status.message)}"
    if target is not None and target.status == "True":
        return f"{where}: {_sentence(target.reason, target.message)}"
    if pod.status.reason in _REJECTIONS or pod.status.reason.startswith("OutOf"):
        return f"{where} was not taken by its kubelet: {_sentence(pod.status.reason, pod.status.message)}"
    if pod.status.phase == "Unknown":
        return f"{where}: its node does not answer"
    return ""


def never_began(pod: SeenPod) -> str:
    """Return why a pod is over though its program's container never began; empty for all other pods.

    Kubelets reject pods, and clusters add init containers, which may fail: no program is to blame.
    """
    if not pod.is_over or pod.has_begun or pod.status.phase != "Failed":
        return ""
    if taken := disruption(pod):
        return taken
    where = f"pod {pod.metadata.name} on {pod.spec.node_name or 'no node'}"
    if pod.failed_init is None:
        why = _sentence(pod.status.reason or "no reason", pod.status.message)
        return f"{where} ended before its program began: {why}"
    name, ended = pod.failed_init
    what = f"init container {name} ended with exit code {ended.exit_code} ({ended.reason or 'no reason'})"
    line = _last_line(ended.message)
    return f"{where}: {what}, and its program did not begin" + (f": {line}" if line else "")


def ended_from_outside(pods: Iterable[SeenPod], failure: Condition | None) -> str:
    """Return how a pod was ended while its program ran; empty if it was not.

    The program gets a SIGTERM then, as if it had failed. `failure` is why the pod's job failed.
    """
    for pod in pods:
        if pod.role not in {naming.LAUNCHER, naming.CLIENT}:
            continue
        if pod.status.reason == _DEADLINE:
            return f"pod {pod.metadata.name}: {_sentence(_DEADLINE, pod.status.message)}"
        if pod.metadata.deletion_timestamp:
            why = f": {_sentence(failure.reason, failure.message)}" if failure is not None else ""
            return f"pod {pod.metadata.name} was deleted while its program ran, and not by Tare{why}"
    return ""


def own_limit(pod: SeenPod) -> str:
    """Return the pod's own limit for which it was evicted; empty if that was not the reason."""
    if pod.status.reason != "Evicted" or not _OWN_LIMIT.search(pod.status.message):
        return ""
    return f"pod {pod.metadata.name} was evicted for what it wrote: {' '.join(pod.status.message.split())}"


def is_kept_off(pod: SeenPod) -> bool:
    """Return whether nodes that are cordoned, or unwell, keep a pod from being placed."""
    return pod.unscheduled is not None and _TAKEN_AWAY.search(pod.unscheduled.message) is not None


def is_pull(pod: SeenPod) -> bool:
    """Return whether a pod waits for an image that cannot be pulled."""
    return pod.state.waiting is not None and pod.state.waiting.reason in _PULLS


def ended_badly(pod: SeenPod) -> str:
    """Return how a pod's container ended before it should have; empty if it did not end."""
    state = pod.state.terminated
    if evicted := own_limit(pod):
        return evicted
    if state is None:
        return ""
    if state.reason == OOM_KILLED:
        limit = f"the container's limit is {pod.memory_limit}" if pod.memory_limit else "it has no limit"
        return f"pod {pod.metadata.name} took more memory than it may ({OOM_KILLED}): {limit}"
    ended = "was deleted, and ended" if pod.metadata.deletion_timestamp else "ended"
    what = f"pod {pod.metadata.name} {ended} with exit code {state.exit_code} ({state.reason or 'no reason'})"
    is_reason = pod.role == naming.WORKER or state.reason in _NOT_STARTED  # others leave their record there
    line = _last_line(state.message) if is_reason else ""
    return f"{what}: {line}" if line else what


def _last_line(message: str) -> str:
    """Return the last line that a container printed, with '?' for unprintable characters."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return printable(lines[-1][:_MOST_SHOWN]) if lines else ""


def printable(text: str) -> str:
    """Return `text` with ``?`` for each character that cannot be printed."""
    return "".join(one if one.isprintable() else "?" for one in text)


def _sentence(reason: str, message: str) -> str:
    return f"{reason}: {' '.join(message.split())}" if message else reason
