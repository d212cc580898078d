"""What an administrator applies: whole, reasoned, and with the rights that Tare uses and no others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tare.config.site_file import site_from_text
from tare.plugins.backends.kubernetes.checks.rights import RIGHTS
from tare.plugins.backends.kubernetes.objects.naming import MANAGED_BY
from tare.plugins.backends.kubernetes.options import options_of
from tare.plugins.backends.kubernetes.scheduling.leases import HOLDING, REMOVING

DEPLOY = Path(__file__).parents[1] / "deploy"
BASES = sorted(path.parent for path in DEPLOY.rglob("kustomization.yaml"))
Doc = dict[str, Any]
_DOCTOR_INIT_AND_NETWORKS = {
    ("", "persistentvolumeclaims", "get"),
    ("", "persistentvolumeclaims", "list"),
    ("", "resourcequotas", "list"),
    ("", "limitranges", "list"),
    ("networking.k8s.io", "networkpolicies", "list"),
    ("k8s.cni.cncf.io", "network-attachment-definitions", "get"),
    ("k8s.cni.cncf.io", "network-attachment-definitions", "list"),
    ("k8s.cni.cncf.io", "network-attachment-definitions", "create"),
}
ALWAYS_THERE = {f"system:openshift:scc:{name}" for name in ("hostnetwork-v2", "nonroot-v2", "anyuid")}
"""ClusterRoles that OpenShift makes for its own constraints (cluster-kube-apiserver-operator)."""


def kustomization(base: Path) -> Doc:
    found: Doc = yaml.safe_load((base / "kustomization.yaml").read_text())
    return found


def named(base: Path) -> Iterator[str]:
    """Yield the files that a kustomization takes, and its base."""
    found = kustomization(base)
    yield from found["resources"]
    yield from (name for one in found.get("configMapGenerator", []) for name in one["files"])
    yield from (one["path"] for one in found.get("patches", []))


def objects(base: Path) -> list[Doc]:
    """Return what lies in a folder, applied by default or not."""
    every = (path for path in sorted(base.glob("*.yaml")) if path.name != "kustomization.yaml")
    found = [one for path in every for one in yaml.safe_load_all(path.read_text())]
    return [one for one in found if "kind" in one]


@pytest.mark.parametrize("base", BASES, ids=lambda base: base.name)
def test_what_a_kustomization_names_is_there(base: Path) -> None:
    assert [name for name in named(base) if not (base / name).exists()] == []


@pytest.mark.parametrize("base", BASES, ids=lambda base: base.name)
def test_every_file_is_applied_or_offered(base: Path) -> None:
    """What is not applied by default stands in a comment, to be uncommented."""
    text = (base / "kustomization.yaml").read_text()
    offered = {line.split()[2] for line in text.splitlines() if line.strip().startswith("# - ")}
    there = {path.name for path in base.glob("*.yaml")} - {"kustomization.yaml"}
    assert there == (set(named(base)) | offered) - {"../kubernetes"}


@pytest.mark.parametrize(
    "path", sorted(DEPLOY.rglob("*.yaml")), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_every_file_explains_why_it_is_there(path: Path) -> None:
    assert path.read_text().startswith("# ")


def test_the_role_is_what_tare_uses_and_nothing_else() -> None:
    [role] = [one for one in objects(DEPLOY / "kubernetes") if one["kind"] == "Role"]
    granted = {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    used = {
        ("" if one.group == "api/v1" else one.group.split("/")[1], one.plural, verb)
        for one, verbs in RIGHTS
        for verb in verbs
    }
    leases = {("coordination.k8s.io", "leases", verb) for verb in (*HOLDING, *REMOVING)}
    of_pods = {("", "pods/log", "get"), ("", "pods/exec", "get"), ("", "pods/exec", "create")}
    assert granted == used | of_pods | leases | _DOCTOR_INIT_AND_NETWORKS


@pytest.mark.parametrize("base", BASES, ids=lambda base: base.name)
def test_rights_are_given_to_accounts_that_are_made_and_from_roles_that_are_there(base: Path) -> None:
    every = objects(DEPLOY / "kubernetes") + objects(base)
    accounts = {one["metadata"]["name"] for one in every if one["kind"] == "ServiceAccount"}
    roles = {
        one["metadata"]["name"] for one in every if one["kind"] in {"Role", "ClusterRole"}
    } | ALWAYS_THERE
    bindings = [one for one in every if one["kind"].endswith("Binding")]
    assert {subject["name"] for one in bindings for subject in one["subjects"]} <= accounts
    assert {one["roleRef"]["name"] for one in bindings} <= roles


def test_constraints_are_bound_to_the_account_of_the_pods_alone() -> None:
    """OpenShift looks at the account of a pod; who runs Tare needs none of them."""
    bindings = [one for one in objects(DEPLOY / "openshift") if one["kind"] == "RoleBinding"]
    assert {one["roleRef"]["name"] for one in bindings} == ALWAYS_THERE
    assert {subject["name"] for one in bindings for subject in one["subjects"]} == {"tare-pods"}


@pytest.mark.parametrize("name", ["network-policy.yaml", "network-policy-egress.yaml"])
def test_network_policies_are_about_the_pods_that_tare_labels(name: str) -> None:
    policy = yaml.safe_load((DEPLOY / "kubernetes" / name).read_text())["spec"]
    assert policy["podSelector"] == {"matchLabels": MANAGED_BY}
    rules = policy.get("ingress", []) + policy.get("egress", [])
    assert {"podSelector": {"matchLabels": MANAGED_BY}} in [
        one for rule in rules for one in rule.get("from", rule.get("to", []))
    ]


@pytest.mark.parametrize("base", BASES, ids=lambda base: base.name)
def test_the_site_is_one_and_names_the_account_of_the_pods(base: Path) -> None:
    site = site_from_text((base / "site.yaml").read_text(), "site.yaml", {})
    options = options_of(site.platforms["pods"])
    assert options.service_account == "tare-pods"
    assert (options.user_id is None) is (base.name == "openshift")
