"""Find processes that the kernel killed for memory, by cgroup counters; their container went on. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tare.core.scheduler import NodeFiles
from tare.core.units import whole_number
from tare.plugins.backends.kubernetes import naming, phases
from tare.plugins.backends.kubernetes.observed import SeenPod

_COUNTERS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
"""Files with a line ``oom_kill N`` (Linux, cgroup-v2.rst and cgroup-v1/memory.rst; the latter since 4.13)."""


def why_killed(before: NodeFiles, after: NodeFiles, pods: Sequence[SeenPod]) -> str:
    """Return a message about a pod that exceeded its memory limit or had processes killed; empty if none.

    `before` and `after` are the files of its pods by node.
    """
    for pod in pods:
        state = pod.state.terminated
        if state is not None and state.reason == phases.OOM_KILLED:
            return phases.ended_badly(pod)
    for node in sorted(after):
        killed = _kills(after[node]) - _kills(before.get(node, {}))
        if killed > 0:
            there = [pod for pod in pods if pod.spec.node_name == node]
            there.sort(key=lambda pod: pod.role == naming.LAUNCHER)  # beside a worker, it runs no program
            return _sentence(node, killed, there[0] if there else None)
    return ""


def _sentence(node: str, killed: int, pod: SeenPod | None) -> str:
    limit = pod.memory_limit if pod else ""
    whose = f"the container's limit is {limit}" if limit else "the container has no limit of its own"
    what = "a process" if killed == 1 else f"{killed} processes"
    return (
        f"the kernel killed {what} of the pod on {node} for memory, and not its container: {whose} "
        "(oom_kill of its control group)"
    )


def _kills(files: Mapping[str, str]) -> int:
    for name in _COUNTERS:
        for line in files.get(name, "").splitlines():
            key, _, value = line.partition(" ")
            if key == "oom_kill":
                return whole_number(value) or 0
    return 0
