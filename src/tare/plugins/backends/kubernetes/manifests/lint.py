"""Check manifests for known traps of MPIJobs: settings that the API accepts, but that break runs or numbers.

Each trap was reproduced with the MPI Operator. The rules check the manifests as they are sent, with the extra
fields that a site merges in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from tare.core.decoding import convert
from tare.plugins.backends.kubernetes.manifests.attachments import REQUEST
from tare.plugins.backends.kubernetes.objects.created import (
    AttachmentDefinition,
    ConfigMap,
    Container,
    Job,
    Manifest,
    Pod,
    PodSpec,
)
from tare.plugins.backends.kubernetes.objects.merging import KINDS, Json, Patch, kind_of, left_out
from tare.plugins.backends.kubernetes.objects.mpi_job import MpiJob, ReplicaSpec
from tare.plugins.backends.kubernetes.options import HOSTFILE, WORK

_KINDS = {kind.KIND: kind for kind in (MpiJob, Job, Pod, ConfigMap, AttachmentDefinition)}
_MPIRUN = re.compile(r"(?:\S*/)?(?:mpirun|orterun|prterun|mpiexec(?:\.hydra)?)\b")
_WHOLE = re.compile(r"\d+")
_STEP = re.compile(r"^step(?:_on_first)? (\S+)", re.MULTILINE)
_ON_FIRST = re.compile(r"^step_on_first (\S+)", re.MULTILINE)
_CLAIM = "name the ReadWriteMany claim that holds the campaigns: kubernetes: {work: {claim: …, path: …}}"


class Trap(NamedTuple):
    """A trap in manifests: its rule, what would happen, and how to avoid it."""

    rule: str
    what: str
    cure: str

    def __str__(self) -> str:
        return f"{self.what}; {self.cure} [{self.rule}]"


class _Bundle(NamedTuple):
    """An MPIJob, with the commands and networks that belong to it."""

    job: MpiJob
    launcher: ReplicaSpec
    worker: ReplicaSpec
    command: str
    networks: tuple[AttachmentDefinition, ...]


def lint(documents: Iterable[Json]) -> list[Trap]:
    """Return the traps in these objects, which are created together."""
    objects = [_read(one) for one in documents]
    found: list[Trap] = []
    for one in objects:
        if isinstance(one, MpiJob):
            found += _lint_mpi_job(one, objects)
        elif isinstance(one, Job):
            found += _privileges(one.spec.template.spec)
        elif isinstance(one, Pod):
            found += _privileges(one.spec)
    return list(dict.fromkeys(found))


def lint_merge(merge: Patch, documents: Iterable[Json]) -> list[Trap]:
    """Return the parts of a site's patch that apply to none of these objects, but to other kinds."""
    cure = f"write a patch for each kind: merge: {{{', '.join(f'{one}: {{…}}' for one in KINDS)}}}"
    return [
        Trap("merge", f"'merge' has {field} of {_an(owner)}, which is left out of {_an(kind)}", cure)
        for field, owner, kind in left_out(merge, documents)
    ]


def lint_products(products: Sequence[str]) -> list[Trap]:
    """Return the trap in products that stages make for later runs, if no claim holds the campaign."""
    if not products:
        return []
    names = ", ".join(dict.fromkeys(products))
    what = f"later runs get {names} by a ConfigMap, and are refused if that is more than 900 KiB"
    return [Trap("products", what, _CLAIM)]


def lint_inputs(fault: str) -> list[Trap]:
    """Return the trap in inputs that reach pods by a ConfigMap; `fault` is empty where it can hold them."""
    return [Trap("inputs", f"runs are refused: {fault}", _CLAIM)] if fault else []


def _an(kind: str) -> str:
    return f"an {kind}" if kind == "MPIJob" else f"a {kind}"


def _read(document: Json) -> Manifest | None:
    known = _KINDS.get(kind_of(document))
    return convert(document, known) if known is not None else None


def _lint_mpi_job(job: MpiJob, others: Sequence[Manifest | None]) -> list[Trap]:
    specs = job.spec.mpi_replica_specs
    if specs.launcher is None or specs.worker is None or not specs.worker.replicas:
        what = "the operator refuses a job without workers in an Event alone, and its status stays empty"
        return [Trap("replicas", what, "give Launcher one replica, and Worker one or more")]
    networks = tuple(one for one in others if isinstance(one, AttachmentDefinition))
    words = [word for one in specs.launcher.template.spec.containers for word in one.command]
    scripts = [one.data.get("task.sh", "") for one in others if isinstance(one, ConfigMap)]
    bundle = _Bundle(job, specs.launcher, specs.worker, "\n".join([" ".join(words), *scripts]), networks)
    return [trap for rule in _RULES for trap in rule(bundle)]


