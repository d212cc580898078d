"""What can never work ends at once, in Kubernetes' words."""

from __future__ import annotations

import pytest

from backends.kubernetes.conftest import (
    READY,
    Clock,
    Happenings,
    Make,
    Tell,
    forbidden,
    seen,
    wait_for,
    wait_until,
)
from backends.kubernetes.simulated_api import SimulatedApiServer
from backends.kubernetes.situations import SITUATIONS
from backends.kubernetes.test_scheduler_faults import waiting
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler


@pytest.mark.parametrize(
    "why",
    [
        'violates PodSecurity "restricted:latest": host namespaces (hostNetwork=true)',
        "unable to validate against any security context constraint: [provider anyuid: Forbidden]",
        "[maximum cpu usage per Container is 1, but limit is 2]",
        'error looking up service account bench/no: serviceaccount "no" not found',
        "no PriorityClass with name high was found",
        'pod rejected: RuntimeClass "kata" not found',
        "failed quota: q: must specify limits.memory for: worker",
        "exceeded quota: few, requested: cpu=2, used: cpu=0, limited: cpu=1",
        "exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2",
        "exceeded quota: few, requested: limits.cpu=2, used: limits.cpu=2, limited: limits.cpu=4",
    ],
)
def test_a_pod_that_will_never_be_let_in_ends_its_run_at_once_with_the_message(
    scheduler: KubernetesScheduler, task: Make, tell: Tell, clock: Clock, why: str
) -> None:
    one = task()
    scheduler.submit([one])
    tell("MPIJobFailed", forbidden(why))
    wait_until(scheduler, lambda: seen(scheduler, one).events)
    clock.ahead += 6
    (result,) = wait_for(scheduler)
    assert why in result.reason
    assert result.exit.fault is None, "another try would come to the same"


def test_a_job_whose_pods_are_refused_ends_at_once_too(
    scheduler: KubernetesScheduler, task: Make, tell: Tell, clock: Clock
) -> None:
    one = task(of=SITUATIONS["one-node"])
    scheduler.submit([one])
    text = 'Error creating: pods "x-abc" is forbidden: violates PodSecurity "baseline:latest"'
    tell("FailedCreate", text, kind="Job")
    wait_until(scheduler, lambda: seen(scheduler, one).events)
    clock.ahead += 6
    (result,) = wait_for(scheduler)
    assert "FailedCreate" in result.reason
    assert 'violates PodSecurity "baseline:latest"' in result.reason


def test_a_refusal_that_passes_costs_nothing(
    scheduler: KubernetesScheduler, happen: Happenings, task: Make, tell: Tell, clock: Clock
) -> None:
    """As of an account that is made a moment after its namespace."""
    one = task()
    scheduler.submit([one])
    tell("MPIJobFailed", forbidden('error looking up service account bench/a: serviceaccount "a" not found'))
    wait_until(scheduler, lambda: seen(scheduler, one).events)
    happen.workers()
    wait_until(scheduler, lambda: len(seen(scheduler, one).pods) == 2)
    clock.ahead += 20
    happen.succeed()
    (result,) = wait_for(scheduler)
    assert result.exit.code == 0


@pytest.mark.parametrize(
    ("reason", "message", "after_s"),
    [
        ("ErrImageNeverPull", 'Container image "i" is not present with pull policy of Never', 1),
        ("CreateContainerConfigError", 'secret "no" not found', 6),
        ("ErrImagePull", "quay.io/me/mpi:1: reading manifest 1: manifest unknown", 31),
        ("ImagePullBackOff", 'Back-off pulling image "i": ErrImagePull: i:1: not found', 31),
        ("ImagePullBackOff", "unauthorized: access to the requested resource is not authorized", 31),
    ],
)
def test_a_container_that_will_never_start_ends_its_run(
    scheduler: KubernetesScheduler, happen: Happenings, task: Make, clock: Clock,
    reason: str, message: str, after_s: int,
) -> None:  # fmt: skip
    one = task()
    scheduler.submit([one])
    happen.workers(**waiting(reason, message))
    if after_s > 1:
        wait_until(scheduler, lambda: len(seen(scheduler, one).pods) == 2)
    clock.ahead += after_s
    (result,) = wait_for(scheduler)
    assert f"{reason}: {message}" in result.reason
    assert result.exit.fault is None


def test_a_volume_of_what_is_not_there_ends_its_run(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, tell: Tell,
    clock: Clock,
) -> None:  # fmt: skip
    one = task()
    scheduler.submit([one])
    happen.workers(**waiting("ContainerCreating"))
    text = 'MountVolume.SetUp failed for volume "licence" : secret "licence" not found'
    tell("FailedMount", text, kind="Pod", name=api.names("pods")[0])
    wait_until(scheduler, lambda: seen(scheduler, one).events and len(seen(scheduler, one).pods) == 2)
    clock.ahead += 31
    (result,) = wait_for(scheduler)
    assert f"FailedMount: {text}" in result.reason


@pytest.mark.parametrize("is_own", [True, False])
def test_a_claim_that_only_one_node_may_mount_ends_a_run_on_two_and_is_waited_for_where_another_has_it(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, tell: Tell,
    clock: Clock, is_own: bool,
) -> None:  # fmt: skip
    """The words are those of the attach-detach controller (operationexecutor, operation_generator.go)."""
    one = task()
    scheduler.submit([one])
    happen.workers()
    job = happen.job()
    name = f"{job['metadata']['name']}-worker-1"
    template = job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]
    api.pod(name, job, template, node="w2", **waiting("ContainerCreating"))
    user = f"{job['metadata']['name']}-worker-0" if is_own else "postgres-0"
    text = f'Multi-Attach error for volume "pvc-1" Volume is already used by pod(s) {user}'
    tell("FailedAttachVolume", text, kind="Pod", name=name)
    wait_until(scheduler, lambda: seen(scheduler, one).events and len(seen(scheduler, one).pods) == 2)
    clock.ahead += 31
    if not is_own:
        assert scheduler.wait() == []
        return
    (result,) = wait_for(scheduler)
    assert f"FailedAttachVolume: {text}" in result.reason
    assert "ReadWriteMany" in result.reason
    assert result.exit.fault is None


def test_a_client_that_may_not_be_created_ends_its_pair_and_no_campaign(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, task: Make
) -> None:
    scheduler.submit([task(of=SITUATIONS["pair"])])
    (server,) = api.names("pods")
    one = api.objects["pods", server]
    template = {"metadata": one["metadata"], "spec": one["spec"]}
    api.refusals["POST .*/pods"] = (403, 'pods "x" is forbidden: violates PodSecurity "restricted:latest"')
    api.pod(server, one, template, node="w1", podIP="10.1.0.7", **READY)
    (result,) = wait_for(scheduler)
    assert 'violates PodSecurity "restricted:latest"' in result.reason
