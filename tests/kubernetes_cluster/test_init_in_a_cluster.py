"""`tare init` before a real API server: what it finds, writes, and leaves alone."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from cli.conftest import Tare
from kubernetes_cluster.conftest import Campaign, Doc, Lab
from kubernetes_cluster.test_constraints_of_openshift import CONSTRAINTS, FIRST
from support.waiting import until
from tare.config import load_site
from tare.core.site import Site
from tare.discovery.node_probe import probe_script
from tare.plugins.backends.kubernetes.options import KubernetesOptions, options_of

IMAGE = "quay.io/me/mpi:1"
CLAIM: Doc = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
ATTACHMENT: Doc = {"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition"}


class Init:
    """Calls `tare init` in a namespace, and reads what it wrote."""

    def __init__(self, lab: Lab, namespace: str, folder: Path, tare: Tare) -> None:
        self.lab, self.namespace, self.folder, self._tare = lab, namespace, folder, tare
        self.kubeconfig = lab.kubeconfig

    def call(self, *words: str, has_jobs: bool = False) -> subprocess.CompletedProcess[str]:
        """Run `tare init --yes`."""
        env = {"KUBECONFIG": str(self.kubeconfig), "TARE_MPI": str(self.folder / "none")}
        more = () if has_jobs else ("--no-jobs",)
        return self._tare("init", *words, "--yes", *more, env=env)

    def __call__(
        self, *options: str, code: int = 0, has_jobs: bool = False
    ) -> subprocess.CompletedProcess[str]:
        words = ("k", "--force", "--namespace", self.namespace, *options)
        done = self.call(*words, has_jobs=has_jobs)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    @property
    def text(self) -> str:
        return (self.folder / "k/site.yaml").read_text()

    @property
    def site(self) -> Site:
        return load_site(str(self.folder / "k/site.yaml"))

    @property
    def options(self) -> KubernetesOptions:
        return options_of(self.site.platforms["pods"])

    def tare(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run another command with the files that were written."""
        done = self._tare(*words, cwd=self.folder / "k", env={"KUBECONFIG": str(self.kubeconfig)})
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def make(self, kind: Doc, name: str, metadata: Doc | None = None, **content: object) -> None:
        meta = {"name": name, "namespace": self.namespace, **(metadata or {})}
        self.lab.control_plane.apply(json.dumps({**kind, "metadata": meta, **content}))


@pytest.fixture
def init(lab: Lab, namespace: str, tmp_path: Path, tare: Tare) -> Init:
    return Init(lab, namespace, tmp_path, tare)


def test_without_jobs_site_and_study_pass_without_an_edit_and_nothing_is_made(
    init: Init, lab: Lab, campaign: Campaign
) -> None:
    said = init("--image", IMAGE).stdout
    assert "found    Kubernetes v1.34.4: context " in said
    assert "dry runs, which make nothing in the cluster" in said
    assert init.site.nodes == lab.nodes.names
    assert (init.options.image, init.options.namespace, init.options.user) == (IMAGE, init.namespace, 1000)
    assert "MPIJob v2beta1 of the MPI Operator" in init.text
    assert f"You have all rights in {init.namespace}" in init.text
    init.tare("doctor", "--site", "site.yaml")
    assert "kind: Job" in init.tare("plan", "first.yaml", "--show").stdout
    assert campaign.objects() == []
    stored = lab.control_plane.kubectl("get", "pods,configmaps", "-n", init.namespace, "-o", "name").split()
    assert stored == ["configmap/kube-root-ca.crt"]


