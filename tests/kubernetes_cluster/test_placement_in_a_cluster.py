"""Options of where pods go, before a real API server and a real scheduler."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kubernetes_cluster.conftest import Campaign, Doc, Lab
from kubernetes_cluster.test_trial_of_pods import examine
from support.waiting import until

RUNTIME_CLASS = """\
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: performance-bench}
handler: runc
"""
OPTIONS: dict[str, Doc] = {
    "labels": {"labels": {"team": "hpc", "example.com/cost": ""}},
    "CRI-O's annotations": {
        "annotations": {
            "cpu-load-balancing.crio.io": "disable", "irq-load-balancing.crio.io": "disable",
            "cpu-quota.crio.io": "disable",
        }
    },
    "huge pages": {"hugepages": {"2Mi": "4MiB"}, "memory": "1GiB", "shm": "1GiB"},
    "huge pages of two sizes": {"hugepages": {"2Mi": "4MiB", "1Gi": "1GiB"}},
    "ephemeral storage": {"ephemeral_storage": "1GiB"},
    "topology spread": {"topology_spread": [{"key": "rack"}, {"key": "zone", "required": False}]},
    "queue of Kueue": {"queue": "bench"},
    "gang": {"scheduling_policy": {"queue": "q", "priority_class": "p", "min_resources": {"cpu": "2"}}},
    "launcher apart": {"launcher": {"cpus": 0.5, "memory": "1GiB"}},
    "launcher beside": {"launcher": {"place": "beside"}, "isolation": "bench=only"},
    "launcher of its own": {
        "nodes": ["sim-0"],
        "launcher": {"nodes": ["sim-1"], "node_selector": {"a": "b"}, "tolerations": [{"key": "infra"}]},
    },
    "patches by kind": {
        "merge": {
            "MPIJob": {"spec": {"runLauncherAsWorker": False}}, "Job": {"spec": {"completions": 1}},
            "Pod": {"spec": {"hostname": "h"}},
        }
    },
    "a patch of MPIJobs alone": {
        "merge": {"spec": {"mpiReplicaSpecs": {"Worker": {"restartPolicy": "Never"}}}}
    },
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_the_api_server_takes_what_the_option_makes(campaign: Campaign, name: str) -> None:
    found = examine(campaign.write(kubernetes=OPTIONS[name]), is_well=None)  # no node has such labels
    tried = [one.is_met for text, one in found.items() if text.endswith("tried without making it")]
    assert tried == [True] * 7


def test_a_runtime_class_is_tried(lab: Lab, campaign: Campaign) -> None:
    worker = "the worker of a job on sdn, tried without making it"
    found = examine(campaign.write(runtime_class="performance-bench"), is_well=False)[worker]
    assert 'RuntimeClass "performance-bench" not found' in found.found
    assert "kubectl get runtimeclasses" in found.cure
    lab.control_plane.apply(RUNTIME_CLASS)
    examine(campaign, is_well=True)
    lab.control_plane.kubectl("delete", "runtimeclass", "performance-bench")


def facts(campaign: Campaign) -> list[Doc]:
    """Return the facts of each node, from all environments of a campaign."""
    found = [json.loads(one.read_text()) for one in (campaign.out / "environments").glob("*.json")]
    return [reported for environment in found for reported in environment.values()]


def nodes_of(campaign: Campaign) -> list[dict[str, str]]:
    """Return the node of each pod, by its name, for each run."""
    files: list[Path] = sorted(campaign.out.glob("attempts/*/*/nodes.txt"))
    return [dict(line.split() for line in one.read_text().splitlines()) for one in files]


def test_workers_that_fill_their_nodes_leave_room_for_a_launcher_beside_them(campaign: Campaign) -> None:
    """Two runs at a time, on all four nodes, of which each worker takes all CPUs: no launcher was placed."""
    campaign.write(repeats=4, cpus=1024, in_flight=2, launcher_place="beside")
    done = campaign.run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert campaign.counts() == {"done": 4}
    for nodes in nodes_of(campaign):
        (launcher,) = [node for pod, node in nodes.items() if "launcher" in pod]
        assert launcher in {node for pod, node in nodes.items() if "worker" in pod}


@pytest.mark.parametrize("named", [{}, {"nodes": ["sim-1", "sim-2"]}])
def test_a_launcher_is_on_no_node_of_programs_unless_asked(campaign: Campaign, named: Doc) -> None:
    campaign.write(repeats=2, in_flight=1, launcher_place="apart", kubernetes=named)
    done = campaign.run()
    assert done.returncode == 0, done.stdout + done.stderr
    for nodes in nodes_of(campaign):
        (launcher,) = [node for pod, node in nodes.items() if "launcher" in pod]
        assert launcher not in {node for pod, node in nodes.items() if "worker" in pod}
    assert {reported["kubernetes.launcher"] for reported in facts(campaign)} == {"on a node without ranks"}


def test_runs_that_take_all_nodes_make_room_for_each_other_s_launchers(campaign: Campaign) -> None:
    """Each of four nodes has room for one worker; all are there before the first launcher."""
    worker = {"ready-after": "5s"}
    campaign.write(repeats=2, in_flight=2, launcher_place="apart", cpus=600, worker=worker)
    done = campaign.run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert campaign.counts() == {"done": 2}
    events = [json.loads(line) for line in (campaign.out / "journal.jsonl").read_text().splitlines()]
    ended = [one["attempt"] for one in events if one["event"] == "ended"]
    reported = [one["reason"] for one in ended if one["state"] != "done"]
    assert len(reported) == 1
    assert "2 runs hold all nodes that their launchers may have" in reported[0]


def lease(node: str, holder: str, renewed: datetime) -> str:
    """Return a Lease of a node as another campaign writes it."""
    labels = {"app.kubernetes.io/managed-by": "tare", "tare/campaign": holder}
    own = {"labels": labels, "annotations": {"tare/node": node}}
    meta = {"name": f"tare-node-{node}", **own}
    time = renewed.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 300, "renewTime": time}
    return json.dumps(
        {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}
    )


@pytest.mark.parametrize(
    ("age_s", "reported", "left"), [(0, "held by campaign other", 4), (3600, "held by this campaign", 2)]
)
def test_two_campaigns_on_a_node_see_each_other_by_its_lease(
    lab: Lab, campaign: Campaign, age_s: int, reported: str, left: int
) -> None:
    """One that ran out is taken over; a campaign deletes its own, and no other's."""
    renewed = datetime.now(UTC) - timedelta(seconds=age_s)
    for node in lab.nodes.names:
        lab.control_plane.kubectl(
            "create", "-f", "-", "-n", campaign.namespace, stdin=lease(node, "other", renewed)
        )
    done = campaign.write(repeats=1).run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert {one["kubernetes.lease"] for one in facts(campaign)} == {reported}
    leases = lab.control_plane.kubectl("get", "leases", "-n", campaign.namespace, "-o", "name").split()
    assert len(leases) == left


