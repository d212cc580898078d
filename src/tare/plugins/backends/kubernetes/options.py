"""What a site tells of a Kubernetes cluster: the pods of a platform."""

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
"""Where a pod finds the scripts of Tare."""
RUN = "/tare/run"
"""What a pod knows of itself; it is its own, and gone with it."""
SSHD_CONFIG = f"{RUN}/sshd_config"
"""The configuration of sshd that prepare.sh writes, for users other than root."""
WORK = "/tare/work"
"""The working folder of an attempt, in each of its pods."""
HOSTFILE = "/etc/mpi/hostfile"
"""Where the MPI Operator puts the names of the workers (mpi-operator, v2beta1)."""
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
    """The profile of system calls that pods ask for (core/v1, SeccompProfile); CLUSTER asks for none."""

    RUNTIME_DEFAULT = "RuntimeDefault"
    UNCONFINED = "Unconfined"
    CLUSTER = "cluster"


class WorkVolume(msgspec.Struct, frozen=True, kw_only=True):
    """The claim, ReadWriteMany, that holds campaigns, and the path where it is mounted here and in pods."""

    claim: str
    path: str


class PhaseTimeouts(msgspec.Struct, frozen=True, kw_only=True):
    """How long a run may stay in each phase, in seconds; its own time-out counts from when it runs.

    `fetched_s` is how long a pod whose results its log cannot carry waits for them to be fetched.
    """

    scheduled_s: float = 600.0
    pulled_s: float = 900.0
    ready_s: float = 300.0
    started_s: float = 120.0
    fetched_s: float = 1800.0


class KubernetesOptions(QueueOptions, frozen=True, kw_only=True):
    """The pods of a platform, in the terms of Kubernetes (core/v1) and of its MPI Operator (v2beta1).

    `context` and `kubeconfig` choose the cluster, as kubectl does. A worker asks for `cpus` whole CPUs and
    `memory_bytes`, as much as it may take at most: then it is Guaranteed, and a kubelet with the policy
    ``static`` gives it CPUs of its own; None asks for a CPU for each thread of each rank. `memory_bytes` None
    asks for no memory. `storage` are claims, ReadWriteMany, by the storage path's name; `work` the claim in
    which campaigns lie; without it, at most `results_bytes` of a run's files come home. `user` is the id that
    programs run as, 0 is root, None leaves it to the cluster, as OpenShift's restricted-v2 does; root has
    `capabilities` besides those that the runtime gives. `passwd` says whether an init container gives that
    user an account (see `writes_passwd`). `runtime_class`, `annotations`, `hugepages` (bytes by the size of a
    page, 2Mi or 1Gi) and `ephemeral_storage_bytes` are those of pods in which programs run; `labels` those of
    all pods and jobs. `queue` is a LocalQueue of Kueue. `sshd` starts the daemon on the port that follows it.
    `merge` is merged into manifests as RFC 7386 says, in JSON (see backends.kubernetes.merging).
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
        """Return whether an init container writes the user's account: by default one that no image knows."""
        return self.user is None if self.passwd is None else self.passwd

    @property
    def ssh_mount(self) -> str:
        """Return where the operator puts the keys of ssh."""
        return "/root/.ssh" if self.user == 0 else f"{self.home}/.ssh"

    @property
    def ssh(self) -> tuple[str, ...]:
        """Return how one pod starts a command on another.

        Repeats the operator's own option, which ours would replace: ConnectionAttempts rides over workers
        that come late.
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
        """Return how ranks start in the pods (see BackendOptions)."""
        return PodPlacement(work=WORK, hostfile=HOSTFILE, agent=self.ssh, interface=self.start_interface)


def options_of(platform: Platform) -> KubernetesOptions | None:
    """Return the options of a platform of Kubernetes, None of any other."""
    return platform.options if isinstance(platform.options, KubernetesOptions) else None
