"""Every trap of MPIJobs, sprung by hand: the rule must see it, and say the cure."""

from __future__ import annotations

import copy
from typing import cast

import pytest

from backends.kubernetes.situations import (
    BASE,
    HOST,
    MACVLAN,
    MESHER,
    SITUATIONS,
    SOLVER,
    Situation,
    attached,
)
from tare.plugins.backends.kubernetes.manifests.lint import lint, lint_merge
from tare.plugins.backends.kubernetes.objects.merging import Json, merge_patch


def patched(situation: Situation, patch: object, script: tuple[str, str] = ("", "")) -> list[Json]:
    """Return the documents of a situation with its job patched, and a text in its script replaced."""
    config, *others, job = copy.deepcopy(situation.documents())
    data = cast("dict[str, dict[str, str]]", config)["data"]
    assert script[0] in data["task.sh"]
    data["task.sh"] = data["task.sh"].replace(*script)
    return [config, *others, merge_patch(job, patch)]


def worker(spec: dict[str, object], **fields: object) -> dict[str, object]:
    return {"spec": {"mpiReplicaSpecs": {"Worker": {"template": {"spec": spec}, **fields}}}}


def policy(**fields: object) -> dict[str, object]:
    return {"spec": {"runPolicy": fields}}


ROOT = SITUATIONS["root"]
TRAPS: dict[str, list[Json]] = {
    "hostfile": patched(BASE, {}, ("--hostfile /etc/mpi/hostfile ", "")),
    "deadline": patched(BASE, policy(activeDeadlineSeconds=None)),
    "suspend": patched(BASE, policy(suspend=True)),
    "ttl": patched(BASE, policy(ttlSecondsAfterFinished=60)),
    "clean pods": patched(BASE, policy(cleanPodPolicy=None)),
    "replicas": patched(BASE, {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 0}}}}),
    "restarts": patched(BASE, policy(backoffLimit=2)),
    "host network apart": patched(BASE._replace(network=HOST), worker({"affinity": None})),
    "host network port": patched(ROOT._replace(network=HOST), {}),
    "host network names": patched(BASE._replace(network=HOST), worker({"dnsPolicy": None})),
    "start-up network": patched(BASE._replace(network=MACVLAN), {}, ("--mca oob_tcp_if_include eth0 ", "")),
    "readiness": patched(
        BASE, worker({"containers": [{"name": "w", "image": "i", "command": ["sshd", "-p", "2222"]}]})
    ),
    "ssh options": patched(BASE, {}, ("-o ConnectionAttempts=10 ", "")),
    "ssh port": patched(BASE, {}, ("-p 2222", "")),
    "non-root port": patched(BASE.with_options(ssh_port=22), {}),
    "non-root keys": patched(BASE, {"spec": {"sshAuthMountPath": None}}),
    "whole CPUs": patched(BASE.with_options(resources={"cpu": "500m"}), {}),
    "addresses by node": patched(
        BASE._replace(
            network=attached(kind="macvlan", master="e", addressing="host-local", subnet="10.9.0.0/24")
        ),
        {},
    ),
    "working folder": patched(BASE._replace(stages=(MESHER, SOLVER)), {}),
    "static addresses": patched(
        BASE._replace(
            network=attached(kind="macvlan", master="e", addressing="static", addresses=["10.9.0.1/24"] * 2)
        ),
        {},
    ),
    "gang": patched(SITUATIONS["scheduling-policy"], policy(schedulingPolicy={"minAvailable": 3})),
    "address": patched(BASE, {}, ("solver --in", "solver '{address0}'")),
}


@pytest.mark.parametrize("rule", TRAPS)
def test_the_trap_is_seen_and_its_cure_shown(rule: str) -> None:
    found = {trap.rule: trap for trap in lint(TRAPS[rule])}
    assert rule in found, f"found only {sorted(found)}"
    assert found[rule].what
    assert found[rule].cure


