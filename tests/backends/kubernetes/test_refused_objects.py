"""The API server refuses the first object of a run: that ends it, in the server's words and with the cure."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from backends.kubernetes.conftest import Clock, wait_for
from backends.kubernetes.simulated_api import SimulatedApiServer
from backends.kubernetes.situations import SITUATIONS
from tare.core.errors import BackendError
from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler

Make = Callable[..., Task]
_NO_RIGHT = 'User "u" cannot create resource "mpijobs" in API group "kubeflow.org" in the namespace "bench"'
_DENIED = 'admission webhook "policy.example.org" denied the request: hostPath cannot be used here'
_QUOTA = "exceeded quota: few, requested: count/mpijobs.kubeflow.org=1, used: "


@pytest.mark.parametrize(
    ("status", "message", "cure"),
    [
        (403, _DENIED, "'tare doctor --site FILE' tries each kind of job"),
        (403, 'pods "x" is forbidden: violates PodSecurity "restricted:latest"', "'tare doctor --site FILE'"),
        (422, 'MPIJob "x" is invalid: spec.slots: Invalid value', "mend the platform's 'kubernetes'"),
        (400, 'strict decoding error: unknown field "spec.slots"', "mend the platform's 'kubernetes'"),
        (404, "the server could not find the requested resource", "is the MPI Operator installed"),
        (403, f'{_QUOTA}count/mpijobs.kubeflow.org=0, limited: count/mpijobs.kubeflow.org=0', "more quota"),
    ],
)  # fmt: skip
def test_what_can_never_be_created_ends_its_run_and_is_not_tried_again(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, task: Make, status: int, message: str, cure: str
) -> None:
    api.refusals["POST .*mpijobs"] = (status, message)
    one = task()
    scheduler.submit([one])
    (result,) = wait_for(scheduler)
    assert result.name == one.name
    assert result.exit.fault is None
    assert f"the API server answered {status}: {message}" in result.reason
    assert cure in result.reason
    assert "--retry-failed" in result.reason
    assert "ask for a Role" not in result.reason, "no right of Tare's is missing"
    scheduler.close()
    assert api.names("mpijobs") == api.names("configmaps") == []


def test_a_run_whose_pod_of_a_pair_is_refused_ends_as_well(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, task: Make
) -> None:
    api.refusals["POST .*/pods"] = (403, _DENIED)
    scheduler.submit([task(of=SITUATIONS["pair"])])
    (result,) = wait_for(scheduler)
    assert _DENIED in result.reason


def test_a_right_that_is_missing_ends_the_session_and_no_run(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, task: Make
) -> None:
    """After it is granted, the same command tries the run: it did not fail."""
    api.refusals["POST .*mpijobs"] = (403, f"mpijobs.kubeflow.org is forbidden: {_NO_RIGHT}")
    scheduler.submit([task()])
    with pytest.raises(BackendError, match="ask for a Role with that right; then run the same command again"):
        scheduler.wait()
    scheduler.close()
    assert api.names("mpijobs") == api.names("configmaps") == []


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (403, "unable to create new content in namespace bench because it is being terminated"),
        (404, 'namespaces "bench" not found'),
        (403, 'pods "x" is forbidden: Internal error occurred: resource quota evaluation timed out'),
    ],
)
def test_what_may_be_created_later_is_the_infrastructures_failure(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, task: Make, status: int, message: str
) -> None:
    api.refusals["POST .*mpijobs"] = (status, message)
    with pytest.raises(BackendError, match=message[:20]):
        scheduler.submit([task()])


def test_inputs_that_no_configmap_holds_end_their_run_with_the_cure(
    scheduler: KubernetesScheduler, task: Make
) -> None:
    one = task()
    (one.folder / "in" / "mesh.txt").write_bytes(b"x" * 2_000_000)
    scheduler.submit([one])
    (result,) = wait_for(scheduler)
    assert "more than a ConfigMap holds" in result.reason


@pytest.mark.slow
def test_a_run_that_an_outage_kept_from_being_created_is_forgotten(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    """Its object may have been created although the answer was lost; its next attempt has another name."""
    api.loses_answers = True
    api.refusals["POST .*mpijobs"] = (503, "etcd is away")
    with pytest.raises(BackendError, match="etcd is away"):
        scheduler.submit([task()])
    api.loses_answers = False
    api.refusals.clear()
    clock.ahead += 2000
    assert scheduler.wait() == [], "nobody waits for its result"