def _hostfile(bundle: _Bundle) -> Iterator[Trap]:
    for line in bundle.command.splitlines():
        if _starts_ranks(line) and HOSTFILE not in line:
            yield Trap(
                "hostfile",
                "Open MPI 5 ignores the operator's hosts: ranks run in the launcher, and the job succeeds",
                f"start ranks with --hostfile {HOSTFILE}",
            )


def _own_timeout(bundle: _Bundle) -> Iterator[Trap]:
    if bundle.job.spec.run_policy.active_deadline_seconds is None:
        yield Trap(
            "deadline",
            "a job that nobody watches any more runs for ever",
            "set runPolicy.activeDeadlineSeconds; it counts from the launcher on, so watch workers too",
        )


def _suspension(bundle: _Bundle) -> Iterator[Trap]:
    spec = bundle.job.spec
    if spec.run_policy.suspend is not None and spec.launcher_creation_policy == "WaitForWorkersReady":
        yield Trap(
            "suspend",
            "a job that is resumed starts its launcher before its workers are ready",
            "leave runPolicy.suspend out",
        )


def _logs(bundle: _Bundle) -> Iterator[Trap]:
    if bundle.job.spec.run_policy.ttl_seconds_after_finished is not None:
        yield Trap(
            "ttl",
            "ttlSecondsAfterFinished deletes the launcher's log, perhaps unread, and keeps the MPIJob",
            "leave it out: Tare deletes a job when its log is safe, and 'tare clean' those of dead campaigns",
        )


def _clean_pods(bundle: _Bundle) -> Iterator[Trap]:
    if not bundle.job.spec.run_policy.clean_pod_policy:
        yield Trap(
            "clean pods",
            "workers stay up after their job, and keep its CPUs: the default is None, whatever is documented",
            "set runPolicy.cleanPodPolicy: Running",
        )


def _restarts(bundle: _Bundle) -> Iterator[Trap]:
    policies = {bundle.launcher.restart_policy, bundle.worker.restart_policy}
    if not policies <= {"Never", "OnFailure"} or bundle.job.spec.run_policy.backoff_limit != 0:
        yield Trap(
            "restarts",
            "what is started again behind Tare's back is measured twice, and its first failure is not seen",
            "set restartPolicy: Never and runPolicy.backoffLimit: 0",
        )


def _host_network(bundle: _Bundle) -> Iterator[Trap]:
    pod = bundle.worker.template.spec
    if not pod.host_network:
        return
    affinity = pod.affinity
    if affinity is None or affinity.pod_anti_affinity is None:
        yield Trap(
            "host network apart",
            "two workers on one node want the same port of its network, and crash in turns",
            "set podAntiAffinity on kubernetes.io/hostname (shares_nodes: false)",
        )
    if _sshd_port(pod.containers[0]) in (None, 22):
        yield Trap(
            "host network port",
            "port 22 of the node's network is the node's own sshd",
            "give the workers' sshd a port of its own (ssh_port: 2222)",
        )
    if pod.dns_policy != "ClusterFirstWithHostNet":
        yield Trap(
            "host network names",
            "pods on the host's network do not know the names of the workers",
            "set dnsPolicy: ClusterFirstWithHostNet",
        )


def _multus(bundle: _Bundle) -> Iterator[Trap]:
    if REQUEST not in bundle.worker.template.metadata.annotations:
        return
    for line in bundle.command.splitlines():
        start = re.search(r"(?:oob_tcp_if_include|prte_if_include|-iface)[ =](\S+)", line)
        if _starts_ranks(line) and start is None:
            yield Trap(
                "start-up network",
                "the launcher is not on Multus' network, nor are its addresses in the hostfile: it hangs",
                "start ranks over the pod network: oob_tcp_if_include eth0, prte_if_include or -iface",
            )


def _readiness(bundle: _Bundle) -> Iterator[Trap]:
    container = bundle.worker.template.spec.containers[0]
    probe, port = container.readiness_probe, _sshd_port(container)
    is_right = probe is not None and probe.tcp_socket is not None and probe.tcp_socket.port == (port or 22)
    if bundle.job.spec.launcher_creation_policy == "WaitForWorkersReady" and not is_right:
        yield Trap(
            "readiness",
            "a worker counts as ready before its sshd listens, and the launcher fails",
            f"give the workers a readinessProbe on port {port or 22}",
        )


def _ssh_options(bundle: _Bundle) -> Iterator[Trap]:
    port = _sshd_port(bundle.worker.template.spec.containers[0])
    for line in bundle.command.splitlines():
        if not _starts_ranks(line):
            continue
        is_ours = re.search(r"plm_(?:rsh|ssh)_(?:args|agent)|-bootstrap-exec", line)
        if is_ours and "ConnectionAttempts" not in line:
            yield Trap(
                "ssh options",
                "own options replace the operator's, and workers whose names come late are not waited for",
                "repeat -o ConnectionAttempts=10 beside them",
            )
        if port not in (None, 22) and not re.search(rf"-p['\" ]+{port}\b", line):
            yield Trap(
                "ssh port",
                f"the launcher looks for the workers on port 22, and they listen on {port}",
                f"start ranks through ssh -p {port}",
            )


