"""Pods of others that carry the labels of a run, as a copy of its manifest does."""

from __future__ import annotations

from collections.abc import Callable

from backends.kubernetes.conftest import Happenings, over, record, wait_for
from backends.kubernetes.sent_results import packed
from backends.kubernetes.simulated_api import SimulatedApiServer
from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler


def test_a_copy_of_a_launcher_is_not_the_one_whose_results_count(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Callable[..., Task]
) -> None:
    one = task()
    scheduler.submit([one])
    labels = happen.job()["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["metadata"]["labels"]
    meta = {"name": "a-copy", "namespace": "bench", "labels": labels}
    api.logs["a-copy"] = packed(record() | {"stdout": "value: 9.0\n"})
    api.apply("pods", {"metadata": meta, "spec": {"nodeName": "w3"}, "status": over(0)})
    happen.succeed()
    (result,) = wait_for(scheduler)
    assert result.problems == ()
    assert (one.folder / "stdout").read_text() == "value: 1.0\n"
