"""Profiles of four MPIs in real pods: each compiles the library for its own."""

from __future__ import annotations

import pytest
import yaml

from kubelab.images import packages
from kubernetes_pods.conftest import SITE, Campaign
from tare.core.profile import Profile, read

_COMPILER = ("gcc", "libc6-dev")
_HEADERS = "libopenmpi-dev"
"""Debian's package with the mpicc of Open MPI 4; the image has the others' own."""
_MPICC = {
    "openmpi": ["/usr/bin"],
    "openmpi5": ["/opt/openmpi5/bin"],
    "mpich": ["/opt/mpich/bin"],
    "openshift": ["/opt/intelmpi/bin", "/opt/mpich/bin"],
}
"""The folders of each platform's programs; Intel MPI (openshift) takes MPICH's mpicc, which has its ABI."""
_RINGS = {"openmpi": "openmpi", "openmpi5": "openmpi", "mpich": "mpich", "openshift": "mpich"}
_NAMES = {"openmpi": "Open MPI 4", "openmpi5": "Open MPI 5", "mpich": "MPICH", "openshift": "Intel"}
_LACKING = [name for name in _COMPILER if name not in packages()]


def _profiled(campaign: Campaign, platform: str) -> Campaign:
    platforms = yaml.safe_load(SITE.read_text())["platforms"]
    platforms[platform]["path"] = _MPICC[platform]
    return campaign.write(
        platform=platform,
        script=f"exec /opt/ring/{_RINGS[platform]}",
        site={"platforms": platforms},
        study={"profile": True},
    )


@pytest.mark.skipif(
    bool(_LACKING), reason=f"the image has no compiler: set TARE_KUBELAB_PACKAGES='{' '.join(_COMPILER)}'"
)
@pytest.mark.parametrize("platform", _MPICC)
def test_a_profiled_run_has_the_profile_of_both_ranks(campaign: Campaign, platform: str) -> None:
    if platform == "openmpi" and _HEADERS not in packages():
        pytest.skip(f"the image has no mpicc of Open MPI 4: add {_HEADERS} to TARE_KUBELAB_PACKAGES")
    done = _profiled(campaign, platform).run()
    assert done.returncode == 0, done.stdout + done.stderr + str(campaign.attempts())
    [path] = campaign.out.glob("attempts/*/*/profile.json")
    found = read(path.parent)
    assert isinstance(found, Profile), found
    assert _NAMES[platform] in found.mpi
    assert len({*found.nodes}) == found.ranks == 2
    [row] = [one for one in found.functions if one.function == "MPI_Sendrecv_replace"]
    assert row.calls == [1, 1]
    assert row.locality.crosses


@pytest.mark.skipif(not _LACKING, reason="the image has a compiler")
def test_an_image_without_a_compiler_says_what_is_missing(campaign: Campaign) -> None:
    done = _profiled(campaign, "mpich").run()
    assert "profile-build" in done.stdout, done.stdout + done.stderr
    states = {one["state"]: str(one.get("reason", "")) for one in campaign.attempts()}
    assert states.keys() == {"done", "failed"}
    assert "profile-build" in states["failed"]
    assert "not found" in states["failed"]