def _non_root(bundle: _Bundle) -> Iterator[Trap]:
    pod = bundle.worker.template.spec
    context = pod.security_context
    is_root = context is None or not context.run_as_non_root
    port = _sshd_port(pod.containers[0])
    if not is_root and (port or 22) < 1024:
        yield Trap(
            "non-root port",
            f"only root may listen on port {port or 22}",
            "use a port from 1024 on (ssh_port: 2222)",
        )
    if not is_root and bundle.job.spec.ssh_auth_mount_path in ("", "/root/.ssh"):
        yield Trap(
            "non-root keys",
            "keys in /root/.ssh cannot be read by the user that programs run as",
            "set sshAuthMountPath to .ssh in the user's home",
        )


def _whole_cpus(bundle: _Bundle) -> Iterator[Trap]:
    for container in bundle.worker.template.spec.containers:
        asked, most = container.resources.requests, container.resources.limits
        if asked != most or not _WHOLE.fullmatch(str(asked.get("cpu", ""))):
            yield Trap(
                "whole CPUs",
                "ranks share CPUs with whatever else runs on the node, and are throttled",
                "ask for whole CPUs, with limits equal to requests",
            )


def _addresses(bundle: _Bundle) -> Iterator[Trap]:
    for network in bundle.networks:
        if '"host-local"' in network.spec.config:
            yield Trap(
                "addresses by node",
                "host-local counts on each node by itself: pods of two nodes get the same address",
                "use whereabouts, which counts for the cluster",
            )
        if '"static"' in network.spec.config:
            yield Trap(
                "static addresses",
                "workers are made from one template: all would get the same static address",
                "use whereabouts, or static for pairs alone",
            )


def _working_folder(bundle: _Bundle) -> Iterator[Trap]:
    pod = bundle.worker.template.spec
    own = {volume.name for volume in pod.volumes if volume.empty_dir is not None}
    mounted = {one.name for one in pod.containers[0].volume_mounts if one.mount_path == WORK}
    steps, on_first = _STEP.findall(bundle.command), _ON_FIRST.findall(bundle.command)
    if (bundle.worker.replicas or 0) > 1 and on_first and len(steps) > 1 and mounted & own:
        yield Trap(
            "working folder",
            f"each worker has a working folder of its own: {steps[-1]} does not find on the others what "
            f"{', '.join(on_first)} left in one of them",
            _CLAIM,
        )


def _pair_address(bundle: _Bundle) -> Iterator[Trap]:
    if any(_starts_ranks(line) and "'{address0}'" in line for line in bundle.command.splitlines()):
        yield Trap(
            "address",
            "{address0} is known in a cluster to pairs of server and client alone",
            "find the address in the program, from its hostname",
        )


def _gang(bundle: _Bundle) -> Iterator[Trap]:
    spec, gang = bundle.job.spec, bundle.job.spec.run_policy.scheduling_policy
    waits = spec.launcher_creation_policy == "WaitForWorkersReady"
    n_workers = bundle.worker.replicas or 0
    if gang is not None and waits and (gang.min_available is None or gang.min_available > n_workers):
        yield Trap(
            "gang",
            "workers wait for the launcher to be scheduled with them, and it waits for them to be ready",
            "set schedulingPolicy.minAvailable to the number of workers, or launcher_creation: AtStartup",
        )


def _privileges(pod: PodSpec) -> Iterator[Trap]:
    if pod.host_network and pod.dns_policy != "ClusterFirstWithHostNet":
        yield Trap(
            "host network names",
            "pods on the host's network do not know the cluster's names",
            "set dnsPolicy: ClusterFirstWithHostNet",
        )


def _starts_ranks(line: str) -> bool:
    return bool(_MPIRUN.search(line)) and not line.lstrip().startswith("#")


def _sshd_port(container: Container) -> int | None:
    """Return the port after -p in the command of a worker; None if there is none."""
    words = container.command
    ports = [after for word, after in pairwise(words) if word == "-p" and after.isdigit()]
    return int(ports[-1]) if ports else None


_RULES: tuple[Callable[[_Bundle], Iterator[Trap]], ...] = (
    _hostfile, _own_timeout, _suspension, _logs, _clean_pods, _restarts, _host_network, _multus, _readiness,
    _ssh_options, _non_root, _whole_cpus, _addresses, _working_folder, _pair_address, _gang,
)  # fmt: skip
