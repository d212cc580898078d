"""A real API server, controllers and scheduler, with simulated nodes and a double of the MPI Operator."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
import yaml

from cli.conftest import TARE, Tare, tare
from kubelab.control_plane import ControlPlane
from kubelab.operators import QUICK, operator
from kubelab.processes import KubelabError
from kubelab.simulated_nodes import SimulatedNodes
from kubernetes_cluster.simulated_pods import RANKS_PER_NODE, SimulatedPods
from support.waiting import until

__all__ = ["tare"]

USER = "runner"
"""Whom the tests run Tare as: somebody with the rights of deploy/kubernetes, and no others."""
ROLES = Path(__file__).parents[2] / "deploy" / "kubernetes"
OURS = "app.kubernetes.io/managed-by=tare"
OUT = ["endpoints-controller", "endpointslice-controller"]  # who names pods: nobody asks, and it is costly
_N_NODES = 4
GRACE_S, LEASE_S = 20, 8  # of nodes: Kubernetes has 50 and 40, which a test would wait for
_STUDY = """\
study: pods
question: Do pods cost anything?
site: site.yaml
workloads:
  echo:
    command: [echo, "value: 1.0"]
    mpi: true
    needs_transport: false
    foms: [{{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}}]
factors: {{workload: [echo]}}
nodes: {nodes}
ranks_per_node: {ranks}
repeats: {repeats}
"""
Doc = dict[str, Any]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run these last: what is wrong elsewhere should not have to wait for a cluster."""
    here = Path(__file__).parent
    items.sort(key=lambda item: item.path.is_relative_to(here))


class Request(NamedTuple):
    """A request that Tare made, as the API server's audit log tells it."""

    verb: str
    resource: str
    namespace: str
    code: int


class Lab(NamedTuple):
    """What is up."""

    control_plane: ControlPlane
    nodes: SimulatedNodes
    pods: SimulatedPods

    @property
    def kubeconfig(self) -> Path:
        """Return the file by which Tare connects."""
        return self.control_plane.kubeconfig_for(USER)

    def requests(self, namespace: str) -> list[Request]:
        """Return the requests that Tare has made in a namespace and ended; watches count once."""
        found = []
        for line in self.control_plane.audit_log.read_text().splitlines():
            event = msgspec.json.decode(line)
            about = event.get("objectRef", {})
            if event["stage"] != "ResponseComplete" or about.get("namespace", namespace) != namespace:
                continue
            code = event.get("responseStatus", {}).get("code", 0)
            found.append(Request(event["verb"], about.get("resource", ""), about.get("namespace", ""), code))
        return found


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("cluster")
    try:
        control_plane = ControlPlane(folder, audited=[USER], out=OUT, grace_s=GRACE_S)
    except KubelabError as error:
        pytest.skip(str(error))
    with control_plane:
        pods = SimulatedPods(control_plane.kubeconfig)
        pods.start()
        daemon = operator(control_plane, QUICK)
        daemon.start()
        is_running = pods.is_running
        with SimulatedNodes(
            control_plane, _N_NODES, pods.write_log, is_running=is_running, lease_s=LEASE_S
        ) as nodes:
            yield Lab(control_plane, nodes, pods)
        daemon.kill()


_numbers = count(1)


@pytest.fixture
def namespace(lab: Lab) -> Iterator[str]:
    """Make a namespace in which the user may do what deploy/kubernetes grants."""
    name = f"bench-{next(_numbers)}"
    lab.control_plane.kubectl("create", "namespace", name)
    grant(lab, name)
    lab.control_plane.kubectl("wait", "--for=create", "serviceaccount/default", "-n", name)
    yield name
    lab.control_plane.kubectl("delete", "namespace", name, "--wait=false")


def grant(lab: Lab, namespace: str) -> None:
    """Give the user the rights that deploy/kubernetes gives to Tare's account."""
    rights = []
    for file in ("role.yaml", "neighbours.yaml"):
        for one in yaml.safe_load_all((ROLES / file).read_text()):
            if one["kind"] in {"Role", "RoleBinding"}:
                one["metadata"]["namespace"] = namespace
            if one["kind"] in {"RoleBinding", "ClusterRoleBinding"}:
                group = "rbac.authorization.k8s.io"
                one["subjects"] = [{"kind": "User", "name": USER, "apiGroup": group}]
            rights.append(one)
    lab.control_plane.apply(yaml.safe_dump_all(rights))


