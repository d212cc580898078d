"""`tare plan` names what would break the runs in a cluster, before anything runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from cli.conftest import Tare

ARTICLE = Path(__file__).parents[3] / "studies/articles/red-hat"
CLAIM = {"work": {"claim": "campaigns", "path": "/campaigns"}}
STORED = {"work": {"claim": "campaigns", "path": "/campaigns"}, "storage": {"shared": "campaigns"}}


def traps(
    tare: Tare,
    folder: Path,
    options: Mapping[str, object],
    workload: object = "specfem3d_globe",
    **study: object,
) -> dict[str, str]:
    """Return the traps of a study on Kubernetes by their rule."""
    site = {
        "site": "k",
        "nodes": ["w1", "w2", "w3"],
        "slots_per_node": 2,
        "storage": {"shared": "/campaigns"},
        "platforms": {
            "pods": {"backend": "kubernetes", "launcher": "openmpi4", "kubernetes": {"image": "i", **options}}
        },
        "networks": {"sdn": {"interface": "eth0"}},
    }
    (folder / "site.yaml").write_text(yaml.safe_dump(site))
    asked = {"study": "s", "site": "site.yaml", "platform": "pods", "network": "sdn", "workload": workload}
    (folder / "study.yaml").write_text(yaml.safe_dump({**asked, "repeats": 1, **study}))
    planned = tare("plan", folder / "study.yaml", "--json")
    assert planned.returncode == 0, planned.stderr
    found = json.loads(planned.stdout)["traps"]
    assert {one["platform"] for one in found} <= {"pods"}
    return {one["trap"].rpartition("[")[2].rstrip("]"): one["trap"] for one in found}


def test_a_chain_of_stages_on_several_workers_without_a_shared_claim(tare_here: Tare, tmp_path: Path) -> None:
    wide = {"nodes": 2, "ranks_per_node": 1}
    found = traps(tare_here, tmp_path, {}, **wide)
    assert set(found) == {"working folder", "products"}
    assert "run does not find on the others what build-xmeshfem3D" in found["working folder"]
    assert "kubernetes: {work: {claim: …, path: …}}" in found["working folder"]
    assert traps(tare_here, tmp_path, CLAIM, **wide) == {}
    assert set(traps(tare_here, tmp_path, {}, workload="openfoam.motorbike", **wide)) >= {"working folder"}


def test_on_one_node_the_stages_share_a_pod_and_later_runs_still_need_the_claim(
    tare_here: Tare, tmp_path: Path
) -> None:
    found = traps(tare_here, tmp_path, {}, nodes=1)
    assert set(found) == {"products"}
    assert "later runs get bin/xmeshfem3D, bin/xspecfem3D, DATABASES_MPI" in found["products"]
    assert traps(tare_here, tmp_path, CLAIM, nodes=1) == {}


def test_one_program_needs_no_shared_claim(tare_here: Tare, tmp_path: Path) -> None:
    assert traps(tare_here, tmp_path, {}, workload="imb.pingpong", nodes=2) == {}


def test_a_storage_path_that_no_claim_holds(tare_here: Tare, tmp_path: Path) -> None:
    asked = {"nodes": 1, "workload": {"specfem3d_globe": {"sources": "{storage}/globe"}}}
    found = traps(tare_here, tmp_path, CLAIM, **asked)
    assert set(found) == {"storage"}
    assert "no claim is at /campaigns" in found["storage"]
    assert "kubernetes: {storage: {shared: …}}" in found["storage"]
    assert traps(tare_here, tmp_path, STORED, **asked) == {}


def test_traps_are_printed_with_their_number_of_cases(tare_here: Tare, tmp_path: Path) -> None:
    traps(tare_here, tmp_path, {}, nodes=1, factors={"nex": [32, 64]})
    printed = tare_here("plan", tmp_path / "study.yaml").stdout
    assert "trap: 2 cases on pods: later runs get bin/xmeshfem3D" in printed
    shown = tare_here("plan", tmp_path / "study.yaml", "--show").stdout
    assert shown.count("# trap: later runs get bin/xmeshfem3D") == 2


@pytest.mark.parametrize("name", ["specfem-scaling", "openshift-gromacs"])
def test_the_studies_of_the_article_walk_into_none(tare_here: Tare, name: str) -> None:
    planned = tare_here("plan", ARTICLE / f"{name}.yaml", "--json")
    assert planned.returncode == 0, planned.stderr
    assert json.loads(planned.stdout)["traps"] == []


def test_all_meshes_of_the_article_are_planned_on_all_networks_of_the_cluster(tare_here: Tare) -> None:
    plan = json.loads(tare_here("plan", ARTICLE / "specfem-scaling.yaml", "--json").stdout)
    assert plan["left_out"] == []
    meshes = {(case["nex"], case["ranks"]) for case in plan["cases"]}
    assert meshes == {
        *((64, 4), (64, 16), (128, 4), (128, 16), (128, 64)),
        *((192, 16), (192, 36), (192, 64), (256, 16), (256, 64)),
    }
    setups = {(case["platform"], case["network"]) for case in plan["cases"]}
    assert setups == {
        *((platform, "host") for platform in ("bare", "podman")),
        *(("openshift", network) for network in ("pod-host", "multus", "sdn")),
    }
    assert len(plan["cases"]) == len({case["id"] for case in plan["cases"]}) == 12 * len(setups)


def test_the_molecules_of_the_article_are_bound_alike_on_bare_metal_and_in_containers(
    tare_here: Tare,
) -> None:
    plan = json.loads(tare_here("plan", ARTICLE / "openshift-gromacs.yaml", "--json").stdout)
    assert {case["platform"] for case in plan["cases"]} == {"bare", "podman", "openshift"}
    assert {case["bind"] for case in plan["cases"]} == {"none"}
