"""The schema of `kubernetes:` in a platform: its cluster, and how its pods are built."""

from __future__ import annotations

import enum
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from tare.core.backend_options import PodPlacement, QueueOptions
from tare.core.errors import UsageError
from tare.core.fields import Bytes, Count, Labels, Name, Seconds, Word
from tare.core.site import Platform

SCRIPTS = "/tare/scripts"
"""The folder of Tare's scripts in a pod."""
RUN = "/tare/run"
"""The folder in which a pod keeps data about itself; it is deleted with the pod."""
SSHD_CONFIG = f"{RUN}/sshd_config"
"""The configuration of sshd that prepare.sh writes, for users other than root."""
WORK = "/tare/work"
"""The working folder of an attempt, in each of its pods."""
HOSTFILE = "/etc/mpi/hostfile"
"""The file in which the MPI Operator lists the workers (mpi-operator, v2beta1)."""
POD_INTERFACE = "eth0"
"""The interface of the cluster's own pod network, as the CNI specification's users name it."""
_SSHD = ("/usr/sbin/sshd", "-De")

Port = Annotated[int, Meta(ge=1, le=65535, examples=[2222])]


class LauncherCreation(enum.StrEnum):
    """When the MPI Operator starts the launcher."""

    AT_STARTUP = "AtStartup"
    WAIT_FOR_WORKERS = "WaitForWorkersReady"


class CleanPods(enum.StrEnum):
    """Which pods the MPI Operator deletes when a job is over."""

    NONE = "None"
    RUNNING = "Running"
    ALL = "All"


class Seccomp(enum.StrEnum):
    """The seccomp profile that pods request (core/v1, SeccompProfile); CLUSTER requests none."""

    RUNTIME_DEFAULT = "RuntimeDefault"
    UNCONFINED = "Unconfined"
    CLUSTER = "cluster"


class LauncherPlace(enum.StrEnum):
    """Where the launcher may be: on no node of programs, on one of its workers' nodes, or on any node."""

    APART = "apart"
    BESIDE = "beside"
    ANYWHERE = "anywhere"


class Toleration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A taint that pods tolerate (core/v1, Toleration)."""

    key: Annotated[Word, Meta(description="The taint's key.", examples=["bench"])]
    operator: Annotated[
        Literal["Equal", "Exists"], Meta(description="Whether its value counts.", examples=["Exists"])
    ] = "Equal"
    value: Annotated[str, Meta(description="Its value.")] = ""
    effect: Annotated[
        Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"], Meta(description="Its effect; '' is any.")
    ] = ""


class LauncherOptions(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"memory_bytes": "memory"}
):
    """The pod that starts the ranks of several nodes, and runs none."""

    place: Annotated[
        LauncherPlace,
        Meta(
            description="apart: on no node of programs; beside: on one of its workers' nodes.",
            examples=["beside"],
        ),
    ] = LauncherPlace.APART
    cpus: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(description="CPUs that it asks for, and may take at most; default: 0.1 and 1.", examples=[2]),
    ] = None
    memory_bytes: Annotated[
        Bytes | None,
        Meta(description="Memory, likewise; default: 128 MiB and 512 MiB.", examples=["4GiB"]),
    ] = None
    nodes: Annotated[tuple[Word, ...], Meta(description="Nodes for it, by name.", examples=[["login1"]])] = ()
    node_selector: Annotated[
        Labels,
        Meta(description="Labels of the nodes for it.", examples=[{"node-role.kubernetes.io/infra": ""}]),
    ] = {}
    tolerations: Annotated[tuple[Toleration, ...], Meta(description="Taints that it tolerates.")] = ()


class Spreading(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"is_required": "required"}
):
    """Over what the workers of a run are spread (core/v1, TopologySpreadConstraint)."""

    key: Annotated[Word, Meta(description="Label of nodes.", examples=["topology.kubernetes.io/zone"])]
    max_skew: Annotated[Count, Meta(description="The most by which its values may differ.")] = 1
    is_required: Annotated[bool, Meta(description="Pods wait rather than be spread unevenly.")] = True


class SchedulingPolicy(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={"schedule_timeout_s": "schedule_timeout"},
):
    """runPolicy.schedulingPolicy of the operator, for Volcano or the scheduler plug-ins' coscheduling."""

    # A launcher that waits for workers does not count for `min_available`: a gang with it could never start.
    min_available: Annotated[
        Count | None,
        Meta(description="Pods that start together; default: the workers, and an AtStartup launcher."),
    ] = None
    queue: Annotated[Word | None, Meta(description="Queue of Volcano.", examples=["bench"])] = None
    priority_class: Annotated[Word | None, Meta(description="PriorityClass of the gang.")] = None
    min_resources: Annotated[
        Labels, Meta(description="What must be free before it starts.", examples=[{"cpu": "64"}])
    ] = {}
    schedule_timeout_s: Annotated[
        Seconds | None, Meta(description="How long the gang may wait.", examples=["10 min"])
    ] = None


