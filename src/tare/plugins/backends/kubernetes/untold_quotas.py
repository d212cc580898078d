"""Find full quotas that keep the MPI Operator from creating a job's pods, which it does not report.

The operator creates a Service, a ConfigMap and a Secret before the pods of a job. If one of these is refused,
it tries again with growing delays, and only its own log shows it (mpi_job_controller.go of v0.8.2,
syncHandler).
"""

from __future__ import annotations

from collections.abc import Callable

from tare.plugins.backends.kubernetes import phases
from tare.plugins.backends.kubernetes.cluster import Cluster, Refusal
from tare.plugins.backends.kubernetes.connection import Outage
from tare.plugins.backends.kubernetes.in_flight_job import InFlightJob
from tare.plugins.backends.kubernetes.quantity import parse_quantity
from tare.plugins.backends.kubernetes.quota_room import Quota, read_quotas
from tare.plugins.backends.kubernetes.refusals import Obstacle

_SILENT_S, _AGAIN_S = 15.0, 10.0
_KINDS = {"services": "Service", "configmaps": "ConfigMap", "secrets": "Secret"}
_SAYS_NOTHING = "the MPI Operator made no pods, and tells nobody why"


class UntoldQuotas:
    """Reads the quotas of the namespace for jobs for which the operator creates nothing."""

    def __init__(self, cluster: Cluster, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._clock = clock
        self._read_at: float | None = None
        self._obstacle: Obstacle | None = None

    def look(self, in_flight_job: InFlightJob) -> None:
        """Set `untold` of a job if a full quota keeps the operator from creating its pods."""
        now = self._clock()
        is_stuck = (
            in_flight_job.n_workers > 0
            and not in_flight_job.pods
            and in_flight_job.job
            and not in_flight_job.job.is_suspended
        )
        if not is_stuck or not any(event.reason == phases.TAKEN_UP for event in in_flight_job.heard):
            in_flight_job.untold = None
        elif in_flight_job.untold is not None or now - in_flight_job.since > _SILENT_S:
            in_flight_job.untold = self._full(now)

    def _full(self, now: float) -> Obstacle | None:
        if self._read_at is None or now - self._read_at > _AGAIN_S:
            self._read_at = now
            try:
                self._obstacle = obstacle(read_quotas(self._cluster))
            except (Refusal, Outage):  # quotas may not be listed, or not now
                self._obstacle = None
        return self._obstacle


def obstacle(quotas: list[Quota]) -> Obstacle | None:
    """Return a quota without room for one more such object; it may pass, unless its limit is below one."""
    for quota in quotas:
        for name, most in quota.status.hard.items():
            kind = _KINDS.get(name.removeprefix("count/"))
            hard, used = parse_quantity(most), parse_quantity(quota.status.used.get(name, "0"))
            if kind is None or hard is None or used is None or used < hard:
                continue
            words = f"{_SAYS_NOTHING}; quota {quota.metadata.name} has no room for its {kind}"
            words += f": {name} {quota.status.used.get(name, '0')} of {most}"
            return Obstacle(f"quota/{quota.metadata.name}", words, 0.0 if hard < 1 else None)
    return None
