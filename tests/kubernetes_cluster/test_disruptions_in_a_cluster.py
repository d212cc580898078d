"""What happens to pods that nobody asked for: the cluster's doing is tried again, a person's is not."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from kubernetes_cluster.conftest import Campaign, Lab, until_clean
from support.waiting import until


def launchers(campaign: Campaign) -> list[str]:
    """Return the names of launchers that run."""
    found = campaign.lab.control_plane.kubectl(
        "get", "pods", "-n", campaign.namespace, "-l", "tare/role=launcher", "-o", "name",
        "--field-selector=status.phase=Running",
    )  # fmt: skip
    return found.replace("pod/", "").split()


def running_launcher(campaign: Campaign, but: str = "") -> str:
    """Wait for a launcher that runs, other than `but`, and return its name."""
    found: list[str] = []

    def is_there() -> bool:
        found[:] = [one for one in launchers(campaign) if one != but]
        return bool(found)

    until(is_there)
    return found[0]


def test_an_evicted_run_is_tried_again(campaign: Campaign) -> None:
    """No run ends by itself here: however slow the machine is, the first is still there to be evicted."""
    kubectl, namespace = campaign.lab.control_plane.kubectl, campaign.namespace
    with campaign.write(repeats=1, launcher={"runs-for": "600s"}).start() as runner:
        name = running_launcher(campaign)
        meta = {"name": name, "namespace": namespace}
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/eviction"
        kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))
        again = running_launcher(campaign, but=name)
        kubectl("annotate", "pod", again, "-n", namespace, "--overwrite", "kubelab/runs-for=0s")
        assert runner.wait(timeout=90) == 0, (campaign.folder / "run.log").read_text()
    assert campaign.counts() == {"done": 1}
    assert campaign.n_created() == 2
    until_clean(campaign)


def test_a_run_whose_pods_somebody_deleted_is_not(campaign: Campaign) -> None:
    with campaign.write(repeats=1, launcher={"runs-for": "60s"}).start() as runner:
        until(lambda: launchers(campaign))
        campaign.lab.control_plane.kubectl("delete", "pod", *launchers(campaign), "-n", campaign.namespace)
        assert runner.wait(timeout=90) == 1
    assert campaign.n_created() == 1
    assert "deleted" in campaign.status()
    until_clean(campaign)


@pytest.fixture
def unreachable_kubelets(lab: Lab) -> Iterator[None]:
    """Let no kubelet answer for as long as a test takes: nobody listens at the port."""

    def listen_at(port: int) -> None:
        status = {"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}}
        for name in lab.nodes.names:
            patch = ("--subresource=status", "--type=merge", "-p", json.dumps(status))
            lab.control_plane.kubectl("patch", "node", name, *patch)

    listen_at(1)
    yield
    listen_at(lab.nodes.port)


@pytest.mark.usefixtures("unreachable_kubelets")
def test_a_log_whose_node_is_gone_is_the_infrastructure_s_fault(campaign: Campaign) -> None:
    """And no outage of the API server, for which a whole campaign would wait."""
    done = campaign.write(repeats=1).run()
    assert done.returncode != 0
    assert "its log could not be read" in campaign.status(), done.stderr
    assert campaign.n_created() > 1, "it is tried again"
    kept = campaign.lab.control_plane.kubectl(
        "get", "pods", "-n", campaign.namespace, "-l", "tare/kept=results", "-o", "name"
    )
    assert len(kept.split()) == campaign.n_created(), "they have the only copy"
