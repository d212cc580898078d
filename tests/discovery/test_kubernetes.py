"""What `tare init` makes of a Kubernetes cluster: a site that Tare reads back as it was meant."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
import yaml

from tare.app.init.draft import Choice, make_draft
from tare.app.init.files import site_text, study_text
from tare.app.init.kubernetes_draft import KubernetesChoice, memory_of_pods
from tare.app.init.site_draft import Stated
from tare.config.site_file import site_from_text
from tare.core.site import Site
from tare.discovery.facts import Found
from tare.discovery.kubernetes_contexts import find_contexts
from tare.discovery.kubernetes_facts import (
    AttachmentFacts,
    ClaimFacts,
    Context,
    KubernetesFacts,
    LimitFacts,
    NodeGroup,
    QuotaFacts,
    StorageClassFacts,
)
from tare.discovery.kubernetes_nodes import find_groups
from tare.plugins.backends.kubernetes.checks.mpi_operator import Operator
from tare.plugins.backends.kubernetes.objects.observed import SeenNode, SeenPod
from tare.plugins.backends.kubernetes.options import KubernetesOptions, options_of

HOSTILE = [
    "a: b",
    "# x",
    "$(touch harm)",
    'it\'s "quoted"',
    "../../etc",
    "x\nsite: forged\nplatforms: {forged: {}}",
    "x\r\u2028\u202e\x1b[31m",
    "{a}, [b]",
    "Null",
    "- c",
    "*a &b !c %d @e `f",
    "y" * 3000,
]
WORKERS = NodeGroup(nodes=("w1", "w2", "w3"), cpus=32, free_cpus=30, memory_bytes=128 << 30)
FACTS = KubernetesFacts(
    context=Context(name="ocp", kubeconfig="/home/me/.kube/config"),
    namespace="bench",
    version="v1.34.4",
    groups=(WORKERS,),
    operator=Operator(versions=("v2beta1",), image="mpioperator/mpi-operator:0.6", place="mpi/op"),
    missing_rights=(),
)
CHOICE = KubernetesChoice(
    image=Stated("quay.io/me/mpi:1", "named by --image"),
    launcher=Stated("openmpi4", "a guess"),
    user=Stated(1000, "by a dry run"),
)


def text_of(facts: KubernetesFacts, choice: KubernetesChoice = CHOICE, notes: tuple[str, ...] = ()) -> str:
    found = Found(host="login1", kubernetes=facts, notes=notes)
    return site_text(make_draft(found, Choice(kubernetes=choice)), found.host, "")


def study_of(facts: KubernetesFacts, choice: KubernetesChoice = CHOICE) -> str:
    return study_text(make_draft(Found(host="h", kubernetes=facts), Choice(kubernetes=choice)))


def site_of(facts: KubernetesFacts, choice: KubernetesChoice = CHOICE) -> Site:
    return site_from_text(text_of(facts, choice), "site.yaml")


def options(facts: KubernetesFacts, choice: KubernetesChoice = CHOICE) -> KubernetesOptions:
    return options_of(site_of(facts, choice).platforms["pods"])


def changed(**changes: object) -> KubernetesFacts:
    return msgspec.structs.replace(FACTS, **changes)


def node(name: str, *, cpus: int = 32, taint: str = "", is_ready: bool = True, **labels: str) -> SeenNode:
    taints = [{"key": taint, "effect": "NoSchedule"}] if taint else []
    document = {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "spec": {"taints": taints},
        "status": {
            "allocatable": {"cpu": str(cpus), "memory": "64Gi"},
            "conditions": [{"type": "Ready", "status": "True" if is_ready else "False"}],
        },
    }
    return msgspec.convert(document, SeenNode)


def test_a_cluster_becomes_a_site_with_its_nodes_and_one_platform() -> None:
    site = site_of(FACTS)
    assert (site.name, site.nodes, site.slots_per_node) == ("ocp", ("w1", "w2", "w3"), 30)
    assert list(site.networks) == ["pod-network"]
    found = options(FACTS)
    assert (found.image, found.context, found.namespace) == ("quay.io/me/mpi:1", "ocp", "bench")
    assert (found.user, found.memory_bytes, found.kubeconfig) == (1000, 2 << 30, None)
    assert site.platforms["pods"].launcher == "openmpi4"


@pytest.mark.parametrize(
    ("free_cpus", "launcher", "facts", "has_spare"),
    [
        (2, "none", {}, True),
        (1, "none", {}, False),
        (5, "openmpi4", {}, True),
        (4, "openmpi4", {}, False),
        (30, "none", {"limits": (LimitFacts(name="l", kind="Container", most={"cpu": "1"}),)}, False),
        (30, "none", {"quotas": (QuotaFacts(name="q", hard={"limits.cpu": "2"}),)}, False),
    ],
)
def test_a_first_study_leaves_a_cpu_to_what_runs_beside_its_program(
    free_cpus: int, launcher: str, facts: dict[str, object], *, has_spare: bool
) -> None:
    """With a limit of one CPU, pods were throttled, and every fourth run did not count."""
    group = msgspec.structs.replace(WORKERS, free_cpus=free_cpus)
    choice = msgspec.structs.replace(CHOICE, launcher=Stated(launcher, "a guess"))
    assert ("\nthreads: 2" in study_of(changed(groups=(group,), **facts), choice)) is has_spare


@pytest.mark.parametrize("text", HOSTILE)
def test_what_an_api_server_says_cannot_forge_a_line(text: str) -> None:
    """No name that Kubernetes would refuse comes into a value; all others come back as they are."""
    hostile = changed(
        context=Context(name=text, kubeconfig=f"/tmp/{text}"),
        version=text,
        groups=(
            NodeGroup(
                nodes=("w1", text, "w2"), cpus=4, free_cpus=4, memory_bytes=8 << 30,
                own_labels={text: text, "type": text}, taints=(text, "bench"), devices={text: "1"},
            ),
            msgspec.structs.replace(WORKERS, nodes=(text,), taints=(text,)),
            NodeGroup(nodes=("v1",), cpus=4, free_cpus=4, memory_bytes=8 << 30),
        ),
        operator=Operator(versions=("v2beta1", text), image=text, place=text),
        attachments=(
            AttachmentFacts(namespace=text, name=text),
            AttachmentFacts(namespace="bench", name="hsn", kind=text, master=text, addressing=text),
            AttachmentFacts(namespace="bench", name="vf", kind=text, addressing=text, device=text * 2),
        ),
        claims=(
            ClaimFacts(name=text, access_modes=(text,), phase=text, is_shared=True),
            ClaimFacts(name="data", access_modes=(text,), phase=text, size=text, is_shared=True),
        ),
        storage_classes=(StorageClassFacts(name=text, provisioner=text),),
        quotas=(QuotaFacts(name=text, hard={text: text, "requests.memory": text}),),
        limits=(LimitFacts(name=text, kind="Pod", most={"memory": text, text: text}),),
        pod_security=text,
        missing_rights=(text,),
    )  # fmt: skip
    choice = KubernetesChoice(
        image=Stated(text.replace("$", ""), text),
        launcher=Stated("openmpi4", text),
        user=Stated("cluster", text),
        host_refusal=text,
    )
    written = text_of(hostile, choice, notes=(text,))
    site = site_from_text(written, "site.yaml")
    assert list(site.platforms) == ["pods"]
    assert site.nodes == ("w1", "w2")
    assert set(site.networks) <= {"pod-network", "hsn"}
    assert dict(site.storage) == {"data": "/mnt/data"}
    found = options_of(site.platforms["pods"])
    assert (found.image, found.context) == (text.replace("$", ""), text)


def test_nodes_are_grouped_by_what_pods_get_and_those_that_take_none_are_left_out() -> None:
    nodes = [
        node("control", taint="node-role.kubernetes.io/control-plane"),
        node("small", cpus=8),
        *(node(f"w{number}", kind="big") for number in range(3)),
        node("lost", is_ready=False),
    ]
    busy = msgspec.convert(
        {
            "metadata": {},
            "spec": {"containers": [{"resources": {"requests": {"cpu": "1500m"}}}]},
            "status": {"phase": "Running"},
        },
        SeenPod,
    )
    groups = find_groups(nodes, {"w1": [busy]})
    assert [one.nodes for one in groups] == [("w0", "w1", "w2"), ("small",), ("control",)]
    assert (groups[0].cpus, groups[0].free_cpus) == (32, 30)
    assert groups[0].own_labels == {"kind": "big"}
    found = options(changed(groups=groups))
    assert found.node_selector == {"kind": "big"}
    assert found.launcher.place == "apart", "the small node is left for it"


def test_without_a_label_of_their_own_nodes_are_named() -> None:
    groups = (WORKERS, NodeGroup(nodes=("x",), cpus=8, free_cpus=8, memory_bytes=1 << 33))
    assert options(changed(groups=groups)).nodes == ("w1", "w2", "w3")


def test_where_all_nodes_are_measured_the_launcher_is_beside_its_workers() -> None:
    two = msgspec.structs.replace(WORKERS, nodes=("w1", "w2"), taints=("bench",))
    found = options(changed(groups=(two,)))
    assert found.launcher.place == "beside"
    assert [one.key for one in found.tolerations] == ["bench"]


def test_without_the_right_to_list_nodes_two_unknown_ones_stand_for_them() -> None:
    assert len(site_of(changed(groups=())).nodes) == 2
    assert "nodes cannot be listed" in text_of(changed(groups=()))


def test_memory_is_what_the_smallest_limit_leaves() -> None:
    limit = LimitFacts(name="l", kind="Container", most={"memory": "1Gi"})
    assert memory_of_pods(changed(limits=(limit,))).value == 1 << 30
    quota = QuotaFacts(name="q", hard={"limits.memory": "2Gi"}, used={"limits.memory": "512Mi"})
    assert memory_of_pods(changed(limits=(limit,), quotas=(quota,))).value == 512 << 20


def test_without_the_operator_programs_run_without_mpi() -> None:
    for operator in (None, Operator(versions=("v1",))):
        choice = msgspec.structs.replace(CHOICE, launcher=Stated("none", "no MPI Operator"))
        assert site_of(changed(operator=operator), choice).platforms["pods"].launcher == "none"
        assert "workload: copy" in study_of(changed(operator=operator), choice)


def test_networks_whose_pods_cannot_reach_each_other_are_comments_with_the_reason() -> None:
    attachments = (
        AttachmentFacts(
            namespace="bench", name="hsn", kind="macvlan", master="ens1", addressing="whereabouts"
        ),
        AttachmentFacts(namespace="default", name="local", kind="macvlan", addressing="host-local"),
        AttachmentFacts(
            namespace="default", name="vf", kind="sriov", addressing="whereabouts", device="x/vf"
        ),
        AttachmentFacts(namespace="default", name="silent", kind="macvlan"),
        AttachmentFacts(namespace="default", name="hsn", kind="macvlan", addressing="whereabouts"),
    )
    text = text_of(changed(attachments=attachments))
    site = site_from_text(text, "site.yaml")
    assert {name: one.pod.attachment for name, one in site.networks.items()} == {
        "pod-network": None,
        "hsn": "hsn",
        "default-hsn": "default/hsn",
    }
    for reason in ("the same addresses", "no node has x/vf", "get no addresses"):
        assert reason in text
    able = msgspec.structs.replace(WORKERS, devices={"x/vf": "8"})
    assert "vf" in site_of(changed(attachments=attachments, groups=(able,))).networks


def test_a_claim_that_several_nodes_may_mount_is_a_storage_path() -> None:
    claims = (
        ClaimFacts(name="scratch", access_modes=("ReadWriteMany",), phase="Bound", is_shared=True),
        ClaimFacts(name="own", access_modes=("ReadWriteOnce",), phase="Bound"),
    )
    site = site_of(changed(claims=claims))
    assert dict(site.storage) == {"scratch": "/mnt/scratch"}
    assert options(changed(claims=claims)).storage == {"scratch": "scratch"}
    assert "Claim own is not for pods of several nodes" in text_of(changed(claims=claims))


def test_what_is_not_known_about_rights_is_not_called_a_right() -> None:
    assert "You have all rights" in text_of(FACTS)
    assert "rights" not in text_of(changed(missing_rights=None)).partition("# What else")[2]
    assert "you lack in bench: create mpijobs" in text_of(changed(missing_rights=("create mpijobs",)))


def kubeconfig(path: Path, *names: str, current: str = "", **inner: str) -> Path:
    contexts = [{"name": name, "context": {"cluster": "c", "user": "u", **inner}} for name in names]
    path.write_text(yaml.safe_dump({"contexts": contexts, "current-context": current}))
    return path


def test_contexts_are_those_of_all_files_that_kubeconfig_names(tmp_path: Path) -> None:
    first = kubeconfig(tmp_path / "a", "x", "y", namespace="bench")
    second = kubeconfig(tmp_path / "b", "y", "z", current="z")
    notes: list[str] = []
    env = {"KUBECONFIG": f"{first}:{second}:{tmp_path / 'missing'}"}
    found = find_contexts(env, tmp_path, notes.append)
    assert [(one.name, one.namespace, one.is_current) for one in found] == [
        ("z", "default", True),
        ("x", "bench", False),
        ("y", "bench", False),
    ]
    assert notes == []


def test_without_the_variable_contexts_are_those_of_the_home(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    path = kubeconfig(tmp_path / ".kube/config", "it", current="it")
    [found] = find_contexts({}, tmp_path, pytest.fail)
    assert (found.kubeconfig, found.is_current) == (str(path), True)
    assert find_contexts({"KUBECONFIG": str(tmp_path / "none")}, tmp_path, pytest.fail) == ()


@pytest.mark.parametrize("text", ["{", "- a", "contexts: 3", "contexts: [{name: {}}]", "\0", json.dumps([1])])
def test_a_file_that_is_no_kubeconfig_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / "a").write_text(text)
    notes: list[str] = []
    assert find_contexts({"KUBECONFIG": str(tmp_path / "a")}, tmp_path, notes.append) == ()
    assert "it is no kubeconfig" in notes[0]
