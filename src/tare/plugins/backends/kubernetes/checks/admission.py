"""Find out by dry runs which pods a namespace takes: as which user, and on the host's network.

A dry run passes a pod through all that checks pods, such as Pod Security and OpenShift's security context
constraints, and creates nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tare.core.decoding import decode_json
from tare.core.errors import NOT_JSON
from tare.plugins.backends.kubernetes.api.cluster import Cluster, Refusal
from tare.plugins.backends.kubernetes.manifests.pods import identity, privileges
from tare.plugins.backends.kubernetes.objects import created as k8s
from tare.plugins.backends.kubernetes.objects import naming
from tare.plugins.backends.kubernetes.objects.observed import SeenPod
from tare.plugins.backends.kubernetes.options import KubernetesOptions, Seccomp

SCC = "openshift.io/scc"
"""The annotation with the name of the constraint under which OpenShift took a pod."""


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a namespace takes a pod. `constraint` is OpenShift's name of what allows it."""

    refusal: str = ""
    constraint: str = ""


def trial_pod(
    options: KubernetesOptions, command: tuple[str, ...], *, is_host: bool = False
) -> k8s.PodTemplate:
    """Return a pod that runs `command` in the image, with one CPU and the least privileges."""
    asked: k8s.Quantities = {"cpu": "1"}
    if options.memory_bytes is not None:
        asked["memory"] = str(options.memory_bytes)
    container = k8s.Container(
        name=naming.TRIAL,
        image=options.image,
        image_pull_policy=options.pull_policy,
        command=command,
        resources=k8s.Resources(requests=asked, limits=asked),
        security_context=privileges(options),
    )
    spec = k8s.PodSpec(
        containers=(container,),
        restart_policy="Never",
        host_network=is_host,
        automount_service_account_token=False,
        security_context=identity(options),
    )
    return k8s.PodTemplate(metadata=k8s.Meta(labels=dict(naming.MANAGED_BY)), spec=spec)


def admission(cluster: Cluster, options: KubernetesOptions, *, is_host: bool = False) -> Admission:
    """Return whether the namespace takes a pod with these options; nothing is created. Raises Outage."""
    pod = trial_pod(options, ("true",), is_host=is_host)
    meta = msgspec.structs.replace(pod.metadata, name="tare-init", namespace=cluster.namespace)
    try:
        content, _ = cluster.try_out(k8s.Pod(metadata=meta, spec=pod.spec).as_json())
    except Refusal as refusal:
        return Admission(refusal=str(refusal))
    try:
        annotations = decode_json(content, type=SeenPod).metadata.annotations
    except NOT_JSON:
        annotations = {}
    return Admission(constraint=annotations.get(SCC, ""))


def as_users(options: KubernetesOptions) -> Iterable[KubernetesOptions]:
    """Yield the options as an ordinary user, as the one that the cluster chooses, and as root."""
    yield options
    yield msgspec.structs.replace(options, user="cluster")
    yield msgspec.structs.replace(options, user=0)
    yield msgspec.structs.replace(options, user=0, seccomp=Seccomp.CLUSTER)
