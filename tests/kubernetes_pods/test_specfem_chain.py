"""The chain of SPECFEM3D_GLOBE in pods: Tare is killed in each of its stages, and goes on.

The program's own source tree is not part of Tare. TARE_SPECFEM_TREE names one that is configured with
``./configure FC=gfortran MPIFC=mpif90``; by default it is in /opt/specfem3d_globe. The image needs its compilers.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import TARE
from kubelab.images import packages
from kubelab.shared_claim import CLAIM, FOLDER
from kubernetes_pods.conftest import Campaign, PodLab

COMPILERS = ("gfortran", "libopenmpi-dev", "make")
TREE = Path(os.environ.get("TARE_SPECFEM_TREE", "/opt/specfem3d_globe"))
STAGES = {
    "build-xmeshfem3D": "build-xmeshfem3D.stdout",
    "build-xspecfem3D": "build-xspecfem3D.stdout",
    "mesh": "mesh.stdout",
    "run": "stdout",
}
"""The file that is there once a stage has begun."""
PATIENCE_S = 1200


class Chain:
    """A campaign of SPECFEM3D_GLOBE whose tree and folder are on the claim that all pods share."""

    def __init__(self, pods: PodLab, folder: Path) -> None:
        self._shared = pods.folder / FOLDER
        self.log = folder / "log"
        self.campaign = Campaign(pods, folder)
        self.campaign.out = self._shared / folder.name
        tree = self._shared / "specfem3d_globe"
        if not tree.exists():
            shutil.copytree(TREE, tree, symlinks=True)

    def write(self, *, repeats: int, cases: list[Mapping[str, object]]) -> None:
        """Write study and site; each case is a mesh of 16 elements a side, in one chunk."""
        options = {
            "work": {"claim": CLAIM, "path": str(self._shared)},
            "storage": {"shared": CLAIM},
            "user": 0,
            "ssh_port": 22,
            "memory": "1GiB",
        }
        study: dict[str, object] = {
            "storage": "shared",
            "workloads": {},
            "factors": {"network": ["sdn"]},
            "workload": {
                "specfem3d_globe": {"nex": 16, "minutes": 0.5, "sources": "{storage}/specfem3d_globe"}
            },
            "cases": [{"ranks_per_node": 1, **case} for case in cases],
            "repeats": repeats,
            "timeout": f"{PATIENCE_S} s",
        }
        site = {"storage": {"shared": str(self._shared)}}
        self.campaign.write(platform="openmpi", options=options, site=site, study=study)

    def kill_in(self, stage: str) -> None:
        """Run Tare until a stage is under way, and kill it."""
        process = self.campaign.start(self.log)
        try:
            deadline = time.monotonic() + PATIENCE_S
            while not list(self.campaign.out.glob(f"attempts/*/*/{STAGES[stage]}")):
                assert process.poll() is None, self.log.read_text()
                assert time.monotonic() < deadline, self.log.read_text()
                time.sleep(0.1)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        [ended] = self.ended().values()
        assert stage not in ended, f"{stage} had ended before Tare was killed"

    def ended(self) -> dict[str, list[str]]:
        """Return the stages that have ended, by attempt: the pods write that down."""
        return {
            folder.parent.name: list(_ended(folder)) for folder in self.campaign.out.glob("attempts/*/1.*")
        }

    def figures(self) -> dict[str, Any]:
        """Return what `tare status` counts."""
        return dict(
            json.loads(self.campaign.pods.tare("status", self.campaign.out, "--json").stdout)["counts"]
        )


def _ended(attempt: Path) -> Iterator[str]:
    for name in ("progress", "landed"):
        if (attempt / name).exists():
            lines = (attempt / name).read_text().splitlines()
            yield from (line.split()[1] for line in lines if line.startswith("step "))
            return


@pytest.fixture
def chain(pods: PodLab, tmp_path: Path) -> Chain:
    if missing := [name for name in COMPILERS if name not in packages()]:
        pytest.skip(f"the image lacks {', '.join(missing)}: TARE_KUBELAB_PACKAGES='{' '.join(COMPILERS)}'")
    if not (TREE / "config.status").exists():
        pytest.skip(f"{TREE} is no configured source tree of SPECFEM3D_GLOBE; name one in TARE_SPECFEM_TREE")
    return Chain(pods, tmp_path)


def test_it_is_killed_in_each_stage_and_every_stage_runs_once(chain: Chain, pods: PodLab) -> None:
    chain.write(repeats=1, cases=[{"ranks": 2}])
    for stage in STAGES:
        chain.kill_in(stage)
    done = chain.campaign.run()
    assert done.returncode == 0, done.stdout + done.stderr
    [attempt] = chain.campaign.attempts()
    assert (attempt["state"], attempt["block"], attempt["attempt"]) == ("done", 1, 1)
    [stages] = chain.ended().values()
    assert stages == ["build-xmeshfem3D", "folders", "data", "parameters", "build-xspecfem3D", "mesh", "run"]
    assert not pods.kubectl("get", "mpijobs,jobs,pods,configmaps", "-l", OURS, "-o", "name")

    # Another header for one rank: the mesher is not built again, the solver is. Then nothing is.
    chain.write(repeats=2, cases=[{"ranks": 2}, {"ranks": 1}])
    done = chain.campaign.run("--extend")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {one["state"] for one in chain.campaign.attempts()} == {"done"}
    built = sorted(tuple(_programs(folder)) for folder in chain.campaign.out.glob("attempts/*/*.1"))
    assert built == [(), (), ("xmeshfem3D", "xspecfem3D", "mesh"), ("xspecfem3D", "mesh")]
