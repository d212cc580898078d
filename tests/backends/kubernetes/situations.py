"""Tasks in every situation that a site file can ask for, one golden each."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec

from support.doubles import DoubleWorkload
from tare.core.case import Case, Layout
from tare.core.pod_network import Attachment, PodNetwork
from tare.core.scheduler import Task
from tare.core.site import Network, Platform, Site
from tare.core.workload import Stage
from tare.execution.batch import make_task
from tare.execution.compose import Composer
from tare.plugins import registry
from tare.plugins.backends.kubernetes.manifests.rendering import Json, render
from tare.plugins.backends.kubernetes.options import (
    CleanPods,
    KubernetesOptions,
    LauncherCreation,
    LauncherOptions,
    LauncherPlace,
    SchedulingPolicy,
    Spreading,
    Toleration,
    WorkVolume,
)

SOLVER = Stage(argv=("solver", "--in", "{work}/in/mesh.txt"), files={"in/mesh.txt": "4 4\n"})
MESHER = Stage(name="mesh", argv=("mesher", "-n", "4"), is_mpi=False)
STORED = Stage(argv=("writer", "{storage}/x"))
PAIR = Stage(
    argv=("sh", "{work}/peer.sh", "tcp:1", "serve", "--", "ask", "{address0}"),
    files={"peer.sh": "echo stands for peer.sh\n"},
    is_pair=True,
    layout=Layout(nodes=2, ranks=2),
)


class Situation(NamedTuple):
    """A platform, a network and a layout, and what runs there."""

    options: KubernetesOptions = KubernetesOptions(image="quay.io/tare/mpi:1", namespace="bench")
    network: Network = Network(interface="eth0")
    launcher: str = "openmpi4"
    layout: Layout = Layout(nodes=2, ranks=4, ranks_per_node=2)
    stages: tuple[Stage, ...] = (SOLVER,)
    management: tuple[str, ...] = ()
    needs_transport: bool = False

    @property
    def case(self) -> Case:
        return Case(
            id="ab12",
            workload="double",
            platform="pods",
            network="net",
            storage="scratch",
            layout=self.layout,
        )

    def composer(self) -> Composer:
        platform = Platform(
            backend="kubernetes",
            launcher=self.launcher,
            runtime="pod",
            options=self.options,
            path=("/opt/app",),
        )
        site = Site(
            name="k",
            nodes=("w1", "w2", "w3"),
            slots_per_node=4,
            platforms={"pods": platform},
            networks={"net": self.network},
            storage={"scratch": "/mnt/scratch"},
            management=self.management,
        )
        workloads = {"double": DoubleWorkload(stage_list=self.stages, needs_transport=self.needs_transport)}
        return Composer(site, workloads, registry.launcher, registry.runtime)

    def task(self, folder: Path = Path("/c/attempts/ab12/1.1"), timeout_s: float = 90.0) -> Task:
        task = make_task(self.composer(), self.case, f"tare-ca-ab12-{folder.name}", folder, timeout_s)
        labels = {"campaign": "ca", "case": "ab12", "run": folder.name, "folder": "/c"}
        return msgspec.structs.replace(task, labels=labels)

    def documents(self) -> list[Json]:
        composed = self.composer().compose(self.case)
        inputs = {name: text for stage, _ in composed for name, text in stage.files.items()}
        return render(self.task(), "echo facts\n", {} if self.options.work else inputs).documents

    def with_options(self, **changes: object) -> Situation:
        return self._replace(options=msgspec.structs.replace(self.options, **changes))


def attached(**fields: object) -> Network:
    """Return a network that Multus attaches as net1, made of these fields of an Attachment."""
    pod = PodNetwork(attachment="hsn", definition=msgspec.convert(fields, Attachment))
    return Network(interface="net1", pod=pod)


BASE = Situation()
MACVLAN = attached(kind="macvlan", master="ens1f0", mode="bridge", mtu=9000, subnet="10.90.0.0/24")
HOST = Network(interface="ens1f0", pod=PodNetwork(is_host=True))

SITUATIONS: dict[str, Situation] = {
    "pod-network": BASE,
    "openmpi5": BASE._replace(launcher="openmpi5"),
    "transport-is-told": BASE._replace(needs_transport=True),
    "mpich": BASE._replace(launcher="mpich"),
    "intelmpi": BASE._replace(launcher="intelmpi"),
    "host-network": BASE._replace(network=HOST),
    "host-network-with-management": BASE._replace(network=HOST, management=("ens1f1",)),
    "macvlan": BASE._replace(network=MACVLAN),
    "macvlan-openmpi5": BASE._replace(network=MACVLAN, launcher="openmpi5"),
    "macvlan-intelmpi": BASE._replace(network=MACVLAN, launcher="intelmpi"),
    "ipvlan": BASE._replace(network=attached(kind="ipvlan", master="ens1", mode="l2", subnet="10.9.0.0/24")),
    "sriov": BASE._replace(
        network=attached(kind="sriov", resource="intel.com/vf", vlan=100, subnet="10.9.0.0/24")
    ),
    "host-device": BASE._replace(network=attached(kind="host-device", master="ib0", subnet="10.9.0.0/24")),
    "attachment-of-another-namespace": BASE._replace(
        network=Network(interface="net1", pod=PodNetwork(attachment="networks/hsn"))
    ),
    "root": BASE.with_options(
        user=0, ssh_port=22, sshd=("/usr/sbin/sshd", "-De"), capabilities=("NET_RAW",)
    ),
    "openshift-chooses-the-user": BASE.with_options(user="cluster"),
    "isolation": BASE.with_options(
        isolation="bench=only", tolerations=(Toleration(key="gpu", operator="Exists", effect="NoSchedule"),)
    ),
    "nodes": BASE.with_options(nodes=("w1", "w2"), node_selector={"rack": "7"}),
    "resources": BASE.with_options(
        cpus=8, memory_bytes=2**30, resources={"rdma/hca": "1"}, shm_bytes=2**31, memlock="unlimited"
    ),
    "account": BASE.with_options(
        service_account="runner", pull_secrets=("quay",), pull_policy="Always", priority_class="high",
        scheduler="volcano",
    ),
    "operator-policies": BASE.with_options(
        launcher_creation=LauncherCreation.AT_STARTUP, clean_pods=CleanPods.ALL, shares_nodes=True
    ),
    "storage": BASE.with_options(storage={"scratch": "scratch-pvc"})._replace(stages=(STORED,)),
    "storage-on-the-work-claim": BASE.with_options(
        work=WorkVolume(claim="campaigns", path="/c"), storage={"scratch": "campaigns"}
    )._replace(stages=(STORED,)),
    "work-claim-and-two-stages": BASE.with_options(work=WorkVolume(claim="campaigns", path="/c"))._replace(
        stages=(MESHER, SOLVER)
    ),
    "merge": BASE.with_options(
        merge={
            "metadata": {"annotations": {"owner": "me"}}, "spec": {"runPolicy": {"activeDeadlineSeconds": 7}}
        }
    ),
    "merge-by-kind": BASE.with_options(
        merge={"MPIJob": {"spec": {"slotsPerWorker": 1}}, "Job": {"spec": {"backoffLimit": 3}}}
    ),
    "launcher-beside": BASE.with_options(
        isolation="bench=only", launcher=LauncherOptions(place=LauncherPlace.BESIDE)
    ),
    "launcher-anywhere": BASE.with_options(
        isolation="bench=only", launcher=LauncherOptions(place=LauncherPlace.ANYWHERE)
    ),
    "launcher-of-its-own": BASE.with_options(
        nodes=("w1", "w2"), node_selector={"rack": "7"},
        launcher=LauncherOptions(
            cpus=0.5, memory_bytes=2**30, nodes=("infra1",), node_selector={"role": "infra"},
            tolerations=(Toleration(key="infra", operator="Exists"),),
        ),
    ),
    "pods-of-cri-o": BASE.with_options(
        runtime_class="performance-bench", labels={"team": "hpc"},
        annotations={"cpu-load-balancing.crio.io": "disable", "cpu-quota.crio.io": "disable"},
    ),
    "hugepages": BASE.with_options(
        hugepages={"2Mi": 2**32}, ephemeral_storage_bytes=2**30, shm_bytes=2**31, memory_bytes=2**30
    ),
    "hugepages-of-two-sizes-on-one-node": BASE.with_options(
        hugepages={"2Mi": 2**32, "1Gi": 2**31}
    )._replace(layout=Layout()),
    "topology-spread": BASE.with_options(
        topology_spread=(Spreading(key="rack"), Spreading(key="zone", max_skew=2, is_required=False))
    ),
    "queue": BASE.with_options(queue="bench"),
    "queue-of-a-pair": BASE.with_options(queue="bench")._replace(stages=(PAIR,), launcher="none"),
    "scheduling-policy": BASE.with_options(
        scheduler="volcano",
        scheduling_policy=SchedulingPolicy(
            queue="bench", priority_class="high", min_resources={"cpu": "5"}, schedule_timeout_s=600
        ),
    ),
    "one-node": BASE._replace(layout=Layout(nodes=1, ranks=2, ranks_per_node=2, threads=2)),
    "one-node-on-macvlan": BASE._replace(layout=Layout(), network=MACVLAN),
    "pair": BASE._replace(stages=(PAIR,), launcher="none"),
    "pair-on-static-addresses": BASE._replace(
        stages=(PAIR,),
        network=attached(
            kind="macvlan", master="ens1f0", addressing="static", addresses=("10.9.0.1/24", "10.9.0.2/24")
        ),
    ),
    "pair-on-one-node": BASE._replace(
        stages=(msgspec.structs.replace(PAIR, layout=Layout(nodes=1, ranks=2, ranks_per_node=2)),)
    ),
}  # fmt: skip
