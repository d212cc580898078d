"""Campaigns that work through a cluster: a simulated API server, in which jobs succeed at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from backends.kubernetes.conftest import Happenings, record
from backends.kubernetes.simulated_api import Doc, SimulatedApiServer
from cli.conftest import TARE, Tare
from support.waiting import until

STUDY = """\
study: pods
question: Do pods cost anything?
site: site.yaml
workloads:
  echo:
    command: [echo, "value: 1.0"]
    mpi: true
    needs_transport: false
    foms: [{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}]
factors: {workload: [echo]}
nodes: 2
ranks_per_node: 2
repeats: 3
"""
_PATIENCE_S = 180
"""For a whole campaign, on a machine on which many others run."""


class Operator(threading.Thread):
    """Stands for the MPI Operator and the kubelets: lets every job succeed, unless it `is_idle`."""

    def __init__(self, api: SimulatedApiServer) -> None:
        super().__init__(daemon=True)
        self.api = api
        self.happen = Happenings(api)
        self.is_idle = False
        self.done: list[str] = []
        self.files: dict[str, str] = {}

    def run(self) -> None:
        while not self.api.is_stopped:
            for name in self.api.names("mpijobs"):
                if not self.is_idle and name not in self.done:
                    self.done.append(name)
                    self.happen.succeed(self.api.objects["mpijobs", name], files=self.files)
            time.sleep(0.02)


@pytest.fixture
def api() -> Iterator[SimulatedApiServer]:
    server = SimulatedApiServer()
    yield server
    server.stop()


@pytest.fixture
def operator(api: SimulatedApiServer, tmp_path: Path) -> Operator:
    site = {
        "site": "k", "nodes": ["w1", "w2"], "slots_per_node": 2,
        "platforms": {
            "pods": {
                "backend": "kubernetes", "launcher": "openmpi4",
                "kubernetes": {
                    "image": "i", "namespace": "bench", "in_flight": 3,
                    "kubeconfig": str(api.kubeconfig(tmp_path)),
                },
            }
        },
        "networks": {"sdn": {"interface": "eth0"}},
    }  # fmt: skip
    (tmp_path / "site.yaml").write_text(yaml.safe_dump(site))
    (tmp_path / "study.yaml").write_text(STUDY)
    made = Operator(api)
    made.start()
    return made


def counts(tare_here: Tare, folder: Path) -> Doc:
    found: Doc = json.loads(tare_here("status", folder, "--json").stdout)["counts"]
    return {name: count for name, count in found.items() if count}


def test_a_campaign_runs_in_a_cluster_and_leaves_nothing_there(
    tare_here: Tare, operator: Operator, api: SimulatedApiServer, tmp_path: Path
) -> None:
    for name in ("w1", "w2"):
        api.apply("nodes", {"metadata": {"name": name}})
    site = tmp_path / "site.yaml"
    site.write_text(site.read_text().replace("in_flight: 3", "in_flight: 1"))  # none is another's neighbour
    done = tare_here("run", tmp_path / "study.yaml", "--out", tmp_path / "c")
    assert done.returncode == 0, done.stdout + done.stderr
    assert counts(tare_here, tmp_path / "c") == {"done": 3}
    assert {kind for kind, _ in api.objects} == {"nodes"}
    (environment,) = (tmp_path / "c" / "environments").glob("*.json")
    facts = json.loads(environment.read_text())
    assert facts["w1"]["kubernetes.neighbours"] == "none"
    (attempt,) = (tmp_path / "c" / "attempts").glob("*/1.1")
    assert "kind: MPIJob" in (attempt / "manifests.yaml").read_text()


def config_map(text: str) -> Doc:
    (found,) = (one for one in yaml.safe_load_all(text) if one and one["kind"] == "ConfigMap")
    assert isinstance(found, dict)
    return found


@pytest.mark.usefixtures("operator")
def test_inputs_go_into_the_config_map_of_a_case_and_are_shown_by_the_plan(
    tare_here: Tare, tmp_path: Path
) -> None:
    (tmp_path / "it's.txt").write_bytes(b"4 4\r\n")
    (tmp_path / "mesh").write_bytes(b"\xff\0")
    with (tmp_path / "study.yaml").open("a") as study:
        study.write("inputs: {in/text: it's.txt, mesh: mesh}\n")
    done = tare_here("run", tmp_path / "study.yaml", "--out", tmp_path / "c")
    assert done.returncode == 0, done.stdout + done.stderr
    manifests = (tmp_path / "c").glob("attempts/*/*/manifests.yaml")
    made = {one["metadata"]["name"]: one for one in (config_map(path.read_text()) for path in manifests)}
    assert len(made) == 1, "the runs of a case share one"
    shown = config_map(tare_here("plan", tmp_path / "study.yaml", "--show").stdout)
    for one in (*made.values(), shown):
        assert "4 4\r\n" in one["data"].values()
        assert [*one["binaryData"].values()] == ["/wA="]


@pytest.mark.usefixtures("operator")
def test_the_plan_names_inputs_that_no_config_map_holds(tare_here: Tare, tmp_path: Path) -> None:
    (tmp_path / "mesh").write_bytes(bytes(2**20))
    with (tmp_path / "study.yaml").open("a") as study:
        study.write("inputs: {mesh: mesh}\n")
    planned = tare_here("plan", tmp_path / "study.yaml")
    assert (
        "trap: 1 case on pods: runs are refused: its input files are more than a ConfigMap holds "
        "(1 MiB of 900 KiB); name the ReadWriteMany claim that holds the campaigns"
    ) in planned.stdout
    assert planned.stdout.rstrip().endswith("[inputs]")


def test_a_run_whose_ranks_were_elsewhere_is_invalid(
    tare_here: Tare, operator: Operator, tmp_path: Path
) -> None:
    files = record()
    operator.files = {"after.0": files["before.0"], "after.1": files["before.1"]}
    done = tare_here("run", tmp_path / "study.yaml", "--out", tmp_path / "c")
    assert done.returncode == 1
    assert counts(tare_here, tmp_path / "c") == {"invalid": 3}
    assert "the launcher started others elsewhere" in tare_here("status", tmp_path / "c").stdout


@contextmanager
def under_way(operator: Operator, api: SimulatedApiServer, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the study until its three jobs are there, which the operator leaves alone."""
    operator.is_idle = True
    command = [TARE, "run", str(folder / "study.yaml"), "--out", str(folder / "c")]
    with (folder / "run.log").open("ab") as log, subprocess.Popen(command, stdout=log, stderr=log) as runner:
        until(lambda: len(api.names("mpijobs")) == 3)
        yield runner


def test_a_killed_campaign_goes_on_with_the_jobs_that_it_left(
    tare_here: Tare, operator: Operator, api: SimulatedApiServer, tmp_path: Path
) -> None:
    with under_way(operator, api, tmp_path) as first:
        os.kill(first.pid, signal.SIGKILL)
    left = api.names("mpijobs")
    operator.is_idle = False
    done = tare_here("run", tmp_path / "c")
    assert done.returncode == 0, done.stdout + done.stderr
    assert counts(tare_here, tmp_path / "c") == {"done": 3}
    assert sorted(operator.done) == left, "nothing is run twice"
    assert api.objects == {}


def test_an_interrupted_campaign_leaves_nothing(
    tare_here: Tare, operator: Operator, api: SimulatedApiServer, tmp_path: Path
) -> None:
    with under_way(operator, api, tmp_path) as first:
        first.send_signal(signal.SIGINT)
    assert first.returncode == 130
    assert api.objects == {}


def test_the_api_server_may_restart_meanwhile(
    tare_here: Tare, operator: Operator, api: SimulatedApiServer, tmp_path: Path
) -> None:
    with under_way(operator, api, tmp_path) as first:
        api.outage(is_down=True)
        time.sleep(1)
        api.outage(is_down=False)
        operator.is_idle = False
        code = first.wait(timeout=_PATIENCE_S)
    assert code == 0, (tmp_path / "run.log").read_text()
    assert counts(tare_here, tmp_path / "c") == {"done": 3}
    assert len(operator.done) == 3
    assert api.objects == {}


def test_what_the_cluster_would_get_is_shown(tare_here: Tare, operator: Operator, tmp_path: Path) -> None:
    shown = tare_here("plan", tmp_path / "study.yaml", "--show")
    kinds = [one["kind"] for one in yaml.safe_load_all(shown.stdout)]
    assert kinds == ["ConfigMap", "MPIJob"]
    assert "# trap" not in shown.stdout
