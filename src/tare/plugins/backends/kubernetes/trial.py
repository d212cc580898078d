"""Try the pods of a job by a dry run: admission checks pods, and never the MPIJob they come from.

Quota, LimitRange, PodSecurity, OpenShift's security context constraints, RuntimeClass, PriorityClass and the
webhooks of a cluster all check pods. A dry run passes a pod through all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import msgspec

from tare.core.errors import NOT_JSON, BackendError
from tare.plugins.backends.kubernetes import naming
from tare.plugins.backends.kubernetes.check_result import ROLE, Finding
from tare.plugins.backends.kubernetes.cluster import Cluster
from tare.plugins.backends.kubernetes.manifests import Json

_SCC = "openshift.io/scc"
_MOST_WARNINGS, _LONGEST = 20, 500
_CURES = (
    ("violates PodSecurity", "ask for the namespace's label pod-security.kubernetes.io/enforce to allow it "
     "(host: true and user: 0 need privileged), or leave out what it names"),
    ("security context constraint", "bind the SecurityContextConstraints that it needs to the pods' "
     "account (deploy/kubernetes), and name that with 'service_account'; 'user: cluster' leaves the user to "
     "OpenShift"),
    ("exceeded quota", "ask for more quota, or for less: 'cpus', 'memory', 'in_flight'"),
    ("failed quota", "the quota counts what the pods do not ask for: set 'memory', 'cpus' or 'resources'"),
    (r"(minimum|maximum) .* per (Container|Pod)|limit to request ratio|LimitRange",
     "ask for what the namespace's LimitRange allows: 'cpus', 'memory'; or ask for another one"),
    ("RuntimeClass", "name a RuntimeClass that is there: kubectl get runtimeclasses"),
    ("PriorityClass", "name a PriorityClass that is there: kubectl get priorityclasses"),
    ("service account|serviceaccount", "make the account, or name another one with 'service_account'"),
    ("admission webhook|ValidatingAdmissionPolicy", "mend what it names, or ask those who run that policy"),
    (" cannot create ", ROLE),
    ("namespaces? .*not found", "make the namespace, or name another one"),
)  # fmt: skip
_ELSE = "mend what it names: an unknown field, a quota, or a policy of the namespace"


class _Resources(msgspec.Struct, frozen=True):
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}


class _Container(msgspec.Struct, frozen=True):
    resources: _Resources = _Resources()


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    containers: list[_Container] = []
    overhead: dict[str, str] = {}
    priority_class_name: str = ""
    active_deadline_seconds: int | None = None


class _Meta(msgspec.Struct, frozen=True):
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class TriedPod(msgspec.Struct, frozen=True):
    """A pod after admission, with the defaults of LimitRange and the overhead of its RuntimeClass."""

    metadata: _Meta = _Meta()
    spec: _Spec = _Spec()


class Role(NamedTuple):
    """The pods of one role in a job: its name, their number, and one of them to try."""

    name: str
    n_pods: int
    pod: Json


class Trial(NamedTuple):
    """The result of trying a role's pod: the findings, and the pod if it was accepted."""

    role: Role
    findings: tuple[Finding, ...]
    pod: TriedPod | None


def roles_of(manifests: Sequence[Json]) -> list[Role]:
    """Return the pods of one job's objects, in the form in which controllers would create them."""
    found: list[Role] = []
    for document in manifests:
        kind, spec, meta = _get(document, "kind"), _get(document, "spec"), _get(document, "metadata")
        if kind == "MPIJob":
            for key, role in (("Launcher", naming.LAUNCHER), ("Worker", naming.WORKER)):
                part = _get(_get(spec, "mpiReplicaSpecs"), key)
                replicas = _get(part, "replicas")
                count = replicas if isinstance(replicas, int) else 1
                found.append(Role(role, count, _pod(_get(part, "template"), meta, role)))
        elif kind == "Job":
            found.append(Role("pod", 1, _pod(_get(spec, "template"), meta, "pod")))
        elif kind == "Pod":
            role = str(_get(_get(meta, "labels"), naming.ROLE) or "pod")
            found.append(Role(role, 1, document))
    return found


def try_role(cluster: Cluster, what: str, role: Role) -> Trial:
    """Try a pod of `role` on the API server; findings call the job `what`."""
    name = f"the {role.name} of {what}, tried without making it"
    try:
        content, warnings = cluster.try_out(role.pod)
    except BackendError as error:
        said = str(error)
        return Trial(role, (Finding(name=name, is_met=False, found=said, cure=cure_of(said)),), None)
    try:
        pod = msgspec.json.decode(content, type=TriedPod)
    except NOT_JSON:
        pod = TriedPod()
    scc = pod.metadata.annotations.get(_SCC, "")
    found = f"is taken, under the SecurityContextConstraints {scc}" if scc else "is taken"
    told = (Finding(name=name, is_met=True, found=found), *warned(name, warnings))
    return Trial(role, told, pod)


def warned(name: str, warnings: Sequence[str]) -> Iterator[Finding]:
    """Yield the warnings of the API server for an object that it accepted."""
    for warning in dict.fromkeys(warnings[:_MOST_WARNINGS]):
        said = warning[:_LONGEST]
        yield Finding(name=f"{name}: warning", is_met=None, found=said, cure=cure_of(said))


def cure_of(said: str) -> str:
    """Return the cure for a refusal, chosen by the text of the API server's message."""
    return next((cure for words, cure in _CURES if re.search(words, said)), _ELSE)


def _pod(template: Json, owner: Json, role: str) -> Json:
    """Return a pod of `template` as its controller would create it, with its owner's namespace and name."""
    meta = _get(template, "metadata")
    known = meta if isinstance(meta, dict) else {}
    own: Json = {"name": f"{_get(owner, 'name')}-{role}-0", "namespace": _get(owner, "namespace")}
    spec = _get(template, "spec")
    never: dict[str, Json] = {"restartPolicy": "Never"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": known | cast("dict[str, Json]", own),
        "spec": never | (spec if isinstance(spec, dict) else {}),
    }


def _get(document: Json, key: str) -> Json:
    return document.get(key) if isinstance(document, dict) else None
