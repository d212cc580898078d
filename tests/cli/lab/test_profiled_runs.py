"""Profiled runs under the lab's real Slurm, and in real containers whose image has no compiler."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from cli.conftest import Tare, needs_intelmpi, standing_lab
from tare.core.attempt import Attempt, State
from tare.core.profile import Profile, read
from tare.lab import Lab, containers, slurm
from tare.lab.rootfs import is_built, rootfs_folder
from tare.storage.campaign import read_campaign

ROOTFS = rootfs_folder() / "debian"

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="Slurm and podman in the lab take root")
needs_slurm = pytest.mark.skipif(bool(slurm.missing()), reason=f"no Slurm here; {slurm.CURE}")
needs_podman = pytest.mark.skipif(
    bool(containers.missing()) or not is_built(ROOTFS),
    reason=f"no podman or no root file system; {containers.CURE}; tare lab rootfs",
)

_HPCC = {"workload": "hpcc", "n": 200}
_IMB = {"workload": "imb.pingpong", "max_bytes": "1KiB", "iterations": 100}


def profiles(
    tare: Tare, folder: Path, setups: Mapping[str, Mapping[str, object]]
) -> dict[str, Profile | str]:
    """Run a program on two nodes of each platform; return its profile, or why there is none, by platform."""
    study = {
        "study": "profiled",
        "site": "lab",
        "factors": {"setup": [{"platform": name, **what} for name, what in setups.items()]},
        "network": "host",
        "nodes": 2,
        "bind": "none",
        "repeats": 1,
        "timeout": "2 min",
        "profile": True,
    }
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    done = tare("run", "study.yaml", "--out", "c", "--no-boost")
    campaign = read_campaign(folder / "c")
    platform_of = {one.id: one.platform for one in campaign.plan.cases}
    found = {platform_of[one.case]: _profile(one, folder / "c") for one in campaign.profiled_attempts}
    assert found.keys() == setups.keys(), done.stdout + done.stderr
    return found


def _profile(attempt: Attempt, campaign: Path) -> Profile | str:
    return read(campaign / attempt.folder) if attempt.state is State.DONE else attempt.reason


def versions(found: Mapping[str, Profile | str]) -> dict[str, str]:
    """Return which MPI each profile is of, without its version; fail where there is none."""
    for name, one in found.items():
        assert isinstance(one, Profile), (name, one)
        assert (one.ranks, len(set(one.nodes))) == (2, 2), name
        assert any(row.locality.crosses and sum(row.bytes) for row in one.functions), name
    return {
        name: "Intel MPI" if "Intel" in one.mpi else one.mpi.rpartition(" ")[0]
        for name, one in found.items()
        if isinstance(one, Profile)
    }


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with standing_lab("--with", "containers") as lab:
        yield lab


@pytest.mark.slow
@needs_root
@needs_slurm
@needs_intelmpi
def test_jobs_of_slurm_are_profiled_by_srun_and_by_hydra_alone_and_packed(tare: Tare, tmp_path: Path) -> None:
    found = profiles(tare, tmp_path, {"slurm": _HPCC, "slurm-intelmpi": _IMB, "slurm-packed": _IMB})
    assert versions(found) == {
        "slurm": "Open MPI",
        "slurm-intelmpi": "Intel MPI",
        "slurm-packed": "Intel MPI",
    }


@pytest.mark.slow
@needs_root
@needs_podman
@needs_intelmpi
@pytest.mark.usefixtures("lab")
def test_containers_without_a_compiler_get_the_library_of_the_host(tare: Tare, tmp_path: Path) -> None:
    assert not any((ROOTFS / "usr/bin" / name).exists() for name in ("cc", "gcc"))
    setups = {
        **dict.fromkeys(("podman-rank", "podman-node", "charliecloud"), _HPCC),
        **dict.fromkeys(("podman-rank-intelmpi", "podman-node-intelmpi"), _IMB),
    }
    found = versions(profiles(tare, tmp_path, setups))
    assert found == {name: "Open MPI" if what is _HPCC else "Intel MPI" for name, what in setups.items()}
    host = list((tmp_path / "c").glob("cache/*/libtare_profile.host.so"))
    assert len(host) == len(setups)
