"""A lab of two nodes that the tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.calls import Hosts, running_lab
from tare.core.site import LabNetwork, LabNetworkKind, LabSpec
from tare.lab import Lab

SPEC = LabSpec(
    nodes=2,
    networks={
        "host": LabNetwork(kind=LabNetworkKind.BRIDGE),
        "overlay": LabNetwork(kind=LabNetworkKind.VXLAN, over="host"),
        "macvlan": LabNetwork(kind=LabNetworkKind.MACVLAN, over="host"),
        "slow": LabNetwork(kind=LabNetworkKind.BRIDGE, rate_bits_per_s=100e6),
    },
)


@pytest.fixture(scope="session")
def spec() -> LabSpec:
    return SPEC


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab that lives as long as the tests; they leave it as they found it."""
    with running_lab(SPEC, tmp_path_factory.mktemp("run")) as running:
        yield running


@pytest.fixture
def hosts(lab: Lab) -> Hosts:
    return Hosts(lab)


@pytest.fixture
def run_folder(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place of its own for the state of labs that a test starts; skips where `lab` does."""
    folder = tmp_path / "run"
    folder.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder
