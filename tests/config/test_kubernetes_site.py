"""What a site file says of a cluster, with every fault and its cure."""

from __future__ import annotations

import pytest

from tare.config.site_file import site_from_text
from tare.core.errors import FileFaults
from tare.core.pod_network import Addressing, AttachmentKind
from tare.core.site import Site
from tare.plugins.backends.kubernetes.options import (
    LauncherCreation,
    LauncherOptions,
    LauncherPlace,
    SchedulingPolicy,
    Spreading,
    Toleration,
    WorkVolume,
    options_of,
)

SITE = """\
site: ocp
nodes: [w1, w2]
platforms:
  pods:
    backend: kubernetes
    launcher: openmpi5
    kubernetes: {image: quay.io/me/mpi:1%s}
networks:
  sdn: {interface: eth0%s}
storage: {scratch: /mnt/scratch}
"""


def site(options: str = "", network: str = "") -> Site:
    return site_from_text(SITE % (options, network), "site.yaml", {"TAG": "7"})


def faults(options: str = "", network: str = "") -> str:
    with pytest.raises(FileFaults) as caught:
        site(options, network)
    return str(caught.value)


def test_an_image_is_enough() -> None:
    platform = site().platforms["pods"]
    assert platform.runtime == "pod"
    options = options_of(platform)
    assert (options.user, options.ssh_port, options.ssh_mount) == (1000, 2222, "/home/mpiuser/.ssh")
    assert options.launcher_creation is LauncherCreation.WAIT_FOR_WORKERS


def test_every_option_arrives() -> None:
    options = site(
        ", namespace: bench, memory: 1GiB, shm: 2GiB, memlock: unlimited, cpus: 8, nodes: [w1], "
        "in_flight: 9, "
        "tolerations: [{key: gpu, operator: Exists}], work: {claim: c, path: /c/}, storage: {scratch: s}, "
        "user: cluster, timeouts: {ready: 2 min}, merge: {spec: {suspend: null}}"
    ).platforms["pods"]
    found = options_of(options)
    assert (found.namespace, found.memory_bytes, found.shm_bytes) == ("bench", 2**30, 2**31)
    assert (found.cpus, found.nodes, found.user_id, found.memlock) == (8, ("w1",), None, "unlimited")
    assert found.tolerations == (Toleration(key="gpu", operator="Exists"),)
    assert found.work == WorkVolume(claim="c", path="/c")
    assert found.timeouts.ready_s == 120
    assert found.merge == {"spec": {"suspend": None}}
    assert options.in_flight == 9


def test_root_has_its_own_places() -> None:
    options = options_of(site(", user: 0, ssh_port: 22, capabilities: [NET_RAW]").platforms["pods"])
    assert options.capabilities == ("NET_RAW",)
    assert options.ssh_mount == "/root/.ssh"
    assert options.sshd_command == ("/usr/sbin/sshd", "-De", "-p", "22")


def test_a_network_of_multus_is_read_with_what_to_make_of_it() -> None:
    written = (
        ", pod: {attachment: nets/hsn, "
        "definition: {kind: macvlan, master: ens1f0, mtu: 9000, subnet: 10.9.0.0/24}}"
    )
    pod = site(network=written).networks["sdn"].pod
    assert pod.definition is not None
    assert (pod.attachment, pod.definition.kind) == ("nets/hsn", AttachmentKind.MACVLAN)
    assert pod.definition.addressing is Addressing.WHEREABOUTS


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (", namespace: Bench", "site.yaml:7:54: platforms.pods.kubernetes.namespace: 'Bench' is not a name"),
        (", storage: {scratsh: s}", "did you mean 'scratch'"),
        (", work: {claim: c, path: c}", "'c' is a relative path"),
        (", isolation: bench", "'bench' has no value; write LABEL=VALUE"),
        (", ssh_port: 22", "only root may listen on port 22; use 2222"),
        (", home: me", "'me' is a relative path"),
        (", capabilities: [NET_RAW]", "programs of other users have none; remove it, or add user: 0"),
        (", merge: {kind: Job}", "not Tare's to watch"),
        (", cpus: 0.5", "cpus"),
        (", merge: {MPIJob: {kind: Job}}", "kubernetes.merge.MPIJob.kind: a job of another kind"),
        (", merge: {MPIjob: {spec: {}}}", "'MPIjob' is no part of a manifest; did you mean 'MPIJob'"),
        (", merge: {Job: {spec: {}}, spec: {}}", "'spec' is beside patches by kind; write it into Job: {…}"),
        (", merge: {Pod: {sepc: {}}}", "'sepc' is no part of a manifest; did you mean 'spec'"),
        (", merge: {Job: 7}", "a patch is a mapping; write {spec: {…}}"),
        (
            ", merge: {metadata: {name: x}}",
            "kubernetes.merge.metadata.name: Tare finds its own objects by it",
        ),
        (
            ", merge: {Pod: {metadata: {labels: {tare/task: x}}}}",
            "Pod.metadata.labels.'tare/task': Tare finds its",
        ),
        (
            ", merge: {metadata: null}",
            "kubernetes.merge.metadata: metadata is a mapping; write {annotations: {…}}",
        ),
        (", merge: {metadata: {labels: 7}}", "kubernetes.merge.metadata.labels: labels are a mapping"),
        (", runtime_class: Kata", "site.yaml:7:58: platforms.pods.kubernetes.runtime_class: 'Kata' is not a"),
        (", queue: 'a b'", "kubernetes.queue: 'a b' is not a name of Kubernetes"),
        (", labels: {tare/run: x}", "labels.'tare/run': by 'tare/run' Tare and the operator find their pods"),
        (", labels: {team: 'a b'}", "labels.team: 'a b' is no value of a label"),
        (", labels: {kueue.x-k8s.io/queue-name: q}", "has an option of its own; write 'queue: q'"),
        (", annotations: {'a b': c}", "'a b' is no key of a label; write NAME or PREFIX/NAME"),
        (", hugepages: {2Mi: 3MiB}", "hugepages.2Mi: 3145728 bytes are no whole pages of 2Mi"),
        (", hugepages: {4Mi: 4MiB}", "hugepages"),
        (", ephemeral_storage: much", "ephemeral_storage"),
        (", topology_spread: [{key: 'a b'}]", "topology_spread[0].key: 'a b' is no key of a label"),
        (", topology_spread: [{key: rack, max_skew: 0}]", "max_skew"),
        (", launcher: {place: besides}", "did you mean 'beside'"),
        (", launcher: {place: beside, nodes: [w1]}", "beside its workers it is on their nodes"),
        (", nodes: [w1, w2], launcher: {nodes: [w1]}", "'w1' is a node of programs"),
        (", launcher: {cpus: -1}", "launcher.cpus"),
        (", scheduling_policy: {min_available: 0}", "min_available"),
        (", imagePullPolicy: Never", "imagePullPolicy"),
    ],
)
def test_a_fault_of_the_options_has_its_place_and_cure(options: str, says: str) -> None:
    assert says in faults(options)


def test_where_pods_go_and_the_options_of_queues_are_read() -> None:
    written = (
        ", launcher: {place: anywhere, cpus: 0.5, memory: 1GiB,"
        " tolerations: [{key: infra, operator: Exists}]}"
        ", hugepages: {1Gi: 2GiB}, topology_spread: [{key: rack, required: false}], queue: bench"
        ", scheduling_policy: {queue: q, schedule_timeout: 10 min}, merge: {Job: {spec: {}}}"
    )
    found = options_of(site(written).platforms["pods"])
    assert found.launcher == LauncherOptions(
        place=LauncherPlace.ANYWHERE, cpus=0.5, memory_bytes=2**30,
        tolerations=(Toleration(key="infra", operator="Exists"),),
    )  # fmt: skip
    assert (found.hugepages, found.queue) == ({"1Gi": 2**31}, "bench")
    assert found.topology_spread == (Spreading(key="rack", is_required=False),)
    assert found.scheduling_policy == SchedulingPolicy(queue="q", schedule_timeout_s=600)
    assert found.merge == {"Job": {"spec": {}}}


@pytest.mark.parametrize(
    ("network", "says"),
    [
        ("{host: true, attachment: hsn}", "pods in the network of their node need no attachment"),
        ("{definition: {kind: macvlan, master: e, subnet: 10.0.0.0/8}}", "add 'attachment: hsn'"),
        ("{attachment: 'a b'}", "'a b' is not a name of Kubernetes"),
        ("{attachment: a, definition: {kind: macvlan, subnet: 10.0.0.0/8}}", "add 'master: ens1f0'"),
        ("{attachment: a, definition: {kind: sriov, subnet: 10.0.0.0/8}}", "add 'resource: intel.com/vf'"),
        ("{attachment: a, definition: {kind: ipvlan, master: e}}", "add 'subnet: 10.90.0.0/24'"),
        ("{attachment: a, definition: {kind: ipvlan, master: e, subnet: ten}}", "'ten' is not in CIDR form"),
        (
            "{attachment: a, definition: {kind: ipvlan, master: e, addressing: static}}",
            "static gives one address to a server, and one to its client",
        ),
        (
            "{attachment: a, definition: {kind: ipvlan, master: e, subnet: 10.0.0.0/8, vlan: 7}}",
            "use kind: sriov",
        ),
    ],
)
def test_a_fault_of_a_network_has_its_cure(network: str, says: str) -> None:
    assert says in faults(network=f", pod: {network}")


def test_options_without_the_backend_are_a_fault_and_so_is_the_backend_without_an_image() -> None:
    text = SITE % ("", "")
    for written, says in (
        (text.replace("backend: kubernetes\n", "backend: process\n"), "add 'backend: kubernetes'"),
        (text.replace("    kubernetes: {image: quay.io/me/mpi:1}\n", ""), "pods are made of an image"),
        (text.replace("launcher:", "runtime: podman\n    launcher:"), "a pod is a container already"),
    ):
        with pytest.raises(FileFaults, match=says):
            site_from_text(written, "site.yaml", {})
