"""Run a script in one pod of a Job of seconds, and return what it prints; the Job is deleted then."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from tare.core.errors import BackendError
from tare.plugins.backends.kubernetes.api.cluster import PODS, Cluster
from tare.plugins.backends.kubernetes.checks.admission import trial_pod
from tare.plugins.backends.kubernetes.diagnosis import phases
from tare.plugins.backends.kubernetes.manifests import placement
from tare.plugins.backends.kubernetes.objects import created as k8s
from tare.plugins.backends.kubernetes.objects import naming
from tare.plugins.backends.kubernetes.objects.observed import SeenPod
from tare.plugins.backends.kubernetes.options import KubernetesOptions
from tare.plugins.backends.kubernetes.scheduling.leftovers import remove

_EACH_S = 0.5
_HOPELESS = {"ErrImageNeverPull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError"}
"""Reasons for which a container that waits does not start (kubelet, images and containers)."""


def run_short_job(
    cluster: Cluster,
    options: KubernetesOptions,
    name: str,
    script: str,
    patience_s: int,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """Return what `script` printed in a pod of the Job `name`, which must be new in the namespace.

    Kubernetes ends it after `patience_s`, even if Tare is killed. Raises BackendError if it does not run, or
    not to its end.
    """
    selector = f"{naming.CAMPAIGN}={name}"
    pod = trial_pod(options, ("sh", "-c", script))
    spec = placement.placed(pod.spec, options)
    own = k8s.Meta(name=name, namespace=cluster.namespace, labels=naming.MANAGED_BY | {naming.CAMPAIGN: name})
    template = k8s.PodTemplate(metadata=k8s.Meta(labels=own.labels), spec=spec)
    job = k8s.Job(
        metadata=own,
        spec=k8s.JobSpec(backoff_limit=0, active_deadline_seconds=patience_s, template=template),
    )
    try:
        if not cluster.create(job.as_json()):
            raise BackendError(f"there is a Job {name} already")
        return _log(cluster, _ended(cluster, selector, clock() + patience_s, clock, sleep))
    finally:
        with suppress(BackendError):
            remove(cluster, name)


def _ended(
    cluster: Cluster, selector: str, until: float, clock: Callable[[], float], sleep: Callable[[float], None]
) -> SeenPod:
    """Return the pod when it is over. Raises BackendError with what it waits for, if that takes too long."""
    why = "it has no pod"
    while clock() < until:
        pod = next(iter(cluster.read_all(PODS, SeenPod, selector)), None)
        if pod is not None:
            if pod.is_over:
                return pod
            waiting, unscheduled = pod.state.waiting, pod.unscheduled
            if unscheduled is not None:
                why = f"{unscheduled.reason}: {unscheduled.message}"
            if waiting is not None:
                why = f"{waiting.reason}: {waiting.message}"
                if waiting.reason in _HOPELESS:
                    break
        sleep(_EACH_S)
    raise BackendError(f"its pod does not run: {why}")


def _log(cluster: Cluster, pod: SeenPod) -> str:
    if why := phases.never_began(pod):
        raise BackendError(f"its pod does not run: {why}")
    ended = pod.state.terminated
    text = cluster.log(pod.metadata.name, naming.TRIAL).decode(errors="replace")
    if ended is not None and ended.exit_code != 0:
        said = " ".join((ended.message or text).split())[-200:]
        raise BackendError(f"its pod ended with exit code {ended.exit_code}: {said or ended.reason}")
    return text
