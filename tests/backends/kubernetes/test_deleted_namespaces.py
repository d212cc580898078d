"""A namespace that is deleted while runs are in it: reported as that, and no program's fault."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from backends.kubernetes.conftest import (
    Clock,
    Happenings,
    Tell,
    begin,
    forbidden,
    over,
    record,
    seen,
    wait_for,
    wait_until,
)
from backends.kubernetes.sent_results import packed
from backends.kubernetes.simulated_api import SimulatedApiServer
from tare.core.errors import BackendError
from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler

Make = Callable[..., Task]
_ENDING = (
    'configmaps "x" is forbidden: unable to create new content in namespace bench because it is being '
    "terminated"
)
_GONE = 'namespaces "bench" not found'
_NO_RIGHT = (
    'configmaps is forbidden: User "u" cannot create resource "configmaps" in API group "" in the namespace'
)
_ENDS = {_ENDING: 403, _GONE: 404, _NO_RIGHT: 403}


def end_namespace(api: SimulatedApiServer, message: str = _ENDING) -> None:
    """Let the namespace refuse what is new, and let all that is in it be deleted."""
    api.refusals["^POST "] = (_ENDS[message], message)
    for plural in ("mpijobs", "pods", "configmaps"):
        for name in api.names(plural):
            api.remove(plural, name)


@pytest.mark.parametrize("message", _ENDS)
def test_runs_in_a_namespace_that_is_deleted_fail_with_its_end_and_not_by_themselves(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock,
    message: str,
) -> None:  # fmt: skip
    one = task()
    begin(scheduler, happen, one)
    end_namespace(api, message)
    wait_until(scheduler, lambda: seen(scheduler, one).gone_since is not None)
    clock.ahead += 11
    (result,) = wait_for(scheduler)
    assert result.exit.fault is not None
    assert message in result.exit.fault
    assert result.reason == ""


def test_a_launcher_that_is_killed_with_its_namespace_is_no_program_that_failed(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    one = task()
    launcher = begin(scheduler, happen, one)
    api.refusals["^POST "] = (403, _ENDING)
    for name in api.names("pods"):
        pod = api.objects["pods", name]
        api.apply(
            "pods", {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
        )
    api.logs[launcher] = packed(record(code=143))
    happen.launcher(**over(143))
    (result,) = wait_for(scheduler)
    assert result.exit.fault is not None
    assert "being terminated" in result.exit.fault


def test_what_is_submitted_into_a_namespace_that_ends_is_refused_with_the_cure(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, task: Make
) -> None:
    api.refusals["^POST "] = (403, _ENDING)
    with pytest.raises(
        BackendError, match=r"being terminated; make namespace bench again, with the rights in it"
    ):
        scheduler.submit([task()])


def test_workers_that_a_namespace_that_ends_refuses_do_not_settle_the_run(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, tell: Tell,
    clock: Clock,
) -> None:  # fmt: skip
    one = task()
    scheduler.submit([one])
    wait_until(scheduler, lambda: "GET /api/v1/namespaces/bench/events?watch" in api.requests)
    tell("MPIJobFailed", forbidden(_ENDING.partition("forbidden: ")[2]))
    wait_until(scheduler, lambda: seen(scheduler, one).events)
    clock.ahead += 20
    assert scheduler.wait() == []
    end_namespace(api)
    wait_until(scheduler, lambda: seen(scheduler, one).gone_since is not None)
    clock.ahead += 11
    (result,) = wait_for(scheduler)
    assert result.exit.fault is not None


def test_after_a_namespace_was_made_again_its_runs_get_all_their_objects(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    one = task("1.1")
    begin(scheduler, happen, one)
    configs = api.names("configmaps")
    end_namespace(api)
    wait_until(scheduler, lambda: seen(scheduler, one).gone_since is not None)
    clock.ahead += 11
    wait_for(scheduler)
    api.refusals.clear()
    scheduler.submit([task("1.2")])
    assert api.names("configmaps") == configs
    happen.succeed()
    (result,) = wait_for(scheduler)
    assert result.exit.code == 0


def test_rights_that_vanish_in_mid_run_end_the_session_with_a_possible_cause(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    one = task()
    begin(scheduler, happen, one)
    message = (
        'pods is forbidden: User "u" cannot list resource "pods" in API group "" in the namespace "bench"'
    )
    api.refusals["(GET|DELETE) .*/(pods|mpijobs)"] = (403, message)
    api.forget()
    with pytest.raises(BackendError, match="was namespace bench, or a RoleBinding in it, deleted"):
        wait_for(scheduler)
    scheduler.cancel([one.name])  # as the session does; a refusal of this would hide the cause
