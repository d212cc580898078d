"""Campaigns against the real API, controllers and scheduler of Kubernetes; their pods are simulated."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import pytest

from cli.conftest import ELSEWHERE, TARE, Tare
from kubernetes_cluster.conftest import Campaign, until_clean


@pytest.mark.parametrize(("nodes", "resource"), [(2, "mpijobs"), (1, "jobs")])
def test_a_campaign_runs_and_leaves_nothing(campaign: Campaign, nodes: int, resource: str) -> None:
    n_earlier = len(campaign.lab.requests(campaign.namespace))  # of other tests, in no namespace
    done = campaign.write(nodes=nodes).run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert campaign.counts() == {"done": 3}
    assert campaign.n_created(resource) == 3
    refused = [one for one in campaign.lab.requests(campaign.namespace)[n_earlier:] if one.code == 403]
    assert refused == [], "deploy/kubernetes grants too little"
    for environment in (campaign.out / "environments").glob("*.json"):
        facts = json.loads(environment.read_text())
        reported = {facts[node]["kubernetes.kubelet"] for node in facts if node.startswith("sim-")}
        assert reported == {"kwok"}
    until_clean(campaign)


def test_a_campaign_outlives_the_api_server(campaign: Campaign) -> None:
    """What ends while nobody answers is not lost, and nothing is made twice."""
    with campaign.write(repeats=6, launcher={"runs-for": "2s"}).start() as runner:
        campaign.until_created(3, runner)
        campaign.lab.control_plane.kill_api_server()
        time.sleep(3)
        campaign.lab.control_plane.restart_api_server()
        campaign.lab.nodes.restart()
        assert runner.wait(timeout=120) == 0, (campaign.folder / "run.log").read_text()
    assert campaign.counts() == {"done": 6}
    assert campaign.n_created() == 6
    until_clean(campaign)


def test_a_killed_campaign_goes_on_with_what_it_left(campaign: Campaign) -> None:
    with campaign.write(launcher={"runs-for": "4s"}).start() as runner:
        campaign.until_created(3, runner)
        os.kill(runner.pid, signal.SIGKILL)
    done = campaign.run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert campaign.counts() == {"done": 3}
    assert campaign.n_created() == 3, "nothing is run twice"
    until_clean(campaign)


def test_an_interrupted_campaign_leaves_nothing(campaign: Campaign) -> None:
    with campaign.write(launcher={"runs-for": "60s"}).start() as runner:
        campaign.until_created(3, runner)
        runner.send_signal(signal.SIGINT)
        assert runner.wait(timeout=60) == 130
    until_clean(campaign)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes another host of a namespace")
def test_clean_deletes_nothing_that_may_be_alive(campaign: Campaign, tare: Tare) -> None:
    """As seen from another head node, without the journal, or with objects that no session has marked."""
    with campaign.write(launcher={"runs-for": "600s"}).start() as runner:
        campaign.until_created(3, runner)
        os.kill(runner.pid, signal.SIGKILL)
    elsewhere = subprocess.run(
        [*ELSEWHERE, TARE, "clean", "--site", campaign.site], capture_output=True, text=True, check=False
    )
    assert f"of {campaign.out}: it is of host" in elsewhere.stdout, elsewhere.stderr
    moved = campaign.out.rename(campaign.out.with_name("moved"))
    unread = tare("clean", "--site", campaign.site)
    assert f"of {campaign.out}: whether its campaign still runs cannot be read" in unread.stdout
    moved.rename(campaign.out)
    _annotate(campaign, "tare/session-")
    forged = tare("clean", "--site", campaign.site)
    assert f"of {campaign.out}: its job label was not made by this version" in forged.stdout
    assert len([one for one in campaign.objects("mpijobs") if "mpijob" in one]) == 3


def _annotate(campaign: Campaign, change: str) -> None:
    """Change the annotations of one object."""
    one = next(one for one in campaign.objects("mpijobs") if "mpijob" in one)
    campaign.lab.control_plane.kubectl("annotate", "-n", campaign.namespace, one, change)


def test_clean_deletes_what_a_dead_campaign_left(campaign: Campaign, tare: Tare) -> None:
    with campaign.write(launcher={"runs-for": "60s"}).start() as runner:
        campaign.until_created(3, runner)
        alive = tare("clean", "--site", campaign.site, "--dry-run")
        os.kill(runner.pid, signal.SIGKILL)
    assert "MPIJob" not in alive.stdout, "a campaign that runs has no leftovers"
    found = tare("clean", "--site", campaign.site, "--dry-run")
    assert found.stdout.count("MPIJob/tare-") == 3, found.stdout + found.stderr
    assert len([one for one in campaign.objects("mpijobs") if "mpijob" in one]) == 3
    assert tare("clean", "--site", campaign.site).returncode == 0
    until_clean(campaign)