class WorkVolume(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ReadWriteMany claim that holds campaigns, and its mount path, here and in pods."""

    claim: Annotated[Word, Meta(description="PersistentVolumeClaim, ReadWriteMany.", examples=["campaigns"])]
    path: Annotated[Word, Meta(description="Where it is mounted here.", examples=["/campaigns"])]


class PhaseTimeouts(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename=lambda name: name.removesuffix("_s"),
):
    """How long a run may stay in each phase before it runs; its own time-out starts when it runs."""

    scheduled_s: Annotated[Seconds, Meta(description="Until all pods have a node.", examples=["10 min"])] = (
        600
    )
    pulled_s: Annotated[Seconds, Meta(description="Until their images are there.", examples=["15 min"])] = 900
    ready_s: Annotated[Seconds, Meta(description="Until workers are ready.", examples=["5 min"])] = 300
    started_s: Annotated[Seconds, Meta(description="Until the launcher runs.", examples=["2 min"])] = 120
    fetched_s: Annotated[
        Seconds,
        Meta(description="Until results that the pod's log cannot carry are fetched.", examples=["30 min"]),
    ] = 1800


_WRITTEN = {
    "memory_bytes": "memory",
    "shm_bytes": "shm",
    "ephemeral_storage_bytes": "ephemeral_storage",
    "results_bytes": "results",
}
"""The keys of a site file for the fields whose names have a unit."""


class KubernetesOptions(QueueOptions, frozen=True, kw_only=True, forbid_unknown_fields=True, rename=_WRITTEN):
    """The pods of a platform, in the terms of Kubernetes and its MPI Operator."""

    # A worker's limits equal its requests. So it is Guaranteed, and a kubelet with the policy `static` gives
    # it exclusive CPUs. Without `memory_bytes` it requests no memory. `results_bytes` applies without `work`.

    image: Annotated[Word, Meta(description="Image with sshd, bash and MPI.", examples=["quay.io/me/mpi:1"])]
    namespace: Annotated[Word, Meta(description="Where pods are made.", examples=["bench"])] = "default"
    context: Annotated[Word | None, Meta(description="Context of the kubeconfig.", examples=["ocp"])] = None
    kubeconfig: Annotated[
        Word | None, Meta(description="Default: $KUBECONFIG, ~/.kube/config, or the pod's own account.")
    ] = None
    pull_policy: Annotated[
        Literal["Always", "IfNotPresent", "Never"], Meta(description="When the image is pulled.")
    ] = "IfNotPresent"
    pull_secrets: Annotated[tuple[Word, ...], Meta(description="Secrets for the registry.")] = ()
    service_account: Annotated[Word | None, Meta(description="Account of the pods.")] = None
    node_selector: Annotated[Labels, Meta(description="Labels of the nodes to use.")] = msgspec.field(
        default_factory=dict
    )
    nodes: Annotated[
        tuple[Word, ...], Meta(description="Nodes to use, by name.", examples=[["w1", "w2"]])
    ] = ()
    tolerations: Annotated[tuple[Toleration, ...], Meta(description="Taints that pods tolerate.")] = ()
    isolation: Annotated[
        Word | None,
        Meta(
            description="Label=value of nodes set apart by a taint of the same key.",
            examples=["bench=only"],
        ),
    ] = None
    priority_class: Annotated[Word | None, Meta(description="PriorityClass of the pods.")] = None
    scheduler: Annotated[Word | None, Meta(description="Scheduler, if not the default one.")] = None
    runtime_class: Annotated[
        Word | None,
        Meta(description="RuntimeClass of the pods of programs.", examples=["performance-bench"]),
    ] = None
    labels: Annotated[
        Labels, Meta(description="Further labels of pods and jobs.", examples=[{"team": "hpc"}])
    ] = msgspec.field(default_factory=dict)
    annotations: Annotated[
        Labels,
        Meta(
            description="Annotations of the pods of programs, such as CRI-O's for CPUs of their own.",
            examples=[{"cpu-load-balancing.crio.io": "disable", "irq-load-balancing.crio.io": "disable"}],
        ),
    ] = msgspec.field(default_factory=dict)
    launcher: Annotated[LauncherOptions, Meta(description="The pod that starts ranks.")] = LauncherOptions()
    topology_spread: Annotated[tuple[Spreading, ...], Meta(description="Over what workers are spread.")] = ()
    queue: Annotated[
        Word | None,
        Meta(description="LocalQueue of Kueue, where jobs wait for quota.", examples=["bench"]),
    ] = None
    scheduling_policy: Annotated[
        SchedulingPolicy | None, Meta(description="Settings of a job for a gang scheduler.")
    ] = None
    cpus: Annotated[
        Count | None, Meta(description="Whole CPUs of a pod; default: one for each thread.", examples=[32])
    ] = None
    memory_bytes: Annotated[Bytes | None, Meta(description="Memory of a pod.", examples=["64GiB"])] = None
    resources: Annotated[
        Labels, Meta(description="Further resources of a pod.", examples=[{"rdma/hca": "1"}])
    ] = msgspec.field(default_factory=dict)
    hugepages: Annotated[
        dict[Literal["2Mi", "1Gi"], Bytes],
        Meta(description="Huge pages of a pod by their size, at /dev/hugepages.", examples=[{"2Mi": "4GiB"}]),
    ] = msgspec.field(default_factory=dict)
    ephemeral_storage_bytes: Annotated[
        Bytes | None, Meta(description="Disk of the node that a pod may fill.", examples=["20GiB"])
    ] = None
    shm_bytes: Annotated[
        Bytes | None, Meta(description="Size of /dev/shm; a runtime's default is 64 MiB.")
    ] = None
    memlock: Annotated[
        Literal["node", "unlimited"], Meta(description="unlimited adds IPC_LOCK, as RDMA wants it.")
    ] = "node"
    capabilities: Annotated[
        tuple[Word, ...],
        Meta(description="Further capabilities of root in a pod.", examples=[["NET_RAW"]]),
    ] = ()
    user: Annotated[
        Annotated[int, Meta(ge=0)] | Literal["cluster"],
        Meta(description="User id of the programs; cluster leaves it to OpenShift.", examples=[1000]),
    ] = 1000
    home: Annotated[Word, Meta(description="That user's home.", examples=["/home/mpiuser"])] = "/home/mpiuser"
    passwd: Annotated[
        bool | None,
        Meta(
            description="An init container gives that user a line in /etc/passwd, as ssh wants it; "
            "default: with 'user: cluster'."
        ),
    ] = None
    seccomp: Annotated[
        Seccomp,
        Meta(description="seccompProfile of the pods; cluster sets none, as OpenShift's anyuid wants it."),
    ] = Seccomp.RUNTIME_DEFAULT
    ssh_port: Annotated[Port, Meta(description="Port of the workers' sshd.")] = 2222
    sshd: Annotated[
        tuple[Word, ...],
        Meta(
            description="How it is started; '-p PORT' follows. Default: with a configuration of Tare's, "
            "and for root with the image's."
        ),
    ] = ()
    shares_nodes: Annotated[bool, Meta(description="Workers may be together on a node.")] = False
    storage: Annotated[
        dict[Name, Word],
        Meta(description="ReadWriteMany claim of each storage path.", examples=[{"scratch": "scratch-pvc"}]),
    ] = msgspec.field(default_factory=dict)
    work: Annotated[WorkVolume | None, Meta(description="The claim that holds campaigns.")] = None
    results_bytes: Annotated[
        Bytes,
        Meta(description="The most that is received of a run's files; more is invalid.", examples=["1GiB"]),
    ] = 2**30
    launcher_creation: Annotated[
        LauncherCreation, Meta(description="launcherCreationPolicy of the operator.")
    ] = LauncherCreation.WAIT_FOR_WORKERS
    clean_pods: Annotated[CleanPods, Meta(description="cleanPodPolicy of the operator.")] = CleanPods.RUNNING
    start_interface: Annotated[Word, Meta(description="Pods' interface for start-up.")] = POD_INTERFACE
    in_flight: Annotated[Count, Meta(description="The most jobs at a time.", examples=[4])] = 1
    timeouts: Annotated[PhaseTimeouts, Meta(description="How long each phase may take.")] = PhaseTimeouts()
    merge: Annotated[
        dict[str, Any],
        Meta(
            description="Patch of manifests (RFC 7386), or one for each kind: MPIJob, Job, Pod.",
            examples=[{"MPIJob": {"spec": {"runLauncherAsWorker": False}}}],
        ),
    ] = msgspec.field(default_factory=dict)

    @property
    def namespace_of_cluster(self) -> tuple[str | None, str | None, str]:
        """Return what names the cluster and the namespace in it."""
        return self.context, self.kubeconfig, self.namespace

    @property
    def user_id(self) -> int | None:
        """Return the id that programs run as; None where the cluster chooses it, as OpenShift does."""
        return self.user if isinstance(self.user, int) else None

    @property
    def node_labels(self) -> dict[str, str]:
        """Return all labels of the nodes for programs, with the one of `isolation`."""
        label, _, value = (self.isolation or "").partition("=")
        return self.node_selector | ({label: value} if label else {})

    @property
    def all_tolerations(self) -> tuple[Toleration, ...]:
        """Return the tolerations of pods of programs, with the one for the taint of `isolation`."""
        return (*self.tolerations, *self.isolation_tolerations)

    @property
    def isolation_tolerations(self) -> tuple[Toleration, ...]:
        """Return the toleration for the taint that sets the nodes for programs apart, if there is one."""
        label = (self.isolation or "").partition("=")[0]
        return (Toleration(key=label, operator="Exists"),) if label else ()

    @property
    def writes_passwd(self) -> bool:
        """Return whether an init container writes the user's account.

        By default it does if the cluster chooses the user, because no image has an account for that one.
        """
        return self.user_id is None if self.passwd is None else self.passwd

    @property
    def sshd_command(self) -> tuple[str, ...]:
        """Return the command of the workers' sshd, with its port."""
        own = _SSHD if self.user == 0 else (*_SSHD, "-f", SSHD_CONFIG)
        return (*(self.sshd or own), "-p", str(self.ssh_port))

    @property
    def ssh_mount(self) -> str:
        """Return the folder in which the operator puts the ssh keys."""
        return "/root/.ssh" if self.user == 0 else f"{self.home}/.ssh"

    @property
    def ssh(self) -> tuple[str, ...]:
        """Return the command by which one pod starts a command on another.

        It repeats the operator's option ConnectionAttempts, which our options would replace: ssh then retries
        while workers start late.
        """
        options = (
            "ConnectionAttempts=10",
            "StrictHostKeyChecking=no",
            "UserKnownHostsFile=/dev/null",
            "LogLevel=ERROR",
        )
        return ("ssh", *(word for one in options for word in ("-o", one)), "-p", str(self.ssh_port))

    @property
    def pods(self) -> PodPlacement:
        """Return how ranks are started in the pods (see BackendOptions)."""
        return PodPlacement(
            work=WORK,
            hostfile=HOSTFILE,
            agent=self.ssh,
            interface=self.start_interface,
            shares_work=self.work is not None,
        )


def options_of(platform: Platform) -> KubernetesOptions:
    """Return the options of a Kubernetes platform. Raises UsageError for any other platform."""
    if not isinstance(platform.options, KubernetesOptions):
        raise UsageError("its platform has no options of Kubernetes; add 'kubernetes: {image: …}'")
    return platform.options
