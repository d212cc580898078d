"""Every study that comes with Tare plans on any machine, and runs where its programs are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.conftest import Tare
from tare.app import planning as wiring

STUDIES = Path(__file__).parents[2] / "studies"
PATHS = {path.stem: path for path in sorted([*STUDIES.glob("*.yaml"), *STUDIES.glob("articles/*/*.yaml")])}

PROGRAMS = {
    "gromacs-networks": {"gmx_mpi": "gromacs"},
    "hpcc-fabrics": {"hpcc": "hpcc"},
    "lammps-networks": {"lmp": "lammps"},
    "network-tools": {"iperf3": "iperf3", "iperf": "iperf", "qperf": "qperf"},
    "openfoam-fabrics": {"simpleFoam": "openfoam"},
    "storage": {"fio": "fio"},
}
"""The programs that a study needs, and Debian's packages of them."""

SHORTER = {
    "gromacs.water": {"steps": 100},
    "hpcc": {"n": 512},
    "openfoam.motorbike": {"iterations": 20},
}
"""What makes a run shorter, though it goes through the same steps and tells the same figures."""


@pytest.mark.parametrize("name", PATHS)
def test_the_study_plans_and_every_command_composes(name: str, tare_here: Tare) -> None:
    path = PATHS[name]
    planned = tare_here("plan", path, "--json")
    assert planned.returncode == 0, planned.stderr
    plan = json.loads(planned.stdout)
    assert plan["study"] == name
    assert plan["runs"] > 0

    shown = tare_here("plan", path, "--show")
    assert shown.returncode == 0, shown.stderr
    assert [case["id"] for case in plan["cases"] if case["id"] not in shown.stdout] == []


@pytest.mark.parametrize("name", PATHS)
def test_every_contender_has_a_reference(name: str) -> None:
    plan = wiring.load(PATHS[name]).plan
    contenders = [case for case in plan.cases if not plan.is_reference(case)]
    assert contenders
    assert [case.settings for case in contenders if plan.reference_of(case) is None] == []


@pytest.mark.lab
@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_corner_of_the_study_runs(name: str, tare: Tare, tmp_path: Path) -> None:
    missing = [package for program, package in PROGRAMS[name].items() if shutil.which(program) is None]
    if missing:
        pytest.skip(f"programs are missing; run: apt install {' '.join(missing)}")
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(corner(read(name))))
    done = tare("run", tmp_path / "study.yaml", "--blocks", "1", "--out", tmp_path / "c")
    assert done.returncode == 0, done.stdout + done.stderr
    counts = json.loads(tare("status", tmp_path / "c", "--json").stdout)["counts"]
    assert counts["done"] == sum(counts.values()) > 0


def read(name: str) -> dict[str, Any]:
    content = yaml.safe_load(PATHS[name].read_text())
    assert isinstance(content, dict)
    return content


def corner(study: dict[str, Any]) -> dict[str, Any]:
    """Return the study on two nodes, with all workloads made shorter, and the last level of other factors."""
    factors = study["factors"]
    last = {name: levels[-1:] for name, levels in factors.items()}
    last["workload"] = [
        {name: {**parameters, **SHORTER.get(name, {})} for name, parameters in workload.items()}
        for workload in factors["workload"]
    ]
    if "nodes" in last:
        last["nodes"] = [2]
    return {key: value for key, value in study.items() if key != "reference"} | {"factors": last}
