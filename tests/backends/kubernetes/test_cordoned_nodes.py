"""Nodes that are cordoned or unwell: a passing fault only where they are nodes that the run asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
import pytest

from backends.kubernetes.conftest import Clock, Happenings, seen, wait_for, wait_until
from backends.kubernetes.simulated_api import Doc, SimulatedApiServer
from backends.kubernetes.situations import Situation
from backends.kubernetes.test_scheduler_faults import unscheduled
from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.diagnosis.node_selection import selects
from tare.plugins.backends.kubernetes.objects.observed import SeenPodSpec
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler

Make = Callable[..., Task]
_CORDONED = {"unschedulable": True, "taints": []}
_UNREACHABLE = {"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]}
_WAITS = "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
_MESSAGES = {
    "cordoned": _WAITS + "1 node(s) were unschedulable.",
    "unreachable": _WAITS + "1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }.",
}


def node(api: SimulatedApiServer, name: str, labels: Mapping[str, str], spec: Doc | None = None) -> None:
    meta = {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}}
    api.apply("nodes", {"metadata": meta, "spec": spec or {}})


@pytest.mark.parametrize(("why", "spec"), [("cordoned", _CORDONED), ("unreachable", _UNREACHABLE)])
@pytest.mark.parametrize(
    ("options", "labels", "is_passing"),
    [
        ({"node_selector": {"rack": "7"}}, {"rack": "7"}, True),
        ({"node_selector": {"rack": "seven"}}, {"rack": "7"}, False),
        ({"nodes": ("w2",)}, {}, True),
        ({"nodes": ("w3",)}, {}, False),
    ],
)
def test_a_node_that_is_taken_away_is_to_blame_only_if_the_run_asks_for_it(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, situation: Situation,
    task: Make, clock: Clock, why: str, spec: Doc, options: Doc, labels: Doc, is_passing: bool,
) -> None:  # fmt: skip
    node(api, "w1", {})
    node(api, "w2", labels, spec)
    one = task(of=situation.with_options(**options))
    scheduler.submit([one])
    happen.workers(**unscheduled(_MESSAGES[why]))
    wait_until(
        scheduler, lambda: len(seen(scheduler, one).pods) == 2 and scheduler._informer.nodes._taken_away
    )
    clock.ahead += 601
    (result,) = wait_for(scheduler)
    assert _MESSAGES[why] in (result.exit.fault or result.reason)
    assert (result.exit.fault is not None) == is_passing
    wrong = "no node that is cordoned or unwell matches its node selector or affinity"
    assert (wrong in result.reason) != is_passing


def test_without_the_right_to_see_nodes_the_run_is_tried_again(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, situation: Situation,
    task: Make, clock: Clock,
) -> None:  # fmt: skip
    api.refusals["GET /api/v1/nodes"] = (403, 'nodes is forbidden: User "u" cannot list resource "nodes"')
    one = task(of=situation.with_options(node_selector={"rack": "seven"}))
    scheduler.submit([one])
    happen.workers(**unscheduled(_MESSAGES["cordoned"]))
    wait_until(scheduler, lambda: len(seen(scheduler, one).pods) == 2)
    clock.ahead += 601
    (result,) = wait_for(scheduler)
    assert result.exit.fault is not None


def test_a_node_that_is_given_back_is_no_longer_to_blame(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, situation: Situation,
    task: Make, clock: Clock,
) -> None:  # fmt: skip
    node(api, "w1", {"rack": "7"}, _CORDONED)
    node(api, "w2", {}, _CORDONED)
    one = task(of=situation.with_options(node_selector={"rack": "7"}))
    scheduler.submit([one])
    happen.workers(**unscheduled(_MESSAGES["cordoned"]))
    wait_until(
        scheduler,
        lambda: len(seen(scheduler, one).pods) == 2 and len(scheduler._informer.nodes._taken_away) == 2,
    )
    api.remove("nodes", "w1")
    wait_until(scheduler, lambda: len(scheduler._informer.nodes._taken_away) == 1)
    clock.ahead += 601
    (result,) = wait_for(scheduler)
    assert result.exit.fault is None


def affinity(*terms: object) -> SeenPodSpec:
    required = {"nodeSelectorTerms": list(terms)}
    content: Doc = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return SeenPodSpec(affinity=msgspec.Raw(msgspec.json.encode(content)))


def expressions(*conditions: object) -> Doc:
    return {"matchExpressions": list(conditions)}


_RACK_7 = {"key": "rack", "operator": "In", "values": ["7"]}
_NO_GPU = {"key": "gpu", "operator": "DoesNotExist"}


@pytest.mark.parametrize(
    ("pod", "is_selected"),
    [
        (SeenPodSpec(), True),
        (affinity(expressions(_RACK_7, _NO_GPU)), True),
        (affinity(expressions({**_RACK_7, "operator": "NotIn"})), False),
        (affinity(expressions({**_RACK_7, "operator": "NotIn"}), expressions(_NO_GPU)), True),
        (affinity(expressions({"key": "cores", "operator": "Gt", "values": ["9"]})), True),
        (affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["w"]}]}), True),
        (affinity(), False),
        (SeenPodSpec(affinity=msgspec.Raw(b'{"nodeAffinity": null, "podAffinity": {"x": 1}}')), True),
        (SeenPodSpec(affinity=msgspec.Raw(b'{"nodeAffinity": 7}')), True),
    ],
)
def test_nodes_are_selected_as_the_scheduler_selects_them(pod: SeenPodSpec, is_selected: bool) -> None:
    assert selects(pod, {"rack": "7"}) == is_selected
