"""Check that a run was as requested: on which nodes and CPUs its ranks really ran. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from tare.core.case import Layout
from tare.core.counting import count
from tare.core.scheduler import NodeFiles, Task
from tare.plugins.backends.kubernetes.diagnosis.control_groups import cpu_limit, throttled_share
from tare.plugins.backends.kubernetes.options import options_of

RANKS, NODE = "ranks", "node"
"""The records of probe.sh that are not named by a path."""
_MOST_THROTTLED = 0.01  # of a run's time, on any node; start and end of a run may reach the limit


def violations(
    task: Task, before: NodeFiles, after: NodeFiles, pods: Mapping[str, str], elapsed_s: float
) -> Iterator[str]:
    """Yield the reasons why a run that succeeded must not count.

    `before` and `after` are the files of its pods by node. `pods` are the nodes by pod, as the cluster
    reports them.
    """
    if not before:
        return
    placed = {node for node in pods.values() if node}
    if placed and set(before) != placed:
        found, expected = _listed(before), _listed(placed)
        yield f"pods report that they are on {found}, and the cluster that they are on {expected}"
    n_nodes = len(set(after))
    if n_nodes < task.layout.nodes and not options_of(task.platform).shares_nodes:
        yield f"{count(task.layout.nodes, 'node was', 'nodes were')} asked for, and ranks had {n_nodes}"
    yield from _wrong_ranks(task, after)
    for node in sorted(before):
        yield from _wrong_cpus(task, node, before[node])
        share = throttled_share(before[node], after.get(node, {}), elapsed_s)
        if share is not None and share > _MOST_THROTTLED:
            yield (
                f"ranks on {node} were throttled for {share:.0%} of the time: their CPU limit cut in; give "
                "pods more CPUs than their programs have threads, by 'cpus' of the platform"
            )


def _wrong_ranks(task: Task, after: NodeFiles) -> Iterator[str]:
    steps = [step for step in task.steps if step.is_mpi]
    if len(steps) != 1:  # the ranks of one step would hide those of another step with fewer
        return
    found = Counter({node: len(_lines(files)) for node, files in after.items()})
    layout = task.layout
    if found.total() != layout.ranks:
        yield (
            f"{count(layout.ranks, 'rank was', 'ranks were')} asked for, and {found.total()} ran in the "
            "pods meant for them: "
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
    asked = options_of(task.platform).cpus or task.layout.ranks_per_node * task.layout.threads
    limit = cpu_limit(files)
    if limit is not None and limit < asked - 0.01:
        yield f"{asked} CPUs were asked for on {node}, and its control group allows {limit:g}"


def _lines(files: Mapping[str, str]) -> list[str]:
    return [line for line in files.get(RANKS, "").splitlines() if line.strip()]


def _listed(nodes: Iterable[str]) -> str:
    return ", ".join(sorted(nodes))
