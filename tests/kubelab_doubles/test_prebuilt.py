"""What somebody has built already takes the place of what kubelab builds, and of its doubles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubelab import build
from kubelab.definitions import definitions
from kubelab.prebuilt import Prebuilt
from kubelab.processes import KubelabError

PROGRAMS = (
    "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kubelet",
    "kwok", "coredns",
)  # fmt: skip
_CORE = json.dumps({"components": {"schemas": {"io.k8s.api.core.v1.PodTemplateSpec": {"type": "object"}}}})
"""Of what the API server tells of itself, as much as is asked for."""


@pytest.fixture
def binaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in PROGRAMS:
        (tmp_path / name).touch()
    monkeypatch.setenv("TARE_KUBELAB_BINARIES", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "nothing was built"))
    return tmp_path


def test_programs_of_a_folder_are_taken_where_none_are_built(binaries: Path) -> None:
    build.check()
    assert build.command("kube-apiserver") == [str(binaries / "kube-apiserver")]
    assert build.command("kwok") == [str(binaries / "kwok")]


def test_a_program_that_is_missing_in_the_folder_is_named(binaries: Path) -> None:
    (binaries / "kubelet").unlink()
    with pytest.raises(KubelabError, match="kubelet are missing"):
        build.check()


def test_a_path_that_is_not_there_is_told_with_its_option(tmp_path: Path) -> None:
    with pytest.raises(KubelabError, match=r"--multus: .* does not exist"):
        Prebuilt.of({"TARE_KUBELAB_MULTUS": str(tmp_path / "multus")})


def test_a_real_operator_comes_with_its_own_definition(tmp_path: Path) -> None:
    (tmp_path / "operator").touch()
    (tmp_path / "crd.yaml").write_text("kind: Own\n")
    given = {"TARE_KUBELAB_OPERATOR": str(tmp_path / "operator")}
    with pytest.raises(KubelabError, match="--operator needs --operator-crd"):
        Prebuilt.of(given)
    given["TARE_KUBELAB_OPERATOR_CRD"] = str(tmp_path / "crd.yaml")
    assert list(definitions(_CORE, Prebuilt.of(given)))[1:] == ["kind: Own\n"]
    assert "mpijobs.kubeflow.org" in list(definitions(_CORE, Prebuilt()))[1]


def test_definitions_may_be_a_folder(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yaml", "README.md"):
        (tmp_path / name).write_text(name)
    assert list(Prebuilt(whereabouts_crd=tmp_path).definitions()) == ["a.yaml", "b.yaml"]
