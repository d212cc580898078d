"""Two meanings of status 409: an object that is there already, and one that others changed meanwhile."""

from __future__ import annotations

from collections.abc import Callable

from backends.kubernetes.simulated_api import SimulatedApiServer
from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler

BUSY = (
    'Operation cannot be fulfilled on resourcequotas "q": the object has been modified; '
    "please apply your changes to the latest version and try again"
)


def test_a_job_that_a_busy_quota_could_not_count_is_created_after_all(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, task: Callable[..., Task]
) -> None:
    """Nothing was created then, and nobody would ever create the pods that are waited for."""
    reports: list[str] = []

    def take(reason: str) -> None:
        reports.append(reason)
        api.refusals.clear()

    scheduler.report_waits(lambda names, reason: take(reason))
    api.refusals["POST .*/mpijobs"] = 409, BUSY
    scheduler.submit([task()])
    assert api.names("mpijobs") == ["tare-ca-ab12-1-1"]
    assert "the object has been modified" in reports[0]


def test_a_job_whose_answer_was_lost_is_not_created_twice(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, task: Callable[..., Task]
) -> None:
    api.loses_answers = True
    scheduler.report_waits(lambda names, reason: setattr(api, "loses_answers", False))
    scheduler.submit([task()])
    assert api.names("mpijobs") == ["tare-ca-ab12-1-1"]