def test_networks_claims_quotas_and_limits_are_found(init: Init) -> None:
    hsn = {"cniVersion": "0.4.0", "type": "macvlan", "master": "ens1", "ipam": {"type": "whereabouts"}}
    init.make(ATTACHMENT, "hsn", spec={"config": json.dumps(hsn)})
    init.make(ATTACHMENT, "broken", spec={"config": "{"})
    asked = {"resources": {"requests": {"storage": "1Gi"}}}
    init.make(
        CLAIM, "scratch", spec={"accessModes": ["ReadWriteMany"], "storageClassName": "cephfs", **asked}
    )
    init.make(CLAIM, "own", spec={"accessModes": ["ReadWriteOnce"], **asked})
    limits = [{"type": "Container", "max": {"memory": "1Gi", "cpu": "64"}}]
    init.make({"apiVersion": "v1", "kind": "LimitRange"}, "small", spec={"limits": limits})
    init.make({"apiVersion": "v1", "kind": "ResourceQuota"}, "share", spec={"hard": {"limits.memory": "8Gi"}})
    init.make(
        {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass"},
        "cephfs",
        metadata={"namespace": ""},
        provisioner="cephfs.csi.ceph.com",
    )
    until(lambda: "8Gi" in init.lab.control_plane.kubectl("get", "quota", "-n", init.namespace))
    init("--image", IMAGE)
    assert init.site.networks["hsn"].pod.attachment == "hsn"
    assert "macvlan, on ens1, addresses by whereabouts" in init.text
    assert list(init.site.networks) == ["pod-network", "hsn"], "broken is left out"
    assert init.options.storage == {"scratch": "scratch"}
    assert init.options.memory_bytes == 1 << 30
    assert "the most that LimitRange small allows a Container" in init.text
    for remark in (
        "Quota share: limits.memory 0 of 8Gi",
        "Storage class cephfs: cephfs.csi.ceph.com",
        "Claim own",
    ):
        assert remark in init.text
    init.tare("doctor", "--site", "site.yaml")


def test_a_quota_that_wants_memory_is_met(init: Init) -> None:
    hard = {"requests.memory": "3Gi", "limits.memory": "3Gi", "requests.cpu": "8", "limits.cpu": "8"}
    init.make({"apiVersion": "v1", "kind": "ResourceQuota"}, "tight", spec={"hard": hard})
    until(lambda: "3Gi" in init.lab.control_plane.kubectl("get", "quota", "-n", init.namespace))
    init("--image", IMAGE)
    assert init.options.memory_bytes == 1280 << 20
    assert "what quota tight has left for two pods and a launcher" in init.text


def test_the_image_and_the_mpi_are_those_of_an_mpi_job_that_is_there(init: Init, campaign: Campaign) -> None:
    pod = {"spec": {"containers": [{"name": "m", "image": "quay.io/other/intel:7"}]}}
    spec = {
        "mpiImplementation": "Intel",
        "runPolicy": {"suspend": True},
        "mpiReplicaSpecs": {
            "Launcher": {"replicas": 1, "template": pod},
            "Worker": {"replicas": 2, "template": pod},
        },
    }
    init.make({"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob"}, "theirs", spec=spec)
    init()
    assert init.options.image == "quay.io/other/intel:7"
    assert init.site.platforms["pods"].launcher == "intelmpi"
    assert "workers of MPIJob theirs run in it" in init.text
    found = json.loads(init("--json").stdout)["found"]["kubernetes"]
    assert found["images"] == [{"image": "quay.io/other/intel:7", "mpi": "Intel", "job": "theirs"}]


def test_where_openshift_chooses_the_user_the_site_leaves_it_to_the_cluster(lab: Lab, init: Init) -> None:
    lab.control_plane.apply(CONSTRAINTS.read_text())
    labels = ("kubelab/scc=restricted-v2", "pod-security.kubernetes.io/enforce=restricted")
    lab.control_plane.kubectl("label", "namespace", init.namespace, *labels)
    lab.control_plane.kubectl(
        "annotate", "namespace", init.namespace, f"openshift.io/sa.scc.uid-range={FIRST}/10000"
    )
    until(lambda: init("--image", IMAGE) and init.options.user == "cluster")
    assert "a pod of this user is taken" in init.text
    assert "refused, by a dry run" in init.text, "the host's network"
    init.tare("doctor", "--site", "site.yaml")


def test_who_may_do_nothing_is_told_what_is_missing(lab: Lab, init: Init) -> None:
    init.kubeconfig = lab.control_plane.kubeconfig_for("nobody")
    init("--image", IMAGE, code=3)
    assert "nodes cannot be listed" in init.text
    assert f"Rights that you lack in {init.namespace}: create mpijobs" in init.text
    assert len(init.site.nodes) == 2


def test_hostile_names_come_out_as_they_are(lab: Lab, init: Init) -> None:
    name = 'x: y\n"$(touch harm)" # \x1b[31m ../..'
    config = yaml.safe_load(lab.kubeconfig.read_text())
    config["contexts"][0]["name"] = config["current-context"] = name
    init.kubeconfig = init.folder / "kube config"
    init.kubeconfig.write_text(yaml.safe_dump(config))
    init.make(
        ATTACHMENT,
        "hsn",
        metadata={"annotations": {"k8s.v1.cni.cncf.io/resourceName": "a/b\nsite: forged"}},
        spec={"config": json.dumps({"type": name, "master": name, "ipam": {"type": name}})},
    )
    init("--image", 'quay.io/"me": # 1')
    assert init.options.context == name
    assert init.options.image == 'quay.io/"me": # 1'
    assert list(init.site.platforms) == ["pods"]
    assert list(init.site.networks) == ["pod-network"], "no node has the device that hsn needs"
    assert not (init.folder / "harm").exists()


def test_of_several_contexts_the_current_one_is_taken_or_the_one_that_is_named(
    lab: Lab, init: Init, tmp_path: Path
) -> None:
    config = yaml.safe_load(lab.kubeconfig.read_text())
    away = {**config["clusters"][0], "name": "away", "cluster": {"server": "https://127.0.0.1:1"}}
    config["clusters"].append(away)
    own = config["contexts"][0]
    config["contexts"].append({"name": "away", "context": {**own["context"], "cluster": "away"}})
    init.kubeconfig = tmp_path / "two"
    init.kubeconfig.write_text(yaml.safe_dump(config))
    init("--image", IMAGE)
    assert init.options.context == own["name"]
    done = init.call("other", "--context", "away")
    assert done.returncode == 3
    assert not (tmp_path / "other/site.yaml").exists()
    assert "the API server does not answer" in done.stderr
    done = init.call("no", "--context", "z")
    assert "no context 'z'; the contexts are: " in done.stderr


def test_a_cluster_that_does_not_answer_leaves_a_site_of_this_machine(
    lab: Lab, init: Init, tmp_path: Path
) -> None:
    config = yaml.safe_load(lab.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    init.kubeconfig = tmp_path / "away"
    init.kubeconfig.write_text(yaml.safe_dump(config))
    done = init.call("k")
    assert "is left out: " in done.stdout
    assert "Kubernetes, context " in init.text
    assert init.site.nodes == ("localhost",)


def image_report(folder: Path) -> bytes:
    """Return what a pod prints whose image has an MPI and its benchmarks: a real answer of the script."""
    programs = folder / "mpi/bin"
    programs.mkdir(parents=True)
    for name in ("mpirun", "mpicc", "IMB-MPI1"):
        (programs / name).write_text("#!/bin/sh\necho 'mpirun (Open MPI) 4.1.77'\n")
        (programs / name).chmod(0o755)
    script = probe_script(node="image", prefixes=[str(folder / "mpi")])
    return subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout


def test_a_job_of_seconds_looks_into_the_image_and_is_deleted(
    lab: Lab, init: Init, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(lab.pods.answers, "tare-init-", image_report(init.folder))
    said = init("--image", IMAGE, has_jobs=True).stdout
    assert f"this Job of seconds runs in one pod, and is deleted then:\n  {init.namespace}/tare-init-" in said
    first = next(iter(init.site.platforms.values()))
    assert (first.launcher, first.prefix) == ("openmpi4", str(init.folder / "mpi"))
    study = yaml.safe_load((init.folder / "k/first.yaml").read_text())
    assert (list(study["workload"]), study["nodes"]) == (["imb.pingpong"], 2)
    assert "kind: MPIJob" in init.tare("plan", "first.yaml", "--show").stdout
    until(lambda: campaign.objects() == [])


def test_a_job_that_does_not_report_leaves_what_is_in_the_image_unknown(
    lab: Lab, init: Init, campaign: Campaign
) -> None:
    init("--image", IMAGE, has_jobs=True)
    assert f"Not known: what is in {IMAGE}: its pod did not report to the end." in init.text
    assert "a guess by the image's name" in init.text
    until(lambda: campaign.objects() == [])
