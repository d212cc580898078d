"""Check the MPI Operator of a cluster: the fields of its MPIJobs, its rate limits and gang scheduling."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec

from tare.core.checks import Finding
from tare.core.decoding import decode_json
from tare.core.errors import NOT_JSON, BackendError
from tare.plugins.backends.kubernetes.api.cluster import CRDS, DEPLOYMENTS, MPI_JOBS, Cluster, Refusal
from tare.plugins.backends.kubernetes.api.connection import MISSING_RIGHT
from tare.plugins.backends.kubernetes.objects.observed import SeenContainer, SeenMeta, SeenPodSpec
from tare.plugins.backends.kubernetes.options import KubernetesOptions

_NAME, _LIMITS = "MPI Operator", "MPI Operator's limits"
_INSTALL = "install the MPI Operator 0.5 or later (github.com/kubeflow/mpi-operator)"
_FIELDS = ("launcherCreationPolicy", "runLauncherAsWorker", "mpiImplementation", "sshAuthMountPath")
_SELECTOR = "app=mpi-operator"
"""The label that the operator's own manifests give its Deployment and pods (manifests/base)."""
_DEFAULTS = {
    "kube-api-qps": "5", "kube-api-burst": "10", "controller-queue-rate-limit": "10", "threadiness": "2"
}  # fmt: skip
"""The operator's flags and their defaults (0.8: cmd/mpi-operator/app/options)."""
_REQUESTS_A_JOB, _CHANGES_A_JOB = 8.1, 21.0
"""The numbers of requests and of queue entries for a job of two nodes.

The requests are those of the operator's client for Kubernetes' own objects. Both were counted with v0.8.2;
see docs/kubernetes.md.
"""
_FLAG = re.compile(r"--?([a-z-]{1,60})(?:=(.{0,200}))?")


class _Properties(msgspec.Struct, frozen=True):
    properties: dict[str, _Properties] = {}

    def of(self, name: str) -> dict[str, _Properties]:
        """Return the properties of a field; empty where the schema does not describe it."""
        return self.properties[name].properties if name in self.properties else {}


class _Schema(msgspec.Struct, frozen=True):
    open_api_v3_schema: _Properties = msgspec.field(name="openAPIV3Schema", default=_Properties())


class _CrdVersion(msgspec.Struct, frozen=True):
    name: str
    served: bool = False
    schema: _Schema = _Schema()


class _CrdSpec(msgspec.Struct, frozen=True):
    versions: list[_CrdVersion] = []


class _Crd(msgspec.Struct, frozen=True):
    spec: _CrdSpec


class _Template(msgspec.Struct, frozen=True):
    spec: SeenPodSpec = SeenPodSpec()


class _DeploymentSpec(msgspec.Struct, frozen=True):
    template: _Template = _Template()


class _DeploymentStatus(msgspec.Struct, frozen=True, rename="camel"):
    ready_replicas: int = 0


class _Deployment(msgspec.Struct, frozen=True):
    metadata: SeenMeta = SeenMeta()
    spec: _DeploymentSpec = _DeploymentSpec()
    status: _DeploymentStatus = _DeploymentStatus()


class Operator(msgspec.Struct, frozen=True, kw_only=True):
    """The MPI Operator: the versions of MPIJob that the API serves, and its Deployment as far as it is seen.

    `watches` is the only namespace in which it makes pods; empty if it does so in all.
    """

    versions: tuple[str, ...]
    image: str = ""
    place: str = ""
    watches: str = ""
    is_ready: bool | None = None


def read_operator(cluster: Cluster) -> Operator | None:
    """Return the MPI Operator; None where there are no MPIJobs.

    Raises Refusal, Outage, or an error of NOT_JSON if the API does not say whether there are. A Deployment
    that cannot be read is left out.
    """
    try:
        content = cluster.get(CRDS, "mpijobs.kubeflow.org")
    except Refusal:  # who may not read definitions may still ask which groups the API has
        return Operator(versions=("v2beta1",)) if cluster.serves(MPI_JOBS.group) else None
    if content is None:
        return None
    spec = decode_json(content, type=_Crd).spec
    versions = tuple(one.name for one in spec.versions if one.served)
    try:
        one = next(iter(cluster.read_everywhere(DEPLOYMENTS, _Deployment, _SELECTOR)), None)
    except (BackendError, *NOT_JSON):
        one = None
    if one is None:
        return Operator(versions=versions)
    main = next(iter(one.spec.template.spec.containers), SeenContainer())
    return Operator(
        versions=versions,
        image=main.image,
        place=f"{one.metadata.namespace}/{one.metadata.name}",
        watches=_flags([*main.command, *main.args]).get("namespace", ""),
        is_ready=one.status.ready_replicas > 0,
    )