class Campaign:
    """A study of `repeats` runs in a namespace, and the command that carries it out."""

    def __init__(self, lab: Lab, namespace: str, folder: Path, tare: Tare) -> None:
        self.lab, self.namespace, self.folder, self._tare = lab, namespace, folder, tare
        self.study, self.site, self.out = folder / "study.yaml", folder / "site.yaml", folder / "c"

    def write(
        self,
        *,
        nodes: int = 2,
        repeats: int = 3,
        launcher: Mapping[str, str] | None = None,
        worker: Mapping[str, str] | None = None,
        networks: Doc | None = None,
        paths: Doc | None = None,
        launcher_place: str = "anywhere",
        kubernetes: Doc | None = None,
        **options: object,
    ) -> Campaign:
        """Write study and site; `launcher` and `worker` are annotations that steer the simulated pods."""
        platform: Doc = {
            "backend": "kubernetes",
            "launcher": "openmpi4",
            "kubernetes": {
                "image": "i", "namespace": self.namespace, "in_flight": 3,
                "kubeconfig": str(self.lab.kubeconfig), "merge": _steered(nodes, launcher, worker),
                "launcher": {"place": launcher_place}, **(kubernetes or {}), **options,
            },
        }  # fmt: skip
        site = {
            "site": "k", "nodes": ["a", "b"], "slots_per_node": RANKS_PER_NODE,
            "platforms": {"pods": platform}, "networks": networks or {"sdn": {"interface": "eth0"}},
            "storage": paths or {},
        }  # fmt: skip
        self.site.write_text(yaml.safe_dump(site))
        self.study.write_text(_STUDY.format(nodes=nodes, ranks=RANKS_PER_NODE, repeats=repeats))
        return self

    def run(self) -> subprocess.CompletedProcess[str]:
        return self._tare("run", self.study, "--out", self.out)

    def start(self) -> subprocess.Popen[bytes]:
        command = [TARE, "run", str(self.study), "--out", str(self.out)]
        with (self.folder / "run.log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log)

    def counts(self) -> Doc:
        found: Doc = json.loads(self._tare("status", self.out, "--json").stdout)["counts"]
        return {name: count for name, count in found.items() if count}

    def status(self) -> str:
        """Return what `tare status` says, on one line."""
        return " ".join(self._tare("status", self.out).stdout.split())

    def objects(self, kinds: str = "mpijobs,jobs,pods,services,secrets") -> list[str]:
        """Return all that is in the namespace, made by whomever, but for what every namespace has."""
        kubectl = self.lab.control_plane.kubectl
        ours = kubectl("get", "configmaps", "-n", self.namespace, "-l", OURS, "-o", "name").split()
        return ours + kubectl("get", kinds, "-n", self.namespace, "-o", "name").split()

    def until_created(self, count: int, runner: subprocess.Popen[bytes]) -> None:
        """Wait until Tare has created so many jobs; where it ends before, fail with what it said."""
        until(lambda: self.n_created() >= count or runner.poll() is not None)
        assert self.n_created() >= count, (self.folder / "run.log").read_text()

    def n_created(self, resource: str = "mpijobs") -> int:
        """Return how many objects Tare has created."""
        made = [one for one in self.lab.requests(self.namespace) if one.verb == "create" and one.code == 201]
        return len([one for one in made if one.resource == resource])


def _steered(
    nodes: int, launcher: Mapping[str, str] | None, worker: Mapping[str, str] | None
) -> dict[str, object]:
    def annotated(steering: Mapping[str, str]) -> dict[str, object]:
        reported = {f"kubelab/{name}": value for name, value in steering.items()}
        return {"template": {"metadata": {"annotations": reported}}}

    if nodes == 1:
        return {"spec": annotated(launcher)} if launcher else {}
    given = {"Launcher": launcher, "Worker": worker}
    replicas = {role: annotated(steering) for role, steering in given.items() if steering}
    return {"spec": {"mpiReplicaSpecs": replicas}} if replicas else {}


@pytest.fixture
def campaign(lab: Lab, namespace: str, tmp_path: Path, tare: Tare) -> Campaign:
    return Campaign(lab, namespace, tmp_path, tare)


def until_clean(campaign: Campaign) -> None:
    """Wait until nothing is left in the campaign's namespace: what owns the rest is deleted first."""
    try:
        until(lambda: campaign.objects() == [])
    except AssertionError:
        pytest.fail(f"these are left: {campaign.objects()}")