def test_a_campaign_deletes_the_leases_that_it_holds_and_no_others(lab: Lab, campaign: Campaign) -> None:
    kubectl, inside = lab.control_plane.kubectl, ("-n", campaign.namespace)

    def leases() -> list[str]:
        return kubectl("get", "leases", *inside, "-o", "name").split()

    with campaign.write(repeats=1, launcher={"runs-for": "600s"}).start() as runner:
        until(lambda: len(leases()) == 2)
        taken = leases()[0]
        kubectl("patch", taken, *inside, "--type=merge", "-p", '{"spec": {"holderIdentity": "another"}}')
        (pod,) = kubectl("get", "pods", *inside, "-l", "tare/role=launcher", "-o", "name").split()
        kubectl("annotate", pod, *inside, "--overwrite", "kubelab/runs-for=0s")
        assert runner.wait(timeout=90) == 0, (campaign.folder / "run.log").read_text()
    assert leases() == [taken]


def test_without_the_right_to_leases_runs_go_and_say_so(lab: Lab, campaign: Campaign) -> None:
    kubectl, place = lab.control_plane.kubectl, ("-n", campaign.namespace)
    role = json.loads(kubectl("get", "role", "tare", "-o", "json", *place))
    rules = [one for one in role["rules"] if one["resources"] != ["leases"]]
    kubectl("patch", "role", "tare", "--type=merge", "-p", json.dumps({"rules": rules}), *place)
    done = campaign.write(repeats=1).run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(one["kubernetes.lease"].startswith("not held: ") for one in facts(campaign))
    assert examine(campaign, is_well=True)["right to hold nodes"].is_met is None
