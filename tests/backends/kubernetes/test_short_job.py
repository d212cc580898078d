"""The Job of seconds by which `tare init` looks into an image: why it did not run, in the cluster's words."""

from __future__ import annotations

import pytest

from backends.kubernetes.simulated_api import Doc, SimulatedApiServer
from backends.kubernetes.situations import Situation
from backends.kubernetes.test_pods_that_never_began import REJECTED, init_failed
from tare.core.errors import BackendError
from tare.plugins.backends.kubernetes.api.cluster import Cluster
from tare.plugins.backends.kubernetes.checks.short_job import run_short_job


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (init_failed("trial"), "init container mesh-init ended with exit code 1"),
        (REJECTED, "was not taken by its kubelet: OutOfcpu"),
    ],
)
def test_a_pod_that_never_began_is_reported_and_not_asked_for_a_log(
    api: SimulatedApiServer, situation: Situation, status: Doc, says: str
) -> None:
    api.refusals["/log"] = (400, 'container "trial" in pod "x" is waiting to start: PodInitializing')
    cluster = Cluster.connect(situation.options)

    def happen(seconds: float) -> None:
        job = api.objects["jobs", "tare-init-1"]
        api.pod("tare-init-1-x7k2p", job, job["spec"]["template"], node="w1", **status)

    with pytest.raises(BackendError, match=says):
        run_short_job(cluster, situation.options, "tare-init-1", "true", 20, sleep=happen)
    cluster.close()
    assert api.names("jobs") == []
