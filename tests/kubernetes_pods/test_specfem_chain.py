"""The chain of SPECFEM3D_GLOBE in pods: Tare is killed in each of its stages, and goes on.

The program's source tree is not part of Tare. TARE_SPECFEM_TREE names one that is configured with
``./configure FC=gfortran MPIFC=mpif90``; by default it is in /opt/specfem3d_globe. The image needs compilers.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from kubelab.images import packages
from kubelab.shared_claim import CLAIM, FOLDER
from kubernetes_pods.conftest import Campaign, PodLab

_COMPILERS = ("gfortran", "libopenmpi-dev", "make")
_TREE = Path(os.environ.get("TARE_SPECFEM_TREE", "/opt/specfem3d_globe"))
_KILLED_IN = ("build-xmeshfem3D", "build-xspecfem3D", "mesh", "run")
_PATIENCE_S = 900
_OURS = "app.kubernetes.io/managed-by=tare"


class Chain:
    """A campaign of SPECFEM3D_GLOBE; its folder and the source tree are on the claim that all pods share."""

    def __init__(self, pods: PodLab, folder: Path) -> None:
        self._shared = pods.folder / FOLDER
        self._log = folder / "log"
        self._n_killed = 0
        self.campaign = Campaign(pods, folder)
        self.campaign.out = self._shared / folder.name
        shutil.copytree(_TREE, self._shared / "specfem3d_globe", symlinks=True)

    def write(self, *, ranks: list[int], repeats: int) -> None:
        """Write site and study: meshes of 16 elements a side in one chunk, with a rank a node."""
        options: Mapping[str, object] = {
            "work": {"claim": CLAIM, "path": str(self._shared)},
            "storage": {"shared": CLAIM},
            "user": 0,
            "ssh_port": 22,
            "memory": "1GiB",
        }
        chain = {"nex": 16, "minutes": 0.5, "sources": "{storage}/specfem3d_globe"}
        study: Mapping[str, object] = {
            "workloads": {},
            "storage": "shared",
            "factors": {"network": ["sdn"], "workload": [{"specfem3d_globe": chain}], "nodes": ranks},
            "repeats": repeats,
            "timeout": f"{_PATIENCE_S} s",
        }
        site = {"storage": {"shared": str(self._shared)}}
        self.campaign.write(platform="openmpi", options=options, site=site, study=study)

    def kill_in(self, stage: str) -> None:
        """Run Tare until a stage is under way, and kill it."""
        process = self.campaign.start(self._log)
        try:
            deadline = time.monotonic() + _PATIENCE_S
            while not self._is_under_way(stage):
                assert process.poll() is None, self._log.read_text()
                assert time.monotonic() < deadline, self._log.read_text()
                time.sleep(0.1)
        finally:
            process.kill()
            process.wait()
        self._n_killed += 1
        [folder] = self.campaign.out.glob("attempts/*/*")
        assert stage not in ended(folder), f"{stage} was over before Tare was killed"

    def _is_under_way(self, stage: str) -> bool:
        """Return whether a stage has begun, and the session that goes on has begun."""
        is_session = self._log.read_text().count("campaign ") > self._n_killed
        output = "stdout" if stage == "run" else f"{stage}.stdout"
        return is_session and any(self.campaign.out.glob(f"attempts/*/*/{output}"))


def ended(attempt: Path) -> list[str]:
    """Return the stages that ran in an attempt's job and ended well, by the record of its pods."""
    for name in ("progress", "landed"):
        if (attempt / name).exists():
            words = [line.split() for line in (attempt / name).read_text().splitlines()]
            return [one[1] for one in words if one[0] == "step" and one[2] == "0"]
    return []


@pytest.fixture
def chain(pods: PodLab, tmp_path: Path) -> Chain:
    if missing := [name for name in _COMPILERS if name not in packages()]:
        pytest.skip(
            f"the image lacks {', '.join(missing)}: set TARE_KUBELAB_PACKAGES='{' '.join(_COMPILERS)}'"
        )
    if not (_TREE / "config.status").exists():
        pytest.skip(f"{_TREE} is no configured source tree of SPECFEM3D_GLOBE; name one in TARE_SPECFEM_TREE")
    return Chain(pods, tmp_path)


def test_it_is_killed_in_each_stage_and_each_stage_runs_once(chain: Chain, pods: PodLab) -> None:
    chain.write(ranks=[2], repeats=1)
    for stage in _KILLED_IN:
        chain.kill_in(stage)
    done = chain.campaign.run()
    assert done.returncode == 0, done.stdout + done.stderr
    [attempt] = chain.campaign.attempts()
    assert (attempt["state"], attempt["block"], attempt["attempt"]) == ("done", 1, 1)
    [folder] = chain.campaign.out.glob("attempts/*/*")
    assert ended(folder) == [
        *("build-xmeshfem3D", "folders", "data", "parameters", "build-xspecfem3D", "mesh", "run")
    ]
    deadline = time.monotonic() + 60
    while left := pods.kubectl("get", "mpijobs,jobs,pods,configmaps", "-l", _OURS, "-o", "name"):
        assert time.monotonic() < deadline, left
        time.sleep(1)

    # One rank has another header: the solver is built again, the mesher is not. Block 2 builds neither.
    chain.write(ranks=[2, 1], repeats=2)
    done = chain.campaign.run("--extend")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {one["state"] for one in chain.campaign.attempts()} == {"done"}
    made = sorted(
        [name for name in ended(folder) if name.startswith(("build", "mesh"))]
        for folder in chain.campaign.out.glob("attempts/*/*.1")
    )
    assert made == [[], [], ["build-xmeshfem3D", "build-xspecfem3D", "mesh"], ["build-xspecfem3D", "mesh"]]
