"""What can never work ends at once, in Kubernetes' words; what waits for its turn waits, and says so."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from backends.kubernetes.conftest import READY, Clock, Happenings, seen, wait_for, wait_until
from backends.kubernetes.simulated_api import Doc, SimulatedApiServer
from backends.kubernetes.situations import SITUATIONS, Situation
from backends.kubernetes.test_scheduler_faults import unscheduled, waiting
from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes import quotas
from tare.plugins.backends.kubernetes.scheduler import KubernetesScheduler

Make = Callable[..., Task]
Tell = Callable[..., None]
_numbers = count(1)
FULL = (
    "0/4 nodes are available: 4 Insufficient cpu. no new claims to deallocate, preemption: 0/4 nodes are "
    "available: 4 No preemption victims found for incoming pod."
)
TOO_SMALL = (
    "0/4 nodes are available: 4 Insufficient cpu. no new claims to deallocate, preemption: 0/4 nodes are "
    "available: 4 Preemption is not helpful for scheduling."
)
NO_MATCH = (
    "0/4 nodes are available: 4 node(s) didn't match Pod's node affinity/selector. no new claims to "
    "deallocate, preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling."
)


@pytest.fixture
def tell(api: SimulatedApiServer) -> Tell:
    """Let an event happen, about the one job unless another thing is named."""

    def tell_one(
        reason: str, message: str, kind: str = "MPIJob", name: str = "", of: str = "Warning"
    ) -> None:
        job = (api.names("mpijobs") or api.names("jobs"))[0]
        about = {"kind": kind, "name": name or job}
        meta = {"name": f"{job}.{next(_numbers)}"}
        event: Doc = {"metadata": meta, "type": of, "reason": reason, "message": message}
        api.apply("events", {**event, "involvedObject": about})

    return tell_one


@pytest.fixture
def reports(scheduler: KubernetesScheduler) -> list[str]:
    found: list[str] = []
    scheduler.report_waits(lambda names, reason: found.append(reason))
    return found


def forbidden(why: str) -> str:
    return f'worker pod created failed: pods "x-worker-0" is forbidden: {why}'


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


@pytest.mark.parametrize("message", [FULL, "0/2 nodes are available: 2 Too many pods."])
def test_a_pod_that_waits_for_others_to_leave_is_queued_without_limit_and_is_reported(
    scheduler: KubernetesScheduler,
    happen: Happenings,
    task: Make,
    clock: Clock,
    reports: list[str],
    message: str,
) -> None:
    one = task()
    scheduler.submit([one])
    happen.workers(**unscheduled(message))
    wait_until(scheduler, lambda: reports)
    for _ in range(3):
        clock.ahead += 86_400
        assert scheduler.wait() == []
    assert reports == [f"queued: Unschedulable: {message}"]
    happen.succeed()
    (result,) = wait_for(scheduler)
    assert result.exit.code == 0


@pytest.mark.parametrize("message", [TOO_SMALL, NO_MATCH])
def test_a_pod_that_no_node_can_take_is_reported_at_once_and_ends_in_time(
    scheduler: KubernetesScheduler,
    happen: Happenings,
    task: Make,
    clock: Clock,
    reports: list[str],
    message: str,
) -> None:
    one = task()
    scheduler.submit([one])
    happen.workers(**unscheduled(message))
    wait_until(scheduler, lambda: reports)
    assert reports[0].startswith("waits for nodes, for 600 s at most: pod ")
    assert message in reports[0]
    clock.ahead += 601
    (result,) = wait_for(scheduler)
    assert message in result.reason


def test_a_run_that_holds_a_node_while_it_waits_for_another_lets_go_in_time_and_tries_again(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    """Two such runs would wait for each other for ever."""
    one = task()
    scheduler.submit([one])
    happen.workers()
    job = happen.job()
    template = job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]
    api.remove("pods", f"{job['metadata']['name']}-worker-1")
    api.pod(f"{job['metadata']['name']}-worker-1", job, template, **unscheduled(FULL))
    wait_until(scheduler, lambda: len(seen(scheduler, one).pods) == 2)
    clock.ahead += 601
    (result,) = wait_for(scheduler)
    assert result.exit.fault is not None
    assert "Insufficient cpu" in result.exit.fault


def test_gates_and_other_schedulers_are_queues(
    scheduler: KubernetesScheduler, happen: Happenings, situation: Situation, task: Make, reports: list[str],
    clock: Clock, tell: Tell,
) -> None:  # fmt: skip
    one = task(of=situation.with_options(scheduler="volcano"))
    scheduler.submit([one])
    tell("Unschedulable", "2/2 tasks in gang unschedulable: pod group is not ready", kind="PodGroup")
    wait_until(scheduler, lambda: seen(scheduler, one).events)
    happen.workers(**unscheduled("pod group is not ready, 2 Pending, 2 minAvailable"))
    wait_until(scheduler, lambda: reports)
    clock.ahead += 86_400
    assert scheduler.wait() == []
    assert reports[-1].startswith("queued: Unschedulable: pod group is not ready, 2 Pending, 2 minAvailable")
    assert "PodGroup reports Unschedulable: 2/2 tasks in gang" in reports[-1]
    gated = unscheduled("Scheduling is blocked due to non-empty scheduling gates")
    gated["conditions"][0]["reason"] = "SchedulingGated"
    happen.workers(**gated)
    wait_until(scheduler, lambda: "SchedulingGated" in reports[-1])


def test_a_suspended_job_is_queued_by_kueue_whose_message_is_reported(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make,
    reports: list[str], clock: Clock, tell: Tell,
) -> None:  # fmt: skip
    one = task()
    scheduler.submit([one])
    job = happen.job()
    text = "couldn't assign flavors to pod set worker: insufficient unused quota for cpu in flavor default"
    tell("SetPodTemplateRestartPolicy", "Restart policy in pod template overridden")
    tell("Pending", text, kind="Workload", name=f"mpijob-{job['metadata']['name']}-1a2b3")
    wait_until(scheduler, lambda: len(seen(scheduler, one).events) == 2)
    job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "benchmarks"
    job["spec"]["runPolicy"]["suspend"] = True
    api.apply("mpijobs", job)
    wait_until(scheduler, lambda: reports)
    clock.ahead += 86_400
    assert scheduler.wait() == []
    assert reports == [f"queued: suspended in Kueue's queue benchmarks; Workload reports Pending: {text}"]
    job["spec"]["runPolicy"]["suspend"] = False
    api.apply("mpijobs", job)
    happen.succeed()
    (result,) = wait_for(scheduler)
    assert result.exit.code == 0


def test_a_run_that_is_suspended_while_it_runs_is_tried_again(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    one = task()
    scheduler.submit([one])
    happen.workers()
    launcher = happen.launcher()
    wait_until(scheduler, lambda: len(seen(scheduler, one).pods) == 3)
    job = happen.job()
    job["spec"]["runPolicy"]["suspend"] = True
    api.apply("mpijobs", job)
    for name in api.names("pods"):
        api.remove("pods", name)
    assert launcher not in api.names("pods")
    wait_until(scheduler, lambda: seen(scheduler, one).gone_since is not None)
    wait_until(scheduler, lambda: (job := seen(scheduler, one).seen) and job.is_suspended)
    clock.ahead += 11
    (result,) = wait_for(scheduler)
    assert result.exit.fault == "its job was suspended while it ran"


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


def test_an_operator_that_has_taken_a_job_up_is_not_reported_as_one_that_does_not_run(
    scheduler: KubernetesScheduler, task: Make, tell: Tell, reports: list[str], clock: Clock
) -> None:
    """A limit of 5 requests a second keeps the real one busy for minutes where many jobs are in flight."""
    one = task()
    scheduler.submit([one])
    tell("MPIJobCreated", "MPIJob bench/x is created.", of="Normal")
    wait_until(scheduler, lambda: seen(scheduler, one).events)
    clock.ahead += 16
    wait_until(scheduler, lambda: reports)
    assert reports[-1].endswith("the MPI Operator has taken it up, and made no pods yet")


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


def test_a_quota_in_any_unit_may_be_too_small_for_ever() -> None:
    """Millionths were no number to who reads refusals, and binary units were spelt out as bytes."""
    limits = "requests.cpu=2,requests.memory=4Gi", "requests.cpu=1500000u,requests.memory=8Gi"
    asked = f"exceeded quota: small, requested: {limits[0]}, used: requests.cpu=0, limited: {limits[1]}"
    assert quotas.never(asked, {}) == "the run takes requests.cpu=2, and quota small allows 1500m"
    asked = asked.replace("1500000u", "3").replace("=8Gi", "=2Gi")
    assert quotas.never(asked, {}) == "the run takes requests.memory=4Gi, and quota small allows 2Gi"
