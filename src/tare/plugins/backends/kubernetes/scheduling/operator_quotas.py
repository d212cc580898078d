"""Find full quotas that keep the MPI Operator from creating a job's pods, which it does not report.

The operator creates a Service, a ConfigMap and a Secret before the pods of a job. If one of these is refused,
it tries again with growing delays, and only its own log shows it (mpi_job_controller.go of v0.8.2,
syncHandler).
"""

from __future__ import annotations

from collections.abc import Callable

from tare.plugins.backends.kubernetes.api.cluster import Cluster, Outage, Refusal
from tare.plugins.backends.kubernetes.diagnosis import phases
from tare.plugins.backends.kubernetes.diagnosis.quotas import Quota, read_quotas
from tare.plugins.backends.kubernetes.diagnosis.refusals import Obstacle
from tare.plugins.backends.kubernetes.objects.quantity import parse_quantity
from tare.plugins.backends.kubernetes.scheduling.in_flight_job import InFlightJob

_SILENT_S, _AGAIN_S = 15.0, 10.0
_KINDS = {"services": "Service", "configmaps": "ConfigMap", "secrets": "Secret"}
_NO_REASON = "the MPI Operator made no pods, and reports no reason"


class OperatorQuotas:
    """Reads the quotas of the namespace for jobs for which the operator creates nothing."""

    def __init__(self, cluster: Cluster, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._clock = clock
        self._read_at: float | None = None
        self._obstacle: Obstacle | None = None

    def look(self, job: InFlightJob) -> None:
        """Set `full_quota` of a job if a full quota keeps the operator from creating its pods."""
        now, seen = self._clock(), job.seen
        is_stuck = job.n_workers > 0 and not job.pods and seen is not None and not seen.is_suspended
        if not is_stuck or not any(event.reason == phases.TAKEN_UP for event in job.events):
            job.full_quota = None
        elif job.full_quota is not None or now - job.since > _SILENT_S:
            job.full_quota = self._full(now)

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
            free = quota.free(name)
            if kind is None or free is None or free > 0:
                continue
            message = f"{_NO_REASON}; quota {quota.metadata.name} has no room for its {kind}"
            message += f": {name} {quota.status.used.get(name, '0')} of {most}"
            is_final = (parse_quantity(most) or 0) < 1
            return Obstacle(f"quota/{quota.metadata.name}", message, 0.0 if is_final else None)
    return None
