"""Check one job by a dry run: its traps, the job and its pods before admission, and their quota.

Admission checks pods, and never the MPIJob they come from.

Quota, LimitRange, PodSecurity, OpenShift's security context constraints, RuntimeClass, PriorityClass and the
webhooks of a cluster all check pods. A dry run passes a pod through all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tare.core.checks import Finding
from tare.core.decoding import decode_json
from tare.core.errors import NOT_JSON, BackendError
from tare.plugins.backends.kubernetes.api.cluster import Cluster, Refusal
from tare.plugins.backends.kubernetes.api.connection import MISSING_RIGHT
from tare.plugins.backends.kubernetes.checks.admission import SCC
from tare.plugins.backends.kubernetes.diagnosis.changed_pods import asked_pods, changes
from tare.plugins.backends.kubernetes.diagnosis.quotas import check_room, read_quotas
from tare.plugins.backends.kubernetes.manifests.lint import lint
from tare.plugins.backends.kubernetes.manifests.rendering import Json, roles_of
from tare.plugins.backends.kubernetes.objects.merging import kind_of
from tare.plugins.backends.kubernetes.objects.observed import SeenPod

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
    (" cannot create ", MISSING_RIGHT),
    ("because it is being terminated", "name another namespace, or wait until it is gone and make it again"),
    ("namespaces? .*not found", "make the namespace, or name another one"),
)  # fmt: skip
_UNCHANGED = (
    "ask those who run the webhook, policy or LimitRange that does it to leave these pods alone, often by a "
    "label or an annotation ('labels', 'annotations'); or ask for what the pods get"
)
_ELSE = "mend what it names: an unknown field, a quota, or a policy of the namespace"


def check_job(cluster: Cluster, what: str, manifests: Sequence[Json], in_flight: int) -> Iterator[Finding]:
    """Yield what keeps the job named `what` from running; `manifests` are all of its objects."""
    for trap in lint(manifests):
        yield Finding(name=f"{what}: {trap.rule}", is_met=False, found=trap.what, cure=trap.cure)
    jobs = [one for one in manifests if kind_of(one) in {"MPIJob", "Job"}]
    for job in jobs:
        yield from _try_out(cluster, what, job)[0]
    pods: list[tuple[int, SeenPod]] = []
    for role in roles_of(manifests):
        findings, pod = _try_out(cluster, f"the {role.name} of {what}", role.pod)
        yield from findings
        if pod is not None:
            pods.append((role.n_pods, pod))
    try:
        quotas = read_quotas(cluster)
    except Refusal:
        return  # the list of quotas has reported it
    yield from check_room(quotas, what, kind_of(jobs[0]) if jobs else "Pod", pods, in_flight)


def _try_out(cluster: Cluster, what: str, manifest: Json) -> tuple[list[Finding], SeenPod | None]:
    """Return the findings of a dry run, and the object after admission, read as a pod, if it was accepted."""
    name = f"{what}, tried without making it"
    try:
        content, warnings = cluster.try_out(manifest)
    except BackendError as error:
        message = str(error)
        return [Finding(name=name, is_met=False, found=message, cure=_cure_of(message))], None
    try:
        pod = decode_json(content, type=SeenPod)
    except NOT_JSON:
        pod = SeenPod()
    scc = pod.metadata.annotations.get(SCC, "")
    found = f"is taken, under the SecurityContextConstraints {scc}" if scc else "is taken"
    findings = [Finding(name=name, is_met=True, found=found)]
    for warning in dict.fromkeys(one[:_LONGEST] for one in warnings[:_MOST_WARNINGS]):
        cure = _cure_of(warning)
        findings.append(Finding(name=f"{name}: warning", is_met=None, found=warning, cure=cure))
    for asked in asked_pods([manifest]).values() if kind_of(manifest) == "Pod" else ():
        for one in changes(asked, pod):
            is_met = False if one.matters else None
            findings.append(Finding(name=f"{name}: changed", is_met=is_met, found=one.what, cure=_UNCHANGED))
    return findings, pod


def _cure_of(message: str) -> str:
    """Return the cure for a refusal, chosen by the text of the API server's message."""
    return next((cure for pattern, cure in _CURES if re.search(pattern, message)), _ELSE)
