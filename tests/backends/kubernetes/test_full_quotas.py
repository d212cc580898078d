"""What a full quota keeps out waits until others have left; what no quota will ever take ends at once."""

from __future__ import annotations

import pytest

from backends.kubernetes.conftest import Clock, Happenings, Make, Tell, forbidden, seen, wait_for, wait_until
from backends.kubernetes.simulated_api import SimulatedApiServer
from backends.kubernetes.situations import SITUATIONS
from tare.plugins.backends.kubernetes.diagnosis import quotas
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler


def test_a_quota_that_others_use_is_waited_for(
    scheduler: KubernetesScheduler,
    happen: Happenings,
    task: Make,
    tell: Tell,
    reports: list[str],
    clock: Clock,
) -> None:
    one = task()
    scheduler.submit([one])
    why = "exceeded quota: all, requested: limits.cpu=2, used: limits.cpu=7, limited: limits.cpu=8"
    tell("MPIJobFailed", forbidden(why))
    wait_until(scheduler, lambda: reports)
    clock.ahead += 86_400
    assert scheduler.wait() == []
    assert "queued: " in reports[0]
    assert why in reports[0]
    happen.succeed()
    (result,) = wait_for(scheduler)
    assert result.exit.code == 0


def test_a_launcher_that_a_full_quota_keeps_out_lets_its_workers_go_and_tries_again(
    scheduler: KubernetesScheduler, happen: Happenings, task: Make, tell: Tell, clock: Clock
) -> None:
    one = task()
    scheduler.submit([one])
    happen.workers()
    why = "exceeded quota: all, requested: pods=1, used: pods=9, limited: pods=9"
    text = f'Error creating: pods "x-launcher-abc" is forbidden: {why}'
    tell("FailedCreate", text, kind="Job", name="tare-ca-ab12-1-1-launcher")
    wait_until(scheduler, lambda: seen(scheduler, one).events and len(seen(scheduler, one).pods) == 2)
    clock.ahead += 301
    (result,) = wait_for(scheduler)
    assert result.exit.fault is not None
    assert why in result.exit.fault


def quota_of(api: SimulatedApiServer, name: str, hard: int, used: int) -> None:
    status = {"hard": {name: str(hard)}, "used": {name: str(used)}}
    api.apply("resourcequotas", {"metadata": {"name": "small"}, "status": status})


@pytest.mark.parametrize(
    ("name", "kind"), [("services", "Service"), ("count/configmaps", "ConfigMap"), ("secrets", "Secret")]
)
def test_what_a_full_quota_keeps_the_operator_from_making_without_a_message_is_waited_for(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, happen: Happenings, task: Make, tell: Tell,
    reports: list[str], clock: Clock, name: str, kind: str,
) -> None:  # fmt: skip
    """It tells of pods that are refused, and of nothing else."""
    one = task()
    scheduler.submit([one])
    quota_of(api, name, hard=3, used=3)
    tell("MPIJobCreated", "MPIJob bench/x is created.", of="Normal")
    wait_until(scheduler, lambda: seen(scheduler, one).events and seen(scheduler, one).seen)
    clock.ahead += 16
    wait_until(scheduler, lambda: reports)
    assert f"quota small has no room for its {kind}: {name} 3 of 3" in reports[-1]
    assert reports[-1].startswith("queued: ")
    for _ in range(3):
        clock.ahead += 3600
        assert scheduler.wait() == []
    quota_of(api, name, hard=3, used=2)
    happen.succeed()
    (result,) = wait_for(scheduler)
    assert result.exit.code == 0


def test_a_quota_that_allows_no_service_ends_at_once_with_its_message(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, task: Make, tell: Tell, clock: Clock
) -> None:
    one = task()
    scheduler.submit([one])
    quota_of(api, "services", hard=0, used=0)
    tell("MPIJobCreated", "MPIJob bench/x is created.", of="Normal")
    wait_until(scheduler, lambda: seen(scheduler, one).events and seen(scheduler, one).seen)
    clock.ahead += 16
    (result,) = wait_for(scheduler)
    assert "quota small has no room for its Service: services 0 of 0" in result.reason


def test_a_full_quota_is_not_to_blame_where_no_operator_took_the_job_up(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    one = task()
    scheduler.submit([one])
    quota_of(api, "services", hard=3, used=3)
    wait_until(scheduler, lambda: seen(scheduler, one).seen)
    clock.ahead += 601
    (result,) = wait_for(scheduler)
    assert "is the MPI Operator running" in result.reason


@pytest.mark.parametrize("name", ["pair", "pod-network"])
def test_an_object_that_a_full_quota_keeps_out_is_created_when_others_have_left(
    scheduler: KubernetesScheduler,
    api: SimulatedApiServer,
    task: Make,
    reports: list[str],
    clock: Clock,
    name: str,
) -> None:
    plural = "pods" if name == "pair" else "mpijobs"
    used = f"requested: count/{plural}=1, used: count/{plural}=3, limited: count/{plural}=3"
    api.refusals[f"POST .*/{plural}"] = (403, f'{plural} "x" is forbidden: exceeded quota: q, {used}')
    scheduler.submit([task(of=SITUATIONS[name])])
    wait_until(scheduler, lambda: reports)
    assert reports[0].startswith("queued: the API server answered 403")
    for _ in range(3):
        clock.ahead += 3600
        assert scheduler.wait() == []
    assert api.names(plural) == []
    api.refusals.clear()
    clock.ahead += 11
    wait_until(scheduler, lambda: api.names(plural))
    wait_until(scheduler, lambda: reports[-1] == "")


def test_a_quota_that_was_just_made_and_is_not_counted_yet_is_waited_for(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, task: Make, reports: list[str], clock: Clock
) -> None:
    """The API server refuses what no controller has counted yet (resourcequota/controller.go)."""
    uncounted = "status unknown for quota: new, resources: count/mpijobs.kubeflow.org"
    api.refusals["POST .*/mpijobs"] = (403, f'mpijobs "x" is forbidden: {uncounted}')
    scheduler.submit([task()])
    wait_until(scheduler, lambda: reports)
    assert "status unknown for quota" in reports[0]
    api.refusals.clear()
    clock.ahead += 11
    wait_until(scheduler, lambda: api.names("mpijobs"))


def test_a_quota_in_any_unit_may_be_too_small_for_ever() -> None:
    """Millionths were no number to who reads refusals, and binary units were spelt out as bytes."""
    limits = "requests.cpu=2,requests.memory=4Gi", "requests.cpu=1500000u,requests.memory=8Gi"
    asked = f"exceeded quota: small, requested: {limits[0]}, used: requests.cpu=0, limited: {limits[1]}"
    assert quotas.never(asked, {}) == "the run takes requests.cpu=2, and quota small allows 1500m"
    asked = asked.replace("1500000u", "3").replace("=8Gi", "=2Gi")
    assert quotas.never(asked, {}) == "the run takes requests.memory=4Gi, and quota small allows 2Gi"
