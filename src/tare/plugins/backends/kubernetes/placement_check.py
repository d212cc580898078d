"""Check that a run was as requested: on which nodes and CPUs its ranks really ran. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from tare.core.case import Layout
from tare.core.cpu_lists import parse_cpus
from tare.core.scheduler import NodeFiles, Task
from tare.core.units import whole_number
from tare.plugins.backends.kubernetes.options import options_of

RANKS, NODE = "ranks", "node"
"""The records of probe.sh that are not named by a path."""
_STAT = ("/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/cpu/cpu.stat")
_THROTTLED = {"throttled_usec": 1e6, "throttled_time": 1e9}  # version 1 counts nanoseconds
_MAX = "/sys/fs/cgroup/cpu.max"
_QUOTA, _PERIOD = "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"
_SETS = ("/sys/fs/cgroup/cpuset.cpus.effective", "/sys/fs/cgroup/cpuset/cpuset.cpus")
_MOST_THROTTLED = 0.01  # of a run's time, on any node; start and end of a run may reach the limit


def untruths(
    task: Task, before: NodeFiles, after: NodeFiles, pods: Mapping[str, str], elapsed_s: float
) -> Iterator[str]:
    """Yield the reasons why a run that succeeded must not count.

    `before` and `after` are the files of its pods by node. `pods` are the nodes by pod, as the cluster
    reports them.
    """
    options = options_of(task.platform)
    if options is None or not before:
        return
    told = {node for node in pods.values() if node}
    if told and set(before) != told:
        yield f"pods say that they are on {_listed(before)}, and the cluster that they are on {_listed(told)}"
    n_nodes = len(set(after))
    if n_nodes < task.layout.nodes and not options.shares_nodes:
        yield f"{task.layout.nodes} nodes were asked for, and ranks had {n_nodes}"
    yield from _wrong_ranks(task, after)
    for node in sorted(before):
        yield from _wrong_cpus(task, node, before[node])
        share = throttled_share(before[node], after.get(node, {}), elapsed_s)
        if share is not None and share > _MOST_THROTTLED:
            yield f"ranks on {node} were throttled for {share:.0%} of the time: their CPU limit cut in"


def throttled_share(before: Mapping[str, str], after: Mapping[str, str], elapsed_s: float) -> float | None:
    """Return the share of the time in which a control group was throttled (cgroups(7)); None if unknown."""
    times = [_throttled_s(files) for files in (before, after)]
    if times[0] is None or times[1] is None or elapsed_s <= 0:
        return None
    return (times[1] - times[0]) / elapsed_s


def cpu_limit(files: Mapping[str, str]) -> float | None:
    """Return how many CPUs a control group may use; None if it has no limit, or the limit is unknown.

    A kubelet with the CPU manager's policy ``static`` gives a pod exclusive CPUs and may remove the quota.
    Then the size of the set of CPUs counts.
    """
    quota, _, period = files.get(_MAX, "").strip().partition(" ")
    if not quota and _QUOTA in files:
        quota, period = files[_QUOTA].strip(), files.get(_PERIOD, "100000").strip()
    limits = []
    share, whole = whole_number(quota), whole_number(period)
    if share is not None and whole:
        limits.append(share / whole)
    n_cpus = next((len(parse_cpus(files[name])) for name in _SETS if files.get(name, "").strip()), None)
    if n_cpus and not limits:
        limits.append(float(n_cpus))
    return min(limits, default=None)


def _wrong_ranks(task: Task, after: NodeFiles) -> Iterator[str]:
    steps = [step for step in task.steps if step.is_mpi]
    if len(steps) != 1:  # the ranks of one step would hide those of another step with fewer
        return
    found = Counter({node: len(_lines(files)) for node, files in after.items()})
    layout = task.layout
    if found.total() != layout.ranks:
        yield (
            f"{layout.ranks} ranks were asked for, and {found.total()} ran in the pods meant for them: "
            "the launcher started others elsewhere"
        )
    elif layout.nodes > 1 and sorted(found.values()) != sorted(_expected(layout)):
        shown = ", ".join(f"{count} on {node}" for node, count in sorted(found.items()))
        yield f"ranks ran {shown}; asked for were {layout.ranks_per_node} on each node"


def _expected(layout: Layout) -> Iterator[int]:
    left = layout.ranks
    for _ in range(layout.nodes):
        yield min(layout.ranks_per_node, max(left, 0))
        left -= layout.ranks_per_node


def _wrong_cpus(task: Task, node: str, files: Mapping[str, str]) -> Iterator[str]:
    options = options_of(task.platform)
    if options is None:
        return
    asked = options.cpus or task.layout.ranks_per_node * task.layout.threads
    limit = cpu_limit(files)
    if limit is not None and limit < asked - 0.01:
        yield f"{asked} CPUs were asked for on {node}, and its control group allows {limit:g}"


def _lines(files: Mapping[str, str]) -> list[str]:
    return [line for line in files.get(RANKS, "").splitlines() if line.strip()]


def _throttled_s(files: Mapping[str, str]) -> float | None:
    for name in _STAT:
        for line in files.get(name, "").splitlines():
            key, _, value = line.partition(" ")
            if key in _THROTTLED and (count := whole_number(value)) is not None:
                return count / _THROTTLED[key]
    return None


def _listed(nodes: object) -> str:
    return ", ".join(sorted(str(one) for one in nodes)) if isinstance(nodes, (set, dict)) else str(nodes)
