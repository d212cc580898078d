"""The Kubernetes section of a site file, as a user writes it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from tare.core.fields import Bytes, Count, Labels, Name, Seconds, Word
from tare.plugins.backends.kubernetes.options import CleanPods, LauncherCreation, Seccomp
from tare.plugins.backends.kubernetes.placement_types import (
    LauncherFile,
    SchedulingPolicyFile,
    SpreadingFile,
    TolerationFile,
)

Port = Annotated[int, Meta(ge=1, le=65535, examples=[2222])]


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Part of a file; a key that it does not know is a fault."""


class WorkFile(_File, frozen=True, kw_only=True):
    """A claim that holds campaigns."""

    claim: Annotated[Word, Meta(description="PersistentVolumeClaim, ReadWriteMany.", examples=["campaigns"])]
    path: Annotated[Word, Meta(description="Where it is mounted here.", examples=["/campaigns"])]


class TimeoutsFile(_File, frozen=True, kw_only=True):
    """How long a run may stay in each phase before it runs."""

    scheduled: Annotated[Seconds, Meta(description="Until all pods have a node.", examples=["10 min"])] = 600
    pulled: Annotated[Seconds, Meta(description="Until their images are there.", examples=["15 min"])] = 900
    ready: Annotated[Seconds, Meta(description="Until workers are ready.", examples=["5 min"])] = 300
    started: Annotated[Seconds, Meta(description="Until the launcher runs.", examples=["2 min"])] = 120
    fetched: Annotated[
        Seconds,
        Meta(description="Until results that the pod's log cannot carry are fetched.", examples=["30 min"]),
    ] = 1800


class KubernetesFile(_File, frozen=True, kw_only=True):
    """The pods of a platform, in the terms of Kubernetes and its MPI Operator."""

    image: Annotated[Word, Meta(description="Image with sshd, bash and MPI.", examples=["quay.io/me/mpi:1"])]
    namespace: Annotated[Word, Meta(description="Where pods are made.", examples=["bench"])] = "default"
    context: Annotated[Word | None, Meta(description="Context of the kubeconfig.", examples=["ocp"])] = None
    kubeconfig: Annotated[
        Word | None, Meta(description="Default: $KUBECONFIG, ~/.kube/config, or the pod's own account.")
    ] = None
    pull_policy: Annotated[
        Literal["Always", "IfNotPresent", "Never"], Meta(description="When the image is pulled.")
    ] = "IfNotPresent"
    pull_secrets: Annotated[list[Word], Meta(description="Secrets for the registry.")] = []
    service_account: Annotated[Word | None, Meta(description="Account of the pods.")] = None
    node_selector: Annotated[Labels, Meta(description="Labels of the nodes to use.")] = {}
    nodes: Annotated[list[Word], Meta(description="Nodes to use, by name.", examples=[["w1", "w2"]])] = []
    tolerations: Annotated[list[TolerationFile], Meta(description="Taints that pods put up with.")] = []
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
    ] = {}
    annotations: Annotated[
        Labels,
        Meta(
            description="Annotations of the pods of programs, such as CRI-O's for CPUs of their own.",
            examples=[{"cpu-load-balancing.crio.io": "disable", "irq-load-balancing.crio.io": "disable"}],
        ),
    ] = {}
    launcher: Annotated[LauncherFile, Meta(description="The pod that starts ranks.")] = LauncherFile()
    topology_spread: Annotated[list[SpreadingFile], Meta(description="Over what workers are spread.")] = []
    queue: Annotated[
        Word | None,
        Meta(description="LocalQueue of Kueue, where jobs wait for room.", examples=["bench"]),
    ] = None
    scheduling_policy: Annotated[
        SchedulingPolicyFile | None, Meta(description="What a gang scheduler is told of a job.")
    ] = None
    cpus: Annotated[
        Count | None, Meta(description="Whole CPUs of a pod; default: one for each thread.", examples=[32])
    ] = None
    memory: Annotated[Bytes | None, Meta(description="Memory of a pod.", examples=["64GiB"])] = None
    resources: Annotated[
        Labels,
        Meta(description="Further resources of a pod.", examples=[{"rdma/hca": "1"}]),
    ] = {}
    hugepages: Annotated[
        dict[Literal["2Mi", "1Gi"], Bytes],
        Meta(description="Huge pages of a pod by their size, at /dev/hugepages.", examples=[{"2Mi": "4GiB"}]),
    ] = {}
    ephemeral_storage: Annotated[
        Bytes | None, Meta(description="Disk of the node that a pod may fill.", examples=["20GiB"])
    ] = None
    shm: Annotated[Bytes | None, Meta(description="Size of /dev/shm; a runtime's default is 64 MiB.")] = None
    memlock: Annotated[
        Literal["node", "unlimited"], Meta(description="unlimited adds IPC_LOCK, as RDMA wants it.")
    ] = "node"
    capabilities: Annotated[
        list[Word],
        Meta(description="Further capabilities of root in a pod.", examples=[["NET_RAW"]]),
    ] = []
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
        list[Word],
        Meta(
            description="How it is started; '-p PORT' follows. Default: with a configuration of Tare's, "
            "and for root with the image's."
        ),
    ] = []
    shares_nodes: Annotated[bool, Meta(description="Workers may be together on a node.")] = False
    storage: Annotated[
        dict[Name, Word],
        Meta(description="ReadWriteMany claim of each storage path.", examples=[{"scratch": "scratch-pvc"}]),
    ] = {}
    work: Annotated[WorkFile | None, Meta(description="The claim in which campaigns lie.")] = None
    results: Annotated[
        Bytes,
        Meta(description="The most that comes home of a run's files; more is invalid.", examples=["1GiB"]),
    ] = 2**30
    launcher_creation: Annotated[
        LauncherCreation, Meta(description="launcherCreationPolicy of the operator.")
    ] = LauncherCreation.WAIT_FOR_WORKERS
    clean_pods: Annotated[CleanPods, Meta(description="cleanPodPolicy of the operator.")] = CleanPods.RUNNING
    start_interface: Annotated[Word, Meta(description="Pods' interface for start-up.")] = "eth0"
    in_flight: Annotated[Count, Meta(description="The most jobs at a time.", examples=[4])] = 1
    timeouts: Annotated[TimeoutsFile, Meta(description="How long each phase may take.")] = TimeoutsFile()
    merge: Annotated[
        dict[str, Any],
        Meta(
            description="Patch of manifests (RFC 7386), or one for each kind: MPIJob, Job, Pod.",
            examples=[{"MPIJob": {"spec": {"runLauncherAsWorker": False}}}],
        ),
    ] = {}
