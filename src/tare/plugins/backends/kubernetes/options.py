"""The options of a Kubernetes platform: its cluster, and how its pods are built."""

from __future__ import annotations

import enum

import msgspec

from tare.core.backend_options import PodPlacement, QueueOptions
from tare.core.site import Platform
from tare.plugins.backends.kubernetes.pod_options import (
    LauncherOptions,
    SchedulingPolicy,
    Spreading,
    Toleration,
)

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


class WorkVolume(msgspec.Struct, frozen=True, kw_only=True):
    """The ReadWriteMany claim that holds campaigns, and its mount path, here and in pods."""

    claim: str
    path: str


class PhaseTimeouts(msgspec.Struct, frozen=True, kw_only=True):
    """How long a run may stay in each phase, in seconds; its own time-out starts when it runs.

    `fetched_s` is how long a pod waits for its results to be fetched, if they are too large for its log.
    """

    scheduled_s: float = 600.0
    pulled_s: float = 900.0
    ready_s: float = 300.0
    started_s: float = 120.0
    fetched_s: float = 1800.0


class KubernetesOptions(QueueOptions, frozen=True, kw_only=True):
    """The pods of a platform, in the terms of Kubernetes (core/v1) and of its MPI Operator (v2beta1).

    `context` and `kubeconfig` choose the cluster, as for kubectl. A worker requests `cpus` whole CPUs and
    `memory_bytes`, and its limits equal its requests. So it is Guaranteed, and a kubelet with the policy
    ``static`` gives it exclusive CPUs. `cpus` None means one CPU for each thread of each rank. `memory_bytes`
    None requests no memory.

    `storage` are ReadWriteMany claims by the name of the storage path. `work` is the claim that holds
    campaigns; without it, at most `results_bytes` of a run's files are received. `user` is the id that
    programs run as: 0 is root, and None leaves the choice to the cluster, as OpenShift's restricted-v2 does.
    Root gets `capabilities` in addition to those of the runtime. `passwd` says whether an init container
    gives that user an account (see `writes_passwd`).

    `runtime_class`, `annotations`, `hugepages` (bytes by page size, 2Mi or 1Gi) and `ephemeral_storage_bytes`
    apply to pods in which programs run; `labels` apply to all pods and jobs. `queue` is a LocalQueue of
    Kueue. `sshd` is the command of the daemon; the port is appended. `merge` is a JSON patch that is merged
    into manifests (RFC 7386; see backends.kubernetes.merging).
    """

    image: str
    namespace: str = "default"
    context: str | None = None
    kubeconfig: str | None = None
    pull_policy: str = "IfNotPresent"
    pull_secrets: tuple[str, ...] = ()
    service_account: str | None = None
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    nodes: tuple[str, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    isolation: str | None = None
    priority_class: str | None = None
    scheduler: str | None = None
    runtime_class: str | None = None
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    launcher: LauncherOptions = LauncherOptions()
    topology_spread: tuple[Spreading, ...] = ()
    queue: str | None = None
    scheduling_policy: SchedulingPolicy | None = None
    cpus: int | None = None
    memory_bytes: int | None = None
    resources: dict[str, str] = msgspec.field(default_factory=dict)
    hugepages: dict[str, int] = msgspec.field(default_factory=dict)
    ephemeral_storage_bytes: int | None = None
    shm_bytes: int | None = None
    is_memlock_unlimited: bool = False
    capabilities: tuple[str, ...] = ()
    user: int | None = 1000
    home: str = "/home/mpiuser"
    ssh_port: int = 2222
    passwd: bool | None = None
    seccomp: Seccomp = Seccomp.RUNTIME_DEFAULT
    sshd: tuple[str, ...] = ("/usr/sbin/sshd", "-De", "-f", SSHD_CONFIG)
    shares_nodes: bool = False
    storage: dict[str, str] = msgspec.field(default_factory=dict)
    work: WorkVolume | None = None
    results_bytes: int = 2**30
    launcher_creation: LauncherCreation = LauncherCreation.WAIT_FOR_WORKERS
    clean_pods: CleanPods = CleanPods.RUNNING
    start_interface: str = POD_INTERFACE
    in_flight: int = 1
    timeouts: PhaseTimeouts = PhaseTimeouts()
    merge: str = ""

    @property
    def writes_passwd(self) -> bool:
        """Return whether an init container writes the user's account.

        By default it does if the cluster chooses the user, because no image has an account for that one.
        """
        return self.user is None if self.passwd is None else self.passwd

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
        quiet = (
            "-o",
            "StrictHostKeyChecking=no",
            "-o",
            "UserKnownHostsFile=/dev/null",
            "-o",
            "LogLevel=ERROR",
        )
        return ("ssh", "-o", "ConnectionAttempts=10", *quiet, "-p", str(self.ssh_port))

    @property
    def pods(self) -> PodPlacement:
        """Return how ranks are started in the pods (see BackendOptions)."""
        return PodPlacement(work=WORK, hostfile=HOSTFILE, agent=self.ssh, interface=self.start_interface)


def options_of(platform: Platform) -> KubernetesOptions | None:
    """Return the options of a Kubernetes platform; None for any other platform."""
    return platform.options if isinstance(platform.options, KubernetesOptions) else None
