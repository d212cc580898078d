"""Create the objects of tasks, and decide whether one that the API server refuses may be created later."""

from __future__ import annotations

from tare.core.errors import BackendError
from tare.plugins.backends.kubernetes.api.cluster import ATTACHMENTS, CONFIG_MAPS, WRITTEN, Cluster, Refusal
from tare.plugins.backends.kubernetes.diagnosis import quotas, refusals
from tare.plugins.backends.kubernetes.objects.created import Manifest
from tare.plugins.backends.kubernetes.objects.observed import SeenJob
from tare.plugins.backends.kubernetes.objects.ownership import CreatedBy, NotOwn
from tare.plugins.backends.kubernetes.scheduling.deleting import Retry
from tare.plugins.backends.kubernetes.scheduling.in_flight_job import InFlightJob

_SHARED = frozenset({CONFIG_MAPS.kind, ATTACHMENTS.kind})


class Creations:
    """Creates objects that are `own` campaign's; `retry` repeats a request during an outage.

    Objects that several tasks share are created once.
    """

    def __init__(self, cluster: Cluster, own: CreatedBy, retry: Retry) -> None:
        self._cluster = cluster
        self._own = own
        self._retry = retry
        self._shared: set[str] = set()

    def make(self, job: InFlightJob, now: float) -> None:
        """Create the objects of a task at the time `now`.

        Where a quota that others use up refuses them, note that the task is queued; it is tried again later.
        Raises Refusal, NotOwn, or Outage when it lasts.
        """
        job.refused_at = now
        try:
            for manifest in (*job.rendered.shared, job.rendered.job):
                self.create(job, manifest)
        except Refusal as refusal:
            if not quotas.may_pass(str(refusal), job.rendered.to_json(job.rendered.job)):
                raise
            job.waits_for = f"queued: {refusal}"
        else:
            job.refused_at, job.since = None, now

    def make_client(self, job: InFlightJob, address: str) -> None:
        """Create the client of a pair, whose server listens at `address`. Raises as `create` does."""
        self.create(job, job.rendered.client(address))
        job.has_client = True

    def create(self, job: InFlightJob, manifest: Manifest) -> None:
        """Create an object, unless it exists because the answer to an earlier request was lost.

        Raises Refusal, NotOwn, or Outage when it lasts.
        """
        key = f"{manifest.KIND}/{manifest.metadata.name}"
        if key in self._shared:
            return
        document = job.rendered.to_json(manifest)
        is_new = self._retry(lambda: self._cluster.create(document))
        if not is_new and key.partition("/")[0] != ATTACHMENTS.kind:  # it is the site's, not the campaign's
            self._require_own(manifest)
        if manifest.KIND in _SHARED:
            self._shared.add(key)

    def _require_own(self, manifest: Manifest) -> None:
        resource, fields = WRITTEN[manifest.KIND], f"metadata.name={manifest.metadata.name}"
        for one in self._retry(lambda: self._cluster.read_all(resource, SeenJob, fields=fields)):
            self._own.require(manifest.KIND, one.metadata)

    def forget_shared(self) -> None:
        """Create shared objects again for the next task, because somebody may have deleted them."""
        self._shared.clear()


def why_never(job: InFlightJob, error: BackendError) -> str:
    """Return why an object of a task that was not created never can be, with the cure; empty if it may be.

    Raises BackendError, which ends the session, if the objects of no other task could be created either.
    """
    if isinstance(error, NotOwn):
        raise error
    if not isinstance(error, Refusal):
        return ""
    text, document = str(error), job.rendered.to_json(job.rendered.job)
    if error.is_missing_right:
        raise BackendError(f"{job.task.name}: {text}; then run the same command again") from error
    return "" if refusals.may_pass(text, document) else refusals.with_cure(error.status, text, document)
