"""How tasks land, survive outages, are adopted and cancelled."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from backends.kubernetes.conftest import (
    READY,
    Clock,
    Happenings,
    begin,
    over,
    seen,
    wait_for,
    wait_until,
)
from backends.kubernetes.sent_results import packed, probe
from backends.kubernetes.simulated_api import Doc, SimulatedApiServer
from backends.kubernetes.situations import PAIR, SITUATIONS, Situation
from tare.core.case import Layout
from tare.core.errors import BackendError
from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.objects.naming import object_name
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler

Make = Callable[..., Task]


def test_a_task_ends_with_its_record_its_files_and_the_evidence(
    scheduler: KubernetesScheduler, happen: Happenings, task: Make
) -> None:
    one = task()
    scheduler.submit([one])
    happen.succeed(files={"out/field.txt": "1 2 3\n"})
    (result,) = wait_for(scheduler)
    assert (result.name, result.exit.code, result.exit.elapsed_s, result.started_at) == (
        one.name,
        0,
        2.5,
        100.5,
    )
    assert result.nodes == ("w1", "w2")
    assert "eth0" in result.after["w2"]["/proc/net/dev"]
    assert result.problems == ()
    assert (one.folder / "stdout").read_text() == "value: 1.0\n"
    assert (one.folder / "out" / "field.txt").read_text() == "1 2 3\n"
    assert "-worker-1 w2\n" in (one.folder / "nodes.txt").read_text()
    assert "nodeName: w2" in (one.folder / "pods.yaml").read_text()
    assert (one.folder / "launcher.log").read_bytes().startswith(b"words\n")


def test_a_program_that_fails_ends_with_its_exit_code(
    scheduler: KubernetesScheduler, happen: Happenings, task: Make
) -> None:
    scheduler.submit([task()])
    happen.succeed(code=3)
    (result,) = wait_for(scheduler)
    assert (result.exit.code, result.exit.fault, result.reason) == (3, None, "")


def test_what_has_ended_is_deleted_from_the_cluster(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    scheduler.submit([task()])
    happen.succeed()
    wait_for(scheduler)
    scheduler.close()
    assert api.objects == {}


def test_only_what_is_missing_is_asked_for_once(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    tasks = [task(f"{number}.1") for number in range(1, 21)]
    for one in tasks:
        scheduler.submit([one])
    for number in range(20):
        happen.succeed(happen.job(number=number))
    wait_for(scheduler, 20)
    scheduler.close()
    watches = [one for one in api.requests if one.endswith("?watch")]
    assert len(watches) == 5
    of_nodes = [one for one in api.requests if "/leases" in one]  # as many as nodes, not as runs
    n_of_runs = len(api.requests) - len(watches) - len(of_nodes)
    assert n_of_runs < 4 * len(tasks), "to create it, to read its log, to delete it"
    assert api.objects == {}


def test_a_job_that_does_not_end_is_ended_when_its_time_is_over(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    one = task()
    begin(scheduler, happen, one)
    clock.ahead += one.timeout_s + 301
    (result,) = wait_for(scheduler)
    assert result.exit.is_timeout
    scheduler.close()
    assert api.objects == {}


def test_an_answer_that_is_lost_makes_no_second_job(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    api.loses_answers = True
    scheduler.submit([task()])
    assert len(api.names("mpijobs")) == 1
    happen.succeed()
    assert wait_for(scheduler)[0].exit.code == 0


def test_an_api_server_that_restarts_loses_nothing(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    one = task()
    begin(scheduler, happen, one)
    api.outage(is_down=True)
    happen.succeed()
    for _ in range(2):
        assert scheduler.wait() == []
    api.outage(is_down=False)
    assert wait_for(scheduler)[0].exit.code == 0


@pytest.mark.slow
def test_an_outage_that_lasts_is_an_error(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    scheduler.submit([task()])
    api.outage(is_down=True)

    def wait_for_ever() -> None:
        for _ in range(60):
            scheduler.wait()
            clock.ahead += 400

    with pytest.raises(BackendError, match="etcd is away"):
        wait_for_ever()


def test_versions_that_are_forgotten_are_listed_anew_and_what_went_meanwhile_is_missed(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    one = task()
    launcher = begin(scheduler, happen, one)
    with api.changed:  # no watch hears of it
        del api.objects["pods", launcher]
        api.forget()
    wait_until(scheduler, lambda: seen(scheduler, one).gone_since is not None)
    clock.ahead += 11
    assert wait_for(scheduler)[0].reason == "its pods were deleted from outside"


def test_a_campaign_that_goes_on_adopts_its_jobs_and_deletes_what_no_run_waits_for(
    make_scheduler: Callable[[], KubernetesScheduler], happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    first, second, result = task("1.1"), task("2.1"), task("3.1")
    dead = make_scheduler()
    dead.submit([first])
    dead.submit([second])
    (result.folder / "landed").write_text("began 1.0\nstep run 0 1.0 2.0\n")
    alive = make_scheduler()
    assert set(alive.adopt([first, result, task("4.1")])) == {first.name, result.name}
    assert api.names("mpijobs") == ["tare-ca-ab12-1-1"]
    happen.succeed()
    names = {one.name: one.exit.code for one in wait_for(alive, 2)}
    assert names == {first.name: 0, result.name: 0}


def test_what_is_cancelled_goes_and_has_no_result(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    first, second = task("1.1"), task("2.1")
    scheduler.submit([first])
    scheduler.submit([second])
    happen.workers()
    scheduler.cancel([first.name])
    assert api.names("mpijobs") == ["tare-ca-ab12-2-1"]
    assert api.names("pods") == []
    happen.succeed()
    assert [one.name for one in wait_for(scheduler)] == [second.name]


def test_a_single_node_is_a_job(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, happen: Happenings, task: Make
) -> None:
    one = task(of=SITUATIONS["one-node"])
    scheduler.submit([one])
    job = happen.job("jobs")
    name = f"{job['metadata']['name']}-abcde"
    files = {"landed": "began 1.0\nstep run 0 1.0 2.0\n", "before.0": probe("w1")}
    api.logs[name] = packed(files | {"after.0": probe("w1", {0: "w1", 1: "w1"})})
    api.pod(name, job, job["spec"]["template"], node="w1", **over(0))
    (result,) = wait_for(scheduler)
    assert (result.exit.code, result.nodes, result.problems) == (0, ("w1",), ())


def pair_of(network: str) -> Situation:
    return SITUATIONS[network]._replace(stages=(PAIR,), launcher="none", layout=Layout(nodes=2, ranks=2))


@pytest.mark.parametrize(
    ("network", "address"),
    [("pod-network", "10.1.0.7"), ("macvlan", "10.90.0.3"), ("host-network", "10.1.0.7")],
)
def test_the_client_of_a_pair_comes_when_the_server_is_ready_and_knows_its_address(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, task: Make, network: str, address: str
) -> None:
    scheduler.submit([task(of=pair_of(network))])
    (server,) = api.names("pods")
    one = api.objects["pods", server]
    one["metadata"].setdefault("annotations", {})["k8s.v1.cni.cncf.io/network-status"] = (
        '[{"name":"podnet","interface":"eth0","ips":["10.1.0.7"],"default":true},'
        '{"name":"bench/hsn","interface":"net1","ips":["10.90.0.3"]}]'
    )
    template = {"metadata": one["metadata"], "spec": one["spec"]}
    api.pod(server, one, template, node="w1", podIP="10.1.0.7", **{**READY, "conditions": []})
    for _ in range(2):
        assert scheduler.wait() == []
    assert api.names("pods") == [server], "the server does not listen yet"
    api.pod(server, one, template, **READY)
    wait_until(scheduler, lambda: len(api.names("pods")) == 2)
    client = server.replace("-server", "-client")
    env = {v["name"]: v.get("value") for v in api.objects["pods", client]["spec"]["containers"][0]["env"]}
    assert env["TARE_ADDRESS0"] == address

    made = api.objects["pods", client]
    api.logs[client] = packed(
        {
            "landed": "began 1.0\nstep run 0 1.0 2.0\n",
            "before.0": probe("w2"),
            "after.0": probe("w2", {1: "w2"}),
        }
    )
    api.logs[server] = packed(
        {
            "landed": "began 1.0\nstep run 143 1.0 2.0\n",
            "before.0": probe("w1"),
            "after.0": probe("w1", {0: "w1"}),
        }
    )
    api.pod(client, made, {"metadata": made["metadata"], "spec": made["spec"]}, node="w2", **over(0))
    wait_until(scheduler, lambda: "activeDeadlineSeconds" in api.objects["pods", server]["spec"])
    api.pod(server, one, template, **over(143))
    (result,) = wait_for(scheduler)
    assert (result.exit.code, result.nodes, result.problems) == (0, ("w1", "w2"), ())


def test_a_server_that_is_gone_when_it_is_to_end_ends_no_session(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, task: Make
) -> None:
    """Somebody deleted it just then, and no watch has reported it yet."""
    scheduler.submit([task(of=pair_of("pod-network"))])
    (server,) = api.names("pods")
    one = api.objects["pods", server]
    template = {"metadata": one["metadata"], "spec": one["spec"]}
    api.logs[server] = packed({"landed": "began 1.0\n", "before.0": probe("w1")})
    api.pod(server, one, template, node="w1", podIP="10.1.0.7", **READY)
    wait_until(scheduler, lambda: len(api.names("pods")) == 2)
    client = server.replace("-server", "-client")
    made = api.objects["pods", client]
    api.logs[client] = packed({"landed": "began 1.0\nstep run 4 1.0 2.0\n", "before.0": probe("w2")})
    api.refusals[f"PATCH .*/{server}"] = (404, f'pods "{server}" not found')
    api.pod(client, made, {"metadata": made["metadata"], "spec": made["spec"]}, node="w2", **over(4))
    (result,) = wait_for(scheduler)
    assert result.exit.code == 4


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (
            {"after.0": probe("w1"), "after.1": probe("w2")},
            "4 ranks were asked for, and 0 ran in the pods meant for them",
        ),
        (
            {
                "after.0": probe("w1", {0: "w1", 1: "w1", 2: "w1"}),
                "after.1": probe("w2", {3: "w2"}),
            },
            "ranks ran 3 on w1, 1 on w2; asked for were 2 on each node",
        ),
        (
            {"before.1": probe("w7")},
            "pods report that they are on w1, w7, and the cluster that they are on w1, w2",
        ),
        (
            {"before.0": probe("w1", files={"/sys/fs/cgroup/cpu.max": "100000 100000\n"})},
            "2 CPUs were asked for on w1, and its control group allows 1",
        ),
        (
            {
                "before.0": probe(
                    "w1", files={"/sys/fs/cgroup/cpu.stat": "usage_usec 5\nthrottled_usec 0\n"}
                ),
                "after.0": probe(
                    "w1", {0: "w1", 1: "w1"}, {"/sys/fs/cgroup/cpu.stat": "throttled_usec 500000\n"}
                ),
            },
            "were throttled for 20% of the time: their CPU limit cut in; give pods more CPUs",
        ),
    ],
)
def test_a_run_that_was_not_what_was_asked_for_is_reported(
    scheduler: KubernetesScheduler, happen: Happenings, task: Make, files: dict[str, str], says: str
) -> None:
    scheduler.submit([task()])
    happen.succeed(files=files)
    (result,) = wait_for(scheduler)
    assert says in result.problems[0]


def test_the_facts_of_a_run_show_what_else_ran_on_its_nodes(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, happen: Happenings, task: Make
) -> None:
    for name in ("w1", "w2"):
        api.apply(
            "nodes",
            {
                "metadata": {"name": name, "labels": {"bench": "only", "kubernetes.io/os": "linux"}},
                "spec": {"taints": [{"key": "bench", "effect": "NoSchedule"}]},
                "status": {"nodeInfo": {"kubeletVersion": "v1.34.4"}},
            },
        )
    container = {"resources": {"requests": {"cpu": "250m"}}}
    spec = {"nodeName": "w1", "containers": [container]}
    api.apply(
        "pods",
        {"metadata": {"name": "n", "namespace": "logging"}, "spec": spec, "status": {"phase": "Running"}},
    )
    scheduler.submit([task()])
    happen.succeed()
    (result,) = wait_for(scheduler)
    assert result.facts["w1"]["kubernetes.neighbours"] == "1 of logging"
    assert result.facts["w1"]["kubernetes.neighbours_cpus"] == "0.25"
    assert result.facts["w2"]["kubernetes.neighbours"] == "none"
    assert result.facts["w2"]["kubernetes.labels"] == "bench=only"
    assert result.facts["w2"]["kubernetes.taints"] == "bench=:NoSchedule"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "none"),
        ({"namespace": "others"}, "1 of others"),
        ({"tare/campaign": "another"}, "1 of bench"),
        ({"tare/task": "tare-ca-of-one-that-landed"}, "none"),
        ({"app.kubernetes.io/managed-by": "helm", "tare/campaign": "", "tare/task": ""}, "1 of bench"),
        ({"a-copy": "of the run's own"}, "1 of bench"),
    ],
)
def test_neighbours_are_all_pods_that_are_not_the_run_s_own(
    scheduler: KubernetesScheduler,
    api: SimulatedApiServer,
    happen: Happenings,
    task: Make,
    changes: dict[str, str],
    expected: str,
) -> None:
    """Another campaign of Tare's is a neighbour too."""
    api.apply("nodes", {"metadata": {"name": "w1"}})
    one = task()
    own = {"app.kubernetes.io/managed-by": "tare", "tare/campaign": "ca", "tare/task": object_name(one)}
    labels = own | {name: value for name, value in changes.items() if name != "namespace"}
    job = "a-copy" if "a-copy" in changes else labels["tare/task"]
    owner = {"kind": "MPIJob", "name": job, "controller": True}
    meta: Doc = {"name": "other", "namespace": changes.get("namespace", "bench"), "labels": labels}
    meta["ownerReferences"] = [owner]
    scheduler.submit([one])
    happen.workers()
    pod = {"metadata": meta, "spec": {"nodeName": "w1"}, "status": {"phase": "Running"}}
    api.apply("pods", pod)
    happen.succeed()
    (result,) = wait_for(scheduler)
    assert result.facts["w1"]["kubernetes.neighbours"] == expected


@pytest.mark.parametrize(
    ("node", "reported"),
    [
        ("w1", ["on this node", "on a node of the run"]),
        ("w3", ["on a node without ranks", "on a node without ranks"]),
    ],
)
def test_the_facts_of_a_run_show_where_its_launcher_was(
    scheduler: KubernetesScheduler,
    api: SimulatedApiServer,
    happen: Happenings,
    task: Make,
    node: str,
    reported: list[str],
) -> None:
    for name in ("w1", "w2"):
        api.apply("nodes", {"metadata": {"name": name}})
    scheduler.submit([task()])
    happen.workers()
    happen.launcher(node=node, phase="Pending")
    happen.succeed(launcher_node=node)
    (result,) = wait_for(scheduler)
    assert [result.facts[one]["kubernetes.launcher"] for one in ("w1", "w2")] == reported


def test_facts_that_tare_may_not_ask_for_cost_no_run(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, happen: Happenings, task: Make
) -> None:
    api.refusals["GET /api/v1/nodes"] = (403, "nodes is forbidden")
    scheduler.submit([task()])
    happen.succeed()
    (result,) = wait_for(scheduler)
    assert "nodes is forbidden" in result.facts["w1"]["kubernetes.neighbours"]
