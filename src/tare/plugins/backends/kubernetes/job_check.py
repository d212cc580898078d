"""Check one job by a dry run: its traps, the job and its pods before admission, and their quota."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tare.core.errors import BackendError
from tare.plugins.backends.kubernetes.check_result import Finding
from tare.plugins.backends.kubernetes.cluster import Cluster, Refusal
from tare.plugins.backends.kubernetes.lint import lint
from tare.plugins.backends.kubernetes.manifests import Json
from tare.plugins.backends.kubernetes.quota_room import check_room, read_quotas
from tare.plugins.backends.kubernetes.trial import cure_of, roles_of, try_role, warned

_POD = "Pod"


def check_job(cluster: Cluster, what: str, manifests: Sequence[Json], in_flight: int) -> Iterator[Finding]:
    """Yield what keeps the job named `what` from running; `manifests` are all of its objects."""
    for trap in lint(manifests):
        yield Finding(name=f"{what}: {trap.rule}", is_met=False, found=trap.what, cure=trap.cure)
    jobs = [one for one in manifests if _kind(one) in {"MPIJob", "Job"}]
    for job in jobs:
        yield from _try_job(cluster, what, job)
    trials = [try_role(cluster, what, role) for role in roles_of(manifests)]
    for trial in trials:
        yield from trial.findings
    taken = [(one.role.n_pods, one.pod) for one in trials if one.pod is not None]
    try:
        quotas = read_quotas(cluster)
    except Refusal:
        return  # the list of quotas has reported it
    yield from check_room(quotas, what, _kind(jobs[0]) if jobs else _POD, taken, in_flight)


def _try_job(cluster: Cluster, what: str, job: Json) -> Iterator[Finding]:
    name = f"{what}, tried without making it"
    try:
        _, warnings = cluster.try_out(job)
    except BackendError as error:
        yield Finding(name=name, is_met=False, found=str(error), cure=cure_of(str(error)))
        return
    yield Finding(name=name, is_met=True, found="is taken")
    yield from warned(name, warnings)


def _kind(manifest: Json) -> str:
    return str(manifest.get("kind", "")) if isinstance(manifest, dict) else ""
