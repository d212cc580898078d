"""Find what keeps pods from being created or started, from Kubernetes' messages; say if it may pass. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from tare.plugins.backends.kubernetes.diagnosis import quotas
from tare.plugins.backends.kubernetes.objects.merging import Json
from tare.plugins.backends.kubernetes.objects.observed import SeenEvent, SeenPod

_CERTAIN_S = 5.0
"""A refusal that lasts this long is not due to a cache, or to an account that is just being created."""
_RETRIED_S = 30.0
"""Kubelets have tried again twice by then (pkg/kubelet/images: 10 s, 20 s …)."""
_MOST_SHOWN = 1000

_REFUSED = re.compile(r" is forbidden: | is invalid: |denied the request|violates PodSecurity")
_PASSING = re.compile(
    r"exceeded quota: |status unknown for quota|Internal error occurred|failed calling webhook|timed? ?out"
    r"|object has been modified|context deadline exceeded|connection refused|is reserved for|failed to sync"
    r"|being terminated",
    re.IGNORECASE,
)
_PULLS = frozenset({"ErrImagePull", "ImagePullBackOff"})
_NO_IMAGE = re.compile(
    r"not found|manifest unknown|name unknown|unauthorized|access.*denied|denied:|does not exist"
    r"|authentication required|403 Forbidden|no match for platform",
    re.IGNORECASE,
)
_AT_ONCE = frozenset({"InvalidImageName", "ErrImageNeverPull"})
_CONFIG = frozenset({"CreateContainerConfigError", "CreateContainerError"})
_MISSING = re.compile(
    r'(configmap|secret) "[^"]*" not found|references non-existent (config|secret) key'
    r'|cannot find a network-attachment-definition|no runtime for "',
)
_ATTACHED = re.compile(r"Multi-Attach error for volume .*already used by pod\(s\) (?P<users>.*)")
"""The message about a volume that one node may have at a time (pkg/volume, operation_generator.go)."""
_SHARED = "this run's own pods share its claim, which has to be ReadWriteMany"
_NO_NAMESPACE = re.compile(r'namespaces "[^"]*" not found')
_NOT_VALID = frozenset({400, 422})
_THEN = "then add --retry-failed to the same command"
_NO_CLAIM = re.compile(r'persistentvolumeclaim "[^"]*" not found')


class Obstacle(NamedTuple):
    """What keeps a pod from starting. It is permanent after `certain_s` seconds; None means that it may pass.

    `key` stays the same while `message` may change.
    """

    key: str
    message: str
    certain_s: float | None


def obstacles(
    pods: Sequence[SeenPod],
    events: Iterable[SeenEvent],
    job: Callable[[], Json],
    *,
    lacks_workers: bool,
    has_starter: bool,
) -> Iterator[Obstacle]:
    """Yield what now keeps the pods of a job from being created or started; `job` makes its manifest.

    Events about the creation of workers count while it `lacks_workers`. Those about the pod that starts the
    program count while that pod does not exist (`has_starter`).
    """
    known = list(events)
    latest = {event.involved_object: event for event in known if _is_of_making(event)}
    for event in latest.values():
        is_of_workers = "worker pod" in event.message
        if lacks_workers if is_of_workers else not has_starter:
            yield from _of_making(event, job)
    for pod in pods:
        if not pod.is_over and pod.state.running is None:
            own = [one for one in known if one.involved_object.name == pod.metadata.name]
            yield from _of_pod(pod, own)
            yield from _of_volume(pod, own, {one.metadata.name for one in pods})


def _is_of_making(event: SeenEvent) -> bool:
    if event.type != "Warning" or event.involved_object.kind == "Pod":
        return False
    is_failure = event.reason == "MPIJobFailed" and "pod created failed" in event.message
    return is_failure or event.reason in {"FailedCreate", "ValidationError", "ErrResourceExists"}


def _of_making(event: SeenEvent, job: Callable[[], Json]) -> Iterator[Obstacle]:
    about = event.involved_object
    message = _sentence(f"{about.kind} {about.name}", event.reason, event.message)
    key = f"{about.kind}/{about.name}"
    if quotas.is_exceeded(event.message):
        never = quotas.never(event.message, job())
        yield Obstacle(key, f"{message} ({never})" if never else message, _CERTAIN_S if never else None)
    elif event.reason in {"ValidationError", "ErrResourceExists"} or (
        _REFUSED.search(event.message) and not _PASSING.search(event.message)
    ):
        yield Obstacle(key, message, _CERTAIN_S)


def _of_pod(pod: SeenPod, events: Sequence[SeenEvent]) -> Iterator[Obstacle]:
    name, waiting = pod.metadata.name, pod.state.waiting
    reason, message = (waiting.reason, waiting.message) if waiting else ("", "")
    if reason in _AT_ONCE:
        yield Obstacle(name, _sentence(f"pod {name}", reason, message), 0.0)
    elif reason in _CONFIG and not _PASSING.search(message):
        yield Obstacle(name, _sentence(f"pod {name}", reason, message), _CERTAIN_S)
    elif reason in _PULLS:
        failures = (one.message for one in reversed(events) if one.message.startswith("Failed to pull image"))
        why = next((text for text in (message, *failures) if _NO_IMAGE.search(text)), "")
        if why:
            yield Obstacle(name, _sentence(f"pod {name}", reason, why), _RETRIED_S)
    elif missing := next((one for one in reversed(events) if _MISSING.search(one.message)), None):
        yield Obstacle(name, _sentence(f"pod {name}", missing.reason, missing.message), _RETRIED_S)
    unscheduled = pod.unscheduled
    if unscheduled is not None and _NO_CLAIM.search(unscheduled.message):
        yield Obstacle(name, _sentence(f"pod {name}", unscheduled.reason, unscheduled.message), _CERTAIN_S)


def _of_volume(pod: SeenPod, events: Sequence[SeenEvent], own: AbstractSet[str]) -> Iterator[Obstacle]:
    """Yield a volume that another pod of the run, among the names `own`, has on its node."""
    for event in reversed(events):
        found = _ATTACHED.search(event.message)
        if found and own & set(re.split(r"[\s,]+", found["users"])):
            text = _sentence(f"pod {pod.metadata.name}", event.reason, event.message)
            yield Obstacle(f"{pod.metadata.name}/volume", f"{text}; {_SHARED}", _RETRIED_S)
            return


def may_pass(message: str, job: Json) -> bool:
    """Return whether an object of `job` that the API server refused with `message` may be created later."""
    if quotas.is_exceeded(message):
        return quotas.may_pass(message, job)
    return _PASSING.search(message) is not None or _NO_NAMESPACE.search(message) is not None


def with_cure(status: int, message: str, job: Json) -> str:
    """Return the message of a refusal that does not pass, with its cure."""
    if quotas.is_exceeded(message):
        never = quotas.never(message, job)
        return f"{message}{f' ({never})' if never else ''}; {quotas.CURE}; {_THEN}"
    if status in _NOT_VALID:
        return f"{message}; mend the platform's 'kubernetes' ('tare plan --show' has the manifests); {_THEN}"
    return f"{message}; 'tare doctor --site FILE' tries each kind of job; {_THEN}"


class ObstacleTimer:
    """Remembers since when each obstacle has existed."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def final(self, found: Sequence[Obstacle], now: float) -> str:
        """Return why the pods can never start, once that is certain; empty before."""
        self._since = {one.key: self._since.get(one.key, now) for one in found}
        for one in found:
            if one.certain_s is not None and now - self._since[one.key] >= one.certain_s:
                return one.message
        return ""


def _sentence(whom: str, reason: str, message: str) -> str:
    message = " ".join(message.split())[:_MOST_SHOWN]
    return f"{whom}: {reason}: {message}" if message else f"{whom}: {reason}"