@pytest.mark.parametrize("launcher", ["openmpi4", "openmpi5", "mpich", "intelmpi"])
def test_without_the_pod_network_for_start_up_each_launcher_is_caught(launcher: str) -> None:
    situation = BASE._replace(network=MACVLAN, launcher=launcher)
    script = cast("dict[str, dict[str, str]]", situation.documents()[0])["data"]["task.sh"]
    option = next(
        one
        for one in ("--mca oob_tcp_if_include eth0 ", "--prtemca prte_if_include eth0 ", "-iface eth0 ")
        if one in script
    )
    assert "start-up network" in {trap.rule for trap in lint(patched(situation, {}, (option, "")))}


def test_a_hand_written_job_is_looked_at_too() -> None:
    job: Json = {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": "pi"},
        "spec": {
            "mpiReplicaSpecs": {
                "Launcher": {
                    "replicas": 1,
                    "template": {
                        "spec": {"containers": [{"name": "l", "image": "i", "command": ["mpirun", "pi"]}]}
                    },
                },
                "Worker": {
                    "replicas": 2,
                    "template": {"spec": {"containers": [{"name": "w", "image": "i"}]}},
                },
            }
        },
    }
    assert {"hostfile", "deadline", "clean pods", "restarts", "whole CPUs"} <= {
        one.rule for one in lint([job])
    }


def test_pods_on_the_hosts_network_must_know_names_in_any_kind_of_job() -> None:
    pair = SITUATIONS["pair"]._replace(network=HOST).documents()
    pair[1] = merge_patch(pair[1], {"spec": {"dnsPolicy": None}})
    assert [trap.rule for trap in lint(pair)] == ["host network names"]


def spec_of(documents: list[Json]) -> dict[str, object]:
    """Return the spec of the job, or of the first pod of a pair."""
    return cast("dict[str, dict[str, object]]", documents[1])["spec"]


WORKERS = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"mpiReplicaSpecs": {}, "runPolicy": {}, "slotPerWorker": 2},
}


def test_a_patch_of_mpi_jobs_goes_into_no_other_kind_and_that_is_reported() -> None:
    """Cases of one node are Jobs, and pairs are pods, in one study. What no kind has all are sent."""
    for name, kind in (("one-node", "a Job"), ("pair", "a Pod")):
        documents = SITUATIONS[name].with_options(merge=WORKERS).documents()
        spec = spec_of(documents)
        assert "slotPerWorker" in spec
        assert not {"mpiReplicaSpecs", "runPolicy"} & spec.keys()
        assert [trap.what for trap in lint_merge(WORKERS, documents)] == [
            f"'merge' has spec.{field} of an MPIJob, which is left out of {kind}"
            for field in ("mpiReplicaSpecs", "runPolicy")
        ]
    assert lint_merge(WORKERS, BASE.documents()) == []


def test_a_patch_of_jobs_goes_into_no_mpi_job() -> None:
    merge = {"spec": {"template": {"spec": {}}, "activeDeadlineSeconds": 7}}
    documents = BASE.with_options(merge=merge).documents()
    assert (
        not {"template", "activeDeadlineSeconds"}
        & cast("dict[str, dict[str, object]]", documents[1])["spec"].keys()
    )
    assert [trap.rule for trap in lint_merge(merge, documents)] == ["merge", "merge"]
    pair = SITUATIONS["pair"].with_options(merge=merge).documents()
    assert spec_of(pair)["activeDeadlineSeconds"] == 7


def test_a_patch_for_each_kind_goes_into_that_kind_alone() -> None:
    merge = {"MPIJob": {"spec": {"slotsPerWorker": 7}}, "Pod": {"spec": {"hostname": "h"}}}
    names = ("pod-network", "one-node", "pair")
    all_documents = [SITUATIONS[name].with_options(merge=merge).documents() for name in names]
    specs = [spec_of(documents) for documents in all_documents]
    assert [spec.get("slotsPerWorker") for spec in specs] == [7, None, None]
    assert [spec.get("hostname") for spec in specs] == [None, None, "h"]
    assert all(lint_merge(merge, documents) == [] for documents in all_documents)


def test_a_patch_may_have_quantities_that_are_numbers() -> None:
    resources = {"requests": {"cpu": 2}, "limits": {"cpu": 2}}
    container = {"name": "launcher", "image": "i", "resources": resources}
    merge = {"Job": {"spec": {"template": {"spec": {"containers": [container]}}}}}
    assert lint(SITUATIONS["one-node"].with_options(merge=merge).documents()) == []