def check_operator(
    cluster: Cluster, options: KubernetesOptions, *, is_needed: bool = True
) -> Iterator[Finding]:
    """Yield findings about the MPIJob versions, their fields, and the operator's Deployment.

    A platform that starts no MPI over several nodes does without it: then it is not needed.
    """
    try:
        content = cluster.get(CRDS, "mpijobs.kubeflow.org")
        found = decode_json(content, type=_Crd) if content is not None else None
    except (BackendError, *NOT_JSON) as error:
        yield Finding(name=_NAME, is_met=None, found=str(error), cure="ask an administrator")
        return
    if found is None:
        is_met = False if is_needed else None
        yield Finding(name=_NAME, is_met=is_met, found="there are no MPIJobs", cure=_INSTALL)
        return
    served = [one for one in found.spec.versions if one.served]
    ours = next((one for one in served if one.name == "v2beta1"), None)
    shown = f"MPIJob {', '.join(one.name for one in served)}"
    yield Finding(name=_NAME, is_met=ours is not None, found=shown, cure=_INSTALL)
    if ours is not None:
        yield from _fields(_Properties(ours.schema.open_api_v3_schema.of("spec")), options)
    yield from _deployments(cluster, options)


def _fields(spec: _Properties, options: KubernetesOptions) -> Iterator[Finding]:
    """Yield which fields a job may have; without a schema the API takes every field, and nothing is known."""
    if not spec.properties:
        return
    policy = spec.of("runPolicy")
    has = [name for name in _FIELDS if name in spec.properties]
    has += [f"runPolicy.{name}" for name in ("suspend", "schedulingPolicy", "managedBy") if name in policy]
    lacking = [name for name in _FIELDS if name not in spec.properties and name != "runLauncherAsWorker"]
    needed = {"suspend": options.queue, "schedulingPolicy": options.scheduling_policy}
    lacking += [f"runPolicy.{name}" for name, is_used in needed.items() if is_used and name not in policy]
    found = f"has {', '.join(has)}" + (f"; lacks {', '.join(lacking)}" if lacking else "")
    yield Finding(name="MPIJob's fields", is_met=not lacking, found=found, cure=_INSTALL if lacking else "")


def _deployments(cluster: Cluster, options: KubernetesOptions) -> Iterator[Finding]:
    try:
        found = list(cluster.read_everywhere(DEPLOYMENTS, _Deployment, _SELECTOR))
    except (BackendError, *NOT_JSON) as error:
        yield Finding(name=_LIMITS, is_met=None, found=f"not known: {error}", cure=MISSING_RIGHT)
        return
    if not found:
        reason = f"not known: no Deployment has the label {_SELECTOR}"
        yield Finding(name=_LIMITS, is_met=None, found=reason, cure="ask an administrator which flags it has")
    for one in found:
        yield from _judged(one, options)


def _judged(one: _Deployment, options: KubernetesOptions) -> Iterator[Finding]:
    main = next(iter(one.spec.template.spec.containers), SeenContainer())
    flags = _flags([*main.command, *main.args])
    rates = _DEFAULTS | {name: value for name, value in flags.items() if name in _DEFAULTS}
    gang = flags.get("gang-scheduling", "")
    found = (
        f"{one.metadata.namespace}/{one.metadata.name}, {main.image}: {rates['kube-api-qps']} requests a "
        f"second ({rates['kube-api-burst']} at once), {rates['controller-queue-rate-limit']} changes of "
        f"objects a second, {rates['threadiness']} threads{_pace(rates)}; gang scheduling: {gang or 'none'}"
    )
    yield Finding(name=_LIMITS, is_met=True, found=found)
    if one.status.ready_replicas == 0:
        cure = "look at its pods' events and logs: jobs are taken, and nobody makes their pods"
        yield Finding(name=f"{_NAME} runs", is_met=False, found="none of its pods is ready", cure=cure)
    watched = flags.get("namespace", "")
    if watched and watched != options.namespace:
        cure = f"use its namespace, or start it without --namespace (not {options.namespace})"
        found = f"it makes pods of jobs in {watched} alone"
        yield Finding(name=f"{_NAME}'s namespace", is_met=False, found=found, cure=cure)
    if options.scheduling_policy is not None and not gang:
        cure = "start it with --gang-scheduling=volcano, or scheduler-plugins-scheduler"
        found = "it has no flag --gang-scheduling, and passes scheduling_policy over"
        yield Finding(name=f"{_NAME}'s gang scheduling", is_met=False, found=found, cure=cure)


def _pace(rates: Mapping[str, str]) -> str:
    """Return the rate of jobs that its limits allow, as text; empty where a limit is no number."""
    try:
        requests, changes = int(rates["kube-api-qps"]), int(rates["controller-queue-rate-limit"])
    except ValueError:
        return ""
    an_hour = 3600 * min(requests / _REQUESTS_A_JOB, changes / _CHANGES_A_JOB)
    return f": some {float(f'{an_hour:.2g}'):,.0f} jobs of two nodes an hour"


def _flags(words: Sequence[str]) -> dict[str, str]:
    """Parse Go's flags: ``-name=value``, ``--name value``, or a name alone."""
    found: dict[str, str] = {}
    for word, after in pairwise([*words, ""]):
        flag = _FLAG.fullmatch(word)
        if flag is not None:
            found[flag[1]] = flag[2] if flag[2] is not None else ("" if after.startswith("-") else after)
    return found
