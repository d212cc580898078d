"""Objects of others that carry the labels of a run, as a copy of its manifest does."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from backends.kubernetes.conftest import READY, Clock, Happenings, begin, over, record, wait_for
from backends.kubernetes.sent_results import packed
from backends.kubernetes.simulated_api import Doc, SimulatedApiServer
from backends.kubernetes.situations import Situation
from backends.kubernetes.test_lost_nodes import SILENT, node, stands
from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.api.cluster import Cluster
from tare.plugins.backends.kubernetes.scheduling.leftovers import leftovers, remove
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler

Make = Callable[..., Task]
_PART = "tare-ca-ab12-1-1"


def copied(api: SimulatedApiServer, plural: str, name: str, new: str) -> Doc:
    """Let somebody create an object by the manifest of another one, which has another name."""
    document: Doc = copy.deepcopy(api.objects[plural, name])
    for own in ("uid", "resourceVersion", "ownerReferences"):
        document["metadata"].pop(own, None)
    document["metadata"]["name"] = new
    api.apply(plural, document)
    return document


@pytest.fixture
def copies(scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make) -> Task:
    """Begin a task, and let somebody copy all its objects; return the task."""
    one = task()
    launcher = begin(scheduler, happen, one)
    job = copied(api, "mpijobs", _PART, "mine")
    api.pod("mine-worker-0", job, job["spec"]["mpiReplicaSpecs"]["Worker"]["template"], node="w9", **READY)
    copied(api, "pods", launcher, f"{_PART}-debug")
    (config,) = api.names("configmaps")
    copied(api, "configmaps", config, "my-scripts")
    return one


def left(api: SimulatedApiServer) -> list[str]:
    return [name for kind in ("mpijobs", "pods", "configmaps") for name in api.names(kind)]


_COPIES = ["mine", "mine-worker-0", f"{_PART}-debug", "my-scripts"]


def test_a_copy_of_a_launcher_is_not_the_one_whose_results_count(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    one = task()
    launcher = begin(scheduler, happen, one)
    for name in ("a-copy", f"{_PART}-a-copy"):
        document = copied(api, "pods", launcher, name)
        api.logs[name] = packed(record() | {"stdout": "value: 9.0\n"})
        api.apply("pods", {**document, "status": over(0)})
    happen.succeed()
    (result,) = wait_for(scheduler)
    assert result.problems == ()
    assert (one.folder / "stdout").read_text() == "value: 1.0\n"


@pytest.mark.usefixtures("copies")
def test_what_somebody_copied_from_a_run_stays_when_the_run_has_ended(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer
) -> None:
    happen.succeed(job=api.objects["mpijobs", _PART])
    wait_for(scheduler)
    scheduler.close()
    assert left(api) == _COPIES


def test_what_somebody_copied_from_a_run_stays_when_the_run_is_cancelled(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, copies: Task
) -> None:
    scheduler.cancel([copies.name])
    assert [name for name in left(api) if not name.startswith("tare-") or "debug" in name] == _COPIES
    assert _PART not in api.names("mpijobs")


@pytest.mark.usefixtures("copies")
def test_what_somebody_copied_from_a_run_stays_when_its_node_is_lost(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, copies: Task, clock: Clock
) -> None:
    copied(api, "pods", f"{_PART}-worker-1", "on-the-lost-node")
    api.apply("nodes", node("w2", "Unknown", **SILENT))
    stands(scheduler, clock, copies, 6)
    (result,) = wait_for(scheduler)
    assert result.exit.fault is not None
    scheduler.close()
    assert sorted(left(api)) == sorted([*_COPIES, "on-the-lost-node"])


@pytest.mark.usefixtures("copies")
def test_what_somebody_copied_from_a_dead_campaign_is_neither_listed_nor_deleted(
    api: SimulatedApiServer, situation: Situation
) -> None:
    cluster = Cluster.connect(situation.options)
    (one,) = leftovers(cluster)
    assert not [name for name in _COPIES if f"/{name}" in one.what]
    assert one.end()
    cluster.close()
    assert left(api) == _COPIES


@pytest.mark.usefixtures("copies")
def test_what_a_campaign_makes_after_it_was_judged_dead_stays(
    api: SimulatedApiServer, situation: Situation
) -> None:
    cluster = Cluster.connect(situation.options)
    (one,) = leftovers(cluster)
    document = copied(api, "mpijobs", _PART, f"{_PART[:-3]}2-1")
    document["metadata"]["labels"]["tare/task"] = f"{_PART[:-3]}2-1"
    assert one.end()
    assert f"{_PART[:-3]}2-1" in api.names("mpijobs")
    remove(cluster, "ca")
    cluster.close()
    assert api.names("mpijobs") == ["mine"]


@pytest.mark.usefixtures("copies")
def test_an_object_that_took_the_place_of_one_of_tares_meanwhile_stays(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, situation: Situation
) -> None:
    cluster = Cluster.connect(situation.options)
    (one,) = leftovers(cluster)
    document = copy.deepcopy(api.objects["mpijobs", _PART])
    api.remove("mpijobs", _PART)
    api.apply("mpijobs", {**document, "metadata": {**document["metadata"], "uid": "of-another"}})
    assert one.end()
    cluster.close()
    assert api.names("mpijobs") == ["mine", _PART]


def test_a_copy_alone_is_no_run_to_go_on_with(
    make_scheduler: Callable[[], KubernetesScheduler], happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    one = task()
    first = make_scheduler()
    launcher = begin(first, happen, one)
    copied(api, "pods", launcher, "my-copy")
    first.cancel([one.name])
    first.abandon_watches()
    assert make_scheduler().adopt([one]) == []
    assert api.names("pods") == ["my-copy"]
