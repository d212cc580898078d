"""Read the counters of pods' control groups: memory kills, refused processes, CPU limits. Pure.

The files are those that probe.sh prints, by node (Linux, cgroup-v2.rst; for version 1 cgroup-v1/memory.rst,
cgroup-v1/pids.rst and sched-bwc.rst).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tare.core.cpu_lists import parse_cpus
from tare.core.scheduler import NodeFiles
from tare.core.units import whole_number
from tare.plugins.backends.kubernetes.diagnosis import phases
from tare.plugins.backends.kubernetes.objects import naming
from tare.plugins.backends.kubernetes.objects.observed import SeenPod

_KILLS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")  # the latter since 4.13
_REFUSALS = ("/sys/fs/cgroup/pids.events", "/sys/fs/cgroup/pids/pids.events")
_MOST_PROCESSES = ("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max")
_STAT = ("/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/cpu/cpu.stat")
_THROTTLED = {"throttled_usec": 1e6, "throttled_time": 1e9}  # version 1 counts nanoseconds
_MAX = "/sys/fs/cgroup/cpu.max"
_QUOTA, _PERIOD = "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"
_SETS = ("/sys/fs/cgroup/cpuset.cpus.effective", "/sys/fs/cgroup/cpuset/cpuset.cpus")


def why_killed(before: NodeFiles, after: NodeFiles, pods: Sequence[SeenPod]) -> str:
    """Return a message about a pod that exceeded its memory limit or had processes killed; empty if none.

    `before` and `after` are the files of its pods by node.
    """
    for pod in pods:
        state = pod.state.terminated
        if state is not None and state.reason == phases.OOM_KILLED:
            return phases.ended_badly(pod)
    for node, killed in _increases(before, after, _KILLS, "oom_kill").items():
        there = [pod for pod in pods if pod.spec.node_name == node]
        there.sort(key=lambda pod: pod.role == naming.LAUNCHER)  # beside a worker, it runs no program
        limit = there[0].memory_limit if there else ""
        whose = f"the container's limit is {limit}" if limit else "the container has no limit of its own"
        what = "a process" if killed == 1 else f"{killed} processes"
        return (
            f"the kernel killed {what} of the pod on {node} for memory, and not its container: {whose} "
            "(oom_kill of its control group)"
        )
    return ""


def why_refused(before: NodeFiles, after: NodeFiles) -> str:
    """Return a message about a pod that reached its limit of processes; empty if none is known to have.

    A kubelet's podPidsLimit holds for a pod (OpenShift's is 4096), CRI-O's pids_limit for a container (1024
    before 1.24). `before` and `after` are the files of its pods by node. A container may not be able to read
    the counter of its pod.
    """
    for node, refused in _increases(before, after, _REFUSALS, "max").items():
        limits = (whole_number(after[node].get(path, "").strip()) for path in _MOST_PROCESSES)
        limit = next((one for one in limits if one is not None), None)
        times = "once" if refused == 1 else f"{refused} times"
        most = f"the container may have {limit}"
        if limit is None:
            most = "the limit is the pod's, not the container's"
        return (
            f"the kernel refused processes or threads to the pod on {node} {times}: {most} (pids.max of its "
            "control group; cure: raise podPidsLimit of the kubelet or pids_limit of CRI-O, or start fewer)"
        )
    return ""


def throttled_share(before: Mapping[str, str], after: Mapping[str, str], elapsed_s: float) -> float | None:
    """Return the share of the time in which a control group was throttled (cgroups(7)); None if unknown."""
    first, last = _throttled_s(before), _throttled_s(after)
    return None if first is None or last is None or elapsed_s <= 0 else (last - first) / elapsed_s


def cpu_limit(files: Mapping[str, str]) -> float | None:
    """Return how many CPUs a control group may use; None if it has no limit, or the limit is unknown.

    A kubelet with the CPU manager's policy ``static`` gives a pod exclusive CPUs and may remove the quota.
    Then the size of the set of CPUs counts.
    """
    quota, _, period = files.get(_MAX, "").strip().partition(" ")
    if not quota and _QUOTA in files:
        quota, period = files[_QUOTA].strip(), files.get(_PERIOD, "100000").strip()
    share, whole = whole_number(quota), whole_number(period)
    if share is not None and whole:
        return share / whole
    n_cpus = next((len(parse_cpus(files[name])) for name in _SETS if files.get(name, "").strip()), 0)
    return float(n_cpus) or None


def _throttled_s(files: Mapping[str, str]) -> float | None:
    counts = ((_counter(files, _STAT, key), per_s) for key, per_s in _THROTTLED.items())
    return next((count / per_s for count, per_s in counts if count is not None), None)


def _increases(before: NodeFiles, after: NodeFiles, paths: Sequence[str], key: str) -> dict[str, int]:
    """Return by how much a counter rose on each node where it did, in the order of the nodes' names."""
    found = {}
    for node in sorted(after):
        first = _counter(before.get(node, {}), paths, key) or 0
        found[node] = (_counter(after[node], paths, key) or 0) - first
    return {node: increase for node, increase in found.items() if increase > 0}


def _counter(files: Mapping[str, str], paths: Sequence[str], key: str) -> int | None:
    """Return the number after `key` in the first of the files that has such a line; None if none has."""
    for path in paths:
        for line in files.get(path, "").splitlines():
            name, _, value = line.partition(" ")
            if name == key:
                return whole_number(value)
    return None
